"""What was made of files, kept as long as these stay as they are: a form is examined anew at every key, its data need not be.

Nothing is kept unless a process asks for it: a run reads its files once, and has better use for the memory.
"""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TypeVar, cast

T = TypeVar("T")
Stamp = tuple[Path, int, int]


class FilesRead:
    def __init__(self, most: int = 0) -> None:
        self.most = most
        """that are kept: the latest"""
        self._made: dict[Hashable, object] = {}

    def made_of(self, files: Sequence[Path], how: Hashable, make: Callable[[], T]) -> T:
        """`how` says what is made of them; what fails is tried again."""
        if not self.most:
            return make()
        key = (how, tuple(map(_stamp, files)))
        made = self._made.pop(key) if key in self._made else make()
        self._made[key] = made
        while len(self._made) > self.most:
            self._made.pop(next(iter(self._made)))
        return cast(T, made)


def _stamp(file: Path) -> Stamp:
    found = file.stat()
    return file, found.st_mtime_ns, found.st_size


FILES_READ = FilesRead()
