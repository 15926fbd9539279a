"""Files that appear under their name only when they are whole: a cut-off export never passes for one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidepool.storage.errors import FileError
from tidepool.storage.scratch.folders import is_scratch, whole_folder


@contextmanager
def finished(path: Path) -> Iterator[Path]:
    """A path to write to; what was written takes its place at the end, or is removed after an error."""
    if is_scratch(path.parent):  # one of several files that will take their places together
        yield path
        return
    with _explained(path), whole_folder(path.parent) as scratch:
        yield scratch / path.name


@contextmanager
def finished_together(folder: Path) -> Iterator[Path]:
    """A folder to write to; its files take their places in `folder` at the end, all of them or none."""
    with _explained(folder), whole_folder(folder) as scratch:
        yield scratch


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        shown = path if path.name else path.absolute()
        raise FileError(f"Cannot write {shown}: {error.strerror or error}. Choose another place with -o.") from error


def write_text(path: Path, content: str) -> list[Path]:
    with finished(path) as unfinished:
        unfinished.write_text(content, encoding="utf-8", errors="replace")
    return [path]
