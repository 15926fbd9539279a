"""The layout of the form in three steps: question, participants, running.

Common fields come first in each step, and the others are in folded groups. Keys without a place come last, so that new keys
appear automatically. Keys with models belong to the step of the participants.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from tidepool.engine.call import stream
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.sections import Agent, Batch, Design, Service, StopWhenSure
from tidepool.engine.kinds import load_kind
from tidepool.engine.registries import KINDS, section_of
from tidepool.storage.library import StoredAgent, StoredEntity
from tidepool.tui.app.compose.edits import value_at
from tidepool.tui.app.compose.fields import UNSET, Field, Form, KeyPath, fields_of
from tidepool.tui.app.kind_screens import Groups, screens_of
from tidepool.tui.drawing.text import one_line

SERVICES_IN_WORDS = {
    "auto": "uses the batch API (half the price, slower) if at least batch_from requests can be sent together, otherwise live",
    "default": "live; runs max_concurrent conversations at a time, each to its end",
    "live": "live; many conversations advance at once, and none waits for another",
    "openai": "OpenAI's batch API; batch_size conversations at a time, wave by wave",
    "anthropic": "Anthropic's batch API; batch_size conversations at a time, wave by wave",
    "openai-conversation": "OpenAI's batch API; all conversations (up to 50,000 at a time), wave by wave",
    "anthropic-conversation": "Anthropic's batch API; all conversations (up to 50,000 at a time), wave by wave",
}

CHOICES_IN_WORDS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("service", "name"): SERVICES_IN_WORDS,
    ("agents", "memory"): {"short": "this conversation only", "long": "all earlier conversations of the game"},
}
"""choices of all kinds of study; those of one kind are in `kind_screens`"""


WHAT, WHO, HOW = "what", "who", "how"


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: str
    """empty if it needs no title"""
    fields: tuple[Field, ...]
    folded: bool = False
    note: str = ""
    """text under its title"""


@dataclass(frozen=True, slots=True)
class OutlinePage:
    name: str
    title: str
    question: str
    groups: tuple[FieldGroup, ...] = ()
    people: str = ""
    """agents or entities, if the page lists them"""


_COMMON_SERVICE = "name budget_usd max_concurrent"

AGENT_FIELDS = tuple(fields_of(Agent))
ENTITY_FIELDS = (
    Field(("name",), Form.WORD, "one line, different from all other names", required=True),
    Field(("description",), Form.LONG, "who this is; part of all participants' prompts", ""),
    Field(("attributes",), Form.TABLE, "one key = value per line: a number, text in quotes, true or false", {}),
)


def pages_of(kind: str) -> tuple[OutlinePage, ...]:
    people = load_kind(kind).people or ""
    own = _kind_groups(kind)
    own[WHO][:1] = [replace(group, title="") for group in own[WHO][:1]]
    title, question = ("Participants", f"Participants: {people}") if people else ("Models", "Models")
    return (
        OutlinePage(WHAT, "Question", "Question", tuple(_what(own[WHAT]))),
        OutlinePage(WHO, title, question, tuple(own[WHO]), people),
        OutlinePage(HOW, "Running", "Running and budget", tuple(_how(own[HOW], load_kind(kind).people == "agents"))),
    )


def _what(own: list[FieldGroup]) -> Iterator[FieldGroup]:
    """Yields the groups: the name with the kind's first group, the kind's other groups, then the notes."""
    batch = {field.key: field for field in fields_of(Batch, ("batch",))}
    first, *others = own or [FieldGroup("", ())]
    yield replace(first, title="", fields=(replace(batch["name"], title="Study name"), *first.fields))
    yield from others
    yield FieldGroup("Notes", (batch["description"], batch["metadata"]), folded=True)


def _how(own_groups: list[FieldGroup], may_stop: bool) -> Iterator[FieldGroup]:
    service = {field.key: field for field in fields_of(Service, ("service",))}
    common = tuple(service.pop(key) for key in _COMMON_SERVICE.split())
    seed = next(field for field in fields_of(Batch, ("batch",)) if field.key == "seed")
    yield FieldGroup("", (*common, seed))
    yield FieldGroup("Limits and waiting", tuple(service.values()), folded=True)
    yield from own_groups
    if may_stop:
        yield _optional(
            "Stop early", StopWhenSure, "stop", "Stops when the result is precise enough. The plan is then the maximum."
        )
    yield _optional("Design", Design, "design", "Runs one batch for each combination of levels.")
    usual = ", ".join(f"{name} {info.default}" for name, info in Cluster.model_fields.items() if name != "resources")
    note = f"Sends live requests from the workers of a Ray cluster. If you set one of these keys, the others default to: {usual}. Batches do not store this section."
    yield _optional("Ray cluster", Cluster, "cluster", note)


def _optional(title: str, section: type[BaseModel], name: str, note: str) -> FieldGroup:
    """Returns a folded group of a section that is not written by default."""
    fields = (replace(field, default=UNSET, required=False) for field in fields_of(section, (name,)))
    return FieldGroup(title, tuple(fields), folded=True, note=note)


def _kind_groups(kind: str) -> dict[str, list[FieldGroup]]:
    """Returns the groups of the kind's section by step."""
    spec, screens = load_kind(kind), screens_of(kind)
    settings, section = spec.settings_for({}), section_of(kind)
    fields = list(fields_of(settings, (section,), without={*spec.filled_in, *screens.elsewhere}))
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
    """Returns the fields by step and group.

    Other fields follow in the group `last`. If it does not exist, it is added to the question step if that is empty, else to
    the running step.
    """
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
    """Returns the description of a choice; empty if the name is enough."""
    keys = tuple(str(part) for part in field.path if not isinstance(part, int))
    own = screens_of(keys[0]).choices.get(".".join(keys[1:]), {}) if keys[0] in KINDS else {}
    return {**CHOICES_IN_WORDS.get(keys, {}), **own}.get(option, "")


Stored = StoredAgent | StoredEntity


@dataclass(frozen=True, slots=True)
class ParticipantKind:
    """A list of participants in a config, and the key with their library ids."""

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
    """A participant, either at a place of the list or from the library by id."""

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
    """Returns a stored participant as a config record."""
    if isinstance(stored, StoredAgent):
        return {name: value for name, value in stored.definition.items() if value is not None}
    return {"name": stored.name, "description": stored.description, "attributes": dict(stored.attributes)}


def _cells(record: object, participants: ParticipantKind) -> tuple[str, ...]:
    if not isinstance(record, Mapping):
        return (one_line(str(record)),)
    return tuple(one_line(str(record.get(column, ""))) for column in participants.columns)


def newcomer(values: Mapping[str, Any], participants: ParticipantKind) -> dict[str, Any]:
    """Returns a new participant to edit: an agent has the last one's model, a new name and a new secret."""
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
