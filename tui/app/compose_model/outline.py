"""The three steps of the form and what stands where: what is studied, who takes part, how it is asked.

In each the common fields come first, and the rest is folded by groups. Keys that nobody placed come last, so new ones
appear by themselves; those that name models are somebody who takes part.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tidepool.engine.config.design import Design
from tidepool.engine.config.sections import Agent, Batch, Limits, Providers, Service
from tidepool.engine.config.stop import StopWhenSure
from tidepool.engine.config.user_endpoints import declared_names
from tidepool.engine.registries import KINDS, PROVIDERS
from tidepool.engine.runtime.cluster_section import Cluster
from tidepool.engine.studies.kinds import load_kind
from tidepool.tui.app.compose_model.explained import CHOICES_IN_WORDS
from tidepool.tui.app.compose_model.fields import UNSET, Field, Form, fields_of
from tidepool.tui.app.kind_screens import Groups, screens_of

WHAT, WHO, HOW = "what", "who", "how"


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: str
    """empty: it needs none"""
    fields: tuple[Field, ...]
    folded: bool = False
    note: str = ""
    """words under its title; `scoring` are those that follow the draft"""
    seldom: bool = False
    """opened by itself alone, not together with all others"""


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
    who = f"Which {people} take part?" if people else "Which models are asked?"
    return (
        OutlinePage(WHAT, "What", "What is to be found out?", tuple(_what(own[WHAT]))),
        OutlinePage(WHO, "Who", who, tuple(own[WHO]), people),
        OutlinePage(HOW, "How", "How is it asked, and what may it cost?", tuple(_how(own[HOW], load_kind(kind).talks))),
    )


def _what(own: list[FieldGroup]) -> Iterator[FieldGroup]:
    """The name and the kind's first group are one; what is said about the study comes last."""
    batch = {field.key: field for field in fields_of(Batch, ("batch",))}
    first, *others = own or [FieldGroup("", ())]
    yield replace(first, title="", fields=(replace(batch["name"], title="Name of the study"), *first.fields))
    yield from others
    yield FieldGroup("Notes", (batch["description"], batch["metadata"]), folded=True)


def _how(own: list[FieldGroup], talks: bool) -> Iterator[FieldGroup]:
    service = {field.key: field for field in fields_of(Service, ("service",))}
    common = tuple(service.pop(key) for key in _COMMON_SERVICE.split())
    seed = next(field for field in fields_of(Batch, ("batch",)) if field.key == "seed")
    yield FieldGroup("", (*common, seed))
    yield FieldGroup("Limits and waits", tuple(service.values()), folded=True)
    yield from own
    if talks:
        yield _optional("Stop when sure", StopWhenSure, "stop", "What is planned is then the most that is asked.")
    yield _optional("Design", Design, "design", "Several batches: each combination of levels is one.")
    yield _cluster()
    yield from _providers()


def _optional(title: str, section: type[StopWhenSure | Design], name: str, note: str) -> FieldGroup:
    """Nothing of it is written unless somebody wants it."""
    fields = (replace(field, default=UNSET, required=False) for field in fields_of(section, (name,)))
    return FieldGroup(title, tuple(fields), folded=True, note=note)


def _cluster() -> FieldGroup:
    """Nothing of it is written unless somebody wants hands."""
    fields = (replace(field, default=UNSET) for field in fields_of(Cluster, ("cluster",)))
    given = ", ".join(f"{name} {info.default}" for name, info in Cluster.model_fields.items() if name != "resources")
    note = f"Live calls leave from workers of a Ray cluster. Where one key is written, the others are: {given}. No batch keeps it."
    return FieldGroup("Hands on Ray", tuple(fields), note=note, folded=True)


def _kind_groups(kind: str) -> dict[str, list[FieldGroup]]:
    """The groups of the kind's own section, by step."""
    spec, screens = load_kind(kind), screens_of(kind)
    fields = fields_of(spec.settings(), (kind,), without={*spec.filled_in, *screens.elsewhere})
    named = [replace(field, form=Form.PATH) if field.key in spec.files else field for field in fields]
    placed = {WHAT: screens.what, WHO: screens.who, HOW: screens.how}
    known = {key for groups in placed.values() for _, keys in groups for key in keys.split()}
    models = " ".join(
        _key(field) for field in named if field.form in (Form.MODEL, Form.MODELS) and _key(field) not in known
    )
    if models and not screens.who:
        placed[WHO] = (("Models", models),)
    return _placed(placed, named, screens.rest, screens.notes)


def _key(field: Field) -> str:
    return ".".join(map(str, field.path[1:]))


def _placed(
    order: Mapping[str, Groups], fields: Iterable[Field], last: str, notes: Mapping[str, str]
) -> dict[str, list[FieldGroup]]:
    """Fields by step and group; the rest behind those of the group `last`, which is made where there is none: of what
    is studied where nothing else is said about that, else of how."""
    left = {_key(field): field for field in fields}
    steps = {
        step: {title: [left.pop(key) for key in keys.split() if key in left] for title, keys in groups}
        for step, groups in order.items()
    }
    home = next((groups for groups in steps.values() if last in groups), steps[HOW if steps[WHAT] else WHAT])
    home.setdefault(last, []).extend(left.values())
    return {
        step: [
            FieldGroup(title, tuple(found), folded=place > 0 or step == HOW, note=notes.get(title, ""))
            for place, (title, found) in enumerate((title, found) for title, found in groups.items() if found)
        ]
        for step, groups in steps.items()
    }


def _providers() -> Iterator[FieldGroup]:
    """What is not written for one provider is as the service has it."""
    for name in dict.fromkeys((*PROVIDERS, *declared_names())):
        section = Providers.type_under(name)
        needless = {"like"} if name in PROVIDERS else set()
        if name == "simulated":
            needless |= {"base_url", "hosts", "api_key_env", "prices"}
        fields = list(fields_of(section, ("providers", name), needless))
        own = [field for field in fields if field.key not in Limits.model_fields]
        common = [replace(field, default=UNSET) for field in fields if field.key in Limits.model_fields]
        yield FieldGroup(f"Provider {name}", (*own, *common), folded=True, seldom=True)


def words_of_choice(field: Field, option: str) -> str:
    """What a choice means, where its name does not say it all."""
    keys = tuple(str(part) for part in field.path if not isinstance(part, int))
    own = screens_of(keys[0]).choices.get(".".join(keys[1:]), {}) if keys[0] in KINDS else {}
    return {**CHOICES_IN_WORDS.get(keys, {}), **own}.get(option, "")
