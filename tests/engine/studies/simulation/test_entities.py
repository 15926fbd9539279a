import pytest

from tidepool.engine.config.entities import Entity, entity_from, refuse_duplicates
from tidepool.engine.errors import UsageError

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
