import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidepool.engine.config.entities import Entity, entity_from, read_entities, refuse_duplicates
from tidepool.engine.errors import UsageError

HYPATIA = Entity("Hypatia", "Mathematician, of Alexandria", {"openness": 9, "age": 45})


def file_of(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps([HYPATIA.as_record()])),
        ("a.json", json.dumps({"entities": [HYPATIA.as_record()]})),
        ("a.JSON", "\ufeff" + json.dumps([HYPATIA.as_record()])),
        (
            "a.toml",
            '[[entities]]\nname = "Hypatia"\ndescription = "Mathematician, of Alexandria"\n'
            "attributes = { openness = 9, age = 45 }",
        ),
        ("a.csv", 'name,description,openness,age\nHypatia,"Mathematician, of Alexandria",9,45\n'),
        ("a.csv", "\ufeffName;Description;openness;age\r\n\r\nHypatia;Mathematician, of Alexandria;9;45\r\n"),
        ("a.tsv", "openness\tname\tage\tdescription\nx\n".replace("x", "9\tHypatia\t45\tMathematician, of Alexandria")),
    ],
)
def test_the_same_entity_is_read_from_every_kind_of_file(tmp_path: Path, name: str, content: str) -> None:
    assert read_entities(file_of(tmp_path, name, content)) == [HYPATIA]


def test_a_column_of_a_csv_file_has_one_type(tmp_path: Path) -> None:
    rows = ["name,whole,real,flag,code,mixed,gap", "A,1,1,true,007,1,", "B,-2,2.5,FALSE,012,many,3"]
    first, second = read_entities(file_of(tmp_path, "a.csv", "\n".join(rows)))
    assert first.attributes == {"whole": 1, "real": 1.0, "flag": True, "code": "007", "mixed": "1"}
    assert second.attributes == {
        "whole": -2, "real": 2.5, "flag": False, "code": "012", "mixed": "many", "gap": 3
    }  # fmt: skip
    assert [type(value) for value in first.attributes.values()] == [int, float, bool, str, str]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", "x", "read from .json, .toml and .csv files"),
        ("a.json", "[{]", "not valid JSON"),
        ("a.json", '{"people": []}', "expected a list of entities"),
        ("a.json", '[{"name": "A"}, {"name": 3}]', "a.json, entity 2: name = 3: the name must be text"),
        (
            "a.toml",
            "[[entities]]\nname = Hypatia",
            'line 2: this is not a valid KEY = VALUE of TOML. Write name = "Hypatia"',
        ),
        ("a.json", "[{'name': 'Ada'}]", "line 1: this is not valid JSON"),
        (
            "a.toml",
            "[[entities]]\nname = 'A'\nattributes = { born = 1815-12-10 }",
            "attributes.born = 1815-12-10: expected",
        ),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "title,age\nA,3\n", "row 1: the column 'name' is missing"),
        ("a.csv", "name,age,age\nA,1,3\n", "row 1, column 3: the column 'age' appears twice"),
        ("a.csv", "name,age\nA,1\nB,2,Paris\n", "row 3, column 3: the row has more cells than the header (2)"),
        ("a.csv", "name,age\nA,1\n,2\n", 'row 3: name = "": the name is missing'),
        ("a.csv", b"name,age\nA,1\n\xff,2\n", "line 3: this is not UTF-8 text"),
        ("a.csv", "name,age\nA,1\na,2\n", "the entity 'a' (and 'A') appears twice"),
    ],
)
def test_a_wrong_file_is_told_by_place_and_reason(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    path = file_of(tmp_path, name, content)
    with pytest.raises(UsageError) as refused:
        read_entities(path)
    assert str(refused.value).startswith(str(path))
    assert words in str(refused.value)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), ending=st.sampled_from(["json", "toml", "csv"]))
def test_any_file_is_read_or_refused_never_a_crash(tmp_path: Path, content: bytes, ending: str) -> None:
    try:
        entities = read_entities(file_of(tmp_path, f"any.{ending}", content))
    except UsageError:
        return
    assert all(entity.name for entity in entities)


ADA = Entity("Ada", "Writes programs", {"age": 36, "curious": True})
BOB = Entity("Bob")


def test_an_entity_survives_being_written_down_and_read_again() -> None:
    assert entity_from(ADA.as_record(), "here") == ADA


def test_an_id_from_elsewhere_and_empty_attributes_are_left_out() -> None:
    record = {"id": "e1", "name": " Ada ", "attributes": {"age": 36, "height": None}}
    assert entity_from(record, "here") == Entity("Ada", "", {"age": 36})


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("Ada", "here: an entity must be a table with a name"),
        ({}, "here: name is missing"),
        ({"name": "  "}, 'here: name = "  ": the name is blank'),
        ({"name": 7}, "here: name = 7: the name must be text"),
        ({"name": "A\nda"}, "line break or control character"),
        ({"name": "A\x1b[31mda"}, "line break or control character"),
        ({"name": "A" * 121}, "121 characters"),
        ({"name": "Ada", "descripton": "x"}, "unknown key descripton. Did you mean 'description'?"),
        ({"name": "Ada", "age": 3}, "Anything of your own goes under attributes"),
        ({"name": "Ada", "description": 3}, "here: description = 3: expected text"),
        ({"name": "Ada", "description": "\ud800"}, "lone surrogate"),
        ({"name": "Ada", "attributes": [1]}, "here: attributes = [1]: expected a table of names and values"),
        ({"name": "Ada", "attributes": {"x": [1]}}, "attributes.x = [1]: expected a number, text or true/false"),
        ({"name": "Ada", "attributes": {"x": float("nan")}}, "attributes.x = nan: nan is not a finite number"),
        ({"name": "Ada", "attributes": {"": 1}}, "the name is missing"),
    ],
)
def test_a_wrong_entity_is_refused_with_the_place_and_the_reason(record: object, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        entity_from(record, "here")
    assert words in str(refused.value)


@pytest.mark.parametrize("twin", ["Ada", "ADA"])
def test_two_entities_of_one_name_are_refused(twin: str) -> None:
    with pytest.raises(UsageError, match=f"people.csv: the entity '{twin}'"):
        refuse_duplicates([ADA, BOB, Entity(twin)], "people.csv")
