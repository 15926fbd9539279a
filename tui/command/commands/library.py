"""`tidepool entities` and `tidepool agents`: the library's entities, entity types and agents."""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from tidepool.engine.call import stream
from tidepool.engine.config.entities import Entity, in_words
from tidepool.engine.config.entity_types import EntityType, find_type, generate, known_types, writing_tasks
from tidepool.engine.config.library import (
    LibraryAdditions,
    agent_from_entity,
    agents_of_files,
    code_words,
    entities_of_files,
    entity_of,
    secrets_for,
    store_additions,
    stored_agent,
    stored_entity,
)
from tidepool.engine.config.loading import declared_model
from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import UsageError
from tidepool.engine.reports.blocks import counted, money
from tidepool.storage import library
from tidepool.storage.file import reading
from tidepool.tui.command.main import shared_options
from tidepool.tui.command.output import echo, echo_err, echo_json, reply
from tidepool.tui.drawing.text import console, one_line, plain_table, shortened

# -- arguments ---------------------------------------------------------------------------------------------------------


def add_entities_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the entities of the library")
    listing.add_argument("--type", metavar="TYPE", help="list only entities of this type")
    _add_ids(actions.add_parser("show", help="show an entity with all its attributes"))
    add = actions.add_parser("add", help="add entities, or entity types, from JSON, TOML or CSV files")
    add.add_argument("files", nargs="+", metavar="FILE", type=Path)
    add_generation(actions.add_parser("generate", help="generate entities from a type and a seed"), "--model")
    remove = actions.add_parser("remove", help="remove entities, or a type, from the library; batches keep theirs")
    _add_ids(remove, "*")
    remove.add_argument("--type", metavar="TYPE", help="remove this entity type instead")
    actions.add_parser("types", help="list built-in entity types and your own")
    for action in actions.choices.values():
        shared_options(action, default=False)


def add_agents_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="list the agents of the library")
    _add_ids(actions.add_parser("show", help="show an agent with its instructions"))
    add = actions.add_parser("add", help="add agents from JSON, TOML or CSV files, or from entities")
    add.add_argument("files", nargs="*", metavar="FILE", type=Path)
    add.add_argument("--entity", action="append", default=[], metavar="ID", help="make an agent from this entity")
    _add_playing(add)
    add.add_argument(
        "--from-champion", metavar="BATCH", help="make an agent that uses the champion prompt of this evolution"
    )
    add.add_argument("--name", help="the name of an agent from a champion (Champion)")
    add.add_argument("--secret", help="the secret of the new agent; by default a code word drawn with --seed")
    add.add_argument("--seed", type=int, default=42, help="the seed of code words (42)")
    generate = actions.add_parser("generate", help="generate agents with code words, from an entity type and a seed")
    add_generation(generate, "--writer")
    _add_playing(generate)
    _add_ids(actions.add_parser("remove", help="remove agents from the library; batches keep theirs"))
    for action in actions.choices.values():
        shared_options(action, default=False)


def add_generation(parser: argparse.ArgumentParser, writer: str) -> None:
    """Adds the options of a generation. `writer` is the option that names the model of written texts."""
    parser.add_argument("--type", default="human", metavar="TYPE", help="human (default), fantasy_character, …")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="the number of entities (1)")
    parser.add_argument("--seed", type=int, default=42, help="the same seed gives the same entities (42)")
    parser.add_argument(writer, dest="writer", metavar="MODEL", help="a model that writes the free texts of a type")
    parser.add_argument("--backstory", action="store_true", help=f"let the model of {writer} write a backstory")
    parser.add_argument("--language", default="English", help="the language of backstories (English)")


def _add_ids(parser: argparse.ArgumentParser, nargs: str = "+") -> None:
    parser.add_argument("ids", nargs=nargs, metavar="ID", help="an id, a unique prefix of one, or a pattern with *")


def _add_playing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="MODEL", help="PROVIDER:MODEL or a preset, for new agents")
    parser.add_argument("--memory", choices=("short", "long"), default="short")


# -- actions -----------------------------------------------------------------------------------------------------------


def run_entities(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            _list(options, library.list_entities, "`tidepool entities generate --type human -n 10`")
        case "show":
            _show(options, library.find_entities)
        case "add":
            _add(options, entities_of_files(options.files))
        case "generate":
            kind, entities = generated(options)
            _add(options, LibraryAdditions(tuple(stored_entity(entity, kind.name) for entity in entities)))
        case "remove" if bool(options.type) == bool(options.ids):
            raise UsageError("Give the ids of entities to remove, or --type for an entity type.")
        case "remove" if options.type:
            library.remove_type(options.db, options.type)
            echo(f"Removed the type {options.type}")
        case "remove":
            _remove(options, "entity")
        case "types":
            _types(options)
    return 0


def run_agents(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            _list(options, library.list_agents, "`tidepool agents add --entity ID --model MODEL`")
        case "show":
            _show(options, library.find_agents)
        case "add":
            _add_agents(options)
        case "generate":
            _model(options)
            kind, entities = generated(options)
            secrets = code_words(len(entities), stream(options.seed, "code words", kind.name))
            _add_made(options, entities, secrets)
        case "remove":
            _remove(options, "agent")
    return 0


Stored = library.StoredEntity | library.StoredAgent


def _record(stored: Stored) -> dict[str, Any]:
    """Returns an entry in the format of the files that `add` and `entity_file` read."""
    if isinstance(stored, library.StoredAgent):
        return {"id": stored.id, **stored.definition}
    about = {"id": stored.id, "type": stored.type, "name": stored.name, "description": stored.description}
    return {**about, "attributes": stored.attributes}


def _list(options: argparse.Namespace, read: Callable[..., Sequence[Stored]], otherwise: str) -> None:
    stored: Sequence[Stored] = ()
    if options.db.exists():
        with reading(options.db) as connection:
            stored = read(connection, options.type) if getattr(options, "type", None) else read(connection)
    if options.json:
        echo_json(list(map(_record, stored)))
    elif stored:
        rows = [_row(one) for one in stored]
        table = [list(row.values()) for row in rows]
        console().print(plain_table(rows[0], table, no_wrap=[name for name in rows[0] if name != "attributes"]))
    else:
        echo(f"No {options.command} yet. Use `tidepool {options.command} add FILE` or {otherwise}.")


def _row(stored: Stored) -> dict[str, str | Text]:
    row: dict[str, str | Text] = {"id": stored.id, "name": stored.name}
    if isinstance(stored, library.StoredAgent):
        return row | {name: str(stored.definition.get(name, "")) for name in ("model", "memory", "secret")}
    attributes = one_line(", ".join(f"{name} {in_words(value)}" for name, value in stored.attributes.items()))
    return row | {"type": stored.type or "–", "attributes": Text(attributes, no_wrap=True, overflow="ellipsis")}


def _show(options: argparse.Namespace, find: Callable[..., Sequence[Stored]]) -> None:
    with reading(options.db) as connection:
        stored = find(connection, options.ids)
    if options.json:
        echo_json(list(map(_record, stored)))
        return
    out = console()
    for one in stored:
        if isinstance(one, library.StoredAgent):
            title, first, details = f"{one.name} · {one.id}", [], {**one.definition}
            details.pop("name", None)
        else:
            title, first = f"{one.name} · {one.type or 'no type'} · {one.id}", [one.description]
            details = {name: in_words(value) for name, value in one.attributes.items()}
        out.print(Text(one_line(title), style="bold"))
        for line in (*first, *(f"  {name}: {value}" for name, value in details.items())):
            out.print(Text(shortened(line, 20_000)))


def _remove(options: argparse.Namespace, shelf: library.Shelf) -> None:
    removed = library.remove(options.db, shelf, options.ids)
    reply(options, {"removed": removed}, f"Removed {counted(len(removed), shelf, options.command)}")


def _add(options: argparse.Namespace, additions: LibraryAdditions) -> None:
    """Stores additions and prints the first ten ids."""
    added = store_additions(options.db, additions)
    stored: list[Stored] = [*additions.entities, *additions.agents]
    ids = [one.id for one in stored]
    if added.types:
        echo_err(f"Added {counted(len(added.types), 'entity type')}: {', '.join(added.types)}")
        if not ids:
            return
    there = f" ({added.known:,} already in the library)" if added.known else ""
    lines = [f"Added {added.added:,} of {len(ids):,}{there}", *ids[:10]]
    if len(ids) > 10:
        lines.append(f"… and {len(ids) - 10:,} more: `tidepool {options.command} list`")
    reply(options, {"added": added.added, "known": added.known, "ids": ids}, "\n".join(lines))


def generated(options: argparse.Namespace) -> tuple[EntityType, list[Entity]]:
    """Returns the entities for `generate`, with texts written by a model if the user names one."""
    kind = find_type(options.db, options.type)
    entities = generate(kind, options.n, options.seed)
    if options.writer is None:
        if options.backstory:
            raise UsageError(
                "--backstory needs a model that writes the text. Name it with --model (`entities generate`) or --writer (`agents generate`), such as simulated:persona."
            )
        if left := [task.dimension for task in writing_tasks(kind, entities[0])]:
            echo_err(f"Left out, because no model was given to write it: {', '.join(left)}")
        return kind, entities
    from tidepool.engine.studies.simulation.writing import write_texts

    texts = asyncio.run(
        write_texts(
            kind, entities, options.writer, options.seed, with_backstory=options.backstory, language=options.language
        )
    )
    echo_err(f"Wrote {counted(texts.calls, 'text')} for {money(texts.cost_usd)}")
    return kind, texts.entities


def _types(options: argparse.Namespace) -> None:
    types = known_types(options.db)
    listed = [(kind.name, kind.description, [one.name for one in kind.dimensions]) for kind in types.values()]
    if options.json:
        echo_json([{"name": name, "description": words, "dimensions": found} for name, words, found in listed])
        return
    rows = [(name, words, ", ".join(found)) for name, words, found in listed]
    console().print(plain_table(("type", "description", "dimensions"), rows))


# -- agents that are made ----------------------------------------------------------------------------------------------


def _add_agents(options: argparse.Namespace) -> None:
    if sum(map(bool, (options.files, options.entity, options.from_champion))) != 1:
        raise UsageError(
            "Give a FILE of agents, --entity ID with --model MODEL for an agent from an entity, or "
            "--from-champion BATCH with --model MODEL for an agent from the champion of an evolution."
        )
    if options.name and not options.from_champion:
        raise UsageError("--name works only with --from-champion. An entity keeps its own name.")
    if options.files:
        _add(options, agents_of_files(options.files))
    elif options.entity:
        with reading(options.db) as connection:
            entities = [entity_of(stored) for stored in library.find_entities(connection, options.entity)]
        if options.secret is not None and len(entities) > 1:
            raise UsageError("--secret works only with one entity, because agents need different secrets.")
        _add_made(options, entities, _secrets(options, [entity.name for entity in entities]))
    else:
        from tidepool.engine.studies.evolution.records import champion_prompt

        model, name = _model(options), options.name or "Champion"
        with reading(options.db) as connection:
            prompt = champion_prompt(connection, options.from_champion)
        (secret,) = _secrets(options, [name])
        agent = Agent(name=name, model=model, secret=secret, instructions=prompt, memory=options.memory)
        _add(options, LibraryAdditions(agents=(stored_agent(agent),)))


def _secrets(options: argparse.Namespace, names: list[str]) -> list[str]:
    return [options.secret] if options.secret is not None else secrets_for(names, options.seed)


def _add_made(options: argparse.Namespace, entities: Sequence[Entity], secrets: Sequence[str]) -> None:
    agents = [
        agent_from_entity(entity, _model(options), secret, memory=options.memory)
        for entity, secret in zip(entities, secrets, strict=True)
    ]
    _add(options, LibraryAdditions(agents=tuple(map(stored_agent, agents))))


def _model(options: argparse.Namespace) -> str:
    if not options.model:
        raise UsageError("A new agent needs --model, e.g. --model simulated:guarded or gpt4o_mini.")
    declared_model(options.model)
    return str(options.model)
