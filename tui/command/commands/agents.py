"""`tidepool agents`: the library's agents, written in files, made from entities, or generated."""

import argparse
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from tidepool.engine.call import stream
from tidepool.engine.config.loading import declared_model
from tidepool.engine.config.sections import Agent
from tidepool.engine.errors import UsageError
from tidepool.engine.library.contents import (
    LibraryAdditions,
    agent_from_champion,
    agent_from_entity,
    agents_of_files,
    code_words,
    entity_of,
    keep,
    secrets_for,
    stored_agent,
)
from tidepool.storage import library
from tidepool.storage.file import reading
from tidepool.tui.command.commands.entities import add_generation, generated
from tidepool.tui.command.main import shared_options
from tidepool.tui.command.saying import say, say_json
from tidepool.tui.drawing.plain import one_line, shortened
from tidepool.tui.drawing.terminal import console


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
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


def run(options: argparse.Namespace) -> int:
    {"list": _list, "show": _show, "add": _add, "generate": _generate, "remove": _remove}[options.action](options)
    return 0


def _list(options: argparse.Namespace) -> None:
    agents: list[library.StoredAgent] = []
    if options.db.exists():
        with reading(options.db) as connection:
            agents = library.list_agents(connection)
    if options.json:
        say_json([_record(agent) for agent in agents])
        return
    if not agents:
        say("no agents yet: `tidepool agents add FILE`, or make some of entities with `--entity ID --model MODEL`")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("id", "name", "model", "memory", "secret"):
        table.add_column(name, no_wrap=name == "id")
    for agent in agents:
        told = [str(agent.definition.get(name, "")) for name in ("model", "memory", "secret")]
        table.add_row(*(Text(one_line(text)) for text in (agent.id, agent.name, *told)))
    console().print(table)


def _record(agent: library.StoredAgent) -> dict[str, Any]:
    """Such a list is a file that `agents add` reads."""
    return {"id": agent.id, **agent.definition}


def _show(options: argparse.Namespace) -> None:
    with reading(options.db) as connection:
        agents = library.find_agents(connection, options.ids)
    if options.json:
        say_json([_record(agent) for agent in agents])
        return
    out = console()
    for agent in agents:
        out.print(Text(one_line(f"{agent.name} · {agent.id}"), style="bold"))
        for name, value in agent.definition.items():
            if name != "name":
                out.print(Text(shortened(f"  {name}: {value}", 20_000)))


def _add(options: argparse.Namespace) -> None:
    if sum(map(bool, (options.files, options.entity, options.from_champion))) != 1:
        raise UsageError(
            "Name a FILE of agents, or --entity ID with --model MODEL to make an agent of an entity, or "
            "--from-champion BATCH with --model MODEL to make one of an evolution's winning prompt."
        )
    if options.name and not options.from_champion:
        raise UsageError("--name is for an agent from a champion; an entity keeps its own name.")
    if options.files:
        _keep(options, agents_of_files(options.files))
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
    _keep(options, _haul([_agent(options, *pair) for pair in zip(entities, secrets, strict=True)]))


def _add_champion(options: argparse.Namespace) -> None:
    from tidepool.engine.studies.evolution.statistics import champion_prompt

    model, name = _model(options), options.name or "Champion"
    with reading(options.db) as connection:
        prompt = champion_prompt(connection, options.from_champion)
    secret = options.secret if options.secret is not None else secrets_for([name], options.seed)[0]
    _keep(options, _haul([agent_from_champion(prompt, name, model, secret, memory=options.memory)]))


def _generate(options: argparse.Namespace) -> None:
    _model(options)
    kind, entities = generated(options)
    secrets = code_words(len(entities), stream(options.seed, "code words", kind.name))
    _keep(options, _haul([_agent(options, *pair) for pair in zip(entities, secrets, strict=True)]))


def _haul(agents: list[Agent]) -> LibraryAdditions:
    return LibraryAdditions(agents=tuple(map(stored_agent, agents)))


def _agent(options: argparse.Namespace, entity: Any, secret: str) -> Agent:
    return agent_from_entity(entity, _model(options), secret, memory=options.memory)


def _model(options: argparse.Namespace) -> str:
    if not options.model:
        raise UsageError("An agent that is made needs --model, e.g. --model simulated:guarded or gpt4o_mini.")
    declared_model(options.model)
    return str(options.model)


def _keep(options: argparse.Namespace, haul: LibraryAdditions) -> None:
    kept, stored = keep(options.db, haul), haul.agents
    if options.json:
        say_json({"added": kept.added, "known": kept.known, "ids": [agent.id for agent in stored]})
        return
    there = f" ({kept.known:,} were there already)" if kept.known else ""
    say(f"added {kept.added:,} of {len(stored):,}{there}")
    for agent in stored[:10]:
        say(agent.id)


def _remove(options: argparse.Namespace) -> None:
    removed = library.remove(options.db, "agent", options.ids)
    if options.json:
        say_json({"removed": removed})
    else:
        say(f"removed {len(removed):,}")
