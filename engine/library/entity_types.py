"""Entity types and the seeded generation of any number of entities.

Entity number i depends on the type, the seed and i alone: 200 of them begin with the same hundred as 100 do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from tidepool.engine.errors import UsageError
from tidepool.engine.library.dimensions import Dimension, TextDimension, filled
from tidepool.engine.library.entities import Attribute, Entity
from tidepool.engine.streams import seed_of, stream


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
