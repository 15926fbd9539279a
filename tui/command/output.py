"""Prints what commands report: every line, question and JSON object passes here, and foreign text is made plain.

Tables and plots leave through `tui/drawing/text.py`, which does the same. A test holds that nothing else prints.
"""

import argparse
import sys
from collections.abc import Callable
from typing import TextIO

from tidepool.storage.text import Plain, json_text, plain


def echo(text: str = "") -> None:
    """On stdout: what was asked for."""
    _write(plain(text), sys.stdout)


def echo_json(content: object) -> None:
    """One JSON value on stdout."""
    _write(json_text(content), sys.stdout)


def reply(options: argparse.Namespace, content: object, text: str | Callable[[], object]) -> int:
    """The content with --json, else the text, or what prints it; returns the exit code of a command that did what it was
    asked for."""
    if options.json:
        echo_json(content)
    elif isinstance(text, str):
        echo(text)
    else:
        text()
    return 0


def echo_err(text: str) -> None:
    """On stderr: what happens meanwhile, and what went wrong."""
    _write(plain(text), sys.stderr)


def echo_in_place(text: str) -> None:
    """As `echo_err`; on a terminal it replaces the line before."""
    write_progress(text, sys.stderr, end="" if sys.stderr.isatty() else "\n")


def write_progress(text: str, stream: TextIO, end: str) -> None:
    """A line; on a terminal it takes the place of one that has not ended."""
    _write(Plain(f"\r\x1b[K{plain(text)}") if stream.isatty() else plain(text), stream, end)


def agreed(question: str) -> bool:
    """Asks the person at the terminal, on stderr since stdout is for what was asked for; only a yes is one."""
    _write(Plain(f"{plain(question)} [y/N] "), sys.stderr, end="")
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl+D
        return False


def _write(text: Plain, stream: TextIO, end: str = "\n") -> None:
    print(text, end=end, file=stream, flush=stream is not sys.stdout)
