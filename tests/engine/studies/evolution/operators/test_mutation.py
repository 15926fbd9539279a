import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.genome import segment_pool
from tidepool.engine.studies.evolution.variation import MOST_SEGMENTS, MUTATIONS, Material, mutated

MATERIAL = Material(segment_pool())
PROMPT = ("Read it: twice!", "Round 3.5 to 4, then add 12 units.", "Stop.")


def applied(name: str, segments: tuple[str, ...] = PROMPT, times: int = 40) -> list[tuple[str, ...]]:
    return [MUTATIONS[name](segments, Random(seed), MATERIAL) for seed in range(times)]


@pytest.mark.parametrize("name", MUTATIONS)
@given(
    segments=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=MOST_SEGMENTS).map(tuple),
    seed=st.integers(),
)
def test_no_operator_empties_or_bloats_a_prompt(name: str, segments: tuple[str, ...], seed: int) -> None:
    after = MUTATIONS[name](segments, Random(seed), MATERIAL)
    assert 1 <= len(after) <= MOST_SEGMENTS


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name.startswith("word_")])
def test_word_operators_keep_numbers_and_punctuation(name: str) -> None:
    marks = [re.findall(r"[\d.,:!]", text) for text in PROMPT]
    for after in applied(name):
        assert [re.findall(r"[\d.,:!]", text) for text in after] == marks


@pytest.mark.parametrize(
    ("name", "change"),
    [("word_insert", 1), ("word_delete", -1), ("word_swap", 0), ("word_duplicate", 1), ("word_replace", 0)],
)
def test_word_operators_change_the_number_of_words_as_they_say(name: str, change: int) -> None:
    words = len(" ".join(PROMPT).split())
    assert {len(" ".join(after).split()) for after in applied(name)} == {words + change}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("segment_insert", 1),
        ("segment_delete", -1),
        ("segment_swap", 0),
        ("segment_duplicate", 1),
        ("segment_replace", 0),
    ],
)
def test_segment_operators_change_the_number_of_segments_as_they_say(name: str, change: int) -> None:
    results = applied(name)
    assert {len(after) for after in results} == {len(PROMPT) + change}
    assert all(after != PROMPT for after in results)


def test_swapping_only_reorders() -> None:
    assert all(sorted(after) == sorted(PROMPT) for after in applied("segment_swap"))
    words = Counter(re.findall(r"\w+", " ".join(PROMPT)))
    assert all(Counter(re.findall(r"\w+", " ".join(after))) == words for after in applied("word_swap"))


def test_the_only_segment_is_never_deleted() -> None:
    assert MUTATIONS["segment_delete"](("Stop.",), Random(1), MATERIAL) == ("Stop.",)


def test_a_prompt_without_words_is_left_alone_by_word_operators() -> None:
    assert MUTATIONS["word_delete"](("12 + 3.",), Random(1), MATERIAL) == ("12 + 3.",)


def test_segments_are_changed_more_often_than_words_and_every_operator_is_used() -> None:
    rng = Random(1)
    names = Counter(mutated(PROMPT, rng, MATERIAL)[1] for _ in range(1000))
    assert set(names) == set(MUTATIONS)
    assert 180 < sum(count for name, count in names.items() if name.startswith("word_")) < 320
