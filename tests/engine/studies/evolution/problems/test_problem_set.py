"""The built-in problems: templates, their way back, and splits."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.problems.problem_set import (
    SETS,
    TEMPLATES,
    Template,
    generate,
    problem_set,
    recognise,
    split_problems,
)


@pytest.mark.parametrize("name", SETS)
def test_a_built_in_set_gives_what_is_asked_for_and_shares_no_question(name: str) -> None:
    problems = problem_set(name, 40, 25, seed=7)
    questions = [problem.question for problem in problems.training + problems.validation]
    assert (len(problems.training), len(problems.validation)) == (40, 25)
    assert len(set(questions)) == 65


def test_more_problems_than_a_set_can_make_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lamps = tuple(template for template in SETS["logic"] if "lamp" in template.text)
    monkeypatch.setitem(SETS, "lamps", lamps)
    monkeypatch.setattr("tidepool.engine.studies.evolution.problems.problem_set._TRIES_PER_PROBLEM", 3)
    with pytest.raises(UsageError, match="'lamps' do not have 3000 different questions"):
        generate("lamps", 3000, Random(1))


@given(st.integers(3, 60), st.integers(1, 100), st.integers(1, 100))
def test_parts_are_disjoint_and_none_is_empty(count: int, search: int, judge: int) -> None:
    parts = split_problems(range(count), search, judge)
    together = [one for part in parts for one in part]
    assert all(1 <= len(part) <= size for part, size in zip(parts, (search, judge), strict=True))
    assert len(together) == len(set(together)) == min(count, search + judge)


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ((100, 30), [30, 30]),
        ((30, 30), [30, 30]),
        ((10, 100), [10, 50]),
        ((100, 100), [30, 30]),
        ((100, 40), [30, 30]),
    ],
)
def test_of_too_few_problems_the_held_out_part_keeps_its_size_up_to_half(
    sizes: tuple[int, int], lengths: list[int]
) -> None:
    assert [len(part) for part in split_problems(range(60), *sizes)] == lengths


NAMES = [template.text[:40] for template in TEMPLATES]


@pytest.mark.parametrize("template", TEMPLATES, ids=NAMES)
def test_every_question_is_read_back_with_its_answer_and_level(template: Template) -> None:
    for seed in range(60):
        values = template.draw(Random(seed))
        known = recognise(template.question(values))
        assert known is not None
        assert known.worked == template.work(**values)
        assert (known.kind, known.level) == (template.kind, template.level)
