"""`tidepool entities` and `tidepool agents`: the library's entities, entity types and agents."""

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from tidepool.engine.call import stream
from tidepool.engine.config.loading import declared_model
from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import UsageError
from tidepool.engine.library.contents import (
    AddedToLibrary,
    LibraryAdditions,
    agent_from_champion,
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
from tidepool.engine.library.entities import Entity, in_words
from tidepool.engine.library.entity_types import EntityType, find_type, generate, known_types, writing_tasks
from tidepool.engine.results.blocks import counted, money
from tidepool.storage import library
from tidepool.storage.file import reading
from tidepool.tui.command.main import shared_options
from tidepool.tui.command.output import echo, echo_err, echo_json, reply
from tidepool.tui.drawing.text import console, one_line, plain_table, shortened

# -- entities ----------------------------------------------------------------------------------------------------------


def add_entities_arguments(name: str, parser: argparse.ArgumentParser) -> None:
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


def run_entities(options: argparse.Namespace) -> int:
    match options.action:
        case "list":
            _list_entities(options)
        case "show":
            _show_entities(options)
        case "add":
            _add_all_entities(options, entities_of_files(options.files))
        case "generate":
            kind, entities = generated(options)
            _add_all_entities(options, LibraryAdditions(tuple(stored_entity(entity, kind.name) for entity in entities)))
        case "remove":
            _remove_entities(options)
        case "types":
            _types(options)
    return 0


def _list_entities(options: argparse.Namespace) -> None:
    entities: list[library.StoredEntity] = []
    if options.db.exists():
        with reading(options.db) as connection:
            entities = library.list_entities(connection, options.type)
    if options.json:
        echo_json([_entity_record(entity) for entity in entities])
        return
    if not entities:
        echo("no entities yet: `tidepool entities add FILE`, or `tidepool entities generate --type human -n 10`")
        return
    out = console()
    texts = [(one_line(e.id), one_line(e.name), one_line(e.type or "–")) for e in entities]
    available = out.width - sum(max(len(row[place]) for row in texts) + 2 for place in range(3))
    rows = [(*row, _attributes(entity, max(available, 20))) for entity, row in zip(entities, texts, strict=True)]
    names = ("id", "name", "type", "attributes")
    out.print(plain_table(names, rows, no_wrap=names))


def _attributes(entity: library.StoredEntity, width: int) -> Text:
    result = Text(one_line(", ".join(f"{name} {in_words(value)}" for name, value in entity.attributes.items())))
    result.truncate(width, overflow="ellipsis")
    return result


def _entity_record(entity: library.StoredEntity) -> dict[str, Any]:
    """Such a list is a file that `entity_file` and `entities add` read."""
    return {
        "id": entity.id,
        "type": entity.type,
        "name": entity.name,
        "description": entity.description,
        "attributes": entity.attributes,
    }


def _show_entities(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        entities = library.find_entities(connection, options.ids)
    if options.json:
        echo_json([_entity_record(entity) for entity in entities])
        return
    for entity in entities:
        attributes = [f"  {name}: {in_words(value)}" for name, value in entity.attributes.items()]
        title = f"{entity.name} · {entity.type or 'no type'} · {entity.id}"
        _print_item(title, map(shortened, (entity.description, *attributes)))


def _print_item(title: str, lines: Iterable[str]) -> None:
    out = console()
    out.print(Text(one_line(title), style="bold"))
    for line in lines:
        out.print(Text(line))


def generated(options: argparse.Namespace) -> tuple[EntityType, list[Entity]]:
    """What `generate` asks for, with the texts of a writer where one is named."""
    kind = find_type(options.db, options.type)
    entities = generate(kind, options.n, options.seed)
    if options.writer is None:
        if options.backstory:
            raise UsageError("--backstory needs a model that writes it: name one, e.g. simulated:persona.")
        if left := [task.dimension for task in writing_tasks(kind, entities[0])]:
            echo_err(f"left out, since no model to write it was named: {', '.join(left)}")
        return kind, entities
    from tidepool.engine.studies.simulation.writing import write_texts

    texts = asyncio.run(
        write_texts(
            kind, entities, options.writer, options.seed, with_backstory=options.backstory, language=options.language
        )
    )
    echo_err(f"{counted(texts.calls, 'text')} written for {money(texts.cost_usd)}")
    return kind, texts.entities


def _add_all_entities(options: argparse.Namespace, haul: LibraryAdditions) -> None:
    added = store_additions(options.db, haul)
    if added.types:
        echo_err(f"added {counted(len(added.types), 'entity type')}: {', '.join(added.types)}")
    if haul.entities:
        _print_added(options, added, [entity.id for entity in haul.entities], "`tidepool entities list`")


def _print_added(options: argparse.Namespace, result: AddedToLibrary, ids: Sequence[str], more: str) -> None:
    """The first ten ids; `more` is the command that lists all."""
    there = f" ({result.known:,} were there already)" if result.known else ""
    lines = [f"added {result.added:,} of {len(ids):,}{there}", *ids[:10]]
    if more and len(ids) > 10:
        lines.append(f"… and {len(ids) - 10:,} more: {more}")
    reply(options, {"added": result.added, "known": result.known, "ids": list(ids)}, "\n".join(lines))


def _remove_entities(options: argparse.Namespace) -> None:
    if bool(options.type) == bool(options.ids):
        raise UsageError("Name the ids of entities to remove, or --type for an entity type.")
    if options.type:
        library.remove_type(options.db, options.type)
        echo(f"removed the type {options.type}")
        return
    removed = library.remove(options.db, "entity", options.ids)
    reply(options, {"removed": removed}, f"removed {counted(len(removed), 'entity', 'entities')}")


def _types(options: argparse.Namespace) -> None:
    types = known_types(options.db)
    listed = [(kind.name, kind.description, [one.name for one in kind.dimensions]) for kind in types.values()]
    if options.json:
        echo_json([{"name": name, "description": words, "dimensions": found} for name, words, found in listed])
        return
    rows = [(name, words, ", ".join(found)) for name, words, found in listed]
    console().print(plain_table(("type", "what it is", "dimensions"), rows))


# -- agents ------------------------------------------------------------------------------------------------------------


def add_agents_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="the agents of the library")
    show = actions.add_parser("show", help="one agent with its instructions")
    show.add_argument("ids", nargs="+", metavar="ID", help="an id, a unique beginning of one, or a pattern with *")
    add = actions.add_parser("add", help="add agents from JSON, TOML or CSV files, or made of entities")
    add.add_argument("files", nargs="*", metavar="FILE", type=Path)
    add.add_argument("--entity", action="append", default=[], metavar="ID", help="make an agent of this entity")
    _add_playing(add)
    add.add_argument(
        "--from-champion", metavar="BATCH", help="make an agent that plays by the prompt which won this evolution"
    )
    add.add_argument("--name", help="of an agent from a champion (Champion)")
    add.add_argument("--secret", help="the secret of an agent that is made; else a code word by --seed")
    add.add_argument("--seed", type=int, default=42, help="of code words (42)")
    generate = actions.add_parser("generate", help="make agents of entities from a type and a seed, with code words")
    add_generation(generate, "--writer")
    _add_playing(generate)
    remove = actions.add_parser("remove", help="take agents out of the library; batches keep theirs")
    remove.add_argument("ids", nargs="+", metavar="ID", help="an id, a unique beginning of one, or a pattern with *")
    for action in actions.choices.values():
        shared_options(action, default=False)


def _add_playing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="MODEL", help="PROVIDER:MODEL or a preset, for agents that are made")
    parser.add_argument("--memory", choices=("short", "long"), default="short")


def run_agents(options: argparse.Namespace) -> int:
    {
        "list": _list_agents,
        "show": _show_agents,
        "add": _add_agents,
        "generate": _generate_agents,
        "remove": _remove_agents,
    }[options.action](options)
    return 0


def _list_agents(options: argparse.Namespace) -> None:
    agents: list[library.StoredAgent] = []
    if options.db.exists():
        with reading(options.db) as connection:
            agents = library.list_agents(connection)
    if options.json:
        echo_json([_agent_record(agent) for agent in agents])
        return
    if not agents:
        echo("no agents yet: `tidepool agents add FILE`, or make some of entities with `--entity ID --model MODEL`")
        return
    keys = ("model", "memory", "secret")
    rows = [(agent.id, agent.name, *(str(agent.definition.get(name, "")) for name in keys)) for agent in agents]
    console().print(plain_table(("id", "name", *keys), rows, no_wrap=("id",)))


def _agent_record(agent: library.StoredAgent) -> dict[str, Any]:
    """Such a list is a file that `agents add` reads."""
    return {"id": agent.id, **agent.definition}


def _show_agents(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        agents = library.find_agents(connection, options.ids)
    if options.json:
        echo_json([_agent_record(agent) for agent in agents])
        return
    for agent in agents:
        keys = {name: value for name, value in agent.definition.items() if name != "name"}
        lines = (shortened(f"  {name}: {value}", 20_000) for name, value in keys.items())
        _print_item(f"{agent.name} · {agent.id}", lines)


def _add_agents(options: argparse.Namespace) -> None:
    if sum(map(bool, (options.files, options.entity, options.from_champion))) != 1:
        raise UsageError(
            "Name a FILE of agents, or --entity ID with --model MODEL to make an agent of an entity, or "
            "--from-champion BATCH with --model MODEL to make one of an evolution's winning prompt."
        )
    if options.name and not options.from_champion:
        raise UsageError("--name is for an agent from a champion; an entity keeps its own name.")
    if options.files:
        _add_all_agents(options, agents_of_files(options.files))
    elif options.entity:
        _add_of_entities(options)
    else:
        _add_champion(options)


def _add_of_entities(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        entities = [entity_of(stored) for stored in library.find_entities(connection, options.entity)]
    if options.secret is not None and len(entities) > 1:
        raise UsageError("--secret is for one entity; agents that share it would have nothing to find out.")
    names = [entity.name for entity in entities]
    secrets = [options.secret] if options.secret is not None else secrets_for(names, options.seed)
    _add_all_agents(options, _haul([_agent(options, *pair) for pair in zip(entities, secrets, strict=True)]))


def _add_champion(options: argparse.Namespace) -> None:
    from tidepool.engine.studies.evolution.statistics import champion_prompt

    model, name = _model(options), options.name or "Champion"
    with reading(options.db) as connection:
        prompt = champion_prompt(connection, options.from_champion)
    secret = options.secret if options.secret is not None else secrets_for([name], options.seed)[0]
    _add_all_agents(options, _haul([agent_from_champion(prompt, name, model, secret, memory=options.memory)]))


def _generate_agents(options: argparse.Namespace) -> None:
    _model(options)
    kind, entities = generated(options)
    secrets = code_words(len(entities), stream(options.seed, "code words", kind.name))
    _add_all_agents(options, _haul([_agent(options, *pair) for pair in zip(entities, secrets, strict=True)]))


def _haul(agents: list[Agent]) -> LibraryAdditions:
    return LibraryAdditions(agents=tuple(map(stored_agent, agents)))


def _agent(options: argparse.Namespace, entity: Any, secret: str) -> Agent:
    return agent_from_entity(entity, _model(options), secret, memory=options.memory)


def _model(options: argparse.Namespace) -> str:
    if not options.model:
        raise UsageError("An agent that is made needs --model, e.g. --model simulated:guarded or gpt4o_mini.")
    declared_model(options.model)
    return str(options.model)


def _add_all_agents(options: argparse.Namespace, haul: LibraryAdditions) -> None:
    _print_added(options, store_additions(options.db, haul), [agent.id for agent in haul.agents], "")


def _remove_agents(options: argparse.Namespace) -> None:
    removed = library.remove(options.db, "agent", options.ids)
    reply(options, {"removed": removed}, f"removed {len(removed):,}")
