"""Rows become problems: which columns, which choices, which labels, and what is told before a run."""

from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.problems.taking import config, everything, refusal, taken, written
from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.studies.evolution.inputs import fold_question, settings_of
from tidepool.engine.studies.study import study_from

ROWS = [{"question": f"q{number}", "answer": str(number)} for number in range(30)]
OPTIONS = {
    "list": ["Oslo", "Rome"],
    "object": {"a": "Oslo", "b": "Rome"},
    "a cell of a table": '["Oslo", "Rome"]',
    "holes": {"A": "Oslo", "B": "Rome", "C": None},
}


def test_a_file_too_small_is_divided_with_a_warning_and_shuffled_by_the_seed(tmp_path: Path) -> None:
    written(tmp_path, "all.jsonl", ROWS)
    found = taken(tmp_path, max_problems=100, validation_problems=15)
    assert (len(found.training), len(found.validation)) == (15, 15)
    assert len(everything(found)) == 30
    fewer = "There are fewer different problems than requested. The study uses 15 for training, 15 held out."
    assert found.notes == [fewer]
    assert not [note for note in taken(tmp_path).notes if "fewer" in note], "nobody asked for the defaults"
    assert [one.question for one in found.training] != [row["question"] for row in ROWS[:15]]


def test_columns_are_named_by_the_config_and_the_rest_is_kept(tmp_path: Path) -> None:
    row = {"prompt": "Who?", "name": "Bob", "tests": [1, 2], "n": float("nan"), "long": "x" * 30_000}
    written(tmp_path, "all.jsonl", [row, {**row, "prompt": "Whom?"}])
    found = taken(tmp_path, fields={"question": "prompt", "answer": "name"})
    assert everything(found) == {"Who?": "Bob", "Whom?": "Bob"}
    assert found.training[0].fields == {"tests": [1, 2]}
    assert found.notes == ["Columns that are too large to store are left out: long."]


def test_a_question_is_made_of_several_columns(tmp_path: Path) -> None:
    rows = [{"context": f"It is {n}.", "question": "How much?", "answer": n, "q x": "dot", "ok": True} for n in (1, 2)]
    written(tmp_path, "all.jsonl", rows)
    found = taken(tmp_path, question_template="{context}\n\n{question} {{{q x}}} {ok}")
    assert everything(found) == {f"It is {n}.\n\nHow much? {{dot}} true": str(n) for n in (1, 2)}


@pytest.mark.parametrize(
    ("settings", "key", "words"),
    [
        ({"fields": {"question": "prompt"}}, "fields", 'line 1: no "prompt". It has question, answer, deep'),
        ({"fields": {"answer": "deep"}}, "fields", '"deep" must be text or a number'),
        ({"question_template": "{contxt}"}, "question_template", "uses {contxt}, but there is no such column"),
        ({"fields": {"choices": "more"}, "task": "choice"}, "fields", 'no "more"'),
        ({"fields": {"choices": "deep"}, "task": "choice"}, "problems", "Write them as a list, or by letter"),
        ({"judge_from": "none.jsonl"}, "judge_from", "judge_from: There is no file 'none.jsonl'"),
        ({"judge_from": "."}, "judge_from", "is a folder. Set problems to one file in it"),
        ({"judge_from": "all.jsonl"}, "problems", "has 0 different problems"),
        ({"problems": "arithmetic", "judge_from": "all.jsonl"}, "problems", "the built-in set 'arithmetic'"),
        ({"task": "number"}, "task", 'No reply could be right with task = "number": all.jsonl, line '),
        ({"task": "label", "labels": ["yes"]}, "task", "'a' is not one of the labels"),
    ],
)
def test_what_cannot_be_meant_is_told_at_its_key(
    tmp_path: Path, settings: dict[str, Any], key: str, words: str
) -> None:
    written(tmp_path, "all.jsonl", [{"question": q, "answer": "a", "deep": ["x"]} for q in ("one", "two")])
    where, why = refusal(tmp_path, **settings)
    assert where == key and words in why


@pytest.mark.parametrize("choices", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("answer", ["B", "Rome", "(b)"])
def test_choices_are_shown_and_the_answer_is_a_letter(tmp_path: Path, choices: Any, answer: str) -> None:
    rows = [{"question": q, "answer": answer, "options": choices} for q in ("Where is the Pope?", "And the Forum?")]
    written(tmp_path, "all.jsonl", rows)
    found = taken(tmp_path, task="choice")
    assert everything(found)["Where is the Pope?\n\nA) Oslo\nB) Rome"] == "B"
    assert found.training[0].fields == {"choices": {"A": "Oslo", "B": "Rome"}}


def test_a_place_counts_from_0_and_choices_that_the_question_shows_are_not_shown_again(tmp_path: Path) -> None:
    rows = [{"question": "Placed?", "answer": "1", "choices": ["Oslo", "Rome"]}]
    rows += [{"question": "Shown? (A) Oslo (B) Rome", "answer": "Oslo", "choices": ["Oslo", "Rome"]}]
    written(tmp_path, "all.jsonl", rows)
    shown = {"Placed?\n\nA) Oslo\nB) Rome": "B", "Shown? (A) Oslo (B) Rome": "A"}
    assert everything(taken(tmp_path, task="choice")) == shown


def test_labels_are_the_answers_of_all_splits_unless_they_are_listed(tmp_path: Path) -> None:
    for name, answers in (("all.jsonl", ["spam", "Ham"]), ("test.jsonl", ["eggs", "ham"])):
        written(tmp_path, name, [{"question": f"{name} {one}", "answer": one} for one in answers])
    frozen = config(tmp_path, task="label", judge_from="test.jsonl")
    assert settings_of(frozen).labels == ["eggs", "ham", "spam"]
    assert settings_of(load_frozen(frozen.to_json())).labels == ["eggs", "ham", "spam"]
    assert study_from(frozen).plan().notes[0] in (
        f"Problems of all.jsonl: 2 for training, 2 held out, task label. For example: all.jsonl {one} → {one}"
        for one in ("spam", "Ham")
    )
    listed = config(
        tmp_path, task="label", labels=["ham", "eggs"], judge_from="test.jsonl", seed_prompts=["Say ham or eggs."]
    )
    assert study_from(listed).plan().warnings == (
        "1 of 4 problems have expected answers that no reply can match: all.jsonl, line 1: the expected answer 'spam' is "
        "not one of the labels.",
    )


def rows(word: str, count: int) -> list[dict[str, str]]:
    return [{"question": f"{word} {number}?", "answer": str(number)} for number in range(count)]


def test_what_stands_in_both_files_stays_with_the_judge(tmp_path: Path) -> None:
    written(
        tmp_path,
        "train.jsonl",
        [*rows("train", 9), *rows("test", 2), {"question": "TEST   2", "answer": "2"}, *rows("train", 2)],
    )
    written(tmp_path, "test.jsonl", rows("test", 5))
    found = taken(tmp_path, "train.jsonl", max_problems=20, judge_from="test.jsonl")
    assert [len(found.training), len(found.validation)] == [9, 5]
    assert found.notes == [
        "There are fewer different problems than requested. The study uses 9 for training, 5 held out.",
        "Problems of train.jsonl that occur twice and count once: 2 (line 13, line 14).",
        "Problems of train.jsonl that also occur in test.jsonl and are left out of the training: 3.",
    ]


def test_a_question_with_two_answers_is_left_out_and_told(tmp_path: Path) -> None:
    contradiction = [{"question": "Odd?", "answer": "yes"}, {"question": "odd", "answer": "no"}]
    written(tmp_path, "all.jsonl", [*rows("q", 4), *contradiction])
    found = taken(tmp_path)
    assert found.notes == ["Problems of all.jsonl that have two answers and are left out: 1 (line 6)."]
    assert not any("dd" in one.question for one in (*found.training, *found.validation))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What's two  plus two?", "whats TWO plus two", True),
        ("“Who goes there?”", "Who goes there", True),
        ("2+2", "2+2 ?", True),
        ("Ｗｈｏ？", "who", True),
        ("3 + 5", "3 - 5", False),
        ("Is 1.5 odd?", "Is 15 odd?", False),
        ("5! is?", "5 is?", False),
        ("(1 + 2) * 3", "1 + (2 * 3)", False),
        ("?", "!", False),
    ],
)
def test_questions_are_the_same_whatever_their_case_spacing_and_punctuation(one: str, other: str, same: bool) -> None:
    assert (fold_question(one) == fold_question(other)) is same
