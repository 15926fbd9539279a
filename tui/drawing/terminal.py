"""The terminal as commands write to it, and foreign text made fit for it."""

import shutil

from rich.console import Console


class _Terminal(Console):
    """Rich ends the program with 1 where a reader goes away (`| head`); what that means is for the command to say."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    return _Terminal(markup=False, highlight=False, width=min(110, shutil.get_terminal_size((80, 24)).columns))


def printable(text: str) -> str:
    """Foreign text for a terminal: no control characters but line breaks and tabs."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)
