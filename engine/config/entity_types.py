"""Entity types: the dimensions in which entities differ, seeded generation, and types read from files.

Entity number i depends only on the type, the seed and i. So the first 100 of 200 entities equal those of a run that
generates 100. The built-in types are files in `types/`, read like your own. Types in the file's library take precedence.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tidepool.engine.call import seed_of, stream
from tidepool.engine.config.entities import Attribute, Entity, check_name, check_text, in_words, read_tree
from tidepool.engine.config.problems import WrongValue, path_in_words, validated
from tidepool.engine.config.section import Section
from tidepool.engine.errors import UsageError
from tidepool.storage.file import reading
from tidepool.storage.library import StoredType, list_types

Name = Annotated[str, AfterValidator(check_name)]
Text = Annotated[str, AfterValidator(check_text)]
Number = Annotated[float, Field(allow_inf_nan=False)]
DrawnValues = Mapping[str, Attribute]
"""values that are already drawn: the name and the earlier dimensions"""

_BLANK = re.compile(r"\{([^{}]+)\}")


class BooleanDimension(Section):
    """True for a share of the entities."""

    name: Name
    kind: Literal["boolean"] = "boolean"
    share: float = Field(default=0.5, ge=0, le=1)
    """of the entities for whom it is true"""

    def draw(self, rng: Random, drawn: DrawnValues) -> bool:
        return rng.random() < self.share


class CategoricalDimension(Section):
    """One of several words, each with its weight."""

    name: Name
    kind: Literal["categorical"] = "categorical"
    options: list[Name] = Field(min_length=1)
    """words, or a table of words and their weights"""
    weights: list[Annotated[Number, Field(ge=0)]] = Field(default_factory=list)
    """one for each option; all the same unless written"""

    @model_validator(mode="before")
    @classmethod
    def _split_table(cls, record: Any) -> Any:
        options = record.get("options") if isinstance(record, Mapping) else None
        if isinstance(options, Mapping):
            return {**record, "options": list(options), "weights": list(options.values())}
        return record

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        self.weights = self.weights or [1.0] * len(self.options)
        if len(self.weights) != len(self.options):
            raise WrongValue("give one weight for each option", "weights")
        if not sum(self.weights) > 0:
            raise WrongValue("not all weights may be 0", "weights")
        return self

    def draw(self, rng: Random, drawn: DrawnValues) -> str:
        return rng.choices(self.options, self.weights)[0]


class NumberDimension(Section):
    """A number within a range."""

    name: Name
    kind: Literal["int", "float"] = "int"
    range: list[Number] = Field(min_length=2, max_length=2)
    """the lowest and the highest"""
    spread: Literal["uniform", "normal", "skewed"] = "uniform"
    mean: Number | None = None
    """normal: by default the middle of the range"""
    deviation: Number | None = Field(default=None, ge=0)
    """normal: by default a sixth of the range"""
    towards: Literal["low", "high"] = "low"
    """skewed: the end where most values lie"""
    decimals: int = Field(default=2, ge=0, le=12)

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        low, high = self.range
        if low > high:
            raise WrongValue("range: write [lowest, highest]", "range")
        if self.kind == "int" and not (low.is_integer() and high.is_integer()):
            raise WrongValue("range: an int dimension needs whole numbers at both ends", "range")
        if self.mean is not None and not low <= self.mean <= high:
            raise WrongValue(f"mean: expected a number from {low:g} to {high:g}", "mean")
        if self.deviation is not None and self.deviation > max(high - low, 1):
            raise WrongValue(f"deviation: expected a number from 0 to {max(high - low, 1):g}", "deviation")
        return self

    def draw(self, rng: Random, drawn: DrawnValues) -> int | float:
        low, high = self.range
        if self.kind == "int":
            # Half a step is added at both ends, so that the end values are as likely as their neighbours.
            value = round(self._between(low - 0.5, high + 0.5, rng))
            return int(min(max(value, low), high))
        return min(max(round(self._between(low, high, rng), self.decimals), low), high)

    def _between(self, low: float, high: float, rng: Random) -> float:
        if self.spread == "uniform" or low == high:
            return low + (high - low) * rng.random()
        if self.spread == "normal":
            return self._normal(low, high, rng)
        far = rng.betavariate(2, 5)
        return low + (high - low) * far if self.towards == "low" else high - (high - low) * far

    def _normal(self, low: float, high: float, rng: Random) -> float:
        mean = (low + high) / 2 if self.mean is None else self.mean
        deviation = (self.range[1] - self.range[0]) / 6 if self.deviation is None else self.deviation
        while True:  # the mean is in the range and the deviation within its width, so a third of the draws fit
            value = rng.normalvariate(mean, deviation)
            if low <= value <= high:
                return value


class TextDimension(Section):
    """A text chosen from a list and filled in, or left for a model to write."""

    name: Name
    kind: Literal["text"] = "text"
    options: list[Text] = Field(default_factory=list)
    """each may hold {name} and dimensions before this one in braces"""
    template: Text = ""
    """the only option"""
    prompt: Text = ""
    """a model writes the text, asked this way; the generator leaves it out"""

    @model_validator(mode="after")
    def _check_texts(self) -> Self:
        if [bool(self.options), bool(self.template), bool(self.prompt)].count(True) != 1:
            raise WrongValue("set exactly one of options (a list), template, or prompt (a model writes the text)")
        self.options = self.options or [self.template] * bool(self.template)
        if not all(text.strip() for text in self.options or [self.prompt]):
            raise WrongValue("one of its texts is empty")
        return self

    def draw(self, rng: Random, drawn: DrawnValues) -> str | None:
        return fill(rng.choice(self.options), drawn) if self.options else None


Dimension = BooleanDimension | CategoricalDimension | NumberDimension | TextDimension


def fill(template: str, drawn: DrawnValues) -> str:
    """Fills in the blanks of the template. It never uses str.format, since templates may come from untrusted files."""
    return _BLANK.sub(lambda blank: in_words(drawn.get(blank[1], blank[0])), template)


class EntityType(Section):
    """A way to make entities: names, and dimensions in which they differ."""

    name: Name
    description: Text = ""
    """of the type, for lists"""
    portrait: Text = ""
    """an entity's description: a template with {name} and the dimensions in braces"""
    first_names: list[Name] = Field(default_factory=list)
    last_names: list[Name] = Field(default_factory=list)
    """without names of its own an entity is called after its type and number"""
    dimensions: list[Annotated[Dimension, Field(discriminator="kind")]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if self.last_names and not self.first_names:
            raise WrongValue("last_names: set first_names too", "last_names")
        for key, names in (("first_names", self.first_names), ("last_names", self.last_names)):
            folded = [name.casefold() for name in names]
            for name in names:
                # A space could make two pairs equal ("Ana Maria" "Sol", "Ana" "Maria Sol").
                if " " in name or folded.count(name.casefold()) > 1:
                    raise WrongValue(f"{key}: {name!r} must be a single word and appear only once", key)
        return self

    @model_validator(mode="after")
    def _check_dimensions(self) -> Self:
        if not self.dimensions:
            raise WrongValue("a type needs at least one dimension, listed under 'dimensions'", "dimensions")
        names = ["name"]
        for index, item in enumerate(self.dimensions):
            if item.name in names:
                raise WrongValue(
                    f"dimensions[{index}]: the name {item.name!r} is already used. Choose another", "dimensions", index
                )
            if isinstance(item, TextDimension):
                for text in (*item.options, item.prompt):
                    _refuse_unknown_blanks(text, names, "dimensions", index)
            names.append(item.name)
        _refuse_unknown_blanks(self.portrait, names, "portrait")
        return self


def _refuse_unknown_blanks(template: str, names: list[str], *where: int | str) -> None:
    for blank in _BLANK.findall(template):
        if blank not in names:
            options = ", ".join(names[1:]) or "no earlier names"
            raise WrongValue(
                f"{path_in_words(where)}: {{{blank}}} is neither the name nor a dimension listed before it ({options})",
                *where,
            )


@dataclass(frozen=True, slots=True)
class WritingTask:
    """A text dimension that a model has to write."""

    dimension: str
    prompt: str


def generate(entity_type: EntityType, n: int, seed: int) -> list[Entity]:
    """Generates `n` entities of the type. The same seed gives the same entities."""
    if n < 1:
        raise UsageError(f"{n} entities cannot be generated. Request 1 or more.")
    entities = []
    for number, name in enumerate(islice(_names(entity_type, seed), n)):
        rng = stream(seed, "entity", entity_type.name, number)
        drawn: dict[str, Attribute] = {}
        for dimension in entity_type.dimensions:
            value = dimension.draw(rng, {"name": name, **drawn})
            if value is not None:
                drawn[dimension.name] = value
        entities.append(Entity(name, fill(entity_type.portrait, {"name": name, **drawn}), drawn))
    return entities


def writing_tasks(entity_type: EntityType, entity: Entity) -> list[WritingTask]:
    """The texts that a model still has to write about this entity, with the blanks of each prompt filled in."""
    values = {"name": entity.name, **entity.attributes}
    return [
        WritingTask(dimension.name, fill(dimension.prompt, values))
        for dimension in entity_type.dimensions
        if isinstance(dimension, TextDimension) and dimension.prompt and dimension.name not in entity.attributes
    ]


def with_texts(entity_type: EntityType, entity: Entity, texts: dict[str, str]) -> Entity:
    """The entity with the texts that a model wrote, and with its portrait filled in again."""
    attributes = {**entity.attributes, **texts}
    ordered = {d.name: attributes[d.name] for d in entity_type.dimensions if d.name in attributes}
    return replace(
        entity,
        description=fill(entity_type.portrait, {"name": entity.name, **ordered}),
        attributes={**ordered, **attributes},
    )


def _names(entity_type: EntityType, seed: int) -> Iterator[str]:
    """All pairs of first and last names in a seeded order, then the same pairs again with a number."""
    firsts, lasts = entity_type.first_names, entity_type.last_names or ("",)
    pass_number = 1
    while True:
        if not firsts:
            yield f"{entity_type.name.replace('_', ' ').capitalize()} {pass_number}"
        else:
            order = _pair_order(len(firsts), len(lasts), seed_of(seed, "names", entity_type.name, pass_number))
            for first, last in order:
                name = f"{firsts[first]} {lasts[last]}".strip()
                yield name if pass_number == 1 else f"{name} {pass_number}"
        pass_number += 1


def _pair_order(firsts: int, lasts: int, seed: int) -> Iterator[tuple[int, int]]:
    """Every pair once. Neighbours share no name, so that a few entities are easy to tell apart."""
    rng = stream(seed)
    first_order, last_order = list(range(firsts)), list(range(lasts))
    rng.shuffle(first_order)
    rng.shuffle(last_order)
    for shift in range(max(firsts, lasts)):
        for step in range(min(firsts, lasts)):
            # One index walks its short list while the other is shifted after each lap, which gives a Latin square of pairs.
            if firsts <= lasts:
                yield first_order[step], last_order[(step + shift) % lasts]
            else:
                yield first_order[(step + shift) % firsts], last_order[step]


def built_in_types() -> dict[str, EntityType]:
    """The built-in types, by name."""
    return {name: entity_type_from(record, name) for name, record in built_in_records().items()}


def built_in_records() -> dict[str, dict[str, Any]]:
    """The built-in types as they are written, as templates for your own."""
    folder = Path(__file__).with_name("types")
    return {str(record["name"]): record for record in map(read_tree, sorted(folder.glob("*.toml")))}


def entity_type_from(record: object, where: str) -> EntityType:
    """A type from a parsed file; `where` names the file and the place in it."""
    if not isinstance(record, Mapping):
        raise UsageError(f"{where}: this must be a table of keys and values.")
    return validated(EntityType, record, where)


def known_types(database: Path) -> dict[str, EntityType]:
    """All types of a file's library, and the built-in ones."""
    stored_types: list[StoredType] = []
    if database.exists():
        with reading(database) as connection:
            stored_types = list_types(connection)
    return built_in_types() | {
        stored.name: entity_type_from(stored.definition, f"library type {stored.name}") for stored in stored_types
    }


def find_type(database: Path, name: str) -> EntityType:
    """The type with that name. The error for an unknown name suggests a similar one."""
    types = known_types(database)
    if name not in types:
        near = get_close_matches(name, types, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known types are {', '.join(types)}."
        raise UsageError(f"There is no entity type {name!r}: {hint} Add your own with `tidepool entities add FILE`.")
    return types[name]


def types_of_file(path: Path) -> list[StoredType] | None:
    """The entity types that a file describes, as they are written: one at the top, or several under `entity_types`.
    None if the file describes entities."""
    tree = read_tree(path) if path.suffix.lower() in (".json", ".toml") else None
    if not isinstance(tree, dict) or not tree.keys() & {"entity_types", "dimensions"}:
        return None
    records = tree.get("entity_types", [tree])
    if not isinstance(records, list) or not records:
        raise UsageError(f"{path}: expected an entity type, or a list of them under 'entity_types'.")
    types: dict[str, StoredType] = {}
    for index, record in enumerate(records, 1):
        name = entity_type_from(record, f"{path}, type {index}").name
        if name in types:
            raise UsageError(f"{path}: the entity type {name!r} appears twice. Rename or remove one.")
        types[name] = StoredType(name, record)
    return list(types.values())
