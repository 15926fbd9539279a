"""Files of every format, by every program, and files that were made to hurt: read as they are meant, or refused with the place."""

import json
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Array, DataType, Table
from arro3.io import write_parquet

from tests.engine.studies.evolution.problems.taking import everything, refusal, taken, written
from tidepool.engine.studies import data_files

TWO = {"What is 1, plus 1?": "2", 'Say "hi"\nand go.': "hi"}


def as_parquet(path: Path, questions: list[str], answers: list[str], **more: Any) -> None:
    text = DataType.string()
    table = Table.from_pydict({"question": Array(questions, type=text), "answer": Array(answers, type=text)})
    write_parquet(table, str(path), **more)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("all.jsonl", [{"question": q, "answer": a} for q, a in TWO.items()]),
        ("all.txt", "\ufeff\r\n" + "\r\n".join(json.dumps({"question": q, "answer": a}) for q, a in TWO.items())),
        ("all.csv", '\ufeffquestion,answer\r\n"What is 1, plus 1?",2\r\n\r\n"Say ""hi""\nand go.",hi\r\n'),
    ],
)
def test_every_format_of_text_says_the_same(tmp_path: Path, name: str, content: object) -> None:
    written(tmp_path, name, content)
    assert everything(taken(tmp_path, name)) == TWO


def test_parquet_says_the_same(tmp_path: Path) -> None:
    as_parquet(tmp_path / "a.parquet", list(TWO), list(TWO.values()))
    assert everything(taken(tmp_path, "a.parquet")) == TWO


ONE = '{"question": "a", "answer": "1"}\n'
HOSTILE: dict[str, tuple[str, object, str]] = {
    "no JSON": ("a.jsonl", ONE + "{", "a.jsonl, line 2: not JSON"),
    "no object": ("a.jsonl", ONE + "[1]", "line 2: not an object"),
    "no question": ("a.jsonl", ONE + '{"answer": "1"}', 'line 2: no "question". It has answer'),
    "no answer": ("a.jsonl", ONE + '{"question": "x"}', 'line 2: no "answer"'),
    "null": ("a.jsonl", ONE + '{"question": null, "answer": "1"}', '"question" is empty (null)'),
    "NaN": ("a.jsonl", ONE + '{"question": "x", "answer": NaN}', '"answer" must be text or a number'),
    "a list": ("a.jsonl", ONE + '{"question": "x", "answer": ["1"]}', '"answer" must be text or a number'),
    "no end": ("a.jsonl", ONE + '{"question": "x", "answer": "so ####"}', "the answer has no text after ####"),
    "deep": ("a.jsonl", ONE + "[" * 100_000, "line 2: not JSON"),
    "huge number": ("a.jsonl", ONE + '{"question": ' + "9" * 5000 + "}", "line 2: not JSON"),
    "one row": ("a.jsonl", ONE, "at least 2 are needed"),
    "nothing": ("a.jsonl", "", "has 0 different problems"),
    "long question": ("a.jsonl", [{"question": "x" * 100_001, "answer": 1}], "100,001 characters"),
    "UTF-16": ("a.jsonl", ONE.encode("utf-16"), "line 1 is not UTF-8 text. Save the file as UTF-8"),
    "Latin-1": ("a.csv", b"question,answer\nCaf\xe9?,1\n", "a.csv, line 2 is not UTF-8"),
    "no header": ("a.csv", "Where?,Rome\nWhither?,Oslo\n", 'line 2: no "question". It has Where?, Rome'),
    "two columns of a name": ("a.csv", "question,answer,answer\nq,1,2\n", "two columns 'answer'"),
    "a cell too many": ("a.csv", "question,answer\nq,1,2\n", "3 cells, but the first line names 2 columns"),
    "a cell too few": ("a.csv", "question,answer\nq\n", 'line 2: no "answer"'),
    "an open quote": ("a.csv", 'question,answer\n"q,1\nr,2\n', "not valid CSV"),
    "no Parquet": ("a.parquet", b"PAR1 or so", "cannot be read: it is not a Parquet file, or is damaged"),
    "a list of objects": ("a.json", "[]", "Data must be in JSONL, CSV or Parquet"),
}


@pytest.mark.parametrize(("name", "content", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, name: str, content: object, words: str) -> None:
    written(tmp_path, name, content)
    key, why = refusal(tmp_path, name)
    assert key in ("problems", "fields") and words in why and len(why) < 600


def test_a_line_without_end_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "LINE_BYTES", 1 << 20)
    written(tmp_path, "a.jsonl", ONE + '{"question": "' + "x" * (3 << 20))
    assert "line 2: longer than 1 MiB" in refusal(tmp_path, "a.jsonl")[1]


def test_files_larger_than_any_study_needs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "a.jsonl", ONE * 9)
    monkeypatch.setattr(data_files.ceilings, "ROWS", 5)
    assert "more than 5 rows" in refusal(tmp_path, "a.jsonl")[1]
    monkeypatch.setattr(data_files.ceilings, "DATA_BYTES", 100)
    assert "is larger than" in refusal(tmp_path, "a.jsonl")[1]


def test_what_a_small_parquet_file_holds_is_counted_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_parquet(tmp_path / "rows.parquet", ["q"] * 1_000_001, ["1"] * 1_000_001)
    assert "more than 1,000,000 rows" in refusal(tmp_path, "rows.parquet")[1]
    as_parquet(tmp_path / "text.parquet", ["q" * 50_000_000], ["1"], compression="zstd(1)")
    assert (tmp_path / "text.parquet").stat().st_size < 50_000
    monkeypatch.setattr(data_files.ceilings, "DATA_BYTES", 40 * 2**20)
    assert "more than 40 MiB of data" in refusal(tmp_path, "text.parquet")[1]


def test_half_a_character_does_not_reach_the_file(tmp_path: Path) -> None:
    written(
        tmp_path, "a.jsonl", '{"question": "a\\ud800", "answer": "1", "x": ["\\udfff"]}\n' + ONE.replace("a", "b", 1)
    )
    found = taken(tmp_path, "a.jsonl")
    assert everything(found)["a?"] == "1"
    assert found.model_dump_json().encode()


@pytest.mark.parametrize("damage", [slice(60, 100), slice(200, None)])
def test_a_damaged_file_is_an_error_like_any(tmp_path: Path, damage: slice) -> None:
    as_parquet(tmp_path / "a.parquet", [f"q{n}" for n in range(40)], [str(n) for n in range(40)])
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[damage] = b"\x97" * len(content[damage])
    (tmp_path / "a.parquet").write_bytes(content)
    assert "a.parquet cannot be read: it is not a Parquet file, or is damaged" in refusal(tmp_path, "a.parquet")[1]
