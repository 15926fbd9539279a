"""Running mean and variance of observations, updated with every wave and saved with the policy.

Values are divided by the root of (their own variance + the mean variance): a cell that almost never moves,
such as that of a rare word in a hashed embedding, is not blown up into the loudest one.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.errors import UsageError

Array = NDArray[np.float64]
_LIMIT = 10.0
_TINY = 1e-8


class Normaliser:
    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: Array = np.zeros(size)
        self._squares: Array = np.zeros(size)

    @property
    def variance(self) -> Array:
        return self._squares / max(self.count, 1)

    def update(self, observations: NDArray[np.floating]) -> None:
        """Chan's rule for joining two samples: the outcome is that of all rows seen at once."""
        rows = len(observations)
        if rows == 0:
            return
        batch = observations.astype(np.float64)
        mean = batch.mean(axis=0)
        shift = mean - self.mean
        total = self.count + rows
        self._squares += ((batch - mean) ** 2).sum(axis=0) + shift**2 * (self.count * rows / total)
        self.mean = self.mean + shift * (rows / total)
        self.count = total

    def apply(self, observations: NDArray[np.floating]) -> Array:
        variance = self.variance
        scale = np.sqrt(variance + variance.mean() + _TINY)
        normal: Array = np.clip((observations - self.mean) / scale, -_LIMIT, _LIMIT)
        return normal

    def arrays(self) -> dict[str, Array]:
        return {
            "count": np.array([float(self.count)]),
            "mean": self.mean.copy(),
            "squares": self._squares.copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.floating]]) -> "Normaliser":
        try:
            count, mean, squares = (np.asarray(arrays[name], dtype=np.float64) for name in ("count", "mean", "squares"))
        except KeyError as missing:
            raise UsageError(f"the normaliser's array {missing} is missing") from None
        if count.shape != (1,) or mean.ndim != 1 or mean.shape != squares.shape:
            raise UsageError("the normaliser's arrays do not fit together")
        if count[0] < 0 or (squares < 0).any():
            raise UsageError("the normaliser's arrays hold a negative count or variance")
        normaliser = cls(len(mean))
        normaliser.count, normaliser.mean, normaliser._squares = int(count[0]), mean.copy(), squares.copy()
        return normaliser
