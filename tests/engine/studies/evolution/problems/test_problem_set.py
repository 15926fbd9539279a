"""The built-in problems: templates, their way back, and splits."""

from random import Random

import pytest

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.problems.problem_set import (
    ARITHMETIC,
    SETS,
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
    monkeypatch.setitem(SETS, "rows", tuple(template for template in ARITHMETIC if "tank" in template.text))
    monkeypatch.setattr("tidepool.engine.studies.evolution.problems.problem_set._TRIES_PER_PROBLEM", 3)
    with pytest.raises(UsageError, match="'rows' do not have 30000 different questions"):
        generate("rows", 30_000, Random(1))


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [((100, 30), [30, 30]), ((30, 30), [30, 30]), ((10, 100), [10, 50]), ((100, 100), [30, 30]), ((1, 1), [1, 1])],
)
def test_of_too_few_problems_the_held_out_part_keeps_its_size_up_to_half(
    sizes: tuple[int, int], lengths: list[int]
) -> None:
    parts = split_problems(range(60), *sizes)
    assert [len(part) for part in parts] == lengths and not set(parts[0]) & set(parts[1])


def test_every_question_is_read_back_with_its_answer_and_level() -> None:
    for template in ARITHMETIC:
        for seed in range(30):
            values = template.draw(Random(seed))
            known = recognise(template.question(values))
            assert known is not None and known.level == template.level
            assert known.worked == template.work(**values)
