"""Who takes part: an entity has a name, a description and typed attributes.

Entities come from strangers' files, so everything is checked here once, and every complaint says where: in words, for
whoever reads it, and as the key within the entity.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tidepool.engine.config import ceilings
from tidepool.engine.errors import UsageError, located

Attribute = bool | int | float | str

LONGEST_NAME = 120
_KEYS = ("name", "description", "attributes")


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody who can take part in a simulation, or become an agent."""

    name: str
    """how transcripts call it; unique in a study"""
    description: str = ""
    """who that is, in a sentence or two"""
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)
    """anything else that is known: numbers, texts, true or false"""

    if not TYPE_CHECKING:  # a type checker reads the keywords off the fields

        def __new__(cls, *_: object, **keywords: object) -> "Entity":
            _refuse_unknown(keywords, _KEYS, "Entity")
            return object.__new__(cls)

    def __post_init__(self) -> None:
        """What the whole check of a study would stumble over; it tells the rest."""
        checked_name(self.name, "Entity, name")
        if not isinstance(self.description, str):
            raise UsageError(f"Entity, description: expected text, not {_told(self.description)}.", ("description",))
        if not isinstance(self.attributes, Mapping):
            raise UsageError(
                f"Entity, attributes: expected names and values, not {_told(self.attributes)}.", ("attributes",)
            )

    def with_attribute(self, name: str, value: Attribute) -> "Entity":
        """The same entity with one attribute more, or another."""
        return replace(self, attributes={**self.attributes, name: value})

    def as_record(self) -> dict[str, object]:
        """What a JSON or TOML file, or a config's [[entities]], says about it."""
        return {"name": self.name, "description": self.description, "attributes": dict(self.attributes)}


def entity_from(record: object, where: str) -> Entity:
    """An entity out of a parsed file; `where` names the file and the place in it."""
    if not isinstance(record, Mapping):
        raise UsageError(f"{where}: an entity is a table with a name, not {_told(record)}.")
    _refuse_unknown(
        record, (*_KEYS, "id", "type"), where
    )  # the library's own two: a file that carries them is still fine
    attributes = record.get("attributes") or {}
    if not isinstance(attributes, Mapping):
        raise UsageError(
            f"{where}, attributes: expected a table of names and values, not {_told(attributes)}.", ("attributes",)
        )
    with located("name"):
        name = checked_name(record.get("name"), f"{where}, name")
    with located("description"):
        description = checked_text(record.get("description") or "", f"{where}, description").strip()
    with located("attributes"):
        return Entity(name, description, checked_attributes(attributes, where))


def _refuse_unknown(keys: Iterable[object], known: Sequence[str], where: str) -> None:
    for key in keys:
        if key not in known:
            raise UsageError(
                f"{where}: unknown key {key!r}{_nearest(str(key), _KEYS)} Anything of your own goes under attributes.",
                (str(key),),
            )


def checked_name(name: object, where: str) -> str:
    """A name can stand before a colon in a transcript: one line of readable text."""
    if name is None or name == "":
        raise UsageError(f"{where}: the name is missing. Every entity needs one of its own.")
    if not isinstance(name, str):
        raise UsageError(f"{where}: a name is text, not {_told(name)}. Put it in quotes.")
    tidy = name.strip()
    if not tidy:
        raise UsageError(f"{where}: the name is blank. Every entity needs one of its own.")
    if not tidy.isprintable():
        raise UsageError(f"{where}: the name {tidy!r} holds a line break or control character. Remove it.")
    if len(tidy) > LONGEST_NAME:
        raise UsageError(f"{where}: the name has {len(tidy)} characters, and {LONGEST_NAME} are the most.")
    return tidy


def checked_text(text: object, where: str) -> str:
    """The text, if it is one that can be stored."""
    if not isinstance(text, str):
        raise UsageError(f"{where}: expected text, not {_told(text)}.")
    if len(text) > ceilings.TEXT:
        raise UsageError(f"{where}: the text has {len(text):,} letters, and {ceilings.TEXT:,} are the most.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError(f"{where}: the text holds half a character (a lone surrogate). Remove it.")
    return text


def checked_attributes(attributes: Mapping[object, object], where: str) -> dict[str, Attribute]:
    """Attributes without the empty ones: a null or an empty cell says nothing about an entity."""
    if len(attributes) > ceilings.ATTRIBUTES:
        raise UsageError(f"{where}: it has {len(attributes):,} attributes, and {ceilings.ATTRIBUTES:,} are the most.")
    checked: dict[str, Attribute] = {}
    for key, value in attributes.items():
        with located(str(key)):
            name = checked_name(key, f"{where}, attribute name")
            if name in checked:
                raise UsageError(f"{where}: the attribute {name!r} is given twice. Keep one.")
            if value is not None:
                checked[name] = _checked_attribute(value, f"{where}, attribute {name!r}")
    return checked


def _checked_attribute(value: object, where: str) -> Attribute:
    if not isinstance(value, Attribute):
        raise UsageError(f"{where}: expected a number, text or true/false, not {_told(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where}: {value} is no number one can compare. Leave it out.")
    return checked_text(value, where) if isinstance(value, str) else value


def refuse_doubled(entities: Iterable[Entity], where: str) -> None:
    """Refuses two entities of one name: they could not be told apart in a transcript, nor could Ada and ADA."""
    first: dict[str, str] = {}
    for place, entity in enumerate(entities):
        key = entity.name.casefold()
        if key in first:
            twice = f"{entity.name!r}" + ("" if first[key] == entity.name else f" (and {first[key]!r})")
            raise UsageError(f"{where}: the entity {twice} is there twice. Rename or remove one.", (place, "name"))
        first[key] = entity.name


def choose(known: Sequence[Entity], wanted: Sequence[str], where: str) -> list[Entity]:
    """The entities named, in that order; an unknown or doubled name is an error before anything runs."""
    by_name = {entity.name: entity for entity in known}
    chosen: dict[str, Entity] = {}
    for name in wanted:
        if name not in by_name:
            raise UsageError(f"{where}: there is no entity {name!r}{_nearest(name, list(by_name))}")
        if name in chosen:
            raise UsageError(f"{where}: the entity {name!r} is named twice. Name it once.")
        chosen[name] = by_name[name]
    return list(chosen.values())


def _nearest(word: str, known: Sequence[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else "."


def _told(value: object) -> str:
    kinds = {
        dict: "a table",
        list: "a list",
        bool: "true/false",
        int: "a number",
        float: "a number",
        str: "text",
    }
    return kinds.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")
