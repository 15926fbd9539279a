"""Labels as places among those that occur: what numpy.unique tells, without sorting where labels are dense.

Codes of agents, talks, pairs and strata are small whole numbers, and statistics ask for them dozens of times: marking
which occur is some ten times faster than sorting a million of them.
"""

from typing import Any

Array = Any
"""a numpy array: numpy loads with the first figure, not with the program"""
_ROOM, _FEW, _MOST = 32, 4_096, 2**24
"""numbers between the smallest and the largest label, for each label there is, and in all: with more, sorting takes less"""


def numbered(labels: Array) -> tuple[Array, Array]:
    """The distinct labels in order, and each one's place among them."""
    import numpy

    if (marks := _marked(labels)) is None:
        return numpy.unique(labels, return_inverse=True)
    lowest, offsets, present = marks
    if present.all():
        return numpy.arange(lowest, lowest + len(present)), offsets.astype(numpy.int64, copy=False)
    places = numpy.cumsum(present, dtype=numpy.int32)
    places -= 1
    return numpy.flatnonzero(present) + lowest, places[offsets].astype(numpy.int64)


def counted(labels: Array) -> tuple[Array, Array]:
    """The distinct labels in order, and how often each occurs."""
    import numpy

    if (marks := _marked(labels)) is None:
        return numpy.unique(labels, return_counts=True)
    lowest, offsets, present = marks
    return numpy.flatnonzero(present) + lowest, numpy.bincount(offsets)[present]


def distinct_number(labels: Array) -> int:
    import numpy

    if not len(labels):
        return 0
    marks = _marked(labels)
    return len(numpy.unique(labels)) if marks is None else int(numpy.count_nonzero(marks[2]))


def _marked(labels: Array) -> tuple[int, Array, Array] | None:
    """(the smallest, how far each lies above it, which of the numbers from there on occur); None where that is too wide."""
    import numpy

    if not len(labels) or labels.dtype.kind not in "iuf":
        return None
    lowest, highest = labels.min(), labels.max()
    if labels.dtype.kind == "f" and not max(-lowest, highest) <= _MOST:
        return None
    if not highest - lowest < min(_ROOM * len(labels) + _FEW, _MOST):
        return None
    if labels.dtype.kind == "f":
        # points, or no and yes as values, are whole numbers as a rule
        if not (numpy.floor(labels) == labels).all():
            return None
        labels = labels.astype(numpy.int64)
    lowest, highest = int(lowest), int(highest)
    offsets = labels - lowest if lowest else labels
    present = numpy.zeros(highest - lowest + 1, dtype=bool)
    present[offsets] = True
    return lowest, offsets, present
