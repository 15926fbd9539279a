import re
from random import Random

import pytest

from tidepool.engine.studies.evolution.problems.problem_set import SETS, TEMPLATES, Template, draw_question, recognise
from tidepool.engine.studies.evolution.tasks.task import match

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


def test_each_question_belongs_to_one_template() -> None:
    for template in TEMPLATES:
        question = template.question(template.draw(Random(3)))
        assert [other for other in TEMPLATES if other.read(question) is not None] == [template]


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


def test_discounts_come_out_even_so_that_answers_are_exact() -> None:
    discount = next(template for template in TEMPLATES if "discount" in template.text)
    for seed in range(300):
        values = discount.draw(Random(seed))
        assert values["a"] * values["b"] * (100 - values["c"]) % 100 == 0


def test_a_foreign_question_is_not_recognised() -> None:
    assert recognise("What is the capital of France?") is None


def test_the_easy_and_the_hard_set_hold_what_they_say() -> None:
    rng = Random(1)
    easy = {recognise(draw_question("arithmetic-easy", rng)[0]).level for _ in range(50)}  # type: ignore[union-attr]
    hard = {recognise(draw_question("arithmetic-hard", rng)[0]).level for _ in range(50)}  # type: ignore[union-attr]
    assert (easy, hard) == ({1, 2}, {4, 5})


@pytest.mark.parametrize("name", SETS)
def test_questions_are_plain_sentences(name: str) -> None:
    rng = Random(2)
    for _ in range(50):
        question, answer = draw_question(name, rng)
        assert re.fullmatch(r"[A-Z][\w ,.:?]+[.?]", question)
        assert answer
