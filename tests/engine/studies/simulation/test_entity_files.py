import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidepool.engine.config.entities import Entity, read_entities
from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.library import LibraryAdditions, store_additions, stored_entity
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.simulation.config import SimulationSettings

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
        (
            "a.tsv",
            "openness\tname\tage\tdescription\nx\n".replace("x", "9\tHypatia\t45\tMathematician, of Alexandria"),
        ),
    ],
)
def test_the_same_entity_is_read_from_every_kind_of_file(tmp_path: Path, name: str, content: str) -> None:
    assert read_entities(file_of(tmp_path, name, content)) == [HYPATIA]


def test_a_column_of_a_csv_file_has_one_type(tmp_path: Path) -> None:
    rows = [
        "name,whole,real,flag,code,mixed,gap",
        "A,1,1,true,007,1,",
        "B,-2,2.5,FALSE,012,many,3",
    ]
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
        ("a.json", "[{]", "no valid JSON"),
        ("a.json", '[{"name": "A", "name": "B"}]', "the key 'name' is there twice"),
        ("a.json", '{"people": []}', "expected a list of entities"),
        ("a.json", '[{"name": "A"}, {"name": 3}]', "a.json, entity 2: name = 3: a name is text"),
        ("a.toml", "[[entities]]\nname = Hypatia", 'line 2: this is no KEY = VALUE of TOML. Write name = "Hypatia"'),
        ("a.json", "[{'name': 'Ada'}]", "line 1: this is no valid JSON"),
        (
            "a.toml",
            "[[entities]]\nname = 'A'\nattributes = { born = 1815-12-10 }",
            "attributes.born = 1815-12-10: expected",
        ),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "title,age\nA,3\n", "row 1: no column is called 'name'"),
        ("a.csv", "name,age,age\nA,1,3\n", "row 1, column 3: the column 'age' is there twice"),
        (
            "a.csv",
            "name,age\nA,1\nB,2,Paris\n",
            "row 3, column 3: the row has more cells than the header (2)",
        ),
        ("a.csv", "name,age\nA,1\n,2\n", 'row 3: name = "": the name is missing'),
        ("a.csv", b"name,age\nA,1\n\xff,2\n", "line 3: this is not text in UTF-8"),
        ("a.csv", "name,age\nA,1\na,2\n", "the entity 'a' (and 'A') is there twice"),
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


def panel_of(tmp_path: Path, ids: object, **settings: object) -> FrozenConfig:
    """A simulation of those whom `ids.json` lists, out of a library of three."""
    people = LibraryAdditions(tuple(stored_entity(Entity(name)) for name in ("Ada", "Bob", "Cleo")))
    store_additions(tmp_path / "s.db", people)
    (tmp_path / "ids.json").write_text(json.dumps(ids))
    data = {"batch": {"kind": "simulation"}, "simulation": {"context": "A mill", "entity_file": "ids.json", **settings}}
    return freeze(config_from(data, source="s.toml", folder=tmp_path), tmp_path / "s.db")


ADA, BOB, CLEO = (stored_entity(Entity(name)).id for name in ("Ada", "Bob", "Cleo"))


@pytest.mark.parametrize("ids", [[CLEO, ADA], {"entities": [CLEO, ADA]}])
def test_a_list_of_ids_takes_entities_out_of_the_library(tmp_path: Path, ids: object) -> None:
    config = panel_of(tmp_path, ids, num_simulations=1, entity_ids=[BOB])
    assert [entity["id"] for entity in config.entities] == [BOB, CLEO, ADA]
    settings = load_frozen(config.to_json()).settings
    assert isinstance(settings, SimulationSettings) and settings.entity_file is None and not settings.entity_ids


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([ADA, "ent_1"], "ids.json: The library of this file has no entity 'ent_1'."),
        ([ADA, BOB, ADA], f"ids.json, entry 3: the id {ADA!r} is there twice"),
        ([ADA, ADA[:5]], f"the entity {ADA!r} of the library is named twice"),
        ([ADA, {"name": "Dion"}], "ids.json, entry 2: the file lists ids of the library, and this is none"),
        ([ADA, " "], "entry 2"),
        ([], "holds no entities"),
    ],
)
def test_an_id_that_cannot_be_meant_is_an_error_at_its_key(tmp_path: Path, ids: object, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        panel_of(tmp_path, ids)
    assert words.casefold() in str(refused.value).casefold() and refused.value.where == ("simulation", "entity_file")
