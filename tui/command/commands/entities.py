"""`tidepool entities`: the library's entities and entity types."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from tidepool.engine.errors import UsageError
from tidepool.engine.library.contents import LibraryAdditions, entities_of_files, keep, stored_entity
from tidepool.engine.library.entities import Entity
from tidepool.engine.library.entity_types import EntityType, find_type, generate, in_words, known_types, writing_tasks
from tidepool.engine.results.wording import money
from tidepool.storage import library
from tidepool.storage.file import reading
from tidepool.tui.command.main import shared_options
from tidepool.tui.command.saying import say, say_json, tell
from tidepool.tui.drawing.plain import one_line, shortened
from tidepool.tui.drawing.terminal import console


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the entities of the library")
    listing.add_argument("--type", metavar="TYPE", help="only those of one type")
    show = actions.add_parser("show", help="one entity with all its attributes")
    show.add_argument("ids", nargs="+", metavar="ID", help="an id, a unique beginning of one, or a pattern with *")
    add = actions.add_parser("add", help="add entities, or entity types, from JSON, TOML or CSV files")
    add.add_argument("files", nargs="+", metavar="FILE", type=Path)
    add_generation(actions.add_parser("generate", help="make entities from a type and a seed"), "--model")
    remove = actions.add_parser("remove", help="take entities, or a type, out of the library; batches keep theirs")
    remove.add_argument("ids", nargs="*", metavar="ID", help="an id, a unique beginning of one, or a pattern with *")
    remove.add_argument("--type", metavar="TYPE", help="remove this entity type instead")
    actions.add_parser("types", help="the entity types there are, built in and your own")
    for action in actions.choices.values():
        shared_options(action, default=False)


def add_generation(parser: argparse.ArgumentParser, writer: str) -> None:
    """`writer` is the option that names the model of written texts."""
    parser.add_argument("--type", default="human", metavar="TYPE", help="human (default), fantasy_character, …")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="how many (1)")
    parser.add_argument("--seed", type=int, default=42, help="the same seed makes the same entities (42)")
    parser.add_argument(writer, dest="writer", metavar="MODEL", help="a model that writes what a type leaves to one")
    parser.add_argument("--backstory", action="store_true", help=f"have the model of {writer} add a backstory")
    parser.add_argument("--language", default="English", help="of backstories (English)")


def run(options: argparse.Namespace) -> int:
    {
        "list": _list,
        "show": _show,
        "add": _add,
        "generate": _generate,
        "remove": _remove,
        "types": _types,
    }[options.action](options)
    return 0


def _list(options: argparse.Namespace) -> None:
    entities = _stored(options)
    if options.json:
        say_json([_record(entity) for entity in entities])
        return
    if not entities:
        say("no entities yet: `tidepool entities add FILE`, or `tidepool entities generate --type human -n 10`")
        return
    out = console()
    table = Table(box=None, pad_edge=False)
    for name in ("id", "name", "type", "attributes"):
        table.add_column(name, no_wrap=True)
    texts = [(one_line(e.id), one_line(e.name), one_line(e.type or "–")) for e in entities]
    room = out.width - sum(max(len(row[place]) for row in texts) + 2 for place in range(3))
    for entity, row in zip(entities, texts, strict=True):
        table.add_row(*map(Text, row), _attributes(entity, max(room, 20)))
    out.print(table)


def _attributes(entity: library.StoredEntity, room: int) -> Text:
    told = Text(one_line(", ".join(f"{name} {in_words(value)}" for name, value in entity.attributes.items())))
    told.truncate(room, overflow="ellipsis")
    return told


def _stored(options: argparse.Namespace) -> list[library.StoredEntity]:
    if not options.db.exists():
        return []
    with reading(options.db) as connection:
        return library.list_entities(connection, options.type)


def _record(entity: library.StoredEntity) -> dict[str, Any]:
    """Such a list is a file that `entity_file` and `entities add` read."""
    return {
        "id": entity.id,
        "type": entity.type,
        "name": entity.name,
        "description": entity.description,
        "attributes": entity.attributes,
    }


def _show(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        entities = library.find_entities(connection, options.ids)
    if options.json:
        say_json([_record(entity) for entity in entities])
        return
    out = console()
    for entity in entities:
        out.print(Text(one_line(f"{entity.name} · {entity.type or 'no type'} · {entity.id}"), style="bold"))
        out.print(Text(shortened(entity.description)))
        for name, value in entity.attributes.items():
            out.print(Text(shortened(f"  {name}: {in_words(value)}")))


def _add(options: argparse.Namespace) -> None:
    _keep(options, entities_of_files(options.files))


def _generate(options: argparse.Namespace) -> None:
    kind, entities = generated(options)
    _keep(options, LibraryAdditions(tuple(stored_entity(entity, kind.name) for entity in entities)))


def generated(options: argparse.Namespace) -> tuple[EntityType, list[Entity]]:
    """What `generate` asks for, with the texts of a writer where one is named."""
    kind = find_type(options.db, options.type)
    entities = generate(kind, options.n, options.seed)
    if options.writer is None:
        if options.backstory:
            raise UsageError("--backstory needs a model that writes it: name one, e.g. simulated:persona.")
        if left := [task.dimension for task in writing_tasks(kind, entities[0])]:
            tell(f"left out, since no model to write it was named: {', '.join(left)}")
        return kind, entities
    from tidepool.engine.studies.simulation.writing import write_texts

    texts = asyncio.run(
        write_texts(
            kind,
            entities,
            options.writer,
            options.seed,
            with_backstory=options.backstory,
            language=options.language,
        )
    )
    tell(f"{_counted(texts.calls, 'text')} written for {money(texts.cost_usd)}")
    return kind, texts.entities


def _keep(options: argparse.Namespace, haul: LibraryAdditions) -> None:
    kept, entities = keep(options.db, haul), haul.entities
    if kept.types:
        tell(f"added {_counted(len(kept.types), 'entity type')}: {', '.join(kept.types)}")
    if not entities:
        return
    if options.json:
        say_json({"added": kept.added, "known": kept.known, "ids": [entity.id for entity in entities]})
        return
    there = f" ({kept.known:,} were there already)" if kept.known else ""
    say(f"added {kept.added:,} of {len(entities):,}{there}")
    for entity in entities[:10]:
        say(entity.id)
    if len(entities) > 10:
        say(f"… and {len(entities) - 10:,} more: `tidepool entities list`")


def _remove(options: argparse.Namespace) -> None:
    if bool(options.type) == bool(options.ids):
        raise UsageError("Name the ids of entities to remove, or --type for an entity type.")
    if options.type:
        library.remove_type(options.db, options.type)
        say(f"removed the type {options.type}")
        return
    removed = library.remove(options.db, "entity", options.ids)
    if options.json:
        say_json({"removed": removed})
    else:
        say(f"removed {_counted(len(removed), 'entity')}")


def _types(options: argparse.Namespace) -> None:
    types = known_types(options.db)
    if options.json:
        listed = [
            {"name": kind.name, "description": kind.description, "dimensions": [d.name for d in kind.dimensions]}
            for kind in types.values()
        ]
        say_json(listed)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("type", "what it is", "dimensions"):
        table.add_column(name)
    for kind in types.values():
        dimensions = ", ".join(dimension.name for dimension in kind.dimensions)
        table.add_row(Text(one_line(kind.name)), Text(one_line(kind.description)), Text(one_line(dimensions)))
    console().print(table)


def _counted(number: int, noun: str) -> str:
    several = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}"
