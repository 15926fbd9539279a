"""Reads rows of data files that a config names: JSONL, CSV or Parquet.

The files are untrusted: nothing in them runs. An unreadable file is an error that shows where the problem is and what to do. No
row is skipped silently.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.parquet_lines import MOST_MEMORY

LINE_BYTES = 16 * 2**20
"""of one line; a longer row is an error"""
FORMATS = "JSONL, CSV or Parquet files"
_OTHER = frozenset(".json .tsv .tab .arrow .feather .xlsx .xls .ods .zip .gz .zst .pkl .db .pdf .docx".split())


@dataclass(frozen=True, slots=True)
class Row:
    where: str
    """e.g. train.jsonl, line 3"""
    values: Mapping[str, Any]

    def columns(self) -> str:
        """The column names, for an error."""
        names = [name if len(name) <= 40 else f"{name[:40]}…" for name in self.values]
        more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
        return ", ".join(names[:20]) + more if names else "nothing at all"


def rows_of(path: Path, name: str = "") -> Iterator[Row]:
    """`name` is the file's name in errors."""
    name = name or str(path)
    try:
        if path.suffix.lower() in _OTHER:
            raise UsageError(f"{name} cannot be read. Data must be in {FORMATS}. Save it as one of these.")
        check_file(path, ceilings.DATA_BYTES)
        for number, row in enumerate(_READERS.get(path.suffix.lower(), _jsonl)(path, name)):
            if number == ceilings.ROWS:
                raise UsageError(f"{name} has more than {ceilings.ROWS:,} rows. Use a file with fewer rows.")
            yield row
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}. Data must be in {FORMATS}.") from None


def _jsonl(path: Path, name: str) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from _objects(_lines(file, name), f"{name}, line")


def _objects(lines: Iterator[str], place: str) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise UsageError(f"{place} {number}: not JSON. Each line must be one object.") from None
        if not isinstance(entry, dict):
            raise UsageError(f"{place} {number}: not an object. Each line must be one object.")
        yield Row(f"{place} {number}", entry)


def _csv(path: Path, name: str) -> Iterator[Row]:
    """The first row names the columns. A row with more cells than columns is an error."""
    with path.open("rb") as file:
        reader = csv.reader(_lines(file, name), strict=True)
        try:
            columns = [cell.strip() for cell in next(reader, [])]
            if len(columns) > ceilings.COLUMNS:
                raise UsageError(f"{name} has {len(columns):,} columns, but at most {ceilings.COLUMNS:,} are allowed.")
            if twice := next((column for column in columns if column and columns.count(column) > 1), None):
                raise UsageError(f"{name} has two columns {twice!r}. Rename one of them.")
            for cells in filter(any, reader):
                where = f"{name}, line {reader.line_num}"
                if len(cells) > len(columns):
                    message = f"this row has {len(cells)} cells, but the first line names {len(columns)} columns"
                    raise UsageError(f"{where}: {message}. Put cells that contain the separator in double quotes.")
                yield Row(where, {column: cell for column, cell in zip(columns, cells, strict=False) if column})
        except csv.Error as error:
            raise UsageError(
                f"{name}, line {reader.line_num}: this row is not valid CSV ({error}). Check that every opening quote is closed."
            ) from None


def _lines(file: IO[bytes], name: str) -> Iterator[str]:
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise UsageError(f"{name}, line {number}: longer than {LINE_BYTES >> 20} MiB, the limit for a row.")
        try:
            yield line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError(f"{name}, line {number} is not UTF-8 text. Save the file as UTF-8.") from None


def _parquet(path: Path, name: str) -> Iterator[Row]:
    """Reads it in a separate process, since a damaged file may crash the reader."""
    words = [sys.executable, "-P", str(Path(__file__).with_name("parquet_lines.py")), str(path.resolve())]
    words += map(str, (ceilings.ROWS, ceilings.DATA_BYTES))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        try:
            yield from _objects(_lines(process.stdout, name), f"{name}, row")
            why = process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        finally:
            process.kill()
    if process.returncode:
        memory = f"it is damaged, or needs more than {MOST_MEMORY >> 30} GiB of memory. Use a part of it"
        raise UsageError(f"{name} cannot be read: {why if process.returncode == 1 else memory}.")


_READERS: Mapping[str, Callable[[Path, str], Iterator[Row]]] = {".csv": _csv, ".parquet": _parquet}
"""by the file name's extension; any other file is read as JSONL"""
