from pathlib import Path

import pytest

from tests.support.state import change
from tidepool.storage import library
from tidepool.storage.errors import FileError, NotFound
from tidepool.storage.file import prepare, reading
from tidepool.storage.library import StoredAgent, StoredEntity, StoredType

PEOPLE = [
    StoredEntity("ada-1", "Ada", "human", "A miller", {"age": 61, "tall": True}),
    StoredEntity("ada-2", "Ada", None, "", {}),
    StoredEntity("bob-1", "Bob", "human", "", {"motto": "ünï [cöde]"}),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    prepare(path)
    assert library.add(path, PEOPLE) == 3
    return path


def _ids(path: Path, *references: str) -> list[str]:
    with reading(path) as connection:
        return [entity.id for entity in library.find_entities(connection, references)]


def test_what_was_added_comes_back_as_it_was_and_is_kept_once(file: Path) -> None:
    assert library.add(file, PEOPLE[:2]) == 0
    with reading(file) as connection:
        kept = library.list_entities(connection)
        assert [(e.id, e.name, e.type, e.description, e.attributes) for e in kept] == [
            (e.id, e.name, e.type, e.description, e.attributes) for e in PEOPLE
        ]


@pytest.mark.parametrize(
    ("references", "found"),
    [
        (["bob-1"], ["bob-1"]),
        (["bob", "ada-2"], ["bob-1", "ada-2"]),
        (["*"], ["ada-1", "ada-2", "bob-1"]),
        (["ada-*", "bob-1"], ["ada-1", "ada-2", "bob-1"]),
        ([], []),
    ],
)
def test_references_are_ids_beginnings_and_patterns(file: Path, references: list[str], found: list[str]) -> None:
    assert _ids(file, *references) == found


@pytest.mark.parametrize(
    ("references", "complaint"),
    [
        (["ada"], "matches several"),
        (["boc-1"], "Did you mean 'bob-1'"),
        (["zz*"], "no entity 'zz\\*'"),
        (["bob-1", "bob"], "listed twice"),
        (["*", "ada-1"], "listed twice"),
        ([""], "no entity ''"),
        (["ada-[12]*"], "no entity"),
    ],
)
def test_unknown_doubled_and_unclear_references_are_errors(file: Path, references: list[str], complaint: str) -> None:
    with pytest.raises(NotFound, match=complaint):
        _ids(file, *references)


def test_removing_takes_what_is_named_or_nothing(file: Path) -> None:
    with pytest.raises(NotFound):
        library.remove(file, "entity", ["ada-1", "nobody"])
    assert _ids(file, "*") == ["ada-1", "ada-2", "bob-1"]
    assert library.remove(file, "entity", ["ada-*"]) == ["ada-1", "ada-2"]
    assert _ids(file, "*") == ["bob-1"]


def test_removing_from_no_file_makes_none(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="There is no file"):
        library.remove(tmp_path / "none.db", "agent", ["x"])
    assert not (tmp_path / "none.db").exists()


def test_agents_and_types_are_kept_too_and_a_type_is_replaced_by_name(file: Path) -> None:
    library.add(file, [StoredAgent("ada-1", "Ada", {"name": "Ada", "model": "m"})])
    library.put_types(file, [StoredType("villager", {"name": "villager"})])
    library.put_types(file, [StoredType("villager", {"name": "villager", "description": "new"})])
    with reading(file) as connection:
        assert library.find_agents(connection, ["ada"])[0].definition["model"] == "m"
        assert [kind.definition["description"] for kind in library.list_types(connection)] == ["new"]
    library.remove_type(file, "villager")
    with pytest.raises(NotFound, match="no entity type 'villager'"):
        library.remove_type(file, "villager")


def _listed(path: Path) -> list[str]:
    with reading(path) as connection:
        return [entity.id for entity in library.list_entities(connection)]


def test_an_edit_stands_where_the_old_one_stood_and_changes_the_stamp(file: Path) -> None:
    with reading(file) as connection:
        before = library.stamp(connection)
    library.replace(file, "ada-2", StoredEntity("eve-1", "Eve", None, "", {}))
    assert _listed(file) == ["ada-1", "eve-1", "bob-1"]
    with reading(file) as connection:
        assert library.stamp(connection) != before
    library.replace(file, "eve-1", PEOPLE[2])
    assert _listed(file) == ["ada-1", "bob-1"], "what is there already is kept once"
    library.replace(file, "gone", StoredEntity("new-1", "New", None, "", {}))
    assert _listed(file) == ["ada-1", "bob-1", "new-1"], "an edit of what somebody removed meanwhile is not lost"


def test_what_is_damaged_is_listed_and_can_be_removed_but_not_used(file: Path) -> None:
    change(file, "UPDATE library_entity SET attributes = '[1' WHERE id = 'ada-1'")
    with reading(file) as connection:
        assert [entity.damaged for entity in library.list_entities(connection)] == [True, False, False]
        with pytest.raises(FileError, match="damaged"):
            library.find_entities(connection, ["ada-1"])
    assert library.remove(file, "entity", ["ada-1"]) == ["ada-1"]
