"""Means of many groups at once, with clustered variances.

Values that share a conversation, a game or a scenario are correlated, so the number of these units is what counts. The
variance of a group's mean is computed from the sums of deviations in each of its clusters. It has one degree of freedom less
than there are clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as numpy
else:

    class _Numpy:
        """Loads numpy when it is first used, not when the program starts."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            self.__dict__[name] = value = getattr(numpy, name)
            return value

    numpy = _Numpy()

Array = Any
"""a numpy array"""


def numbered(labels: Array) -> tuple[Array, Array]:
    """The distinct labels in order, and the index of each label among them."""
    return numpy.unique(labels, return_inverse=True)


def counted(labels: Array) -> tuple[Array, Array]:
    """The distinct labels in order, and how often each occurs."""
    return numpy.unique(labels, return_counts=True)


def distinct_number(labels: Array) -> int:
    return len(numpy.unique(labels))


def places_in(places: dict[Any, int], labels: Sequence[Any]) -> Array:
    """The number of each label; a new label gets the next number and is added to `places`."""
    for label in dict.fromkeys(labels):
        places.setdefault(label, len(places))
    return numpy.fromiter(map(places.__getitem__, labels), dtype=int, count=len(labels))


def pair_codes(first: Array, second: Array) -> Array:
    """One whole number for each pair of labels."""
    return first.astype("int64") * (int(second.max(initial=0)) + 1) + second


@dataclass(frozen=True, slots=True)
class Spread:
    """By group: its mean, the variance of that mean, and its degrees of freedom, which are 0 for a single cluster."""

    mean: Array
    variance: Array
    freedom: Array
    clusters: Array
    """of the clustering with the fewest clusters"""
    varied: Array
    """clusters that hold a value other than the commonest of the group"""
    count: Array


@dataclass(frozen=True, slots=True)
class _Clustering:
    """A row's cluster within its group, each cluster's group, and how many clusters a group has."""

    cluster: Array
    owner: Array
    number: Array


class Grouped:
    """Rows by group. `clusterings` has at most two cluster labels per row. Without them, each row is its own cluster."""

    def __init__(self, groups: Array, size: int, clusterings: Sequence[Array] = ()) -> None:
        self._groups, self._size = groups, size
        self._count = numpy.bincount(groups, minlength=size)
        clusterings = clusterings or [numpy.arange(len(groups))]
        crossed = [pair_codes(*clusterings)] if len(clusterings) == 2 else []
        self._clusterings = [self._clustering(labels) for labels in (*clusterings, *crossed)]

    def _clustering(self, labels: Array) -> _Clustering:
        codes, cluster = numbered(pair_codes(self._groups, labels))
        owner = numpy.zeros(len(codes), dtype=int)
        owner[cluster] = self._groups
        return _Clustering(cluster, owner, numpy.bincount(owner, minlength=self._size))

    def spread(self, values: Array, weights: Array | None = None) -> Spread:
        total = numpy.bincount(self._groups, weights, minlength=self._size).astype(float)
        weighed = values if weights is None else weights * values
        with numpy.errstate(invalid="ignore", divide="ignore"):
            mean = numpy.bincount(self._groups, weighed, minlength=self._size) / total
            shares = (1.0 if weights is None else weights) / total[self._groups]
            rest = shares * (values - mean[self._groups])
            variances = [self._variance(clustering, rest) for clustering in self._clusterings]
        clusters = numpy.minimum.reduce([clustering.number for clustering in self._clusterings])
        variance = variances[0]
        if len(variances) > 1:
            first, second, both = variances
            variance = numpy.maximum.reduce([first + second - both, first, second])
        return Spread(mean, variance, numpy.maximum(clusters - 1, 0), clusters, self._varied(values), self._count)

    def _variance(self, clustering: _Clustering, rest: Array) -> Array:
        sums = numpy.bincount(clustering.cluster, rest, minlength=len(clustering.owner))
        squares = numpy.bincount(clustering.owner, sums * sums, minlength=self._size)
        return squares * clustering.number / (clustering.number - 1)

    def _varied(self, values: Array) -> Array:
        """By group, how many clusters hold a value other than the commonest, for the clustering with the fewest."""
        distinct, value = numbered(values)
        cells, times = counted(self._groups * len(distinct) + value)
        order = numpy.argsort(times, kind="stable")
        commonest = numpy.zeros(self._size, dtype=int)
        commonest[cells[order] // len(distinct)] = cells[order] % len(distinct)
        differs = value != commonest[self._groups]
        counts = []
        for clustering in self._clusterings:
            affected = numpy.bincount(clustering.cluster, differs, minlength=len(clustering.owner)) > 0
            counts.append(numpy.bincount(clustering.owner, affected, minlength=self._size))
        return numpy.minimum.reduce(counts)


def spread_of(values: Array, clusterings: Sequence[Array] = (), weights: Array | None = None) -> Spread:
    """The spread of values that form one group."""
    return Grouped(numpy.zeros(len(values), dtype=int), 1, clusterings).spread(values, weights)
