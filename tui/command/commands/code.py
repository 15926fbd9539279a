"""`tidepool code`: codes a sample of a batch by hand, with one key for each code, and exports and imports it as CSV."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tidepool.engine.coding.session import CodingSession, Subject, check_absent, coder_name, read_codes, write_sample
from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.tui.command.output import echo, echo_in_place, reply
from tidepool.tui.drawing.text import console, one_line, shortened

# -- single keys -------------------------------------------------------------------------------------------------------


LONGEST = 64
"""bytes of one read: a key, an escape sequence or pasted text"""


def terminal() -> int | None:
    """Returns the terminal from which keys are read; None if stdin or stdout is not a terminal."""
    try:
        number = sys.stdin.fileno()
        return number if os.isatty(number) and os.isatty(sys.stdout.fileno()) else None
    except (AttributeError, OSError, ValueError):
        return None


@contextmanager
def single_keys(number: int) -> Iterator[None]:
    """Reads each key as soon as it is pressed, without echo. Ctrl+C and Ctrl+Z work as usual, and this mode returns after
    Ctrl+Z."""
    import signal
    import termios
    import tty

    before = termios.tcgetattr(number)

    def resume_terminal(*ignored: object) -> None:
        tty.setcbreak(number)

    usual = signal.signal(signal.SIGCONT, resume_terminal)
    tty.setcbreak(number)
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, usual)
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def key(number: int) -> str | None:
    """Returns the next key, or None if the terminal is gone. Returns "" for special keys and for several characters at once
    (pasted or typed ahead), since a code must be a single key press."""
    try:
        data = os.read(number, LONGEST)
    except OSError:
        return None
    if not data:
        return None
    text = data.decode("utf-8", "replace")
    return text if len(text) == 1 and (text.isprintable() or text in "\r\n\x7f\x08\x04") else ""


# -- coding at the terminal --------------------------------------------------------------------------------------------


MOST_SHOWN = 20_000
"""number of characters of one message"""
STOP, UNDO, SKIP = ("q", "Q", "\x04"), ("u", "U"), ("s", "S")
ENTER, BACKSPACE = ("\r", "\n"), ("\x7f", "\x08")


def code_all(session: CodingSession, screen: int) -> int:
    """Codes until the sample is complete or the coder stops. Each code is stored at once."""
    out = console()
    try:
        with single_keys(screen):
            _code_each(session, out, screen)
    finally:
        echo()
        echo(_end(session))
    return 0


def _end(session: CodingSession) -> str:
    message = f"{session.progress} coded by {session.coder}"
    if session.next is None:
        return f"{message}. The sample is complete. Results: tidepool code {session.batch_id} --status"
    option = "" if session.coder == coder_name(None) else f" --coder {shlex.quote(session.coder)}"
    return f"{message}. Continue: tidepool code {session.batch_id}{option}"


def _code_each(session: CodingSession, out: Console, screen: int) -> None:
    note: str | None = ""
    while note is not None:
        if (subject := session.subject()) is None:  # the last code can be undone too
            echo_in_place(f"{session.progress} coded, sample complete · u undo · any other key ends")
            if not (key(screen) in UNDO and session.undo()):
                return
            continue
        out.clear()
        show(out, session, subject)
        note = _answer(session, subject, screen, note)


def show(out: Console, session: CodingSession, subject: Subject) -> None:
    out.print(Text(f"{session.progress} coded by {one_line(session.coder)}", style="dim"))
    if subject.secret is not None:
        out.print(Text.assemble(("secret: ", "dim"), (one_line(subject.secret), "bold")))
    for message in subject.quotes:
        out.print()
        style = "" if message.is_coded else "dim"
        out.print(Text(f"{one_line(message.speaker)}:", style="bold" if message.is_coded else "dim"))
        out.print(Text(shortened(message.text, MOST_SHOWN), style=style))
    out.print()
    about = "" if session.codebook.scale is None else f" ({one_line(subject.about)})"
    out.print(Text(f"{shortened(session.codebook.question)}{about}", style="bold"))


def _keys(session: CodingSession) -> str:
    codebook = session.codebook
    if codebook.scale is None:
        codes = "y yes · n no · ? cannot tell"
    elif codebook.typed:
        codes = f"{codebook.scale[0]:g} to {codebook.scale[1]:g} and Enter · ? cannot tell"
    else:
        codes = f"{min(codebook.keys.keys() - {'?'})}–{max(codebook.keys.keys() - {'?'})} · ? cannot tell"
    return f"{codes} · u undo · s skip · q stop"


def _answer(session: CodingSession, subject: Subject, screen: int, note: str) -> str | None:
    """Reads keys until one changes something. Returns a note to show with the next side, or None if the coder stops."""
    codebook, typed = session.codebook, ""
    while True:
        echo_in_place(
            one_line(
                " ".join(filter(None, (_keys(session), f"[{note}]" if note else "", f"> {typed}" if typed else "")))
            )
        )
        pressed = key(screen)
        if pressed is None or pressed in STOP:
            return None
        if pressed in UNDO:
            if session.undo():
                return "undone"
            note = "nothing to undo"
        elif pressed in SKIP:
            session.skip()
            return "skipped"
        elif code := codebook.keys.get(pressed.casefold()):
            session.code(subject, code)
            return ""
        elif codebook.typed and pressed in ENTER:
            if code := codebook.read(typed):
                session.code(subject, code)
                return ""
            note, typed = "invalid rating", ""
        elif codebook.typed and pressed in BACKSPACE:
            typed = typed[:-1]
        elif codebook.typed and pressed and pressed in "0123456789.,-":
            typed, note = (typed + pressed)[:12], ""
        else:
            note = "unknown key"


# -- the command -------------------------------------------------------------------------------------------------------


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH")
    parser.add_argument(
        "--coder", metavar="NAME", help="the name of the coder (your login name); all coders code the same sample"
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="the size of the sample (100); you can enlarge it later"
    )
    parser.add_argument("--redraw", action="store_true", help="draw a new sample; no code is lost")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--status", action="store_true", help="print progress by coder, agreement and corrected rates")
    modes.add_argument("--export", metavar="FILE.csv", type=Path, help="write the sample for coders without Tidepool")
    modes.add_argument("--import", metavar="FILE.csv", type=Path, dest="taken", help="read their codes, all or none")


def run(options: argparse.Namespace) -> int:
    if options.status:
        return _status(options)
    coder = coder_name(options.coder)
    screen = terminal()
    if not options.export and not options.taken and (screen is None or options.json):
        raise UsageError(
            "Coding needs a terminal. Without one, use --export FILE.csv, then --import FILE.csv. --status shows the progress."
        )
    if options.export:
        check_absent(options.export)  # before --redraw changes anything
    session = CodingSession(options.db, options.batch, coder, size=options.sample, redraw=options.redraw)
    if options.export:
        return _export(options, session)
    if options.taken:
        return _import(options, session)

    assert screen is not None
    return code_all(session, screen)


def _export(options: argparse.Namespace, session: CodingSession) -> int:
    count = write_sample(session, options.export)
    words = (
        f"{options.export}: {count:,} sides, {len(session.own_codes):,} of them coded by {session.coder}\n"
        f"Fill in the column `code` ({session.codebook.words}). "
        f"Then run: tidepool code {session.batch_id} --import FILE.csv --coder NAME"
    )
    return reply(options, {"file": str(options.export), "rows": count, "coder": session.coder}, words)


def _import(options: argparse.Namespace, session: CodingSession) -> int:
    counts = read_codes(session, options.taken)
    result = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no codes"
    return reply(options, {"coder": session.coder, **counts}, f"Codes of {session.coder}: {result}")


# -- how far it is -------------------------------------------------------------------------------------------


def _status(options: argparse.Namespace) -> int:
    from tidepool.engine.coding.report import coding_blocks
    from tidepool.engine.results.summary import statistics_of
    from tidepool.tui.drawing.blocks import print_blocks

    with reading(options.db) as connection:
        batch = find_batch(connection, options.batch)
        coding = statistics_of(connection, batch).get("coding", {})
    content = {"batch_id": batch["id"], "coding": coding}
    none_yet = f"Batch {batch['id']} has no codes yet. Start with `tidepool code {batch['id']}`."
    return reply(options, content, (lambda: print_blocks(console(), coding_blocks(content))) if coding else none_yet)
