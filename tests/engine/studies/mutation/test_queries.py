import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.queries import Query, load_queries, split_queries


def test_a_file_of_queries_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    lines = [{"query": "Ä?", "reference": "B."}, {"query": "C?", "reference": "D.", "kind": "x", "more": 1}]
    path.write_text("\ufeff" + "\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    assert load_queries(str(path)) == (Query("Ä?", "B."), Query("C?", "D.", "x"))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "The file has 0"),
        ('{"query": "A?", "reference": "B"}', "The file has 1"),
        ('{"query": "A?", "reference": "B"}\nnonsense', "line 2: not JSON"),
        ("[1]", "line 1: not an object"),
        ('{"question": "A?"}', 'line 1: "reference" is missing'),
        ('{"query": " ", "reference": "B"}', 'line 1: "query" is missing'),
        ('{"query": 3, "reference": "B"}', 'line 1: "query" is missing'),
        ('{"query": "A?", "reference": "B"}\n{"query": "a?", "reference": "C"}', "appears twice"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_reason(text: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=word.replace("?", r"\?")) as refused:
        load_queries(str(path))
    assert str(refused.value).startswith(str(path))


def test_references_may_be_missing_where_no_reward_needs_them(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("query\nA?\nB?\n")
    assert load_queries(str(tmp_path / "own.csv"), references_needed=False)[0] == Query("A?")


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 99))
def test_a_split_loses_nothing_shares_nothing_and_repeats_by_its_seed(size: int, share: float, seed: int) -> None:
    queries = [Query(f"Q{number}?", "A", kind=str(number % 3)) for number in range(size)]
    split = split_queries(queries, share, seed)
    assert split == split_queries(queries, share, seed)
    assert sorted(query.text for query in split.training + split.heldout) == sorted(query.text for query in queries)
    assert split.training and split.heldout
    assert abs(len(split.heldout) - share * size) <= 1
