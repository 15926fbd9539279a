"""Prints the output of commands: lines, questions and JSON. Escape sequences in untrusted text are removed.

Tables and plots are printed by `tui/drawing/text.py`, which does the same. A test checks that no other module prints.
"""

import argparse
import sys
from collections.abc import Callable
from typing import TextIO

from tidepool.storage.text import Plain, json_text, plain


def echo(text: str = "") -> None:
    """Prints the result of a command on stdout."""
    _write(plain(text), sys.stdout)


def echo_json(content: object) -> None:
    """Prints one JSON value on stdout."""
    _write(json_text(content), sys.stdout)


def reply(options: argparse.Namespace, content: object, text: str | Callable[[], object]) -> int:
    """Prints the content with --json, else the text. Returns exit code 0."""
    if options.json:
        echo_json(content)
    elif isinstance(text, str):
        echo(text)
    else:
        text()
    return 0


def echo_err(text: str) -> None:
    """Prints progress and errors on stderr."""
    _write(plain(text), sys.stderr)


def echo_in_place(text: str) -> None:
    """Prints a line on stderr, which replaces the previous line on a terminal."""
    write_progress(text, sys.stderr, end="" if sys.stderr.isatty() else "\n")


def write_progress(text: str, stream: TextIO, end: str) -> None:
    """Prints a line, which replaces an unfinished line on a terminal."""
    _write(Plain(f"\r\x1b[K{plain(text)}") if stream.isatty() else plain(text), stream, end)


def agreed(question: str) -> bool:
    """Asks the user on stderr, since stdout is for results. Returns whether the answer is yes."""
    _write(Plain(f"{plain(question)} [y/N] "), sys.stderr, end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl+D
        return False


def _write(text: Plain, stream: TextIO, end: str = "\n") -> None:
    print(text, end=end, file=stream, flush=stream is not sys.stdout)
