"""Who takes part, as rows of a list: those written in the draft, and those named by their id in the library."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.call import stream
from tidepool.storage.library import StoredAgent, StoredEntity
from tidepool.tui.app.compose_model.edits import value_at
from tidepool.tui.app.compose_model.fields import Field, Path
from tidepool.tui.app.compose_model.outline import AGENT_FIELDS, ENTITY_FIELDS
from tidepool.tui.drawing.text import one_line

Stored = StoredAgent | StoredEntity


@dataclass(frozen=True, slots=True)
class Folk:
    """A list of people in a config, and where its library ids stand."""

    name: str
    noun: str
    ids: Path
    fields: tuple[Field, ...]
    columns: tuple[str, ...]


FOLKS = {
    "agents": Folk("agents", "agent", ("agent_ids",), AGENT_FIELDS, ("name", "model", "secret")),
    "entities": Folk("entities", "entity", ("simulation", "entity_ids"), ENTITY_FIELDS, ("name", "description")),
}


@dataclass(frozen=True, slots=True)
class Person:
    """One of them: written at a place of the list, or named by id."""

    place: int | None
    id: str
    cells: tuple[str, ...]


def people_in(values: Mapping[str, Any], folk: Folk, library: Mapping[str, Stored]) -> list[Person]:
    records, ids = value_at(values, (folk.name,)), value_at(values, folk.ids)
    written = [
        Person(place, "", _cells(record, folk))
        for place, record in enumerate(records if isinstance(records, list) else ())
    ]
    named = [_named(str(one), folk, library) for one in (ids if isinstance(ids, list) else ())]
    return [*written, *named]


def _named(one: str, folk: Folk, library: Mapping[str, Stored]) -> Person:
    known = library.get(one)
    return Person(None, one, _cells(record_of(known), folk) if known else (one_line(one), "not in the library"))


def record_of(stored: Stored) -> dict[str, Any]:
    """As a config would write it."""
    if isinstance(stored, StoredAgent):
        return {name: value for name, value in stored.definition.items() if value is not None}
    return {"name": stored.name, "description": stored.description, "attributes": dict(stored.attributes)}


def _cells(record: object, folk: Folk) -> tuple[str, ...]:
    if not isinstance(record, Mapping):
        return (one_line(str(record)),)
    return tuple(one_line(str(record.get(column, ""))) for column in folk.columns)


def newcomer(values: Mapping[str, Any], folk: Folk) -> dict[str, Any]:
    """One more, ready to be changed: an agent like the last one with a name and a code word of its own."""
    there = value_at(values, (folk.name,))
    records = [one for one in there if isinstance(one, Mapping)] if isinstance(there, list) else []
    names = {str(record.get("name", "")).casefold() for record in records}
    name = next(
        f"{folk.noun.capitalize()} {n}" for n in range(len(records) + 1, 10**9) if f"{folk.noun} {n}" not in names
    )
    if folk.name == "entities":
        return {"name": name}
    model = str(records[-1].get("model", "simulated:guarded")) if records else "simulated:guarded"
    return {"name": name, "model": model, "secret": _code_word({str(record.get("secret", "")) for record in records})}


def _code_word(taken: set[str]) -> str:
    from tidepool.engine.library.contents import code_words

    words = code_words(len(taken) + 1, stream(0, "code words of composed agents"))
    return next((word for word in words if word not in taken), words[-1])
