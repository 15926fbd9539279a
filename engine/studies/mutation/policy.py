"""Policies: the result of a learner, and its file.

A trained policy is a normaliser and a few dense layers with tanh between them, computed with numpy alone: a bandit's has one
layer, PPO's has three (two hidden ones of 64). So evaluating a policy file does not need PyTorch. The normaliser divides by the
root of (a value's own variance + the mean variance), so that a cell that almost never changes is not scaled up to the largest.

The file holds its arrays as safetensors, with a JSON description in its metadata. It is never a pickle, which could run code. An
untrusted file is data: its size is limited, its arrays must be finite numbers of matching shapes, and anything else is an error.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import NotFound, UsageError
from tidepool.engine.registries import OPERATORS
from tidepool.engine.reports.export_request import ExportRequest
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.storage.queries.summary import finding
from tidepool.storage.transfer.formats import finished_together

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
        """Chan's rule for joining two samples: the result equals that of all rows at once."""
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
            raise UsageError(f"the normaliser has no array {missing}") from None
        if count.shape != (1,) or mean.ndim != 1 or mean.shape != squares.shape:
            raise UsageError("the normaliser's arrays have inconsistent shapes")
        if count[0] < 0 or (squares < 0).any():
            raise UsageError("the normaliser's arrays contain a negative count or variance")
        normaliser = cls(len(mean))
        normaliser.count, normaliser.mean, normaliser._squares = int(count[0]), mean.copy(), squares.copy()
        return normaliser


Actions = NDArray[np.intp]


class Policy(Protocol):
    def choose(self, observations: NDArray[np.float32]) -> Actions:
        """The index of the operator for each observation."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantPolicy:
    action: int

    def choose(self, observations: NDArray[np.float32]) -> Actions:
        return np.full(len(observations), self.action, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Layer:
    weights: NDArray[np.float64]
    """outputs × inputs"""
    bias: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainedPolicy:
    normaliser: Normaliser
    layers: Sequence[Layer]

    def preferences(self, observations: NDArray[np.float32]) -> NDArray[np.float64]:
        values = self.normaliser.apply(observations)
        for number, layer in enumerate(self.layers):
            values = values @ layer.weights.T + layer.bias
            if number + 1 < len(self.layers):
                values = np.tanh(values)
        return values

    def choose(self, observations: NDArray[np.float32]) -> Actions:
        best: Actions = np.argmax(self.preferences(observations), axis=1)
        return best


FORMAT = "tidepool-policy"
VERSION = 1
_LARGEST_FILE = 64 * 1024 * 1024
_MOST_LAYERS = 8


@dataclass(frozen=True, slots=True)
class PolicyCard:
    """What a policy was trained on, which determines where it can be used."""

    learner: str
    encoder: str
    observation_size: int
    operators: tuple[str, ...] = OPERATOR_NAMES
    episode_length: int = 5
    reward: str = "similarity"
    seed: int = 42
    env_steps: int = 0
    trained_on: tuple[str, ...] = ()
    """fingerprints of its training queries, which never test it"""


@dataclass(frozen=True, slots=True)
class SavedPolicy:
    card: PolicyCard
    policy: TrainedPolicy


def policy_bytes(saved: SavedPolicy) -> bytes:
    from safetensors.numpy import save

    arrays = {f"normaliser.{name}": array for name, array in saved.policy.normaliser.arrays().items()}
    for number, layer in enumerate(saved.policy.layers):
        arrays[f"layer{number}.weights"] = np.ascontiguousarray(layer.weights, dtype=np.float64)
        arrays[f"layer{number}.bias"] = np.ascontiguousarray(layer.bias, dtype=np.float64)
    described = {"format": FORMAT, "version": VERSION, **asdict(saved.card)}
    return save(arrays, metadata={FORMAT: json.dumps(described)})


def load_policy(path: Path) -> SavedPolicy:
    try:
        check_file(path, _LARGEST_FILE)
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot read the policy ({error.strerror or error}). mutation.policy must name a file "
            "written by `tidepool export BATCH --format policy`."
        ) from None
    return read_policy(content, str(path))


def read_policy(content: bytes, source: str) -> SavedPolicy:
    try:
        return _policy(content)
    except UsageError as error:
        raise UsageError(f"{source}: not a usable policy file: {error}.") from None


def _policy(content: bytes) -> SavedPolicy:
    described, arrays = _open_archive(content)
    if described.get("version") != VERSION:
        raise UsageError(
            f"it has version {described.get('version')!r} of the format, but this Tidepool reads version {VERSION}"
        )
    try:
        card = TypeAdapter(PolicyCard).validate_python(described)
    except ValidationError as error:
        raise UsageError(f"its description is invalid at {error.errors()[0]['loc'][0]!r}") from None
    if strange := [name for name in card.operators if name not in OPERATORS]:
        raise UsageError(f"this Tidepool does not know its operator {strange[0]!r}. Known are {', '.join(OPERATORS)}")
    normaliser = Normaliser.from_arrays(
        {name.removeprefix("normaliser."): array for name, array in arrays.items() if name.startswith("normaliser.")}
    )
    layers = _layers(arrays)
    widths = [len(normaliser.mean), *(len(layer.bias) for layer in layers)]
    inputs = [layer.weights.shape[1] for layer in layers]
    if widths[0] != card.observation_size or inputs != widths[:-1] or widths[-1] != len(card.operators):
        raise UsageError("its layers, observations and operators have inconsistent sizes")
    return SavedPolicy(card, TrainedPolicy(normaliser, layers))


def _open_archive(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(content)
        length = int.from_bytes(content[:8], "little")
        described = json.loads(json.loads(content[8 : 8 + length])["__metadata__"][FORMAT])
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise UsageError(
            "it is not safetensors with a Tidepool description (pickles and checkpoints are never read)"
        ) from None
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise UsageError(f"its array {name} must contain finite 64-bit numbers")
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise UsageError("its description is not that of a policy")
    return described, arrays


def _layers(arrays: dict[str, NDArray[np.float64]]) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    while f"layer{len(layers)}.weights" in arrays and len(layers) < _MOST_LAYERS:
        name = f"layer{len(layers)}"
        weights, bias = arrays[f"{name}.weights"], arrays.get(f"{name}.bias")
        if bias is None or weights.ndim != 2 or bias.shape != weights.shape[:1]:
            raise UsageError(f"{name}'s weights and bias have inconsistent shapes")
        layers.append(Layer(weights, bias))
    if not layers:
        raise UsageError("it has no layers")
    return tuple(layers)


def export_policy(order: ExportRequest) -> list[Path]:
    batch = order.batch
    policy = finding(order.connection, batch["number"], "policy")
    if policy is None:
        raise NotFound(
            f"Batch {batch['id']} has no trained policy. Only a batch that finished training with the learner "
            "bandit or ppo has one. To continue a stopped batch, use `tidepool resume BATCH`."
        )
    try:
        content = base64.b64decode(policy["safetensors"])
    except (ValueError, TypeError, KeyError):
        raise NotFound(f"The policy of batch {batch['id']} cannot be read: the database was changed.") from None
    read_policy(content, f"batch {batch['id']}")
    path = order.file(".safetensors")
    path = path if path.suffix == ".safetensors" else path.with_name(f"{path.name}.safetensors")
    with finished_together(path.parent) as scratch:
        (scratch / path.name).write_bytes(content)
    return [path]
