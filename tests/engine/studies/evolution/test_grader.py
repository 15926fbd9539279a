"""What a model is shown, and what a verdict keeps."""

import json
from pathlib import Path

import pytest

from tests.engine.studies.evolution.running import run, run_with_interruptions, study
from tests.support.state import query
from tidepool.engine.call import Message
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.grader import RequestBuilder
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.tasks.task import AnswerTask
from tidepool.engine.studies.evolution.tasks.verdict import Unmarked, Verdict, stored_verdict

PROBLEMS = (Problem("One and one?", "2"), Problem("Two and two?", "4"), Problem("Three and three?", "6"))
GENOME = Genome(("Think.",), examples=(2, 0))


def test_examples_are_a_talk_before_the_question() -> None:
    asking = RequestBuilder(AnswerTask("number"), PROBLEMS)
    assert asking.request(GENOME, Problem("Nine and nine?", "18"))[1] == (
        Message("user", "Three and three?"),
        Message("assistant", "#### 6"),
        Message("user", "One and one?"),
        Message("assistant", "#### 2"),
        Message("user", "Nine and nine?"),
    )
    assert asking.text(GENOME).split() == "Think. Three and three? #### 6 One and one? #### 2".split()


def test_the_same_question_in_hardly_other_words_is_no_example_either() -> None:
    asked = Problem("A farmer has 17 crates with 24 apples each. How many apples are there?", "408")
    nearly = Problem("Q: A farmer has 17 crates with 24 apples each. How many apples are there, please?", "408")
    other = Problem("A farmer has 18 crates with 24 apples each. How many apples are there?", "432")
    asking = RequestBuilder(AnswerTask("number"), (nearly, other))
    _, messages = asking.request(Genome(("Think.",), examples=(0, 1)), asked)
    assert [message.text for message in messages] == [other.question, "#### 432", asked.question]


@pytest.mark.parametrize(
    ("task", "problem", "shown"),
    [
        (
            AnswerTask("number"),
            Problem("?", "12", {"solution": "3 × 4 = <<3*4=12>>12\n#### 12"}),
            "3 × 4 = 12\n#### 12",
        ),
        (AnswerTask("auto"), Problem("?", "12"), "#### 12"),
        (AnswerTask("auto"), Problem("?", "Danube"), "Danube"),
        (AnswerTask("label", ("good", "bad")), Problem("?", "bad"), "bad"),
        (AnswerTask("choice"), Problem("?", "honey", {"choices": ["milk", "honey"]}), "B"),
        (AnswerTask("choice"), Problem("?", "wine", {"choices": ["milk", "honey"]}), ""),
    ],
)
def test_an_example_answers_in_the_form_of_the_task(task: AnswerTask, problem: Problem, shown: str) -> None:
    assert RequestBuilder(task, (problem,)).demonstrated(problem) == shown


def test_not_all_problems_can_be_examples_at_once_and_none_that_cannot_be_shown() -> None:
    assert not RequestBuilder(AnswerTask("auto"), PROBLEMS).showable(0)
    assert RequestBuilder(AnswerTask("auto"), PROBLEMS).showable(9).most == 2
    choices = tuple(Problem(f"{one}?", one, {"choices": ["milk", "honey"]}) for one in ("milk", "wine", "honey"))
    assert RequestBuilder(AnswerTask("choice"), choices).showable(2).problems == (0, 2)


async def test_examples_come_from_the_search_stand_in_the_file_and_survive_interruptions(tmp_path: Path) -> None:
    config = study(few_shot=3, max_generations=3, service="live")
    summary = await run(config, tmp_path / "once.db")
    again, stops = await run_with_interruptions(config, tmp_path / "again.db", 150)
    assert stops and again["statistics"]["champion"] == summary["statistics"]["champion"]
    rows = query(tmp_path / "once.db", "SELECT json_extract(details, '$.examples'), prompt FROM genome")
    shown = [json.loads(row[0]) for row in rows if row[0]]
    assert shown and all(len(examples) <= 3 and max(examples) < 12 for examples in shown)
    champion = summary["statistics"]["champion"]
    searched = {row[0] for row in query(tmp_path / "once.db", "SELECT question FROM problem WHERE split = 'search'")}
    assert {one["question"] for one in champion["examples"]} <= searched
    if champion["examples"]:
        assert champion["length"]["words"] > len(champion["prompt"].split())


@pytest.mark.parametrize(
    "mark",
    [
        Verdict("12", True, 5, 1.0),
        Verdict("0.5", False, 5, 0.5, {"unmarked": 3.0, "note": 1.0, "words": 7.0}),
        Unmarked("the judge gave no clear rating"),
    ],
)
def test_a_mark_is_read_back_as_it_was_whatever_its_metrics_are_called(mark: Verdict | Unmarked) -> None:
    empty = {"extracted": None, "correct": None, "score": None, "details": None}
    assert stored_verdict({**empty, **mark.columns()}, 5) == mark
    assert stored_verdict(empty, 5) is None
