import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.problems.builtin.sets import SETS
from tidepool.engine.studies.evolution.problems.problem_set import (
    Problem,
    generate,
    parse_problems,
    problem_set,
    split_problems,
)


def write(folder: Path, rows: list[object]) -> str:
    path = folder / "problems.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", SETS)
def test_a_built_in_set_gives_what_is_asked_for_and_shares_no_question(name: str) -> None:
    problems = problem_set(name, 40, 25, seed=7)
    questions = [problem.question for problem in problems.training + problems.validation]
    assert (len(problems.training), len(problems.validation)) == (40, 25)
    assert len(set(questions)) == 65


def test_the_same_seed_gives_the_same_problems_and_another_seed_others() -> None:
    assert problem_set("mixed", 20, 20, 1) == problem_set("mixed", 20, 20, 1)
    assert problem_set("mixed", 20, 20, 1) != problem_set("mixed", 20, 20, 2)


def test_gsm8k_is_read_as_it_is(tmp_path: Path) -> None:
    rows = [
        {"question": "How many clips?", "answer": "She sold 48/2 = <<48/2=24>>24.\nIn all 72.\n#### 1,072"},
        {"question": "How much?", "answer": 12},
    ]
    problems = problem_set(write(tmp_path, rows), 1, 1, 3)
    assert {*problems.training, *problems.validation} == {
        Problem("How many clips?", "1,072"),
        Problem("How much?", "12"),
    }


def test_a_file_too_small_is_divided_in_the_proportion_asked_for(tmp_path: Path) -> None:
    source = write(tmp_path, [{"question": f"q{n}", "answer": str(n)} for n in range(30)])
    problems = problem_set(source, 100, 200, 1)
    assert (len(problems.training), len(problems.validation)) == (10, 20)


def test_a_file_is_shuffled_by_the_seed(tmp_path: Path) -> None:
    source = write(tmp_path, [{"question": f"q{n}", "answer": str(n)} for n in range(30)])
    first, second = problem_set(source, 10, 10, 1), problem_set(source, 10, 10, 2)
    assert first == problem_set(source, 10, 10, 1)
    assert set(first.training) != set(second.training)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: not an object"),
        ('{"answer": "1"}', 'line 2: no "question". It has answer'),
        ('{"question": "x"}', 'line 2: no "answer"'),
        ('{"question": " ", "answer": "1"}', '"question" is empty'),
        ('{"question": "x", "answer": ["1"]}', '"answer" must be text or a number'),
        ('{"question": "x", "answer": "so ####"}', "nothing follows the ####"),
        ('{"question": "a", "answer": "2"}', "before with another answer"),
        ("", "at least 2 are needed"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(line: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_problems(['{"question": "a", "answer": "1"}', line], "file.jsonl")
    assert words in str(refused.value)
    assert "file.jsonl" in str(refused.value)


def test_a_name_that_is_neither_set_nor_file_is_refused_with_the_sets() -> None:
    with pytest.raises(UsageError, match=r"neither a built-in set.*arithmetic"):
        problem_set("arithmetik", 10, 10, 1)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        problem_set(str(path), 10, 10, 1)


def test_more_problems_than_a_set_can_make_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lamps = tuple(template for template in SETS["logic"] if "lamp" in template.text)
    monkeypatch.setitem(SETS, "lamps", lamps)
    monkeypatch.setattr("tidepool.engine.studies.evolution.problems.problem_set._TRIES_PER_PROBLEM", 3)
    with pytest.raises(UsageError, match="'lamps' do not have 3000 different questions"):
        generate("lamps", 3000, Random(1))


def test_sizes_below_one_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        problem_set("logic", 0, 10, 1)


@given(st.integers(2, 60), st.integers(1, 100), st.integers(1, 100))
def test_a_split_is_disjoint_and_neither_part_is_empty(count: int, training: int, validation: int) -> None:
    problems = [Problem(str(number), "1") for number in range(count)]
    learned, held_out = split_problems(problems, training, validation)
    assert 1 <= len(learned) <= training
    assert 1 <= len(held_out) <= validation
    assert not set(learned) & set(held_out)
