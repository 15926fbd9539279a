"""A trained policy as a file: arrays as safetensors, and what they are as JSON, inside the file and readable
beside it.

Never a pickle, which would run a stranger's code. A file from a stranger is data: it is bounded in size, its
arrays must be finite numbers that fit together, and it is refused with a clear word otherwise.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.engine.registries import OPERATORS
from tidepool.engine.studies.mutation.learners.normaliser import Normaliser
from tidepool.engine.studies.mutation.learners.policy import Layer, TrainedPolicy
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES

FORMAT = "tidepool-policy"
VERSION = 1
_LARGEST_FILE = 64 * 1024 * 1024
_MOST_LAYERS = 8


@dataclass(frozen=True, slots=True)
class PolicyCard:
    """What a policy was trained on, and so what it can be used with."""

    learner: str
    encoder: str
    observation_size: int
    operators: tuple[str, ...] = OPERATOR_NAMES
    episode_length: int = 5
    reward: str = "similarity"
    seed: int = 42
    env_steps: int = 0
    trained_on: tuple[str, ...] = ()
    """fingerprints of the queries it learnt from: it is never tested on them"""


@dataclass(frozen=True, slots=True)
class SavedPolicy:
    card: PolicyCard
    policy: TrainedPolicy


def policy_paths(path: Path) -> tuple[Path, Path]:
    """PATH with the ending .safetensors, and with .json for its description beside it."""
    stem = path.with_suffix("") if path.suffix in (".safetensors", ".json") else path
    return stem.with_name(f"{stem.name}.safetensors"), stem.with_name(f"{stem.name}.json")


def policy_description(card: PolicyCard) -> str:
    return json.dumps(_described(card), indent=2) + "\n"


def policy_bytes(saved: SavedPolicy) -> bytes:
    from safetensors.numpy import save

    arrays = {f"normaliser.{name}": array for name, array in saved.policy.normaliser.arrays().items()}
    for number, layer in enumerate(saved.policy.layers):
        arrays[f"layer{number}.weights"] = np.ascontiguousarray(layer.weights, dtype=np.float64)
        arrays[f"layer{number}.bias"] = np.ascontiguousarray(layer.bias, dtype=np.float64)
    return save(arrays, metadata={FORMAT: json.dumps(_described(saved.card))})


def _described(card: PolicyCard) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, **asdict(card)}


def load_policy(path: Path) -> SavedPolicy:
    """From the .safetensors file, or from the .json beside it."""
    arrays = policy_paths(path)[0] if path.suffix == ".json" else path
    try:
        check_file(arrays, _LARGEST_FILE)
        content = arrays.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{arrays if path.exists() else path}: cannot read the policy ({error.strerror or error}). mutation.policy names a file "
            "written by `tidepool export BATCH --format policy`."
        ) from None
    return read_policy(content, str(arrays))


def read_policy(content: bytes, source: str) -> SavedPolicy:
    try:
        return _policy(content)
    except UsageError as error:
        raise UsageError(f"{source}: not a usable policy file: {error}.") from None


def _policy(content: bytes) -> SavedPolicy:
    metadata, arrays = _opened(content)
    card = _card(metadata)
    normaliser = Normaliser.from_arrays(
        {name.removeprefix("normaliser."): array for name, array in arrays.items() if name.startswith("normaliser.")}
    )
    layers = _layers(arrays)
    _check_fit(card, normaliser, layers)
    return SavedPolicy(card, TrainedPolicy(normaliser, layers))


def _opened(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        card = json.loads(header["__metadata__"][FORMAT])
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise UsageError(
            "it is not safetensors with a Tidepool description (pickles and checkpoints are never read)"
        ) from None
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise UsageError(f"its array {name} is not of finite 64-bit numbers")
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise UsageError("its description is not that of a policy")
    if card.get("version") != VERSION:
        raise UsageError(f"it has version {card.get('version')!r} of the format; this Tidepool reads {VERSION}")
    return card, arrays


_TYPES: dict[str, type] = {
    "learner": str,
    "encoder": str,
    "observation_size": int,
    "operators": list,
    "episode_length": int,
    "reward": str,
    "seed": int,
    "env_steps": int,
    "trained_on": list,
}


def _card(described: dict[str, Any]) -> PolicyCard:
    for name, kind in _TYPES.items():
        if not isinstance(described.get(name), kind):
            raise UsageError(f'its description lacks "{name}"')
    values = {name: described[name] for name in _TYPES}
    if strange := [name for name in values["operators"] if name not in OPERATORS]:
        raise UsageError(
            f"its operators are not this Tidepool's: {str(strange[0])!r} is none of {', '.join(OPERATORS)}"
        )
    if not all(isinstance(fingerprint, str) for fingerprint in values["trained_on"]):
        raise UsageError('its "trained_on" is not a list of texts')
    return PolicyCard(**{**values, "operators": tuple(values["operators"]), "trained_on": tuple(values["trained_on"])})


def _layers(arrays: dict[str, NDArray[np.float64]]) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    while f"layer{len(layers)}.weights" in arrays and len(layers) < _MOST_LAYERS:
        name = f"layer{len(layers)}"
        weights, bias = arrays[f"{name}.weights"], arrays.get(f"{name}.bias")
        if bias is None or weights.ndim != 2 or bias.shape != weights.shape[:1]:
            raise UsageError(f"{name}'s weights and bias do not fit together")
        layers.append(Layer(weights, bias))
    return tuple(layers)


def _check_fit(card: PolicyCard, normaliser: Normaliser, layers: Sequence[Layer]) -> None:
    if not layers:
        raise UsageError("it has no layers")
    widths = [len(normaliser.mean), *(len(layer.bias) for layer in layers)]
    inputs = [layer.weights.shape[1] for layer in layers]
    if widths[0] != card.observation_size or inputs != widths[:-1] or widths[-1] != len(card.operators):
        raise UsageError("its layers, its observations and its operators do not fit together")
