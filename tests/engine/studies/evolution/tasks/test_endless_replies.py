"""Small models go round in circles until they are cut: what they say at the end is still read."""

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import AnswerTask


def test_what_stands_at_the_end_of_a_long_reply_is_read() -> None:
    reply = f"{'1, ' * 20_000}\nSo the answer is 72."
    assert AnswerTask("number").mark(reply, Problem("", "72")).correct
    assert AnswerTask("text").mark(f"{'so it goes ' * 5_000}\n#### Rome", Problem("", "Rome")).correct
