"""Normalisers and policy files."""

import json
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.policy import (
    FORMAT,
    Layer,
    Normaliser,
    PolicyCard,
    SavedPolicy,
    TrainedPolicy,
    load_policy,
    policy_bytes,
    read_policy,
)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=8), st.integers(0, 99))
def test_updates_in_pieces_give_the_moments_of_all_rows_at_once(sizes: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    pieces = [generator.normal(3, 2, size=(size, 4)) for size in sizes]
    normaliser = Normaliser(4)
    for piece in pieces:
        normaliser.update(piece)
    rows = np.concatenate(pieces)
    assert normaliser.count == len(rows)
    if len(rows):
        np.testing.assert_allclose(normaliser.mean, rows.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(normaliser.variance, rows.var(axis=0), atol=1e-9)


SIZE, COUNT = 5, len(OPERATOR_NAMES)


def _saved(layers: tuple[int, ...] = (4,), card: PolicyCard | None = None) -> SavedPolicy:
    generator = np.random.default_rng(1)
    normaliser = Normaliser(SIZE)
    normaliser.update(generator.normal(size=(8, SIZE)))
    widths = (SIZE, *layers, COUNT)
    made = [
        Layer(generator.normal(size=(after, before)), generator.normal(size=after))
        for before, after in pairwise(widths)
    ]
    return SavedPolicy(card or PolicyCard("bandit", "hashing", SIZE), TrainedPolicy(normaliser, tuple(made)))


@pytest.mark.parametrize("layers", [(), (4,), (64, 64)])
def test_a_policy_survives_being_written_and_read(tmp_path: Path, layers: tuple[int, ...]) -> None:
    saved = _saved(layers)
    (tmp_path / "trained.safetensors").write_bytes(policy_bytes(saved))
    rows = np.random.default_rng(2).normal(size=(6, SIZE)).astype(np.float32)
    again = load_policy(tmp_path / "trained.safetensors")
    assert again.card == saved.card
    assert (again.policy.preferences(rows) == saved.policy.preferences(rows)).all()


def test_a_missing_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tidepool export BATCH --format policy"):
        load_policy(tmp_path / "none.safetensors")


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (trap,))  # type: ignore[return-value]

    path = tmp_path / "policy.safetensors"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(UsageError, match="not safetensors"):
        load_policy(path)
    assert not trap.exists()


def _changed(saved: SavedPolicy, arrays: dict[str, np.ndarray | None] | None = None, **card: object) -> bytes:
    from safetensors.numpy import load

    content = policy_bytes(saved)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    described = {**json.loads(header["__metadata__"][FORMAT]), **card}
    kept = {name: array for name, array in {**load(content), **(arrays or {})}.items() if array is not None}
    return save(kept, metadata={FORMAT: json.dumps(described)})


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "not safetensors"),
        (b"PK\x03\x04 something zipped", "not safetensors"),
        (save({"a": np.zeros(1)}), "not safetensors"),
        (_changed(_saved(), version=99), "version 99"),
        (_changed(_saved(), format="other"), "description"),
        (_changed(_saved(), operators=["noop"]), "operators"),
        (_changed(_saved(), operators=[["noop"]]), "operators"),
        (_changed(_saved(), learner=None), "learner"),
        (_changed(_saved(), observation_size=6), "inconsistent sizes"),
        (_changed(_saved(), {"layer0.bias": None}), "layer0"),
        (_changed(_saved(), {"layer0.weights": None}), "no layers"),
        (_changed(_saved(), {"layer1.weights": None}), "inconsistent sizes"),
        (_changed(_saved(), {"layer0.weights": np.full((4, SIZE), np.nan)}), "finite"),
        (_changed(_saved(), {"layer0.weights": np.zeros((4, SIZE), dtype=np.int64)}), "finite 64-bit"),
        (_changed(_saved(), {"layer0.weights": np.zeros((4, SIZE + 1))}), "inconsistent sizes"),
        (_changed(_saved(), {"normaliser.mean": None}), "normaliser"),
    ],
    ids=lambda value: value if isinstance(value, str) else "file",
)
def test_a_file_that_is_no_usable_policy_is_refused_with_the_reason(content: bytes, word: str) -> None:
    with pytest.raises(UsageError, match=word) as refused:
        read_policy(content, "theirs.safetensors")
    assert str(refused.value).startswith("theirs.safetensors: not a usable policy file")


@given(st.binary(max_size=200), st.integers(0, 400))
def test_damaged_files_are_refused_and_break_nothing(noise: bytes, place: int) -> None:
    content = policy_bytes(_saved())
    damaged = content[:place] + noise + content[place + len(noise) :]
    try:
        read_policy(damaged, "x")
    except UsageError:
        return
    assert len(damaged) == len(content)
