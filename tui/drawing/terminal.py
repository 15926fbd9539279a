"""The terminal as commands draw on it: whatever is printed here is made plain, whoever wrote it."""

import shutil
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tidepool.storage.text import plain


class Terminal(Console):
    """Rich leaves an escape sequence in a text as it is, and ends the program with 1 where a reader goes away (`| head`);
    what that means is for the command to say."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(file: TextIO | None = None) -> Console:
    """On stdout, or where `file` says."""
    width = min(110, shutil.get_terminal_size((80, 24)).columns) if file is None else None
    return Terminal(file=file, markup=False, highlight=False, emoji=False, width=width)
