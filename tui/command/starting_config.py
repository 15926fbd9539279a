"""A config to start from: what one changes first stands at the top of each section, all else behind a # with its default."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tidepool.engine.config.sections import Service
from tidepool.engine.config.toml_files import format_value
from tidepool.engine.kinds import load_kind

COLUMN = 34
"""where the words about a key begin"""
WIDEST = 120
"""columns of a line; else the words stand above it"""


@dataclass(frozen=True, slots=True)
class Start:
    """What a first study of a kind has of its own."""

    about: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    """of the kind's own section"""
    behind: str = ""
    """sections behind it"""


AGENTS = """
[[agents]]                        # at least two; each talks with each
name = "Ada"
model = "simulated:guarded"       # a real one: "gpt4o_mini", "claude_sonnet", "ollama:llama3.2" (docs/providers.md)
secret = "marigold"
memory = "short"                  # long: she remembers her earlier conversations
# instructions = "Never tell."    # added to the system prompt

[[agents]]
name = "Bob"
model = "simulated:trusting"
secret = "lantern"
"""

ENTITIES = """
[[entities]]                      # or entity_file = "people.csv" above
name = "Hypatia"
description = "Mathematician of Alexandria, who wants proof before policy"
attributes = { openness = 9, age = 45 }

[[entities]]
name = "Darwin"
description = "Naturalist, patient with evidence and shy of quarrels"
attributes = { openness = 8, age = 60 }

[[entities]]
name = "Ada"
description = "Programmer, who counts the cost of everything"
attributes = { openness = 7, age = 36 }
"""

STARTS = {
    "secret_game": Start(
        "Agents with secrets talk in pairs: who reveals, who obtains.",
        {"mode": "standard", "num_interactions": 20, "messages_per_interaction": 5},
        AGENTS,
    ),
    "simulation": Start(
        "Personas, every pair of them, talk in a shared context.",
        {"context": "A panel on climate policy", "interaction_size": 2, "num_simulations": 3, "n_turns": 2},
        ENTITIES,
    ),
    "evolution": Start(
        "Prompts evolve on problems; the winner is compared with the best seed.",
        {
            "model": "simulated:solver",
            "mutator": "simulated:rewriter",
            "problems": "arithmetic",
            "population_size": 8,
            "max_generations": 5,
            "elite_size": 2,
            "max_problems": 10,
        },
    ),
    "mutation": Start(
        "A learner finds out which rewriting of a query brings better answers.",
        {
            "target": "simulated:target",
            "mutator": "simulated:rewriter",
            "reward": "similarity",
            "learner": "bandit",
            "num_env_steps": 300,
        },
    ),
}

NOT_WRITTEN = re.compile(r"\btaken in (?:out of|from) `|^filled in|Tidepool fills this in")
"""keys that a frozen config has, and nobody writes"""


def starting_config(kind: str) -> str:
    """The text of the file."""
    start = STARTS.get(kind, Start(f"A study of kind {kind}."))
    settings = load_kind(kind).settings
    return (
        "\n".join(
            (
                f"# {start.about} No key, no network: its models are simulated.",
                "#",
                f"#   tidepool run {kind}.toml --dry-run      # what it would take; calls nothing",
                f"#   tidepool run {kind}.toml",
                "#",
                '# Keys behind a # show their default; those with the words "for example" have none. Every key: docs/config.md',
                "",
                "[batch]",
                f'kind = "{kind}"',
                _line("name", "My first study", "how it is called in lists"),
                _line("seed", 42, "the same study with the same seed is the same study"),
                "",
                "[service]",
                _line(
                    "name",
                    "auto",
                    "by batch API where one saves money, else live; live: always live (docs/providers.md)",
                ),
                *_keys(Service, skip="name"),
                "",
                f"[{kind}]",
                *_keys(settings, start.keys),
                start.behind.rstrip(),
            )
        ).rstrip()
        + "\n"
    )


def _keys(section: type[BaseModel], first: Mapping[str, Any] = MappingProxyType({}), skip: str = "") -> Iterator[str]:
    for name, value in first.items():
        yield from _described(name, value, _words(section, name))
    for name, described in section.model_fields.items():
        comment = _words(section, name)
        if name in first or name == skip or NOT_WRITTEN.search(comment):
            continue
        default = described.get_default(call_default_factory=True, validated_data={})
        if described.examples and not default:
            value, comment = described.examples[0], f"for example; {comment}"
        else:
            value = None if default is PydanticUndefined else _plain(default)
        *above, line = _described(name, value, comment, COLUMN - 2)
        yield from (*above, f"# {line}")


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else value


def _words(section: type[BaseModel], name: str) -> str:
    return re.sub(r"\s+", " ", section.model_fields[name].description or "")


def _described(name: str, value: Any, words: str, column: int = COLUMN) -> Iterator[str]:
    line = _line(name, value, words, column)
    if len(line) <= WIDEST:
        yield line
        return
    yield from wrap(words, WIDEST, initial_indent="#   ", subsequent_indent="#   ")
    yield _line(name, value, "")


def _line(name: str, value: Any, words: str, column: int = COLUMN) -> str:
    assignment = f"{name} = {'…' if value is None else format_value(value)}"
    return f"{assignment:<{column - 1}} # {words}" if words else assignment
