"""All that is known of one thing in the library, as passages to read."""

from collections.abc import Iterator

from tidepool.engine.config.endpoints import PRESETS
from tidepool.engine.errors import UsageError
from tidepool.engine.library.entities import Entity
from tidepool.engine.library.entity_types import (
    BooleanDimension,
    CategoricalDimension,
    Dimension,
    EntityType,
    NumberDimension,
    TextDimension,
    generate,
    in_words,
)
from tidepool.storage.library import StoredAgent, StoredEntity
from tidepool.tui.app.library_view.items import Item, KnownType
from tidepool.tui.app.widgets.reading import Passage
from tidepool.tui.drawing.text import ago

EXAMPLES = 3
MOST_OPTIONS = 12


def details(item: Item) -> list[Passage]:
    stored = item.stored
    if isinstance(stored, StoredEntity):
        return list(_entity(stored))
    if isinstance(stored, StoredAgent):
        return list(_agent(stored))
    return list(_type(stored))


def _entity(stored: StoredEntity) -> Iterator[Passage]:
    yield Passage(stored.name, "strong")
    yield Passage(f"{stored.id} · {stored.type or 'no type'} · added {ago(stored.created_at)} ago", "dim")
    if stored.damaged:
        yield Passage("What the file holds of it cannot be read. x removes it.", "failed")
        return
    if stored.description:
        yield Passage("")
        yield Passage(stored.description)
    if stored.attributes:
        yield Passage("")
    for name, value in stored.attributes.items():
        yield Passage(in_words(value), label=name)


REASONING = ("reasoning_effort", "max_reasoning_tokens")


def _agent(stored: StoredAgent) -> Iterator[Passage]:
    said = stored.definition
    yield Passage(stored.name, "strong")
    yield Passage(f"{stored.id} · added {ago(stored.created_at)} ago", "dim")
    if stored.damaged:
        yield Passage("What the file holds of it cannot be read. x removes it.", "failed")
        return
    yield Passage("")
    model = str(said.get("model", ""))
    yield Passage(f"{model} = {PRESETS[model]}" if model in PRESETS else model, label="model")
    yield Passage(str(said.get("secret") or "none: it cannot play the secret game"), label="secret")
    for name in ("memory", "temperature", "max_tokens", *(key for key in REASONING if said.get(key))):
        yield Passage("not sent" if said.get(name) is None else str(said[name]), label=name)
    if said.get("instructions"):
        yield Passage("")
        yield Passage("instructions", "dim")
        yield Passage(str(said["instructions"]))


def _type(known: KnownType) -> Iterator[Passage]:
    yield Passage(known.name, "strong")
    yield Passage("of this file" if known.own else "built in · e makes your own of it", "dim")
    if known.type is None:
        yield Passage(known.fault, "failed")
        return
    if known.type.description:
        yield Passage("")
        yield Passage(known.type.description)
    yield Passage("")
    for dimension in known.type.dimensions:
        yield Passage(dimension_in_words(dimension), label=dimension.name)
    yield Passage("")
    yield Passage("for example, from seed 42", "dim")
    yield from examples(known.type, 42)


def examples(kind: EntityType, seed: int, count: int = EXAMPLES) -> list[Passage]:
    try:
        made = generate(kind, count, seed)
    except UsageError as error:
        return [Passage(str(error), "failed")]
    return [Passage(f"· {_introduced(entity)}") for entity in made]


def _introduced(entity: Entity) -> str:
    about = entity.description or ", ".join(f"{name} {in_words(value)}" for name, value in entity.attributes.items())
    return about if entity.name in about else f"{entity.name}: {about}"


def dimension_in_words(dimension: Dimension) -> str:
    if isinstance(dimension, BooleanDimension):
        return f"yes for {dimension.share:.0%}"
    if isinstance(dimension, CategoricalDimension):
        return "one of " + _weighed(dimension)
    if isinstance(dimension, NumberDimension):
        return _number(dimension)
    assert isinstance(dimension, TextDimension)
    if dimension.prompt:
        return f"a model writes it: {dimension.prompt}"
    if len(dimension.options) == 1:
        return dimension.options[0]
    return f"one of {len(dimension.options)} texts, such as: {dimension.options[0]}"


def _weighed(dimension: CategoricalDimension) -> str:
    total = sum(dimension.weights)
    even = len(set(dimension.weights)) == 1
    shares = [
        option if even else f"{option} {weight / total:.0%}"
        for option, weight in zip(dimension.options, dimension.weights, strict=True)
    ]
    more = f" and {len(shares) - MOST_OPTIONS} more" if len(shares) > MOST_OPTIONS else ""
    return ", ".join(shares[:MOST_OPTIONS]) + more


def _number(dimension: NumberDimension) -> str:
    spread = {
        "uniform": "evenly spread",
        "normal": "most in the middle",
        "skewed": f"most near the {dimension.towards} end",
    }
    middle = f" (mean {dimension.mean:g})" if dimension.mean is not None else ""
    return f"{dimension.low:g} to {dimension.high:g}, {spread[dimension.spread]}{middle}"
