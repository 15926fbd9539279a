"""Coding at the terminal: one side at a time, one key a code."""

import shlex

from rich.console import Console
from rich.text import Text

from tidepool.engine.coding.session import CodingSession, coder_name
from tidepool.engine.coding.subject import Subject
from tidepool.tui.command.keys import key, single_keys
from tidepool.tui.command.saying import say, tell_over
from tidepool.tui.drawing.plain import one_line, shortened
from tidepool.tui.drawing.terminal import console

MOST_SHOWN = 20_000
"""characters of one message"""
STOP, UNDO, SKIP = ("q", "Q", "\x04"), ("u", "U"), ("s", "S")
ENTER, BACKSPACE = ("\r", "\n"), ("\x7f", "\x08")


def code_all(session: CodingSession, screen: int) -> int:
    """Until all is coded, or the coder stops; whatever was coded is in the file."""
    out = console()
    try:
        with single_keys(screen):
            _one_by_one(session, out, screen)
    finally:
        say()
        say(_end(session))
    return 0


def _end(session: CodingSession) -> str:
    told = f"{session.progress.words} coded by {session.coder}"
    more = "" if session.sample.unit == "sides" else f" --unit {session.sample.unit}"
    if session.next is None:
        return f"{told}: all; `tidepool code {session.batch_id} --status` tells what follows"
    return f"{told}; `tidepool code {session.batch_id}{more}{_named(session.coder)}` goes on"


def _named(coder: str) -> str:
    return "" if coder == coder_name(None) else f" --coder {shlex.quote(coder)}"


def _one_by_one(session: CodingSession, out: Console, screen: int) -> None:
    note: str | None = ""
    while note is not None:
        if (subject := session.subject()) is None:
            if not _undone_at_the_end(session, screen):
                return
            continue
        out.clear()
        show(out, session, subject)
        note = _answer(session, subject, screen, note)


def _undone_at_the_end(session: CodingSession, screen: int) -> bool:
    """The last code can be taken back too."""
    tell_over(f"{session.progress.words} coded: all · u undo · any other key ends")
    return key(screen) in UNDO and session.undo()


def show(out: Console, session: CodingSession, subject: Subject) -> None:
    out.print(Text(f"{session.progress.words} coded by {one_line(session.coder)}", style="dim"))
    if subject.secret is not None:
        out.print(Text.assemble(("secret: ", "dim"), (one_line(subject.secret), "bold")))
    for one in subject.said:
        out.print()
        style = "" if one.own else "dim"
        out.print(Text(f"{one_line(one.speaker)}:", style="bold" if one.own else "dim"))
        out.print(Text(shortened(one.text, MOST_SHOWN), style=style))
    out.print()
    about = "" if session.book.scale is None else f" ({one_line(subject.about)})"
    out.print(Text(f"{shortened(session.book.question)}{about}", style="bold"))


def _keys(session: CodingSession) -> str:
    book = session.book
    if book.scale is None:
        codes = "y yes · n no · ? cannot tell"
    elif book.typed:
        codes = f"{book.scale[0]:g} to {book.scale[1]:g} and Enter · ? cannot tell"
    else:
        codes = f"{min(book.keys.keys() - {'?'})}–{max(book.keys.keys() - {'?'})} · ? cannot tell"
    return f"{codes} · u undo · s skip · q stop"


def _answer(session: CodingSession, subject: Subject, screen: int, note: str) -> str | None:
    """What is to be said before the next one; None: the coder stops."""
    typed = ""
    while True:
        tell_over(
            one_line(
                " ".join(filter(None, (_keys(session), f"[{note}]" if note else "", f"> {typed}" if typed else "")))
            )
        )
        pressed = key(screen)
        if pressed is None or pressed in STOP:
            return None
        if pressed in UNDO:
            if session.undo():
                return "taken back"
            note = "nothing to undo"
        elif pressed in SKIP:
            session.skip()
            return "comes again"
        elif code := session.book.keys.get(pressed.casefold()):
            session.code(subject, code)
            return ""
        elif session.book.typed and pressed in ENTER:
            if code := session.book.read(typed):
                session.code(subject, code)
                return ""
            note, typed = "no rating", ""
        elif session.book.typed and pressed in BACKSPACE:
            typed = typed[:-1]
        elif session.book.typed and pressed and pressed in "0123456789.,-":
            typed, note = (typed + pressed)[:12], ""
        else:
            note = "no such key"
