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

            self.__dict__[name] = value = getattr(numpy, name)
            return value

    numpy = _Numpy()

# -- labels ------------------------------------------------------------------------------------------------------------


Array = Any
"""a numpy array"""
_WIDTH_PER_LABEL, _FEW, _MOST = 32, 4_096, 2**24
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
    if not highest - lowest < min(_WIDTH_PER_LABEL * len(labels) + _FEW, _MOST):
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
class _Clustering:
    """Who belongs together: a row's cluster within its group, each cluster's group, and how many a group has."""

    cluster: Array
    owner: Array
    number: Array

    def sums(self, values: Array) -> Array:
        """By cluster."""
        return numpy.bincount(self.cluster, values, minlength=len(self.owner))


class Grouped:
    """Rows by group; `clusterings` say by what they cluster (two ways at most), `levels` the strata, finest first.

    `loose` is the share of the schedule that is missing, by chance: to that part strata are no design.
    """

    def __init__(
        self, groups: Array, size: int, clusterings: Sequence[Array], levels: Sequence[Array] = (), loose: float = 0.0
    ) -> None:
        self._groups, self._size, self._loose = groups, size, loose
        self._count = numpy.bincount(groups, minlength=size)
        crossed = [pair_codes(*clusterings)] if len(clusterings) == 2 else []
        self._clusterings = [self._clustering(labels) for labels in (*clusterings, *crossed)]
        self._labels = levels
        self._strata: list[tuple[Array, list[Array]]] = []

    def _clustering(self, labels: Array) -> _Clustering:
        codes, cluster = numbered(pair_codes(self._groups, labels))
        owner = numpy.zeros(len(codes), dtype=int)
        owner[cluster] = self._groups
        return _Clustering(cluster, owner, numpy.bincount(owner, minlength=self._size))

    def _levels(self) -> Iterator[tuple[Array, list[Array], bool]]:
        """Strata, what they take, and whether they are the last: the groups themselves. Coarser ones are seldom asked for."""
        for index, labels in enumerate(self._labels):
            if index == len(self._strata):
                self._strata.append(self._level(labels))
            yield *self._strata[index], False
        yield self._groups, [numpy.ones(self._size)] * len(self._clusterings), True

    def _level(self, labels: Array) -> tuple[Array, list[Array]]:
        """Each row's stratum within its group, and the degrees of freedom that the strata take from each way."""
        codes, stratum = numbered(pair_codes(self._groups, labels))
        return stratum, [self._lost(stratum, len(codes), clustering) for clustering in self._clusterings]

    def _lost(self, stratum: Array, strata: int, clustering: _Clustering) -> Array:
        """By group: what its clusters lose of their own spread to the means of the strata that they helped to make.

        One degree where every cluster is made alike of all strata, one for each stratum where none has more than one.
        """
        cells, cell = numbered(clustering.cluster * strata + stratum)
        cluster, stratum_of = numpy.divmod(cells, strata)
        del cells
        weight = numpy.bincount(cell, 1 / self._count[self._groups])
        del cell
        of_cluster, of_stratum = numpy.bincount(cluster, weight), numpy.bincount(stratum_of, weight)
        group = clustering.owner[cluster]

        def by_group(values: Array, groups: Array) -> Array:
            return numpy.bincount(groups, values, minlength=self._size)

        total = by_group(of_cluster**2, clustering.owner)
        shared = by_group(of_cluster[cluster] * weight**2 / of_stratum[stratum_of], group)
        number = numpy.bincount(cluster, minlength=len(clustering.owner))
        if int((number.astype(float) ** 2).sum()) > _MOST_PAIRS:
            remaining = numpy.maximum(total - 2 * shared, 0)  # what strata overlap is left out: a little too cautious
        else:
            code, meet = _meetings(number, stratum_of, weight, strata)
            first, second = numpy.divmod(code, strata)
            owner = numpy.zeros(strata, dtype=int)
            owner[stratum_of] = group
            overlap = by_group(meet**2 / (of_stratum[first] * of_stratum[second]), owner[first])
            remaining = numpy.maximum(total - 2 * shared + overlap, 0)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            return clustering.number * (1 - numpy.where(total > 0, remaining / total, 0))

    def spread(self, values: Array, weights: Array | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> Spread:
        weighed = values if weights is None else weights * values
        total = numpy.bincount(self._groups, weights, minlength=self._size).astype(float)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            mean = numpy.bincount(self._groups, weighed, minlength=self._size) / total
            shares = (1.0 if weights is None else weights) / total[self._groups]
            del weighed
            variance, freedom = numpy.full(self._size, numpy.nan), numpy.zeros(self._size)
            for stratum, lost, last in self._levels():
                estimate, free = self._variance(values, shares, stratum, lost)
                enough = [2 * loss <= axis.number for loss, axis in zip(lost, self._clusterings, strict=True)]
                usable = numpy.isnan(variance) & (free > 0) & (last | numpy.logical_and.reduce(enough))
                variance[usable], freedom[usable] = estimate[usable], free[usable]
                if not self._loose and not numpy.isnan(variance).any():
                    break
            if self._loose:
                variance += self._loose * numpy.maximum(estimate - variance, 0)
        clusters = numpy.minimum.reduce([axis.number for axis in self._clusterings])
        return Spread(mean, variance, freedom, clusters, self._varied(values), self._count)

    def _varied(self, values: Array) -> Array:
        """By group, how many clusters hold a value off its commonest: of the way with fewest."""
        distinct, value = numbered(values)
        cells, times = counted(self._groups * len(distinct) + value)
        order = numpy.argsort(times, kind="stable")
        commonest = numpy.zeros(self._size, dtype=int)
        commonest[cells[order] // len(distinct)] = cells[order] % len(distinct)
        differs = value != commonest[self._groups]
        counts = []
        for clustering in self._clusterings:
            affected = clustering.sums(differs) > 0
            counts.append(numpy.bincount(clustering.owner, affected, minlength=self._size))
        return numpy.minimum.reduce(counts)

    def _variance(self, values: Array, shares: Array, stratum: Array, lost: Sequence[Array]) -> tuple[Array, Array]:
        fitted = numpy.bincount(stratum, shares * values) / numpy.bincount(stratum, shares)
        rest = shares * (values - fitted[stratum])
        variances, free = [], []
        for clustering, loss in zip(self._clusterings, lost, strict=True):
            sums = clustering.sums(rest)
            squares = numpy.bincount(clustering.owner, sums * sums, minlength=self._size)
            variances.append(squares * clustering.number / (clustering.number - loss))
            free.append(clustering.number - loss)
        if len(variances) == 1:
            return variances[0], free[0]
        first, second, both = variances
        return numpy.maximum.reduce([first + second - both, first, second]), numpy.minimum(free[0], free[1])


def _meetings(number: Array, stratum: Array, weight: Array, strata: int) -> tuple[Array, Array]:
    """Which two strata meet in clusters that have so many cells each, as one number, and with what weight in all."""
    pairs = number**2
    numpy.cumsum(pairs, out=pairs)
    chunks: list[tuple[Array, Array]] = []
    first, before = 0, 0
    while not chunks or first < len(number):
        last = max(first + 1, int(numpy.searchsorted(pairs, (pairs[first - 1] if first else 0) + _PAIRS_AT_ONCE)))
        left, right = _pairs(number[first:last])
        left, right = left + before, right + before
        code, place = numbered(stratum[left] * strata + stratum[right])
        chunks.append((code, numpy.bincount(place, weight[left] * weight[right])))
        before += int(number[first:last].sum())
        first = last
    if len(chunks) == 1:
        return chunks[0]
    code, place = numbered(numpy.concatenate([code for code, _ in chunks]))
    return code, numpy.bincount(place, numpy.concatenate([meet for _, meet in chunks]))


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
