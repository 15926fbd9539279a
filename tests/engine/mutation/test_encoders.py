import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.mutation.encoders import HashingEncoder, read_vectors


def test_texts_with_words_in_common_are_closer_than_others() -> None:
    egg, eggs, moon = HashingEncoder().encode(
        ["How do I boil an egg?", "How long do I boil the egg?", "When did people reach the moon?"]
    )
    assert egg @ eggs > egg @ moon + 0.2


def test_the_encoder_is_lexical_and_knows_no_synonyms() -> None:
    car, automobile = HashingEncoder().encode(["car", "automobile"])
    assert abs(float(car @ automobile)) < 0.01


@given(st.lists(st.text(), max_size=5))
def test_every_vector_has_length_one_or_none_at_all(texts: list[str]) -> None:
    norms = np.linalg.norm(HashingEncoder().encode(texts), axis=1)
    assert all(norm == 0 or abs(norm - 1) < 1e-5 for norm in norms)


@given(st.lists(st.text(), min_size=1, max_size=5))
def test_a_text_is_encoded_alike_alone_and_in_company(texts: list[str]) -> None:
    encoder = HashingEncoder()
    together = encoder.encode(texts)
    assert all((encoder.encode([text])[0] == row).all() for text, row in zip(texts, together, strict=True))


def test_the_encoding_does_not_depend_on_the_hash_seed_of_the_process() -> None:
    program = (
        "from engine.mutation.encoders import HashingEncoder; print(HashingEncoder().encode(['a red fox'])[0].tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{HashingEncoder().encode(['a red fox'])[0].tolist()}\n"}


def test_vectors_of_a_model_are_read_and_brought_to_length_one() -> None:
    vectors = read_vectors("[[3, 4], [0, 2.0]]", 2)
    assert vectors is not None
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, 1]], rtol=1e-6)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "nonsense",
        "{}",
        "[1, 2]",
        "[[1], [2, 3]]",
        "[[1, 2]]",
        '[["a"], ["b"]]',
        "[[], []]",
        "[[NaN], [1]]",
        "null",
    ],
)
def test_a_reply_without_the_vectors_asked_for_is_missing(reply: str) -> None:
    assert read_vectors(reply, 2) is None


@given(st.recursive(st.none() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=12))
def test_no_reply_of_an_encoder_breaks_the_reading(value: object) -> None:
    vectors = read_vectors(json.dumps(value), 2)
    assert vectors is None or (len(vectors) == 2 and bool(np.isfinite(vectors).all()))
