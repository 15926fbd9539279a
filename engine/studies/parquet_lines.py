"""Writes a Parquet file as lines of JSON: python parquet_lines.py FILE ROWS BYTES

Runs in a separate process with a memory limit. A damaged file can make the Parquet library panic, or request more memory than
available, which ends the process. Needs the extra `parquet`.
"""

import json
import resource
import sys
from collections.abc import Iterator
from typing import Any

MOST_MEMORY = 1 * 2**30
"""limit of the address space: a file of the allowed size needs less than half of it"""


def lines(path: str, most_rows: int, most_bytes: int) -> Iterator[bytes]:
    """Decodes a file once before converting it to JSON, since a few kilobytes may contain millions of rows."""
    rows = size = 0
    for batch in _batches(path):
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > most_rows:
            sys.exit(f"it has more than {most_rows:,} rows. Use a part of it")
        if size > most_bytes:
            sys.exit(f"it has more than {most_bytes >> 20:,} MiB of data. Use a part of it")
    for batch in _batches(path):
        for values in batch.to_struct_array().to_pylist():
            yield json.dumps(values, default=_as_text).encode() + b"\n"


def _batches(path: str) -> Any:
    from arro3.io import read_parquet

    return read_parquet(path, batch_size=256)


def _as_text(value: Any) -> Any:
    """Replaces a picture or a sound by its size."""
    return {"bytes": len(value)} if isinstance(value, bytes) else str(value)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        with open(1, "wb") as out:
            out.writelines(lines(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    except SystemExit:
        raise
    except BaseException as error:  # a panic of the library is not an Exception
        sys.exit(f"it is not a Parquet file, or is damaged: {' '.join(str(error).split())[:200]}")


if __name__ == "__main__":
    main()
