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
from tidepool.engine.studies.evolution.tasks.task import match


@pytest.mark.parametrize("name", SETS)
def test_a_built_in_set_gives_what_is_asked_for_and_shares_no_question(name: str) -> None:
    problems = problem_set(name, 40, 25, seed=7)
    questions = [problem.question for problem in problems.training + problems.validation]
    assert (len(problems.training), len(problems.validation)) == (40, 25)
    assert len(set(questions)) == 65


def test_the_same_seed_gives_the_same_problems_and_another_seed_others() -> None:
    assert problem_set("mixed", 20, 20, 1) == problem_set("mixed", 20, 20, 1)
    assert problem_set("mixed", 20, 20, 1) != problem_set("mixed", 20, 20, 2)


def test_more_problems_than_a_set_can_make_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lamps = tuple(template for template in SETS["logic"] if "lamp" in template.text)
    monkeypatch.setitem(SETS, "lamps", lamps)
    monkeypatch.setattr("tidepool.engine.studies.evolution.problems.problem_set._TRIES_PER_PROBLEM", 3)
    with pytest.raises(UsageError, match="'lamps' do not have 3000 different questions"):
        generate("lamps", 3000, Random(1))


def test_sizes_below_one_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        problem_set("logic", 0, 10, 1)


def test_problems_that_choose_leave_the_others_as_they_are() -> None:
    two, three = problem_set("mixed", 20, 10, 1), problem_set("mixed", 20, 10, 1, choosing=5)
    assert (three.training, three.validation) == (two.training, two.validation)
    assert len(three.choosing) == 5 and not {*three.choosing} & {*three.training, *three.validation}


@given(st.integers(3, 60), st.lists(st.integers(1, 100), min_size=1, max_size=3))
def test_parts_are_disjoint_and_none_is_empty(count: int, sizes: list[int]) -> None:
    parts = split_problems(range(count), *sizes)
    together = [one for part in parts for one in part]
    assert all(1 <= len(part) <= size for part, size in zip(parts, sizes, strict=True))
    assert len(together) == len(set(together)) == min(count, sum(sizes))


@pytest.mark.parametrize(
    ("count", "sizes", "lengths"),
    [
        (60, (100, 30), [30, 30]),
        (60, (30, 30), [30, 30]),
        (60, (10, 100), [10, 50]),
        (60, (100, 100), [30, 30]),
        (60, (100, 40), [30, 30]),
        (60, (100, 10, 20), [30, 10, 20]),
        (30, (100, 15, 5), [10, 15, 5]),
        (30, (100, 100, 100), [8, 15, 7]),
        (3, (100, 1, 0), [2, 1, 0]),
    ],
)
def test_of_too_few_problems_the_held_out_part_keeps_its_size_up_to_half(
    count: int, sizes: tuple[int, ...], lengths: list[int]
) -> None:
    assert [len(part) for part in split_problems(range(count), *sizes)] == lengths


NAMES = [template.text[:40] for template in TEMPLATES]


@pytest.mark.parametrize("template", TEMPLATES, ids=NAMES)
def test_every_question_is_read_back_with_its_answer_and_level(template: Template) -> None:
    for seed in range(60):
        values = template.draw(Random(seed))
        known = recognise(template.question(values))
        assert known is not None
        assert known.worked == template.work(values)
        assert (known.kind, known.level) == (template.kind, template.level)


@pytest.mark.parametrize("template", TEMPLATES, ids=NAMES)
def test_no_mistake_is_right_and_no_working_gives_the_answer_away(template: Template) -> None:
    for seed in range(60):
        worked = template.work(template.draw(Random(seed)))
        assert not any(match(f"#### {mistake}", worked.answer).correct for mistake in worked.mistakes)
        assert worked.mistakes or worked.answer.isdigit()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Rosa has 12 shells and finds 5 more. How many shells does Rosa have now?", "17"),
        ("Rosa orders 3 lamps with a list price of 80 coins each, at a discount of 25 percent. "
         "How many coins does Rosa pay?", "180"),
        ("A tank gains 14 litres a minute through one pipe and loses 4 litres a minute through another. "
         "It starts empty. After how many minutes does it hold 120 litres?", "12"),
        ("Today is Sunday. Which day of the week will it be in 8 days?", "Monday"),
        ("A lamp is on. Ivo presses its switch 7 times. Is the lamp on or off now?", "off"),
        ("Write the word anchor backwards.", "rohcna"),
        ("How often does the letter e occur in these words, taken together: ember, kettle, pebble?", "6"),
        ("Which of these words comes first in the dictionary: raven, oyster, violet?", "oyster"),
    ],
)  # fmt: skip
def test_answers_are_what_a_person_would_say(question: str, answer: str) -> None:
    known = recognise(question)
    assert known is not None
    assert known.worked.answer == answer


def test_a_foreign_question_is_not_recognised() -> None:
    assert recognise("What is the capital of France?") is None
