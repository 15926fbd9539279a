"""The pages of the form and what stands where. Keys that nobody placed come last, so new ones appear by themselves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tidepool.engine.cluster.section import Cluster
from tidepool.engine.config.sections import Agent, Batch, Limits, Providers, Service
from tidepool.engine.config.user_endpoints import declared_names
from tidepool.engine.registries import KINDS, PROVIDERS
from tidepool.engine.studies.kinds import load_kind
from tidepool.tui.app.compose_model.explained import CHOICES_IN_WORDS
from tidepool.tui.app.compose_model.fields import UNSET, Field, Form, fields_of
from tidepool.tui.app.kind_screens import screens_of


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: str
    fields: tuple[Field, ...]
    folded: bool = False
    note: str = ""
    """words under its title; `scoring` are those that follow the draft"""


@dataclass(frozen=True, slots=True)
class OutlinePage:
    name: str
    title: str
    groups: tuple[FieldGroup, ...] = ()


_SERVICE = "name budget_usd max_concurrent requests_per_minute tokens_per_minute batch_size"

AGENT_FIELDS = tuple(fields_of(Agent))
ENTITY_FIELDS = (
    Field(("name",), Form.WORD, "one line, and nobody else's", required=True),
    Field(("description",), Form.LONG, "who this is, as the others' and its own prompts say it", ""),
    Field(("attributes",), Form.TABLE, "key = value, one a line: numbers, text in quotes, true or false", {}),
)
ENTITY_FILE = Field(("simulation", "entity_file"), Form.WORD, "a JSON, TOML or CSV file with more of them")


def pages_of(kind: str) -> tuple[OutlinePage, ...]:
    pages = [OutlinePage("study", "Study", (_batch(), *_kind_groups(kind)))]
    if people := load_kind(kind).people:
        pages.append(OutlinePage(people, people.capitalize()))
    service = tuple(_placed([("Service", _SERVICE)], fields_of(Service, ("service",)), "Service"))
    return (
        *pages,
        OutlinePage("service", "Service", (*service, _cluster())),
        OutlinePage("providers", "Providers", tuple(_providers())),
    )


def _batch() -> FieldGroup:
    fields = {field.key: field for field in fields_of(Batch, ("batch",))}
    return FieldGroup("Batch", tuple(fields[name] for name in ("name", "seed", "description", "metadata")))


def _cluster() -> FieldGroup:
    """Nothing of it is written unless somebody wants hands."""
    fields = (replace(field, default=UNSET) for field in fields_of(Cluster, ("cluster",)))
    given = ", ".join(f"{name} {info.default}" for name, info in Cluster.model_fields.items() if name != "resources")
    note = f"Live calls leave from workers of a Ray cluster. Where one key is written, the others are: {given}. No batch keeps it."
    return FieldGroup("Hands on Ray", tuple(fields), note=note, folded=True)


def _kind_groups(kind: str) -> Iterator[FieldGroup]:
    spec, screens = load_kind(kind), screens_of(kind)
    fields = fields_of(spec.settings(), (kind,), without={*spec.filled_in, *screens.elsewhere})
    named = (replace(field, form=Form.PATH) if field.key in spec.files else field for field in fields)
    return _placed(screens.groups, named, screens.rest, screens.notes)


def _placed(
    order: Iterable[tuple[str, str]], fields: Iterable[Field], last: str, notes: Mapping[str, str] = {}
) -> Iterator[FieldGroup]:
    """Fields by group; the rest behind those of the group `last`, which is made where there is none."""
    left = {".".join(map(str, field.path[1:])): field for field in fields}
    groups = {title: [left.pop(key) for key in keys.split() if key in left] for title, keys in order}
    groups.setdefault(last, []).extend(left.values())
    return (FieldGroup(title, tuple(found), note=notes.get(title, "")) for title, found in groups.items() if found)


def _providers() -> Iterator[FieldGroup]:
    """What is not written for one provider is as the service has it."""
    for name in dict.fromkeys((*PROVIDERS, *declared_names())):
        section = Providers.type_under(name)
        needless = {"like", "batch_command", "batch_jobs"} if name in PROVIDERS else set()
        if name == "simulated":
            needless |= {"base_url", "hosts", "api_key_env", "prices"}
        fields = list(fields_of(section, ("providers", name), needless))
        own = [field for field in fields if field.key not in Limits.model_fields]
        common = [replace(field, default=UNSET) for field in fields if field.key in Limits.model_fields]
        yield FieldGroup(name, (*own, *common), folded=True)


def words_of_choice(field: Field, option: str) -> str:
    """What a choice means, where its name does not say it all."""
    keys = tuple(str(part) for part in field.path if not isinstance(part, int))
    own = screens_of(keys[0]).choices.get(".".join(keys[1:]), {}) if keys[0] in KINDS else {}
    return {**CHOICES_IN_WORDS.get(keys, {}), **own}.get(option, "")
