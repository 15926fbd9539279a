"""The garbage collector, while a hundred thousand stories wait."""

import gc


class CalmGarbageCollector:
    """A hundred thousand live conversations are not garbage: looking through them again and again costs a third.

    What was there before is set aside as it is: collecting it first would cost a small study more than the study.
    Whoever has set things aside already keeps them so: there is no taking back our part alone.
    """

    runs = 0
    usual = gc.get_threshold()
    theirs = False
    """somebody else has set things aside. Told once: to count them takes the longer the more there are"""

    def __enter__(self) -> None:
        calm = type(self)
        if not calm.runs:
            calm.usual = gc.get_threshold()
            calm.theirs = calm.theirs or gc.get_freeze_count() > 0
        calm.runs += 1
        if not calm.theirs:
            gc.freeze()
        gc.set_threshold(100_000, 50, 100)

    def __exit__(self, *exception: object) -> None:
        calm = type(self)
        calm.runs -= 1
        if not calm.runs:
            gc.set_threshold(*calm.usual)
            if not calm.theirs:
                gc.unfreeze()
