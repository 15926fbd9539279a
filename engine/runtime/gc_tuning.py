"""The garbage collector while a study runs."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_usual_thresholds: list[tuple[int, int, int]] = []
"""of the runs under way: the last one that ends restores the first"""


@contextmanager
def gc_tuned() -> Iterator[None]:
    """A hundred thousand live conversations are not garbage: looking through them again and again costs a third.

    What was there before is frozen as it is: collecting it first would cost a small study more than the study.
    """
    _usual_thresholds.append(gc.get_threshold())
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*_usual_thresholds.pop())
        if not _usual_thresholds:
            gc.unfreeze()
