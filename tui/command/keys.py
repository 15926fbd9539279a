"""Single keys from the terminal, without waiting for Enter."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 64
"""bytes that come at once: a key, an escape sequence, something pasted"""


def terminal() -> int | None:
    """The terminal that keys are read from; None where there is none, on either side."""
    try:
        number = sys.stdin.fileno()
        return number if os.isatty(number) and os.isatty(sys.stdout.fileno()) else None
    except (AttributeError, OSError, ValueError):
        return None


@contextmanager
def single_keys(number: int) -> Iterator[None]:
    """Each key is at hand as soon as it is pressed, and is not shown. Ctrl+C and Ctrl+Z do what they always do; after the
    latter the terminal is taken up again as it was."""
    import signal
    import termios
    import tty

    before = termios.tcgetattr(number)

    def take_up_again(*ignored: object) -> None:
        tty.setcbreak(number)

    usual = signal.signal(signal.SIGCONT, take_up_again)
    tty.setcbreak(number)
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, usual)
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def key(number: int) -> str | None:
    """The next key; arrows and the like are none (""). What is pasted, or comes while nobody looks, is no key either: one
    press is one code. None: the terminal is gone."""
    try:
        said = os.read(number, LONGEST)
    except OSError:
        return None
    if not said:
        return None
    text = said.decode("utf-8", "replace")
    return text if len(text) == 1 and (text.isprintable() or text in "\r\n\x7f\x08\x04") else ""
