"""Means of many groups at once, with the variance that their clusters give them.

Values that share a conversation, a game or a scenario resemble each other, so what counts is the number of those: a group's
variance comes from what is left in each of its clusters. It is measured from the means of strata, such as the opponents
that a schedule deals to everybody: that opponents differ by design is no uncertainty. Strata are given finest first, and a
group takes the finest that leave it half of its clusters as degrees of freedom.

Labels are numbered without sorting where they are dense: some ten times faster than numpy.unique on a million codes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as numpy
else:

    class _Numpy:
        """Loads with the first figure, not with the program."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            self.__dict__[name] = found = getattr(numpy, name)
            return found

    numpy = _Numpy()

# -- labels ------------------------------------------------------------------------------------------------------------


Array = Any
"""a numpy array"""
_ROOM, _FEW, _MOST = 32, 4_096, 2**24
"""numbers between the smallest and the largest label, for each label there is, and in all: with more, sorting takes less"""


def numbered(labels: Array) -> tuple[Array, Array]:
    """The distinct labels in order, and each one's place among them."""
    if (marks := _marked(labels)) is None:
        return numpy.unique(labels, return_inverse=True)
    lowest, offsets, present = marks
    if present.all():
        return numpy.arange(lowest, lowest + len(present)), offsets.astype(numpy.int64, copy=False)
    places = numpy.cumsum(present, dtype=numpy.int32)
    places -= 1
    return numpy.flatnonzero(present) + lowest, places[offsets].astype(numpy.int64)


def places_in(places: dict[Any, int], labels: Sequence[Any]) -> Array:
    """The number of each label; a new one gets the next, and is kept in `places`."""
    for label in dict.fromkeys(labels):
        places.setdefault(label, len(places))
    return numpy.fromiter(map(places.__getitem__, labels), dtype=int, count=len(labels))


def counted(labels: Array) -> tuple[Array, Array]:
    """The distinct labels in order, and how often each occurs."""
    if (marks := _marked(labels)) is None:
        return numpy.unique(labels, return_counts=True)
    lowest, offsets, present = marks
    return numpy.flatnonzero(present) + lowest, numpy.bincount(offsets)[present]


def distinct_number(labels: Array) -> int:
    if not len(labels):
        return 0
    marks = _marked(labels)
    return len(numpy.unique(labels)) if marks is None else int(numpy.count_nonzero(marks[2]))


def _marked(labels: Array) -> tuple[int, Array, Array] | None:
    """(the smallest, how far each lies above it, which of the numbers from there on occur); None where that is too wide."""
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


# -- groups ------------------------------------------------------------------------------------------------------------


_MOST_PAIRS, _PAIRS_AT_ONCE = 5_000_000, 500_000
"""of cells in one cluster: with more their meetings are left out, and so many are in memory together"""


@dataclass(frozen=True, slots=True)
class Spread:
    """By group: its mean, the variance of that mean and its degrees of freedom, which are 0 where one cluster is all."""

    mean: Array
    variance: Array
    freedom: Array
    clusters: Array
    """of the way with fewest"""
    varied: Array
    """clusters that hold any value off the group's commonest"""
    count: Array


@dataclass(frozen=True, slots=True)
class _Way:
    """Who belongs together: a row's cluster within its group, each cluster's group, and how many a group has."""

    cluster: Array
    owner: Array
    number: Array

    def sums(self, values: Array) -> Array:
        """By cluster."""
        return numpy.bincount(self.cluster, values, minlength=len(self.owner))


class Grouped:
    """Rows by group; `ways` say by what they cluster (two ways at most), `levels` the strata, finest first.

    `loose` is the share of the schedule that is missing, by chance: to that part strata are no design.
    """

    def __init__(
        self, groups: Array, size: int, ways: Sequence[Array], levels: Sequence[Array] = (), loose: float = 0.0
    ) -> None:
        self._groups, self._size, self._loose = groups, size, loose
        self._count = numpy.bincount(groups, minlength=size)
        crossed = [pair_codes(*ways)] if len(ways) == 2 else []
        self._ways = [self._way(labels) for labels in (*ways, *crossed)]
        self._labels = levels
        self._known: list[tuple[Array, list[Array]]] = []

    def _way(self, labels: Array) -> _Way:
        found, cluster = numbered(pair_codes(self._groups, labels))
        owner = numpy.zeros(len(found), dtype=int)
        owner[cluster] = self._groups
        return _Way(cluster, owner, numpy.bincount(owner, minlength=self._size))

    def _levels(self) -> Iterator[tuple[Array, list[Array], bool]]:
        """Strata, what they take, and whether they are the last: the groups themselves. Coarser ones are seldom asked for."""
        for place, labels in enumerate(self._labels):
            if place == len(self._known):
                self._known.append(self._level(labels))
            yield *self._known[place], False
        yield self._groups, [numpy.ones(self._size)] * len(self._ways), True

    def _level(self, labels: Array) -> tuple[Array, list[Array]]:
        """Each row's stratum within its group, and the degrees of freedom that the strata take from each way."""
        found, stratum = numbered(pair_codes(self._groups, labels))
        return stratum, [self._lost(stratum, len(found), way) for way in self._ways]

    def _lost(self, stratum: Array, strata: int, way: _Way) -> Array:
        """By group: what its clusters lose of their own spread to the means of the strata that they helped to make.

        One degree where every cluster is made alike of all strata, one for each stratum where none has more than one.
        """
        cells, cell = numbered(way.cluster * strata + stratum)
        cluster, own = numpy.divmod(cells, strata)
        del cells
        weight = numpy.bincount(cell, 1 / self._count[self._groups])
        del cell
        of_cluster, of_stratum = numpy.bincount(cluster, weight), numpy.bincount(own, weight)
        group = way.owner[cluster]

        def by_group(values: Array, groups: Array) -> Array:
            return numpy.bincount(groups, values, minlength=self._size)

        whole = by_group(of_cluster**2, way.owner)
        shared = by_group(of_cluster[cluster] * weight**2 / of_stratum[own], group)
        number = numpy.bincount(cluster, minlength=len(way.owner))
        if int((number.astype(float) ** 2).sum()) > _MOST_PAIRS:
            kept = numpy.maximum(whole - 2 * shared, 0)  # what strata overlap is left out: a little too cautious
        else:
            code, meet = _meetings(number, own, weight, strata)
            one, other = numpy.divmod(code, strata)
            owner = numpy.zeros(strata, dtype=int)
            owner[own] = group
            overlap = by_group(meet**2 / (of_stratum[one] * of_stratum[other]), owner[one])
            kept = numpy.maximum(whole - 2 * shared + overlap, 0)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            return way.number * (1 - numpy.where(whole > 0, kept / whole, 0))

    def spread(self, values: Array, weights: Array | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> Spread:
        weighed = values if weights is None else weights * values
        total = numpy.bincount(self._groups, weights, minlength=self._size).astype(float)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            mean = numpy.bincount(self._groups, weighed, minlength=self._size) / total
            shares = (1.0 if weights is None else weights) / total[self._groups]
            del weighed
            variance, freedom = numpy.full(self._size, numpy.nan), numpy.zeros(self._size)
            for stratum, lost, last in self._levels():
                found, left = self._variance(values, shares, stratum, lost)
                enough = [2 * gone <= way.number for gone, way in zip(lost, self._ways, strict=True)]
                taken = numpy.isnan(variance) & (left > 0) & (last | numpy.logical_and.reduce(enough))
                variance[taken], freedom[taken] = found[taken], left[taken]
                if not self._loose and not numpy.isnan(variance).any():
                    break
            if self._loose:
                variance += self._loose * numpy.maximum(found - variance, 0)
        clusters = numpy.minimum.reduce([way.number for way in self._ways])
        return Spread(mean, variance, freedom, clusters, self._varied(values), self._count)

    def _varied(self, values: Array) -> Array:
        """By group, how many clusters hold a value off its commonest: of the way with fewest."""
        distinct, value = numbered(values)
        cells, times = counted(self._groups * len(distinct) + value)
        order = numpy.argsort(times, kind="stable")
        commonest = numpy.zeros(self._size, dtype=int)
        commonest[cells[order] // len(distinct)] = cells[order] % len(distinct)
        off = value != commonest[self._groups]
        found = []
        for way in self._ways:
            held = way.sums(off) > 0
            found.append(numpy.bincount(way.owner, held, minlength=self._size))
        return numpy.minimum.reduce(found)

    def _variance(self, values: Array, shares: Array, stratum: Array, lost: Sequence[Array]) -> tuple[Array, Array]:
        fitted = numpy.bincount(stratum, shares * values) / numpy.bincount(stratum, shares)
        rest = shares * (values - fitted[stratum])
        found, left = [], []
        for way, gone in zip(self._ways, lost, strict=True):
            sums = way.sums(rest)
            squares = numpy.bincount(way.owner, sums * sums, minlength=self._size)
            found.append(squares * way.number / (way.number - gone))
            left.append(way.number - gone)
        if len(found) == 1:
            return found[0], left[0]
        first, second, both = found
        return numpy.maximum.reduce([first + second - both, first, second]), numpy.minimum(left[0], left[1])


def _meetings(number: Array, own: Array, weight: Array, strata: int) -> tuple[Array, Array]:
    """Which two strata meet in clusters that have so many cells each, as one number, and with what weight in all."""
    pairs = number**2
    numpy.cumsum(pairs, out=pairs)
    parts: list[tuple[Array, Array]] = []
    first, before = 0, 0
    while not parts or first < len(number):
        last = max(first + 1, int(numpy.searchsorted(pairs, (pairs[first - 1] if first else 0) + _PAIRS_AT_ONCE)))
        left, right = _pairs(number[first:last])
        left, right = left + before, right + before
        code, place = numbered(own[left] * strata + own[right])
        parts.append((code, numpy.bincount(place, weight[left] * weight[right])))
        before += int(number[first:last].sum())
        first = last
    if len(parts) == 1:
        return parts[0]
    code, place = numbered(numpy.concatenate([code for code, _ in parts]))
    return code, numpy.bincount(place, numpy.concatenate([meet for _, meet in parts]))


def _pairs(number: Array) -> tuple[Array, Array]:
    """Every two cells of one cluster, where cells stand cluster by cluster and each has so many."""
    starts = numpy.cumsum(number) - number
    times = numpy.repeat(number, number)
    left = numpy.repeat(numpy.arange(number.sum()), times)
    offset = numpy.arange(len(left)) - numpy.repeat(numpy.cumsum(times) - times, times)
    return left, numpy.repeat(starts, number**2) + offset


def pair_codes(first: Array, second: Array) -> Array:
    """One whole number for each two that occur together."""
    return first.astype("int64") * (int(second.max(initial=0)) + 1) + second
