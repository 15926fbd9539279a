"""Tunes the garbage collector while a hundred thousand units wait."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


class _State:
    runs = 0
    usual = gc.get_threshold()
    frozen_by_others = False
    """somebody else has frozen objects. Found out once: counting them takes the longer the more there are"""


@contextmanager
def gc_tuned() -> Iterator[None]:
    """A hundred thousand live conversations are not garbage: looking through them again and again costs a third.

    What was there before is frozen as it is: collecting it first would cost a small study more than the study.
    Whoever has frozen objects already keeps them so: there is no unfreezing our part alone.
    """
    if not _State.runs:
        _State.usual = gc.get_threshold()
        _State.frozen_by_others = _State.frozen_by_others or gc.get_freeze_count() > 0
    _State.runs += 1
    if not _State.frozen_by_others:
        gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        _State.runs -= 1
        if not _State.runs:
            gc.set_threshold(*_State.usual)
            if not _State.frozen_by_others:
                gc.unfreeze()
