"""Entity types by name: the built-in ones, and those of the file's library, which win."""

from difflib import get_close_matches
from pathlib import Path

from tidepool.engine.errors import UsageError
from tidepool.engine.library.entity_files import read_tree
from tidepool.engine.library.entity_types import EntityType
from tidepool.engine.library.type_files import built_in_types, entity_type_from, read_entity_types
from tidepool.storage.file import reading
from tidepool.storage.library import StoredType, list_types


def known_types(database: Path) -> dict[str, EntityType]:
    """All types of a file's library, and those that come with Tidepool."""
    own: list[StoredType] = []
    if database.exists():
        with reading(database) as connection:
            own = list_types(connection)
    return built_in_types() | {
        stored.name: entity_type_from(stored.definition, f"library type {stored.name}") for stored in own
    }


def find_type(database: Path, name: str) -> EntityType:
    """The type of that name; an unknown one is an error that names what is near."""
    types = known_types(database)
    if name not in types:
        near = get_close_matches(name, types, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(types)}."
        raise UsageError(f"There is no entity type {name!r}; {hint} Add your own with `tidepool entities add FILE`.")
    return types[name]


def holds_types(path: Path) -> bool:
    """Whether a file describes entity types rather than entities."""
    if path.suffix.lower() not in (".json", ".toml"):
        return False
    tree = read_tree(path)
    return isinstance(tree, dict) and ("entity_types" in tree or "dimensions" in tree)


def types_of_file(path: Path) -> list[StoredType]:
    """Checked, and kept as they are written."""
    read_entity_types(path)
    tree = read_tree(path)
    records = tree.get("entity_types", [tree])
    return [StoredType(str(record["name"]).strip(), record) for record in records]
