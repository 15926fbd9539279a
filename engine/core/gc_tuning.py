"""The garbage collector, while a hundred thousand stories wait."""

import gc


class CalmGarbageCollector:
    """A hundred thousand live conversations are not garbage: looking through them again and again costs a third.

    What was there before is set aside as it is: collecting it first would cost a small study more than the study.
    """

    runs = 0
    usual = gc.get_threshold()

    def __enter__(self) -> None:
        if not type(self).runs:
            type(self).usual = gc.get_threshold()
        type(self).runs += 1
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)

    def __exit__(self, *exception: object) -> None:
        type(self).runs -= 1
        if not type(self).runs:
            gc.set_threshold(*self.usual)
            gc.unfreeze()
