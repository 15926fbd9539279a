"""Which answer a reply gives: a table of forms, and labelled replies whose share of right readings must not fall."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.results import MEASURED, _marking
from tidepool.engine.studies.evolution.tasks.task import AnswerTask, expected_number, match, numbers_in

CASES = Path(__file__).parent / "cases"
CHOICES = {"A": "Paris", "B": "the Rome of old", "C": "A town"}
LABELS = ("positive", "very positive", "negative")

READ = [
    # reply, expected answer: a number or words, and right
    ("3 + 4 = 7, so 7.\n#### 7", "7"),
    ("#### $18.00", "18"),
    ("#### −3", "-3"),
    ("#### 3/4", "0.75"),
    ("#### 1 1/2", "1.5"),
    ("#### 25%", "0.25"),
    ("#### Step 1: add 3 and 4\nThe answer is 7.", "7"),
    ("The answer is 12. It took 3 steps.", "12"),
    ("**Answer:** 12 apples", "12"),
    ("Answer\n\nAnswer:\n\n12", "12"),
    ("The answer is 3 + 4 = 7 apples.", "7"),
    ('{"reason": "3 of 5", "answer": 12}', "12"),
    ('```json\n{"answer": "1,200 m", "sure": 0.9}\n```', "1200"),
    ("<answer>12</answer> from 3", "12"),
    ("<think>The answer is 5.</think>12", "12"),
    ("The answer is 12.\n\nQuestion: How many are 3 and 4?\nThe answer is 7.", "12"),
    (r"Thus \boxed{12} follows from 3.", "12"),
    (r"\boxed{\frac{3}{4}} of 8", "0.75"),
    (r"\boxed{\text{12}}", "12"),
    ("First 3, then 4, which makes 12", "12"),
    ("That costs $1,250.50", "1250.5"),
    (r"$3 \times 10^{8}$", "3e8"),
    ("The answer is Tuesday.", "tuesday"),
    ("The answer is “the lamp”.", "lamp"),
    ("The answer is yes, because all of them are.", "yes"),
    (r"So \boxed{\text{Rosa}} is second.", "Rosa"),
    ("It follows that **Rosa** is second of all in the long queue.", "Rosa"),
    ("The capital of Australia is Canberra.", "Canberra"),
    (f"{'1, ' * 20_000}\nSo the answer is 72.", "72"),
]
WRONG = [
    ("#### 41", "42"),
    ("#### 42.002", "42"),
    ("It could be Monday or Tuesday", "Tuesday"),
    ("#### 5 or 6", "6"),
    ("#### 3,5", "5"),
]
SILENT = [
    ("", "42"),
    ("I do not know.", "42"),
    (r"\boxed{", "42"),
    ('{"answer": null, "guess": 42}', "42"),
    ("There is much to say about the days of the week.", "Tuesday"),
]


@pytest.mark.parametrize(("reply", "expected"), READ)
def test_the_answer_is_found_and_right(reply: str, expected: str) -> None:
    assert match(reply, expected).correct


@pytest.mark.parametrize(("reply", "expected"), WRONG)
def test_another_answer_is_wrong(reply: str, expected: str) -> None:
    assert not match(reply, expected).correct


@pytest.mark.parametrize(("reply", "expected"), SILENT)
def test_a_reply_without_an_answer_is_unclear(reply: str, expected: str) -> None:
    verdict = match(reply, expected, length=9)
    assert (verdict.answer, verdict.correct, verdict.length, verdict.worth) == (None, None, 9, 0.0)
    assert verdict.unclear


@pytest.mark.parametrize(
    ("task", "reply", "answer"),
    [
        ("choice", "B", "B"),
        ("choice", "B. the Rome of old\n\nC would be a town.", "B"),
        ("choice", "The answer is (C), not A.", "C"),
        ("choice", "I would say option A because of the tower.", "A"),
        ("choice", "A town is not a city, so C", "C"),
        ("choice", "It must be the Rome of old", "B"),
        ("choice", '{"choice": "C"}', "C"),
        ("choice", "I cannot say.", None),
        ("label", "Positive. There is nothing negative in it.", "positive"),
        ("label", "It praises much, so it is very positive", "very positive"),
        ("label", "Label: negative\nA positive word is meant as irony.", "negative"),
        ("label", "Neither of them.", None),
    ],
)
def test_options_and_labels_are_found(task: str, reply: str, answer: str | None) -> None:
    problem = Problem("", "A", {"choices": CHOICES} if task == "choice" else {})
    assert AnswerTask(task, LABELS).mark(reply, problem).answer == answer


@pytest.mark.parametrize(
    ("task", "asked", "reply", "correct"),
    [
        ("auto", "a number.", "3 + 4 = 7\nAnswer: 7", True),
        ("number", "a number.", "**Answer: 8**", False),
        ("number", "a number.", r"So \boxed{7} it is, of 9.", True),
        ("number", "a number.", '{"answer": 7}', True),
        ("number", "a number.", "It follows that there are 7", None),
        ("number", "a number.", "Answer: none of these", None),
        ("choice", "the letter of the option.", "Answer: (B)", True),
        ("choice", "the letter of the option.", "B", None),
        ("label", "one of the labels.", "Answer: very positive", False),
        ("label", "one of the labels.", "positive", None),
        ("text", "your answer, in a few words.", "Answer: the Rome of old.", True),
        ("text", "your answer, in a few words.", "The Rome of old", None),
    ],
)
def test_a_message_asks_for_the_form_and_only_a_marked_answer_is_read(
    task: str, asked: str, reply: str, correct: bool | None
) -> None:
    expected = {"choice": "B", "label": "positive", "text": "the Rome of old"}.get(task, "7")
    problem = Problem("", expected, {"choices": CHOICES} if task == "choice" else {})
    reader = AnswerTask(task, LABELS, line=True)
    assert reader.message("How much?", problem) == (
        f'How much?\n\nEnd your reply with a line that begins with "Answer:" and holds only {asked}'
    )
    assert reader.mark(reply, problem).correct is correct
    assert AnswerTask(task, LABELS).message("How much?", problem) == "How much?"


def test_of_a_reply_that_was_cut_only_what_is_marked_counts() -> None:
    task, problem = AnswerTask("number"), Problem("", "7")
    assert task.mark("3 + 4 = 7", problem, cut=True).answer is None
    assert task.mark("#### 7\nLet me check: 3 +", problem, cut=True).correct


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234", 1234), ("$5.50", 5.5), ("-3/4", -0.75), ("12 %", 12), ("12 cats", 12), ("3:30", None), ("1/0", None)],
)
def test_an_expected_number_stands_alone_or_with_a_unit(text: str, value: float | None) -> None:
    found = expected_number(text)
    assert (found and found.value) == value


@given(st.text(), st.text(min_size=1))
def test_no_reply_is_beyond_reading(reply: str, expected: str) -> None:
    for text in (reply, f"#### {reply}", f"answer is {reply}", rf"\boxed{{{reply}", f'"answer": {reply}'):
        match(text, expected)
    numbers_in(reply)


@given(st.integers(-(10**9), 10**9), st.sampled_from(["#### {}", "The answer is {}.", r"\boxed{{{}}}", "so {}"]))
def test_every_whole_number_is_read_back_from_every_form(number: int, form: str) -> None:
    assert match(form.format(number), str(number)).correct
    assert match(form.format(f"{number:,}"), str(number)).correct


@pytest.mark.parametrize(
    ("name", "form", "cited"), [("outside_second", "line", True), ("outside", "any", True), ("outside", "line", False)]
)
def test_replies_of_outside_authors_are_read_as_published(name: str, form: str, cited: bool) -> None:
    """The figures of docs/tasks.md. Rules were changed because of the first set, never because of the second: reports cite it."""
    found = {kind: [0, 0, 0, 0] for kind in MEASURED[form]}
    for case in map(json.loads, (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()):
        if case["form"] == ("followed" if form == "line" else "free"):
            task = AnswerTask(case["task"], case.get("labels", ()), line=form == "line")
            fields = {"choices": case["choices"]} if "choices" in case else {}
            correct = task.mark(case["reply"], Problem(case["question"], case["expected"], fields)).correct
            read, silent = correct is not None, correct is None and case["truth"] == "none"
            as_labelled = read and case["truth"] == ("right" if correct else "wrong")
            found[case["task"]] = [
                a + b for a, b in zip(found[case["task"]], (1, read, as_labelled, silent), strict=True)
            ]
    if cited:
        assert {kind: tuple(counts) for kind, counts in found.items()} == MEASURED[form]
    else:
        assert [sum(counts) for counts in zip(*found.values(), strict=True)] == [120, 105, 102, 6]


@pytest.mark.parametrize(
    ("task", "form", "answers", "cited"),
    [
        (
            "text",
            "line",
            None,
            ["20 replies with free text as answer, 19 were read, 16 of them correctly (84.2 %", "107 "],
        ),
        (
            "auto",
            "line",
            None,
            ["108 of them correctly (99.1 %, 95 % interval 95.0 to 99.8 %)", "107 "],
        ),
        (
            "auto",
            "line",
            ["4", "Rome"],
            ["a number as answer", "free text as answer", "(93.9 %, 95 % interval 87.9 to 97.0 %)"],
        ),
        ("text", "any", None, ["14 replies with free text as answer, 0 were read. 2 of the 14 unclear"]),
    ],
)
def test_methods_cite_the_replies_of_the_kind_at_hand(
    task: str, form: str, answers: list[str] | None, cited: list[str]
) -> None:
    frozen = answers and {"validation": [{"answer": answer} for answer in answers]}
    settings = {"task": task, "answer_form": form, "frozen": frozen, "judge": "", "pass_mark": 1}
    told = [sentence for sentence in _marking(settings) if " author's " in sentence]
    assert len(told) == len(cited) and all(words in sentence for words, sentence in zip(cited, told, strict=True))


@pytest.mark.parametrize(("name", "least"), [("models", 82.6), ("practice", 89.0)])
def test_labelled_replies_are_marked_as_a_careful_reader_marks_them(name: str, least: float) -> None:
    """Written by people who saw neither the code nor each other's cases; docs/tasks.md has the figures."""
    cases = [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = [case["id"] for case in cases if not _right(case)]
    assert 100 * (1 - len(wrong) / len(cases)) >= least, wrong


def _right(case: dict[str, Any]) -> bool:
    problem = Problem("", case["gold"], {"choices": case.get("choices") or {}})
    verdict = AnswerTask(case["task"], tuple(case.get("labels") or ())).mark(case["reply"], problem)
    return bool(verdict.correct) == case["correct"]
