"""What a design crosses: factors with their levels, each level a bundle of settings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.problems import validated
from tidepool.engine.config.section import Section
from tidepool.engine.config.sections import Design
from tidepool.engine.config.toml_files import section_of
from tidepool.engine.errors import UsageError

FIXED = ("service", "providers", "design", "batch", "stop", "cluster")
"""sections that a study has once: how all of its calls are made, and what it is called"""
LONGEST_LEVEL = 200
WRITTEN = 'A level is written { level = "…", set = { KEY = VALUE } }; set = {} leaves all as it is.'


@dataclass(frozen=True, slots=True)
class Level:
    name: str
    set: Mapping[str, Any]
    """values by path"""


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    levels: tuple[Level, ...]


Cell = tuple[tuple[str, Level], ...]
"""a level of each factor, in the order of the factors"""


class _Bundle(Section):
    level: str
    set: dict[str, Any]


def factors_of(design: Design) -> list[Factor]:
    """Checked as far as they can be without the rest of the config."""
    _refuse_too_many(design)
    factors = [_factor(name, written) for name, written in design.factors.items()]
    if design.mode == "paired" and len({len(factor.levels) for factor in factors}) > 1:
        counts = ", ".join(f"{factor.name} {len(factor.levels)}" for factor in factors)
        raise _wrong(f'mode = "paired" takes lists of one length, and these have: {counts}.', "mode")
    return factors


def _refuse_too_many(design: Design) -> None:
    """Multiplies the lengths of the lists as written: building the cells to count them can exhaust the memory."""
    sizes = [max(1, len(levels)) for levels in design.factors.values()]
    cells = max(sizes, default=1) if design.mode == "paired" else prod(sizes)
    if (count := cells * design.replicates) > ceilings.CELLS:
        raise _wrong(
            f"this makes {count:,} batches, and a study has at most {ceilings.CELLS:,}. Remove factors or levels, or "
            "lower design.replicates.",
            "factors",
        )


def cells_of(mode: str, factors: Sequence[Factor]) -> Iterator[Cell]:
    """Every combination, the last factor changing first; without factors there is one cell."""
    levels = [factor.levels for factor in factors]
    combined = zip(*levels, strict=True) if mode == "paired" and levels else product(*levels)
    names = [factor.name for factor in factors]
    return (tuple(zip(names, chosen, strict=True)) for chosen in combined)


def as_json(factors: Sequence[Factor]) -> list[dict[str, Any]]:
    return [
        {"name": factor.name, "levels": [{"level": one.name, "set": dict(one.set)} for one in factor.levels]}
        for factor in factors
    ]


def _factor(name: str, written: Sequence[Any]) -> Factor:
    levels = tuple(_level(name, value, place) for place, value in enumerate(written))
    names = [level.name for level in levels]
    if len(levels) < 2:
        raise _wrong(
            f"{name!r} has {len(levels)} level{'s' * (len(levels) != 1)}, and a factor has two or more.",
            "factors",
            name,
        )
    if doubled := next((one for one in names if names.count(one) > 1), None):
        raise _wrong(f"{name!r} has the level {doubled!r} twice.", "factors", name)
    return Factor(name, levels)


def _level(factor: str, value: Any, place: int) -> Level:
    if isinstance(value, Mapping) and "level" in value and "set" in value:
        where = ("design", "factors", factor, place)
        bundle = validated(_Bundle, value, "", where)
        level = Level(bundle.level.strip(), bundle.set)
    elif "." in factor:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        level = Level(" ".join(text.split()), {factor: value})
    else:
        raise _wrong(f"{_lacks(factor, value, place)} {WRITTEN}", "factors", factor)
    if not level.name or len(level.name) > LONGEST_LEVEL:
        raise _wrong(
            f"a level of {factor!r} needs a name of at most {LONGEST_LEVEL} letters: write it as "
            '{ level = "short name", set = { KEY = VALUE } }.',
            "factors",
            factor,
        )
    for path in level.set:
        if section_of(path) in FIXED:
            raise _wrong(
                f"{path} cannot change from cell to cell: a study has one name, one budget and one set of limits.",
                "factors",
                factor,
            )
    return level


def _lacks(factor: str, value: Any, place: int) -> str:
    if isinstance(value, Mapping) and (lacking := {"level", "set"} - value.keys()) != {"level", "set"}:
        return f"level {place + 1} of {factor!r} has no {lacking.pop()!r}."
    return f"{factor!r} is no key of a config, such as agents.Ada.model."


def _wrong(words: str, *where: str) -> UsageError:
    return UsageError(f"[design]: {words}", ("design", *where))
