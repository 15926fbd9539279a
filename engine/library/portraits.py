"""Who an entity is, in words: for an agent's instructions, and for the prompts of a simulation."""

from functools import lru_cache

from tidepool.engine.library.dimensions import in_words
from tidepool.engine.library.entities import Attribute, Entity

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
