"""Folders as Hugging Face's datasets and hub lay them out, own files for each split, and what stands in several of them."""

import json
from pathlib import Path

import pytest
from arro3.io import write_ipc_stream, write_parquet

from tests.engine.studies.evolution.problems.taking import refusal, taken, written
from tests.engine.studies.evolution.problems.test_files import as_arrow
from tidepool.engine.studies.evolution.problems.intake import folded

ONE_ROW = '{"question": "a", "answer": "1"}'


def rows(word: str, count: int) -> list[dict[str, str]]:
    return [{"question": f"{word} {number}?", "answer": str(number)} for number in range(count)]


def saved(folder: Path, word: str, shards: int = 1) -> None:
    """As `datasets` saves one to disk."""
    files = [f"data-{shard:05}-of-{shards:05}.arrow" for shard in range(shards)]
    for shard, file in enumerate(files):
        as_arrow(folder / file, write_ipc_stream, [f"{word} {shard}.{n}?" for n in range(4)], ["1"] * 4)
    written(folder, "state.json", json.dumps({"_data_files": [{"filename": file} for file in files]}))
    written(folder, "dataset_info.json", "{}")


def test_a_dataset_saved_to_disk_brings_its_splits(tmp_path: Path) -> None:
    for split, shards in (("train", 2), ("validation", 1), ("test", 1)):
        saved(tmp_path / "set" / split, split, shards)
    written(tmp_path, "set/dataset_dict.json", json.dumps({"splits": ["train", "validation", "test"]}))
    found = taken(tmp_path, "set", choose_problems=3)
    assert found.sources == {"search": "train of set", "choose": "validation of set", "judge": "test of set"}
    assert (len(found.training), len(found.choosing), len(found.validation)) == (8, 3, 4)
    assert {one.question.split()[0] for one in found.choosing} == {"validation"}
    assert taken(tmp_path, "set/test").sources == {"search": "set/test"}


LAYOUTS = {
    "shards": (
        ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet", "data/test-00000-of-00001.parquet"],
        "train of set",
        "test of set",
    ),
    "no test": (["train.jsonl", "dev.jsonl"], "train of set", "validation of set"),
    "no train": (
        ["validation-00000-of-00001.parquet", "test-00000-of-00001.parquet"],
        "validation of set",
        "test of set",
    ),
    "folders": (["train/0.jsonl", "train/1.jsonl", "test/0.jsonl"], "train of set", "test of set"),
    "words in names": (["my-train-set.csv", "my_test.csv", "README.csv.md"], "train of set", "test of set"),
    "one file": (["data/questions.jsonl", "dataset_infos.json"], "set", None),
    "only a test": (["test.jsonl"], "test of set", None),
    "other splits": (
        ["auxiliary_train-0-of-1.parquet", "test-0-of-1.parquet", "extra-0-of-1.parquet"],
        "auxiliary_train of set",
        "test of set",
    ),
}


@pytest.mark.parametrize(("files", "search", "judge"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_folder_as_the_hub_has_it_brings_its_splits(
    tmp_path: Path, files: list[str], search: str, judge: str | None
) -> None:
    for file in files:
        if file.endswith(".parquet"):
            as_arrow(tmp_path / "set" / file, write_parquet, [f"{file} {n}" for n in range(3)], ["1"] * 3)
        elif file.endswith(".csv"):
            written(tmp_path, f"set/{file}", "question,answer\n" + "".join(f"{file} {n},1\n" for n in range(3)))
        else:
            written(tmp_path, f"set/{file}", rows(file, 3) if file.endswith("jsonl") else "{}")
    found = taken(tmp_path, "set")
    assert found.sources == {"search": search, **({"judge": judge} if judge else {})}
    of_search = sum(
        search.split()[0].removeprefix("set") in file for file in files if "." in file and "infos" not in file
    )
    assert len(found.training) + (0 if judge else len(found.validation)) == 3 * max(1, of_search if judge else 1)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"readme.md": "x"}, "holds no file of problems"),
        ({"main/train.jsonl": ONE_ROW, "socratic/train.jsonl": ONE_ROW}, "of which one must be named: main, socratic"),
        ({"left-0-of-1.jsonl": ONE_ROW, "right-0-of-1.jsonl": ONE_ROW}, "but left, right"),
        ({"dataset_dict.json": '{"splits": ["../other"]}'}, "lists '../other', which is not in it"),
        ({"dataset_dict.json": "[]"}, "its dataset_dict.json cannot be read"),
        ({"state.json": '{"_data_files": []}'}, "lists no data"),
    ],
)
def test_a_folder_that_is_no_dataset_says_what_it_lacks(tmp_path: Path, files: dict[str, str], words: str) -> None:
    written(tmp_path, "other/train.jsonl", rows("other", 3))
    for name, content in files.items():
        written(tmp_path, f"set/{name}", content)
    key, why = refusal(tmp_path, "set")
    assert key == "problems" and words in why


def test_own_files_for_each_split_and_what_stands_in_several_stays_with_the_judge(tmp_path: Path) -> None:
    written(tmp_path, "train.jsonl", [*rows("train", 9), *rows("test", 3), *rows("dev", 1), *rows("train", 2)])
    written(tmp_path, "dev.jsonl", [*rows("dev", 4), {"question": "TEST   1", "answer": "1"}])
    written(tmp_path, "test.jsonl", rows("test", 5))
    found = taken(tmp_path, "train.jsonl", choose_from="dev.jsonl", choose_problems=9, judge_from="test.jsonl")
    assert [len(found.training), len(found.choosing), len(found.validation)] == [9, 4, 5]
    assert found.notes == [
        "There are fewer different problems than asked for (choose_problems = 9, validation_problems = 100 by default). "
        "The study uses 9 to search by, 4 to choose the champion, 5 held out.",
        "2 problems of train.jsonl stand in it before, and count once (line 14, line 15).",
        "1 problem of dev.jsonl stands in test.jsonl as well: left out of the choosing.",
        "3 problems of train.jsonl stand in test.jsonl as well: left out of the search.",
        "1 problem of train.jsonl stands in dev.jsonl as well: left out of the search.",
    ]


def test_a_question_with_two_answers_is_left_out_and_told(tmp_path: Path) -> None:
    contradiction = [{"question": "Odd?", "answer": "yes"}, {"question": "odd", "answer": "no"}]
    written(tmp_path, "all.jsonl", [*rows("q", 4), *contradiction])
    found = taken(tmp_path)
    assert found.notes == ["1 question of all.jsonl has two different answers: left out (line 6)."]
    assert not any("dd" in one.question for one in (*found.training, *found.validation))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What's two  plus two?", "whats TWO plus two", True),
        ("“Who goes there?”", "Who goes there", True),
        ("A well-known song", "a well known song!", True),
        ("2+2", "2 + 2 ?", True),
        ("Ｗｈｏ？", "who", True),
        ("3 + 5", "3 - 5", False),
        ("Is 1.5 odd?", "Is 15 odd?", False),
        ("5! is?", "5 is?", False),
        ("(1 + 2) * 3", "1 + (2 * 3)", False),
        ("?", "!", False),
    ],
)
def test_questions_are_the_same_whatever_their_case_spacing_and_punctuation(one: str, other: str, same: bool) -> None:
    assert (folded(one) == folded(other)) is same


def test_the_same_words_with_other_choices_are_another_question(tmp_path: Path) -> None:
    written(
        tmp_path,
        "all.jsonl",
        [{"question": "Which is true?", "answer": "A", "choices": [f"{n}", "none"]} for n in (1, 2, 3)],
    )
    assert taken(tmp_path, task="choice").notes == []
