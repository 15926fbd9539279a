"""Files that appear under their name only when they are whole: a cut-off export never passes for one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tidepool.storage.errors import FileError


@contextmanager
def finished(path: Path) -> Iterator[Path]:
    """A path to write to; what was written takes its place at the end, or is removed after an error."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise FileError(f"Cannot write {path}: {error.strerror or error}. Choose another place with -o.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def write_text(path: Path, content: str) -> list[Path]:
    with finished(path) as unfinished:
        unfinished.write_text(content, encoding="utf-8", errors="replace")
    return [path]
