"""Connects the file's library with studies: entries that a config names by id are copied into the batch when it is frozen.

An id is a readable name and a hash of the content, such as `hypatia-3f2a91`. An entity or agent has the same id in every
file. So a merge stores it once, and a script that generates from a seed knows the ids in advance.
"""

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

from pydantic import ValidationError

from tidepool.engine.call import stream
from tidepool.engine.config.entities import Entity, entity_from, portrait, read_entities, read_table, read_tree
from tidepool.engine.config.entity_types import types_of_file
from tidepool.engine.config.problems import problems_of, validated
from tidepool.engine.config.sections import Agent, Config
from tidepool.engine.errors import NotFound, UsageError, located
from tidepool.storage import library
from tidepool.storage.file import prepare, reading

WORDS = tuple(
    """
    alabaster albatross almanac amaryllis anemone anvil apricot arboretum armadillo astrolabe aubergine badger
    balustrade barnacle bassoon bayleaf beeswax bellows bergamot birdsong bobbin borage bramble bulrush bumblebee
    buttercup buttress calabash cardamom caravel carnelian catkin celandine chamois chisel cinnabar clavichord cobalt
    colander comfrey coracle cormorant cornflower crocus cuttlefish cymbal dandelion damson dulcimer dovetail driftwood
    eiderdown elderberry emerald ermine fennel fiddlehead filigree firefly flagstone flamingo foxglove fresco gargoyle
    gazebo gentian gooseberry gossamer granite gudgeon harlequin harpsichord hawthorn hazelnut heliotrope heron
    hollyhock honeycomb hornbeam hyacinth ibex indigo inglenook jackdaw jasmine jonquil juniper kestrel kingfisher
    ladybird lapwing larkspur lavender lichen limpet lodestone lupin lynx magpie malachite mandolin marigold marzipan
    meadowlark millstone mimosa moonstone mulberry nasturtium nettle nightjar nutmeg obelisk obsidian ocarina osprey
    otter oxbow paprika parsnip peppercorn periwinkle pewter pipistrelle plumage pomegranate porcupine primrose
    pumice quarry quicksilver quillwort quince raspberry redwood rhubarb rosewood saffron samovar sandpiper sapphire
    scabbard sextant shingle snapdragon snowdrop sorrel spindle starling sundial sycamore tamarind tangerine teasel
    thimble thistle toadstool topaz tortoise trellis trombone turmeric turquoise umber verbena vermilion viola
    walrus weathervane whelk willowherb wisteria woodpecker yarrow zephyr zither
    """.split()
)


def code_words(count: int, random: Random) -> list[str]:
    """`count` different code words; when the list is used up, pairs of words."""
    words = random.sample(WORDS, min(count, len(WORDS)))
    pairs = len(WORDS) * len(WORDS)
    for number in random.sample(range(pairs), min(count - len(words), pairs)):
        words.append(f"{WORDS[number // len(WORDS)]}-{WORDS[number % len(WORDS)]}")
    return words


_NUMBERS = {"temperature": float, "max_tokens": int, "max_reasoning_tokens": int}


def read_agents(path: Path) -> list[Agent]:
    """All agents of a file. The file extension decides the format."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        records = [(f"{path}, row {row}", _from_cells(cells, f"{path}, row {row}")) for row, cells in read_table(path)]
    elif suffix in (".json", ".toml"):
        tree = read_tree(path)
        entries = tree.get("agents") if isinstance(tree, dict) else tree
        if not isinstance(entries, list):
            raise UsageError(f"{path}: expected a list of agents, or a list under the key 'agents'.")
        records = [(f"{path}, agent {index}", record) for index, record in enumerate(entries, 1)]
    else:
        raise UsageError(
            f"{path}: unknown file type. Agents are read from .json, .toml and .csv files. Rename or convert the file."
        )
    if not records:
        raise UsageError(f"{path}: the file contains no agents.")
    for _, record in records:
        if isinstance(record, dict):
            record.pop("id", None)  # set by the library; a file that has it is valid
    return [validated(Agent, record, where) for where, record in records]


def _from_cells(cells: Mapping[str, str], where: str) -> dict[str, Any]:
    """An empty cell means the default."""
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell:
            try:
                values[name] = _NUMBERS.get(name, str)(cell)
            except ValueError:
                raise UsageError(f"{where}, column {name!r}: {cell!r} is not a number.") from None
    return values


def content_id(name: str, content: object) -> str:
    """The id of a library entry: its name, and a hash of its content."""
    folded = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:40].strip("-")
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{slug}-{digest}" if slug else digest


def stored_entity(entity: Entity, type_name: str | None = None) -> library.StoredEntity:
    """The entity as a library stores it."""
    entity_id = content_id(entity.name, entity.as_record())
    return library.StoredEntity(entity_id, entity.name, type_name, entity.description, dict(entity.attributes))


def entity_of(stored: library.StoredEntity) -> Entity:
    """The entity, checked like one from a file, since the library may be untrusted."""
    record = {"name": stored.name, "description": stored.description, "attributes": stored.attributes}
    return entity_from(record, f"library entity {stored.id}")


def stored_agent(agent: Agent) -> library.StoredAgent:
    """The agent as a library stores it."""
    definition = agent.model_dump(mode="json")
    return library.StoredAgent(content_id(agent.name, definition), agent.name, definition)


def agent_of(stored: library.StoredAgent) -> Agent:
    """The agent from a library, checked like one from a file."""
    try:
        return Agent.model_validate(stored.definition)
    except ValidationError as error:
        raise UsageError(f"library agent {stored.id}: {problems_of(error, Agent)[0].sentence}") from None


def agent_from_entity(entity: Entity, model: str, secret: str = "", **settings: Any) -> Agent:
    """An agent that plays as the entity, whose description becomes its instructions."""
    instructions = "\n".join(portrait("About you", entity))
    return Agent(name=entity.name, model=model, secret=secret, instructions=instructions, **settings)


def secrets_for(names: Sequence[str], seed: int) -> list[str]:
    """A code word for each name. Other names in the list give other words."""
    return code_words(len(names), stream(seed, "code words", *names))


# -- adding to the library-----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LibraryAdditions:
    """Entries to be added to a library."""

    entities: tuple[library.StoredEntity, ...] = ()
    types: tuple[library.StoredType, ...] = ()
    agents: tuple[library.StoredAgent, ...] = ()


@dataclass(frozen=True, slots=True)
class AddedToLibrary:
    """The result of adding entries to a library."""

    added: int
    known: int
    """number of entries that already existed"""
    types: tuple[str, ...] = ()


def entities_of_files(paths: Iterable[Path]) -> LibraryAdditions:
    """Entities and entity types. All files are read before anything is written."""
    entities: list[library.StoredEntity] = []
    types: list[library.StoredType] = []
    for path in paths:
        if (own_types := types_of_file(path)) is not None:
            types += own_types
        else:
            entities += [stored_entity(entity) for entity in read_entities(path)]
    return LibraryAdditions(tuple(entities), tuple(types))


def agents_of_files(paths: Iterable[Path]) -> LibraryAdditions:
    """Agents. All files are read before anything is written."""
    return LibraryAdditions(agents=tuple(stored_agent(agent) for path in paths for agent in read_agents(path)))


def store_additions(database: Path, additions: LibraryAdditions) -> AddedToLibrary:
    """Adds every entry to the library of the file, each once."""
    prepare(database)
    if additions.types:
        library.put_types(database, additions.types)
    added = library.add(database, additions.entities) + library.add(database, additions.agents)
    known = len(additions.entities) + len(additions.agents) - added
    return AddedToLibrary(added, known, tuple(kind.name for kind in additions.types))


# -- reading from the library---------------------------------------------------------------------------------


def names_library(config: Config) -> bool:
    """Whether the config names agents or entities by id."""
    return bool(config.agent_ids or getattr(config.settings, "entity_ids", ()))


def with_library(config: Config, database: Path) -> Config:
    """The config with the content of everything that it names by id."""
    if not names_library(config):
        return config
    if not database.exists():
        raise UsageError(
            f"The config names agents or entities by id, but the file {database} with their library does not exist. "
            "Name the file with --db, or add entries to its library with `tidepool entities add`."
        )
    with reading(database) as connection:
        return _resolve_ids(config, connection)


def _resolve_ids(config: Config, connection: sqlite3.Connection) -> Config:
    kind, settings = config.batch.kind, config.settings
    entity_ids: Sequence[str] = getattr(settings, "entity_ids", ())
    with _locating_unknown_ids("agent_ids"):
        agents = [agent_of(stored) for stored in library.find_agents(connection, config.agent_ids)]
    with _locating_unknown_ids(kind, "entity_ids"):
        stored = library.find_entities(connection, entity_ids)
        entities = [{"id": entity.id, **entity_of(entity).as_record()} for entity in stored]
    update = {
        "agents": [*config.agents, *agents],
        "agent_ids": [],
        "entities": [*config.entities, *entities],
        "settings": settings.model_copy(update={"entity_ids": []}) if entity_ids else settings,
    }
    return config.model_copy(update=update)


@contextmanager
def _locating_unknown_ids(*where: str) -> Iterator[None]:
    """Reports an unknown id at the key that lists it."""
    with located(*where):
        try:
            yield
        except NotFound as error:
            raise UsageError(str(error)) from None
