"""Small models go round in circles until they are cut: such a reply must not hold up the whole run."""

import time

import pytest

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.code_task import code_of
from tidepool.engine.studies.evolution.tasks.task import AnswerTask

ROUND_AND_ROUND = (
    "1,",
    "9",
    "(",
    "the answer is ",
    "positive negative ",
    "a ",
    "<think>",
    "<answer>",
    "`",
    "*",
    '"',
    "\n",
)
TASKS = (
    ("number", Problem("", "72")),
    ("choice", Problem("", "B", {"choices": {"A": "Paris", "B": "Rome"}})),
    ("label", Problem("", "positive")),
    ("text", Problem("", "in Rome")),
)


@pytest.mark.parametrize("phrase", ROUND_AND_ROUND)
def test_a_reply_without_end_is_read_in_no_time(phrase: str) -> None:
    reply = f"Well: {phrase * (20_000 // len(phrase))}"
    begun = time.process_time()
    for name, problem in TASKS:
        AnswerTask(name, ("positive", "negative")).mark(reply, problem)
    code_of(reply, Problem("", "assert True"))
    assert time.process_time() - begun < 2.0


def test_what_stands_at_the_end_of_a_long_reply_is_read() -> None:
    reply = f"{'1, ' * 20_000}\nSo the answer is 72."
    assert AnswerTask("number").mark(reply, Problem("", "72")).correct
    assert AnswerTask("text").mark(f"{'so it goes ' * 5_000}\n#### Rome", Problem("", "Rome")).correct
