"""Entity types: the dimensions in which entities differ, seeded generation, portraits in words, and types read from files.

Entity number i depends on the type, the seed and i alone: 200 of them begin with the same hundred as 100 do. The built-in types are files
in `types/`, read like users' own; types of the file's library win over them.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Literal

from tidepool.engine.call import seed_of, stream
from tidepool.engine.errors import UsageError
from tidepool.engine.library.entities import Attribute, Entity, checked_name, checked_text, read_tree
from tidepool.storage.file import reading
from tidepool.storage.library import StoredType, list_types

Spread = Literal["uniform", "normal", "skewed"]
Drawn = Mapping[str, Attribute]
"""what the entity already is: its name and the dimensions before this one"""

_BLANK = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class BooleanDimension:
    """True for a share of the entities."""

    name: str
    share: float = 0.5
    """of the entities for whom it is true"""

    def draw(self, rng: Random, drawn: Drawn) -> bool:
        return rng.random() < self.share


@dataclass(frozen=True, slots=True)
class CategoricalDimension:
    """One of several words, each with its weight."""

    name: str
    options: tuple[str, ...]
    weights: tuple[float, ...]

    def draw(self, rng: Random, drawn: Drawn) -> str:
        return rng.choices(self.options, self.weights)[0]


@dataclass(frozen=True, slots=True)
class NumberDimension:
    """A number within a range."""

    name: str
    low: float
    high: float
    whole: bool = True
    spread: Spread = "uniform"
    mean: float | None = None
    """normal: the middle of the range unless told"""
    deviation: float | None = None
    """normal: a sixth of the range unless told"""
    towards: Literal["low", "high"] = "low"
    """skewed: the end where most values lie"""
    decimals: int = 2

    def draw(self, rng: Random, drawn: Drawn) -> int | float:
        if self.whole:
            # Half a step of room on both ends, so that the ends are as likely as their neighbours.
            value = round(self._between(self.low - 0.5, self.high + 0.5, rng))
            return int(min(max(value, self.low), self.high))
        return min(max(round(self._between(self.low, self.high, rng), self.decimals), self.low), self.high)

    def _between(self, low: float, high: float, rng: Random) -> float:
        if self.spread == "uniform" or low == high:
            return low + (high - low) * rng.random()
        if self.spread == "normal":
            return self._normal(low, high, rng)
        far = rng.betavariate(2, 5)
        return low + (high - low) * far if self.towards == "low" else high - (high - low) * far

    def _normal(self, low: float, high: float, rng: Random) -> float:
        mean = (low + high) / 2 if self.mean is None else self.mean
        deviation = (self.high - self.low) / 6 if self.deviation is None else self.deviation
        while True:  # the mean lies in the range and the deviation within its width, so a third of draws fit
            value = rng.normalvariate(mean, deviation)
            if low <= value <= high:
                return value


@dataclass(frozen=True, slots=True)
class TextDimension:
    """A text chosen from a list and filled in, or left for a model to write."""

    name: str
    options: tuple[str, ...] = ()
    """each may hold {name} and dimensions before this one in braces"""
    prompt: str = ""
    """set: a model writes the text, asked this way; the generator leaves it out"""

    def draw(self, rng: Random, drawn: Drawn) -> str | None:
        return filled(rng.choice(self.options), drawn) if self.options else None


Dimension = BooleanDimension | CategoricalDimension | NumberDimension | TextDimension


def blanks(template: str) -> list[str]:
    """The names in braces that a template asks for."""
    return _BLANK.findall(template)


def filled(template: str, drawn: Drawn) -> str:
    """The template with its blanks filled in; never str.format, since templates come from strangers."""
    return _BLANK.sub(lambda blank: in_words(drawn.get(blank[1], blank[0])), template)


def in_words(value: Attribute) -> str:
    """The value as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)


@dataclass(frozen=True, slots=True)
class EntityType:
    """A way to make entities: names, and dimensions in which they differ."""

    name: str
    dimensions: tuple[Dimension, ...]
    description: str = ""
    """of the type, for lists"""
    portrait: str = ""
    """an entity's description: a template with {name} and the dimensions in braces"""
    first_names: tuple[str, ...] = ()
    last_names: tuple[str, ...] = ()
    """without names of its own an entity is called after its type and number"""


@dataclass(frozen=True, slots=True)
class WritingTask:
    """A text dimension that a model is to write."""

    dimension: str
    prompt: str


def generate(entity_type: EntityType, n: int, seed: int) -> list[Entity]:
    """So many entities of the type, the same for the same seed."""
    if n < 1:
        raise UsageError(f"{n} entities cannot be generated: ask for 1 or more.")
    return list(islice(generated(entity_type, seed), n))


def generated(entity_type: EntityType, seed: int) -> Iterator[Entity]:
    """Entities without end, all names different."""
    for number, name in enumerate(_names(entity_type, seed)):
        rng = stream(seed, "entity", entity_type.name, number)
        drawn: dict[str, Attribute] = {}
        for dimension in entity_type.dimensions:
            value = dimension.draw(rng, {"name": name, **drawn})
            if value is not None:
                drawn[dimension.name] = value
        yield Entity(name, filled(entity_type.portrait, {"name": name, **drawn}), drawn)


def writing_tasks(entity_type: EntityType, entity: Entity) -> list[WritingTask]:
    """What a model still has to write about this entity, with the blanks of each prompt filled in."""
    known = {"name": entity.name, **entity.attributes}
    return [
        WritingTask(dimension.name, filled(dimension.prompt, known))
        for dimension in entity_type.dimensions
        if isinstance(dimension, TextDimension) and dimension.prompt and dimension.name not in entity.attributes
    ]


def written(entity_type: EntityType, entity: Entity, texts: dict[str, str]) -> Entity:
    """The entity with the texts a model wrote, its portrait filled in again."""
    attributes = {**entity.attributes, **texts}
    ordered = {d.name: attributes[d.name] for d in entity_type.dimensions if d.name in attributes}
    return replace(
        entity,
        description=filled(entity_type.portrait, {"name": entity.name, **ordered}),
        attributes={**ordered, **attributes},
    )


def _names(entity_type: EntityType, seed: int) -> Iterator[str]:
    """All pairs of first and last names in a seeded order; then again with a number behind them."""
    firsts, lasts = entity_type.first_names, entity_type.last_names or ("",)
    lap = 1
    while True:
        if not firsts:
            yield f"{entity_type.name.replace('_', ' ').capitalize()} {lap}"
        else:
            order = _pair_order(len(firsts), len(lasts), seed_of(seed, "names", entity_type.name, lap))
            for first, last in order:
                name = f"{firsts[first]} {lasts[last]}".strip()
                yield name if lap == 1 else f"{name} {lap}"
        lap += 1


def _pair_order(firsts: int, lasts: int, seed: int) -> Iterator[tuple[int, int]]:
    """Every pair once; neighbours share neither name, so that a few entities are easy to tell apart."""
    rng = stream(seed)
    first_order, last_order = list(range(firsts)), list(range(lasts))
    rng.shuffle(first_order)
    rng.shuffle(last_order)
    for shift in range(max(firsts, lasts)):
        for step in range(min(firsts, lasts)):
            # One walks its own short list while the other is shifted by a lap: a Latin square of pairs.
            if firsts <= lasts:
                yield first_order[step], last_order[(step + shift) % lasts]
            else:
                yield first_order[(step + shift) % firsts], last_order[step]


_DEGREES = ("very low", "low", "middling", "high", "very high")
_OF_TEN = frozenset(
    [
        "openness",
        "conscientiousness",
        "extraversion",
        "agreeableness",
        "neuroticism",
        "courage",
        "cunning",
        "kindness",
        "magic",
        "appetite_for_risk",
        "trust_in_partners",
    ]
)


@lru_cache(maxsize=4096)
def portrait(title: str, entity: Entity) -> tuple[str, ...]:
    """Who somebody is, an attribute a line; line breaks inside would blur where one ends."""
    about = entity.description or entity.name
    lines = (f"- {attribute_in_words(*pair)}" for pair in entity.attributes.items())
    return tuple(" ".join(line.split()) for line in (f"{title}: {about}", *lines))


def attribute_in_words(name: str, value: Attribute) -> str:
    """The attribute with its unit or scale, where its name tells one."""
    label, words = name.replace("_", " "), in_words(value)
    if isinstance(value, bool | str):
        return f"{label}: {words}"
    if name in _OF_TEN and 0 <= value <= 10:
        return f"{label}: {words} of 10 ({_DEGREES[min(int(value / 2.01), 4)]})"
    return f"{label}: {words} years" if name == "age" else f"{label}: {words}"


_TYPE_KEYS = ("name", "description", "portrait", "first_names", "last_names", "dimensions")
_DIMENSION_KEYS = {
    "boolean": ("share",),
    "categorical": ("options", "weights"),
    "int": ("range", "spread", "mean", "deviation", "towards"),
    "float": ("range", "spread", "mean", "deviation", "towards", "decimals"),
    "text": ("options", "template", "prompt"),
}


def built_in_types() -> dict[str, EntityType]:
    """The types that come with Tidepool, by name."""
    folder = Path(__file__).with_name("types")
    return {kind.name: kind for path in sorted(folder.glob("*.toml")) for kind in read_entity_types(path)}


def built_in_records() -> dict[str, dict[str, Any]]:
    """The same as they are written, to be changed into one's own."""
    folder = Path(__file__).with_name("types")
    return {str(record["name"]): record for record in map(read_tree, sorted(folder.glob("*.toml")))}


def read_entity_types(path: Path) -> list[EntityType]:
    """One type at the top of the file, or several under `entity_types`."""
    tree = read_tree(path)
    records = tree.get("entity_types", [tree]) if isinstance(tree, dict) else tree
    if not isinstance(records, list) or not records:
        raise UsageError(f"{path}: expected an entity type, or a list of them under 'entity_types'.")
    types = [entity_type_from(record, f"{path}, type {place}") for place, record in enumerate(records, 1)]
    names = [kind.name for kind in types]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{path}: the entity type {twice!r} is there twice. Rename or remove one.")
    return types


def entity_type_from(record: object, where: str) -> EntityType:
    """A type out of a parsed file; `where` names the file and the place in it."""
    table = _TypeTable(record, where)
    table.allow(_TYPE_KEYS)
    name = checked_name(table.values.get("name"), f"{where}, name")
    dimensions = _dimensions(table.list("dimensions"), where)
    portrait = table.text("portrait")
    _refuse_unknown_blanks(portrait, [d.name for d in dimensions], f"{where}, portrait")
    if table.list("last_names") and not table.list("first_names"):
        raise table.wrong("last_names", "give first_names too")
    return EntityType(
        name,
        dimensions,
        table.text("description"),
        portrait,
        _single_words(table, "first_names"),
        _single_words(table, "last_names"),
    )


def _single_words(table: "_TypeTable", key: str) -> tuple[str, ...]:
    names = [checked_name(name, f"{table.where}, {key}") for name in table.list(key)]
    # A space inside could make two pairs read alike ("Ana Maria" "Sol", "Ana" "Maria Sol").
    folded = [name.casefold() for name in names]
    for name in names:
        if " " in name or folded.count(name.casefold()) > 1:
            raise UsageError(f"{table.where}, {key}: {name!r} must be one word that is there once.")
    return tuple(names)


def _dimensions(records: Sequence[object], where: str) -> tuple[Dimension, ...]:
    dimensions: list[Dimension] = []
    for place, record in enumerate(records, 1):
        known = [dimension.name for dimension in dimensions]
        dimension = _dimension(_TypeTable(record, f"{where}, dimension {place}"), known)
        if dimension.name in (*known, "name"):
            raise UsageError(f"{where}, dimension {place}: the name {dimension.name!r} is taken. Choose another.")
        dimensions.append(dimension)
    if not dimensions:
        raise UsageError(f"{where}: a type needs at least one dimension, listed under 'dimensions'.")
    return tuple(dimensions)


def _dimension(table: "_TypeTable", known: Sequence[str]) -> Dimension:
    name = checked_name(table.values.get("name"), f"{table.where}, name")
    table.where += f" ({name})"
    kind = table.choice("kind", tuple(_DIMENSION_KEYS), None)
    table.allow(("name", "kind", *_DIMENSION_KEYS[kind]))
    if kind == "boolean":
        return BooleanDimension(name, table.number("share", 0.5, 0, 1))
    if kind == "categorical":
        return _categorical(name, table)
    if kind == "text":
        return _text(name, table, known)
    return _number(name, table, kind == "int")


def _categorical(name: str, table: "_TypeTable") -> CategoricalDimension:
    given = table.values.get("options")
    if isinstance(given, Mapping):
        options, weights = list(given), list(given.values())
    else:
        options = table.list("options")
        weights = table.list("weights") or [1] * len(options)
    labels = [checked_name(option, f"{table.where}, options") for option in options]
    if not labels or len(labels) != len(weights):
        raise table.wrong("options", "give at least one option, and one weight for each")
    if not all(_is_number(weight) and weight >= 0 for weight in weights) or not sum(weights) > 0:
        raise table.wrong("weights", "weights are numbers from 0 up, and not all 0")
    return CategoricalDimension(name, tuple(labels), tuple(float(weight) for weight in weights))


def _number(name: str, table: "_TypeTable", whole: bool) -> NumberDimension:
    ends = table.list("range")
    if len(ends) != 2 or not all(_is_number(end) for end in ends) or ends[0] > ends[1]:
        raise table.wrong("range", "give it as [lowest, highest]")
    if whole and any(end != int(end) for end in ends):
        raise table.wrong("range", "an int dimension has whole ends")
    low, high = ends
    given = table.values
    return NumberDimension(
        name,
        low,
        high,
        whole,
        table.choice("spread", ("uniform", "normal", "skewed"), "uniform"),  # type: ignore[arg-type]
        mean=table.number("mean", 0, low, high) if "mean" in given else None,
        deviation=table.number("deviation", 0, 0, max(high - low, 1)) if "deviation" in given else None,
        towards=table.choice("towards", ("low", "high"), "low"),  # type: ignore[arg-type]
        decimals=int(table.number("decimals", 2, 0, 12)),
    )


def _text(name: str, table: "_TypeTable", known: Sequence[str]) -> TextDimension:
    given = [key for key in ("options", "template", "prompt") if key in table.values]
    if len(given) != 1:
        raise table.wrong("text", "give one of options (a list), template, or prompt (a model writes it)")
    texts = table.list("options") if given == ["options"] else [table.text(given[0])]
    checked = [checked_text(text, f"{table.where}, {given[0]}") for text in texts]
    if not checked or not all(text.strip() for text in checked):
        raise table.wrong(given[0], "it is empty")
    for text in checked:
        _refuse_unknown_blanks(text, known, f"{table.where}, {given[0]}")
    return TextDimension(name, prompt=checked[0]) if given == ["prompt"] else TextDimension(name, tuple(checked))


def _refuse_unknown_blanks(template: str, known: Sequence[str], where: str) -> None:
    for blank in blanks(template):
        if blank not in (*known, "name"):
            raise UsageError(
                f"{where}: {{{blank}}} is neither the name nor a dimension listed before it "
                f"({', '.join(known) or 'there is none'})."
            )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class _TypeTable:
    """A parsed table that complains with its place."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where}: expected a table.")
        self.values: Mapping[str, Any] = values
        self.where = where

    def wrong(self, key: str, advice: str) -> UsageError:
        return UsageError(f"{self.where}, {key}: {advice}.")

    def allow(self, keys: Sequence[str]) -> None:
        for key in self.values:
            if key not in keys:
                close = get_close_matches(key, keys, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(keys)}."
                raise UsageError(f"{self.where}: unknown key {key!r}; {hint}")

    def text(self, key: str) -> str:
        return checked_text(self.values.get(key, ""), f"{self.where}, {key}")

    def list(self, key: str) -> list[Any]:
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, "expected a list")
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        value: Any = self.values.get(key, default)
        if not _is_number(value) or not low <= value <= high:
            raise self.wrong(key, f"expected a number from {low:g} to {high:g}")
        return float(value)

    def choice(self, key: str, options: tuple[str, ...], default: str | None) -> str:
        value = self.values.get(key, default)
        if value not in options:
            raise self.wrong(key, f"expected one of {', '.join(options)}")
        return str(value)


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
