"""The simulated solver reads options of other people's questions, and the landscape decides whether it says what it read."""

import csv
from pathlib import Path

import pytest

from tidepool.engine.call import Message
from tidepool.engine.simulated.solver import read_options, solve
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import AnswerTask

REVIEWS = Path(__file__).parents[3] / "examples" / "reviews.csv"
LABELS = ("mixed", "negative", "positive")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which town has the Vatican museum?\n\nA) Oslo\nB) A museum in Oslo\nC) The Vatican museum", "C"),
        ("I love it. Answer with one of: positive, negative.", "positive"),
        ("It broke. One of 'good' or 'bad'?", "bad"),
        ("A flower or an animal? The rose is a flower. Say one of: flower / animal.", "flower"),
        ("How many? 3", None),
        ("One of us is right.", None),
    ],
)
def test_it_finds_the_options_and_goes_by_cue_words(question: str, answer: str | None) -> None:
    found = read_options(question)
    assert (found and found.worked.answer) == answer


def test_a_better_prompt_makes_it_right_more_often_and_the_replies_are_read_as_labels() -> None:
    with REVIEWS.open(encoding="utf-8", newline="") as file:
        rows = [
            (f"{row['review']}\n\nAnswer with one of: positive, negative, mixed.", row["label"])
            for row in csv.DictReader(file)
        ]
    task = AnswerTask("label", LABELS)

    def right(prompt: str) -> float:
        replies = [
            (solve("solver", prompt, (Message("user", question),), seed * 7919 + place), label)
            for seed in range(5)
            for place, (question, label) in enumerate(rows)
        ]
        marked = [task.mark(reply.text, Problem("", label)) for reply, label in replies]
        assert all(
            (one.answer is None) == (reply.truth == "silent") for one, (reply, _) in zip(marked, replies, strict=True)
        )
        return sum(one.worth for one in marked) / len(marked)

    assert right("") < 0.4
    assert right("List what is said. Restate it in your own words. Go step by step, slowly. Check it at the end.") > 0.6
