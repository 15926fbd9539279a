"""The library as its screen shows it: rules without a screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.storage.test_plain_text import steers
from tidepool.storage.library import StoredAgent, StoredEntity, StoredType
from tidepool.tui.app.library_items import (
    agent_faults,
    agent_item,
    details,
    entity_faults,
    entity_item,
    matching,
    type_item,
    types_in,
)
from tidepool.tui.app.widgets.rows import Passage, laid_out

ADA = StoredEntity("ada-1", "Ada", "human", "A miller", {"age": 61, "tall": True})


@pytest.mark.parametrize(
    ("words", "there"),
    [("", True), ("ada", True), ("MILLER human", True), ("age 61", True), ("ada-1", True), ("baker", False)],
)
def test_words_are_looked_for_in_all_there_is(words: str, there: bool) -> None:
    assert bool(matching([entity_item(ADA)], words)) is there


def test_a_type_of_the_file_wins_over_a_built_in_one_and_a_broken_one_says_why() -> None:
    own = StoredType("human", {"name": "human", "dimensions": [{"name": "x", "kind": "boolean"}]})
    types = {known.name: known for known in types_in([own, StoredType("odd", {"name": "odd"})])}
    assert types["human"].own and not types["organisation"].own
    assert "at least one dimension" in types["odd"].fault
    assert all(details(type_item(known)) for known in types.values())


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"name": ""}, ("name",)),
        ({"name": "Ada", "attributes": "age is 3"}, ("attributes",)),
        ({"name": "Ada", "attributes": {"age": [1]}}, ("attributes",)),
        ({"name": "Ada", "age": 3}, ()),
        ({"name": "Ada", "attributes": {"age": 3}}, None),
    ],
)
def test_what_is_wrong_with_an_entity_stands_at_its_field(record: dict[str, object], field: object) -> None:
    assert list(entity_faults(record)) == ([] if field is None else [field])


def test_what_is_wrong_with_an_agent_stands_at_its_field() -> None:
    assert set(agent_faults({"model": "gpt9", "temperature": 9})) == {("name",), ("model",), ("temperature",)}
    assert agent_faults({"name": "Ada", "model": "simulated:guarded"}) == {}


def test_what_cannot_be_read_is_listed_as_such() -> None:
    damaged = agent_item(StoredAgent("x", "Ada", {}, 0.0, damaged=True))
    assert "cannot be read" in damaged.cells[2]
    assert any("Press x to delete it" in passage.text for passage in details(damaged))


@given(
    st.lists(st.builds(Passage, st.text(max_size=200), st.just(""), st.none() | st.text(max_size=40)), max_size=5),
    st.integers(14, 80),
)
def test_a_reading_never_is_wider_than_its_room_nor_steers_the_terminal(passages: list[Passage], width: int) -> None:
    for line in laid_out(passages, max(width, 60)):
        text = "".join(piece for piece, _ in line)
        assert not any(map(steers, text))
        assert cell_len(text) <= max(width, 60)
