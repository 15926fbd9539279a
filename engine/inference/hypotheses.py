"""Factors of a design, contrasts between cells as text and as weights of cells, and hypotheses.

`firmness: firm - plain` is a main effect, averaged over the cells of the other factors. `… | mode = retained` restricts
it to one level. `… × mode: retained - standard` (or ` x `) is an interaction, the difference of two differences. Names
that contain one of these signs are written in quotes. Hypotheses are checked before the first request is sent."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from math import prod
from typing import Any, Literal, cast

from tidepool.engine.errors import UsageError, located
from tidepool.engine.inference.measures import Outcome, find_outcome

# -- factors -----------------------------------------------------------------------------------------------------------


Cell = tuple[str, ...]
"""the level of each factor, in the design's order"""
MOST_CELLS = 100_000
DRAWING = frozenset(
    {
        *("seed", "pairing", "scenarios", "secret_game.games", "secret_game.rounds", "interaction_size"),
        *("entities", "entity_ids", "entity_file", "agents", "agent_ids"),
    }
)
"""keys that set the pairings, their number and their contents, in addition to all keys that start with `num_`"""


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    levels: tuple[str, ...]
    """the first level is the reference"""
    keys: frozenset[str] = frozenset()
    """config keys that any level sets"""

    @property
    def redraws(self) -> bool:
        """Whether a level may change who or what is drawn. Then conversations of the same number are not matched."""
        last = {key.rpartition(".")[2] for key in self.keys}
        return bool((last | self.keys) & DRAWING) or any(key.startswith("num_") for key in last)


@dataclass(frozen=True, slots=True)
class Factors:
    factors: tuple[Factor, ...]
    mode: Literal["full", "paired"] = "full"
    """paired: the lists of levels advance together"""

    @classmethod
    def of(cls, design: Mapping[str, Any]) -> "Factors":
        """Reads the factors from the design's JSON, which may come from an untrusted file."""
        try:
            factors = tuple(map(_factor, design.get("factors", ())))
        except (AttributeError, KeyError, TypeError):
            raise UsageError("The design of the study cannot be read: the file was changed or is damaged.") from None
        return cls(factors, "paired" if design.get("mode") == "paired" else "full")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(factor.name for factor in self.factors)

    def place(self, name: str) -> int:
        return self.names.index(name)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All planned cells, in order."""
        levels = [factor.levels for factor in self.factors]
        if self.mode == "full" and prod(map(len, levels)) > MOST_CELLS:
            raise UsageError(f"The design has more than {MOST_CELLS:,} cells. Use fewer factors or fewer levels.")
        if self.mode == "paired" and levels:
            return tuple(dict.fromkeys(zip(*levels, strict=False)))
        return tuple(product(*(dict.fromkeys(names) for names in levels)))


def _factor(data: Mapping[str, Any]) -> Factor:
    levels: Sequence[Mapping[str, Any]] = data.get("levels", ())
    keys = frozenset(str(key) for level in levels for key in level.get("set", {}))
    return Factor(str(data["name"]), tuple(str(level["level"]) for level in levels), keys)


# -- contrasts ---------------------------------------------------------------------------------------------------------


TIMES, BAR, COMMA = (re.compile(sign) for sign in (r"\s*[×*]\s*|\s+[xX]\s+", r"\s*\|\s*", r"\s*,\s*"))
_SIGNS = re.compile(r"\s+[-\u2212\u2013=xX]\s+|\s*[×*|]\s*|:\s+")
MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Difference:
    factor: str
    level: str
    reference: str

    def __str__(self) -> str:
        return f"{self.factor}: {self.level} - {self.reference}"


@dataclass(frozen=True, slots=True)
class ContrastSpec:
    differences: tuple[Difference, ...]
    """several differences form an interaction"""
    within: tuple[tuple[str, str], ...] = ()
    """factors that are fixed at a level"""

    def __str__(self) -> str:
        held = ", ".join(f"{factor} = {level}" for factor, level in self.within)
        return " × ".join(map(str, self.differences)) + (f" | {held}" if held else "")

    @property
    def kind(self) -> str:
        return "interaction" if len(self.differences) > 1 else "main"


@dataclass(frozen=True, slots=True)
class Weighing:
    """One linear contrast over cells."""

    name: str
    kind: str
    """main, interaction, or step"""
    weights: dict[Cell, float]
    groups: tuple[tuple[Cell, ...], ...]
    """cells that differ only in the contrast's own factors: their conversations of the same number must be matched"""
    redraws: bool
    """one of those factors may change who or what is drawn"""


# -- parsing ------------------------------------------------------------------------------------------------


def parse_contrast(text: str, factors: Factors) -> ContrastSpec:
    """Parses a contrast. Raises a UsageError that lists the known names."""
    plain = _plain(text)
    differences, place = _read_several(plain, 0, TIMES, [_difference_pattern(factor) for factor in factors.factors])
    held: list[tuple[str, ...]] = []
    if differences and (bar := BAR.match(plain, place)):
        held, end = _read_several(plain, bar.end(), COMMA, [_held_pattern(factor) for factor in factors.factors])
        place = end if held else place
    if not differences or place != len(plain):
        raise UsageError(_unreadable(text, factors))
    names = {factor.name: {_plain(level): level for level in factor.levels} for factor in factors.factors}
    spec = ContrastSpec(
        tuple(Difference(factor, names[factor][level], names[factor][other]) for factor, level, other in differences),
        tuple((factor, names[factor][level]) for factor, level in held),
    )
    _check(spec, factors)
    return spec


Patterns = Sequence[tuple[str, re.Pattern[str]]]
"""of each factor: its name and the pattern of its text"""


def _read_several(text: str, place: int, between: re.Pattern[str], patterns: Patterns) -> tuple[list[Any], int]:
    """Returns the items from `place` on, each with the name of its factor, and the end of the last one."""
    items: list[tuple[str, ...]] = []
    end = place
    while found := next(((name, match) for name, one in patterns if (match := one.match(text, place))), None):
        name, match = found
        parts = match.groups()
        items.append((name, *(part[1:-1] if part[0] in "\"'“" and part[-1] in "\"'”" else part for part in parts)))
        end = match.end()
        if not (sign := between.match(text, end)):
            break
        place = sign.end()
    return items, end


def _difference_pattern(factor: Factor) -> tuple[str, re.Pattern[str]]:
    levels = f"({_choice(factor.levels)})"
    pattern = rf"(?:{_choice([factor.name])})\s*:\s*{levels}\s*[-\u2212\u2013]\s*{levels}"
    return factor.name, re.compile(rf"{pattern}(?=\s*(?:[×*|]|$)|\s[xX]\s)")


def _held_pattern(factor: Factor) -> tuple[str, re.Pattern[str]]:
    return factor.name, re.compile(rf"(?:{_choice([factor.name])})\s*=\s*({_choice(factor.levels)})(?=\s*(?:,|$))")


def _choice(names: Sequence[str]) -> str:
    """Returns a pattern for one of these names, with or without quotes, the longest first."""
    plain = sorted({_plain(name) for name in names}, key=len, reverse=True)
    return "|".join(f"[\"'“]{re.escape(name)}[\"'”]|{re.escape(name)}" for name in plain)


def _check(spec: ContrastSpec, factors: Factors) -> None:
    names = [term.factor for term in spec.differences]
    for term in spec.differences:
        if term.level == term.reference:
            raise UsageError(
                f"The contrast {str(spec)!r} compares {term.level!r} with itself. Name two different levels."
            )
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"The contrast {str(spec)!r} names the factor {twice!r} twice. Name each factor once.")
    held = [factor for factor, _ in spec.within]
    if twice := next((name for name in held if name in names or held.count(name) > 1), None):
        raise UsageError(
            f"The contrast {str(spec)!r} fixes the factor {twice!r} at a level, but also compares its levels."
        )
    if weigh(spec, factors, factors.cells) is None:
        in_step = ' mode = "paired" combines the lists item by item. To get all combinations, use mode = "full".'
        message = f"No cells of this design allow the contrast {str(spec)!r}."
        raise UsageError(message + in_step * (factors.mode == "paired"))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _unreadable(text: str, factors: Factors) -> str:
    """The error for a contrast that cannot be parsed: its syntax, the names of the design, and the nearest known name."""
    names = [name for factor in factors.factors for name in (factor.name, *factor.levels)]
    pieces = (piece.strip(" \"'") for piece in _SIGNS.split(_plain(text)))
    unknown = next((piece for piece in pieces if piece and piece not in names), "")
    design = "; ".join(f"{factor.name}: {_listed(factor.levels)}" for factor in factors.factors[:MOST_NAMED])
    return (
        f'The contrast {text!r} cannot be read. Write it as "factor: level - level".{did_you_mean(unknown, names)} '
        f"The factors of the design are {design or 'none'}."
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(map(repr, names[:MOST_NAMED]))}{more}"


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Returns a suggestion, or an empty text. Ignores case and a missing section."""
    folded = {name_known.casefold(): name_known for name_known in known}
    folded |= {name_known.casefold().rpartition(".")[2]: name_known for name_known in reversed(known)}
    near = get_close_matches(name.casefold()[:200], folded, n=1, cutoff=0.5)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""


# -- weights -------------------------------------------------------------------------------------------------


def weigh(spec: ContrastSpec, factors: Factors, cells: Sequence[Cell]) -> Weighing | None:
    """Returns the average over the levels of other factors that have all cells of the contrast; None without any."""
    held = [(factors.place(name), level) for name, level in spec.within]
    allowed = [cell for cell in cells if all(cell[place] == level for place, level in held)]
    groups = _in_step(spec, factors, allowed) if factors.mode == "paired" else _crossed(spec, factors, allowed)
    if not groups:
        return None
    weights: dict[Cell, float] = {}
    for group in groups:
        for cell, weight in group.items():
            weights[cell] = weights.get(cell, 0.0) + weight / len(groups)
    redraws = any(factors.factors[factors.place(term.factor)].redraws for term in spec.differences)
    if factors.mode == "paired":
        redraws = any(factor.redraws for factor in factors.factors)
    return Weighing(str(spec), spec.kind, weights, tuple(map(tuple, groups)), redraws)


def _crossed(spec: ContrastSpec, factors: Factors, cells: Sequence[Cell]) -> list[dict[Cell, float]]:
    places = [factors.place(term.factor) for term in spec.differences]
    corners = {
        tuple(level for level, _ in corner): prod(sign for _, sign in corner)
        for corner in product(*(((term.level, 1), (term.reference, -1)) for term in spec.differences))
    }
    by_others: dict[Cell, dict[Cell, float]] = {}
    for cell in cells:
        if sign := corners.get(tuple(cell[place] for place in places)):
            others = tuple(level for place, level in enumerate(cell) if place not in places)
            by_others.setdefault(others, {})[cell] = sign
    return [group for group in by_others.values() if len(group) == len(corners)]


def _in_step(spec: ContrastSpec, factors: Factors, cells: Sequence[Cell]) -> list[dict[Cell, float]]:
    """Compares pairs with one level and pairs with the other level, regardless of their other levels."""
    if len(spec.differences) > 1:
        return []
    (term,) = spec.differences
    place = factors.place(term.factor)
    first, second = ([cell for cell in cells if cell[place] == level] for level in (term.level, term.reference))
    if not first or not second:
        return []
    return [{cell: 1 / len(first) for cell in first} | {cell: -1 / len(second) for cell in second}]


def exploratory(factors: Factors, cells: Sequence[Cell]) -> list[Weighing]:
    """Returns contrasts of each level with the first of its factor, and interactions of two factors. With paired lists,
    returns contrasts of each pair with the first."""
    if factors.mode == "paired":
        redraws = any(factor.redraws for factor in factors.factors)
        return [
            Weighing(
                f"{', '.join(cell)} - {', '.join(cells[0])}",
                "step",
                {cell: 1.0, cells[0]: -1.0},
                ((cell, cells[0]),),
                redraws,
            )
            for cell in cells[1:]
        ]
    mains = [
        [Difference(factor.name, level, factor.levels[0]) for level in dict.fromkeys(factor.levels[1:])]
        for factor in factors.factors
    ]
    specs = [ContrastSpec((spec,)) for own in mains for spec in own]
    for place, own in enumerate(mains):
        specs += [ContrastSpec((first, second)) for rest in mains[place + 1 :] for first, second in product(own, rest)]
    return [weighing for spec in specs if (weighing := weigh(spec, factors, cells))]


# -- hypotheses --------------------------------------------------------------------------------------------------------


Direction = Literal["two-sided", "less", "greater"]
DIRECTIONS: tuple[Direction, ...] = ("two-sided", "less", "greater")
FEWEST_REPLICATES = 6
"""with replicates as units: fewer give an interval and no verdict"""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    outcome: Outcome
    contrast: ContrastSpec
    direction: Direction


def read_hypotheses(design: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[Hypothesis]:
    """Reads the hypotheses. Raises a UsageError with the config key if one is invalid."""
    factors = Factors.of(design)
    parsed: list[Hypothesis] = []
    for position, item in enumerate(design.get("hypotheses") or ()):
        with located("design", "hypotheses", position):
            new = _read(item, factors, outcomes)
            if any((new.outcome.name, new.contrast) == (other.outcome.name, other.contrast) for other in parsed):
                raise UsageError(
                    f"This hypothesis is stated twice: {new.outcome.name}, {new.contrast}. Remove one.", ("contrast",)
                )
            parsed.append(new)
    return parsed


def _read(data: Mapping[str, Any], factors: Factors, outcomes: Sequence[Outcome]) -> Hypothesis:
    name, direction = str(data.get("outcome", "")), data.get("direction") or "two-sided"
    outcome = find_outcome(outcomes, name)
    if outcome is None:
        raise UsageError(_no_outcome(name, outcomes), ("outcome",))
    if direction not in DIRECTIONS:
        raise UsageError(
            f"Unknown direction {direction!r}. Use one of {', '.join(map(repr, DIRECTIONS))}.", ("direction",)
        )
    with located("contrast"):
        contrast = parse_contrast(str(data.get("contrast", "")), factors)
    return Hypothesis(outcome, contrast, cast("Direction", direction))


def _no_outcome(name: str, outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return (
            f"Unknown measure {name!r}: this study has no measures to compare. A simulation needs a judge. A kind from a "
            "package must list its measures."
        )
    names = [outcome.name for outcome in outcomes]
    return f"{name!r} is not a measure of this study.{did_you_mean(name, names)} Its measures are {_listed(names)}."


def check_hypotheses(design: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[str]:
    """Raises if a hypothesis is invalid. Returns warnings for hypotheses that can have no verdict."""
    factors, replicates = Factors.of(design), int(design.get("replicates") or 1)
    warnings = []
    for hypothesis in read_hypotheses(design, outcomes):
        weighing = weigh(hypothesis.contrast, factors, factors.cells)
        assert weighing is not None  # checked by `read_hypotheses`
        reason = "" if hypothesis.outcome.per_talk else f"{hypothesis.outcome.name} is one number per batch"
        reason = reason or ("a level changes who or what is drawn" if weighing.redraws else "")
        if reason and replicates < FEWEST_REPLICATES:
            warnings.append(
                f"The hypothesis {str(hypothesis.contrast)!r} will have no verdict: {reason}, so it needs at least "
                f"{FEWEST_REPLICATES} replicates, and the design has {replicates}. Raise design.replicates."
            )
    return warnings
