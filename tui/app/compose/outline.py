"""The three steps of the form and what stands where: what is studied, who takes part, how it is asked.

In each the common fields come first, and the rest is folded by groups. Keys that nobody placed come last, so new ones
appear by themselves; those that name models belong to the step of who takes part.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from tidepool.engine.call import stream
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.sections import Agent, Batch, Design, Service, StopWhenSure
from tidepool.engine.kinds import load_kind
from tidepool.engine.registries import KINDS
from tidepool.storage.library import StoredAgent, StoredEntity
from tidepool.tui.app.compose.edits import value_at
from tidepool.tui.app.compose.fields import UNSET, Field, Form, KeyPath, fields_of
from tidepool.tui.app.kind_screens import Groups, screens_of
from tidepool.tui.drawing.text import one_line

SERVICES_IN_WORDS = {
    "auto": "all together; by each provider's batch API for waves of batch_from calls (half the price, slower), else live",
    "default": "each conversation to its end, max_concurrent of them at a time, live",
    "live": "all conversations advance together, live; none waits for another's turn",
    "openai": "batch_size conversations at a time, wave by wave, by OpenAI's batch API",
    "anthropic": "batch_size conversations at a time, wave by wave, by Anthropic's batch API",
    "openai-conversation": "all conversations (up to 50,000 at a time), wave by wave, by OpenAI's batch API",
    "anthropic-conversation": "all conversations (up to 50,000 at a time), wave by wave, by Anthropic's batch API",
}

CHOICES_IN_WORDS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("service", "name"): SERVICES_IN_WORDS,
    ("agents", "memory"): {"short": "this conversation", "long": "all earlier ones of the same game"},
}
"""those of every study; a kind's own stand in `kind_screens`"""


WHAT, WHO, HOW = "what", "who", "how"


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: str
    """empty: it needs none"""
    fields: tuple[Field, ...]
    folded: bool = False
    note: str = ""
    """words under its title"""


@dataclass(frozen=True, slots=True)
class OutlinePage:
    name: str
    title: str
    question: str
    groups: tuple[FieldGroup, ...] = ()
    people: str = ""
    """agents or entities, where those are written here"""


_COMMON_SERVICE = "name budget_usd max_concurrent"

AGENT_FIELDS = tuple(fields_of(Agent))
ENTITY_FIELDS = (
    Field(("name",), Form.WORD, "one line, and nobody else's", required=True),
    Field(("description",), Form.LONG, "who this is, as the others' and its own prompts say it", ""),
    Field(("attributes",), Form.TABLE, "key = value, one a line: numbers, text in quotes, true or false", {}),
)


def pages_of(kind: str) -> tuple[OutlinePage, ...]:
    people = load_kind(kind).people or ""
    own = _kind_groups(kind)
    own[WHO][:1] = [replace(group, title="") for group in own[WHO][:1]]
    question = f"Which {people} take part?" if people else "Which models are asked?"
    return (
        OutlinePage(WHAT, "What", "What is to be found out?", tuple(_what(own[WHAT]))),
        OutlinePage(WHO, "Who", question, tuple(own[WHO]), people),
        OutlinePage(HOW, "How", "How is it asked, and what may it cost?", tuple(_how(own[HOW], load_kind(kind).talks))),
    )


def _what(own: list[FieldGroup]) -> Iterator[FieldGroup]:
    """The name and the kind's first group are one; what is said about the study comes last."""
    batch = {field.key: field for field in fields_of(Batch, ("batch",))}
    first, *others = own or [FieldGroup("", ())]
    yield replace(first, title="", fields=(replace(batch["name"], title="Name of the study"), *first.fields))
    yield from others
    yield FieldGroup("Notes", (batch["description"], batch["metadata"]), folded=True)


def _how(own_groups: list[FieldGroup], talks: bool) -> Iterator[FieldGroup]:
    service = {field.key: field for field in fields_of(Service, ("service",))}
    common = tuple(service.pop(key) for key in _COMMON_SERVICE.split())
    seed = next(field for field in fields_of(Batch, ("batch",)) if field.key == "seed")
    yield FieldGroup("", (*common, seed))
    yield FieldGroup("Limits and waits", tuple(service.values()), folded=True)
    yield from own_groups
    if talks:
        yield _optional("Stop when sure", StopWhenSure, "stop", "What is planned is then the most that is asked.")
    yield _optional("Design", Design, "design", "Several batches: each combination of levels is one.")
    usual = ", ".join(f"{name} {info.default}" for name, info in Cluster.model_fields.items() if name != "resources")
    note = f"Live calls leave from workers of a Ray cluster. Where one key is written, the others are: {usual}. No batch keeps it."
    yield _optional("Hands on Ray", Cluster, "cluster", note)


def _optional(title: str, section: type[BaseModel], name: str, note: str) -> FieldGroup:
    """Nothing of it is written unless somebody wants it."""
    fields = (replace(field, default=UNSET, required=False) for field in fields_of(section, (name,)))
    return FieldGroup(title, tuple(fields), folded=True, note=note)


def _kind_groups(kind: str) -> dict[str, list[FieldGroup]]:
    """The groups of the kind's own section, by step."""
    spec, screens = load_kind(kind), screens_of(kind)
    fields = list(fields_of(spec.settings, (kind,), without={*spec.filled_in, *screens.elsewhere}))
    placed = {WHAT: screens.what, WHO: screens.who, HOW: screens.how}
    known = {key for groups in placed.values() for _, keys in groups for key in keys.split()}
    models = " ".join(
        _key(field) for field in fields if field.form in (Form.MODEL, Form.MODELS) and _key(field) not in known
    )
    if models and not screens.who:
        placed[WHO] = (("Models", models),)
    return _placed(placed, fields, screens.rest)


def _key(field: Field) -> str:
    return ".".join(map(str, field.path[1:]))


def _placed(order: Mapping[str, Groups], fields: Iterable[Field], last: str) -> dict[str, list[FieldGroup]]:
    """Fields by step and group; the rest behind those of the group `last`, which is made where there is none: of what
    is studied where nothing else is said about that, else of how."""
    left = {_key(field): field for field in fields}
    steps = {
        step: {title: [left.pop(key) for key in keys.split() if key in left] for title, keys in groups}
        for step, groups in order.items()
    }
    default_groups = next((groups for groups in steps.values() if last in groups), steps[HOW if steps[WHAT] else WHAT])
    default_groups.setdefault(last, []).extend(left.values())
    return {
        step: [
            FieldGroup(title, tuple(members), folded=place > 0 or step == HOW)
            for place, (title, members) in enumerate((title, members) for title, members in groups.items() if members)
        ]
        for step, groups in steps.items()
    }


def words_of_choice(field: Field, option: str) -> str:
    """What a choice means, where its name does not say it all."""
    keys = tuple(str(part) for part in field.path if not isinstance(part, int))
    own = screens_of(keys[0]).choices.get(".".join(keys[1:]), {}) if keys[0] in KINDS else {}
    return {**CHOICES_IN_WORDS.get(keys, {}), **own}.get(option, "")


Stored = StoredAgent | StoredEntity


@dataclass(frozen=True, slots=True)
class ParticipantKind:
    """A list of people in a config, and where its library ids stand."""

    name: str
    noun: str
    ids: KeyPath
    fields: tuple[Field, ...]
    columns: tuple[str, ...]


PARTICIPANT_KINDS = {
    "agents": ParticipantKind("agents", "agent", ("agent_ids",), AGENT_FIELDS, ("name", "model", "secret")),
    "entities": ParticipantKind(
        "entities", "entity", ("simulation", "entity_ids"), ENTITY_FIELDS, ("name", "description")
    ),
}


@dataclass(frozen=True, slots=True)
class Person:
    """One of them: written at a place of the list, or named by id."""

    place: int | None
    id: str
    cells: tuple[str, ...]


def people_in(values: Mapping[str, Any], participants: ParticipantKind, library: Mapping[str, Stored]) -> list[Person]:
    records, ids = value_at(values, (participants.name,)), value_at(values, participants.ids)
    people = [
        Person(place, "", _cells(record, participants))
        for place, record in enumerate(records if isinstance(records, list) else ())
    ]
    for person_id in map(str, ids if isinstance(ids, list) else ()):
        known = library.get(person_id)
        cells = _cells(record_of(known), participants) if known else (one_line(person_id), "not in the library")
        people.append(Person(None, person_id, cells))
    return people


def record_of(stored: Stored) -> dict[str, Any]:
    """As a config would write it."""
    if isinstance(stored, StoredAgent):
        return {name: value for name, value in stored.definition.items() if value is not None}
    return {"name": stored.name, "description": stored.description, "attributes": dict(stored.attributes)}


def _cells(record: object, participants: ParticipantKind) -> tuple[str, ...]:
    if not isinstance(record, Mapping):
        return (one_line(str(record)),)
    return tuple(one_line(str(record.get(column, ""))) for column in participants.columns)


def newcomer(values: Mapping[str, Any], participants: ParticipantKind) -> dict[str, Any]:
    """One more, ready to be changed: an agent like the last one with a name and a code word of its own."""
    there = value_at(values, (participants.name,))
    records = [one for one in there if isinstance(one, Mapping)] if isinstance(there, list) else []
    names = {str(record.get("name", "")).casefold() for record in records}
    name = next(
        f"{participants.noun.capitalize()} {n}"
        for n in range(len(records) + 1, 10**9)
        if f"{participants.noun} {n}" not in names
    )
    if participants.name == "entities":
        return {"name": name}
    from tidepool.engine.config.library import code_words

    model = str(records[-1].get("model", "simulated:guarded")) if records else "simulated:guarded"
    used = {str(record.get("secret", "")) for record in records}
    words = code_words(len(used) + 1, stream(0, "code words of composed agents"))
    return {"name": name, "model": model, "secret": next((word for word in words if word not in used), words[-1])}
