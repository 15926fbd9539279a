"""The pages of the form and what stands where. Keys that nobody placed come last, so new ones appear by themselves."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tidepool.engine.config.sections import (
    Agent,
    Batch,
    Limits,
    OllamaSettings,
    ProviderSettings,
    Service,
    SimulatedSettings,
)
from tidepool.engine.studies.kinds import load_kind
from tidepool.tui.app.compose_model.explained import CHOICES_IN_WORDS
from tidepool.tui.app.compose_model.fields import UNSET, Field, Form, fields_of


@dataclass(frozen=True, slots=True)
class FieldGroup:
    title: str
    fields: tuple[Field, ...]
    folded: bool = False
    note: str = ""
    """what is explained under its title: `scoring`, or nothing"""


@dataclass(frozen=True, slots=True)
class OutlinePage:
    name: str
    title: str
    groups: tuple[FieldGroup, ...] = ()


_ORDER: dict[str, tuple[tuple[str, str], ...]] = {
    "secret_game": (
        ("Game", "mode num_interactions messages_per_interaction pairing games rounds targeted_secret announce_target"),
        (
            "Scoring",
            "scoring.only_obtained scoring.both scoring.none scoring.only_revealed scoring.per_secret scoring.per_unique "
            "scoring.target",
        ),
        ("Detection", "detection fuzzy_threshold judge"),
    ),
    "simulation": (
        ("Talk", "context context_file interaction_size num_simulations n_turns simulation_rounds style thoughts"),
        ("Model", "model temperature max_tokens language speaking_order"),
        ("Judge", "judge.model judge.question judge.scale"),
    ),
    "evolution": (
        ("Search", "strategy model models mutator population_size max_generations problems max_problems"),
        ("Honesty", "validation_problems samples racing seed_final random_baseline"),
        ("Stop", "target_fitness stagnation max_calls"),
        ("Breeding", "selection crossover crossover_rate mutation_rate elite_size seed_prompts"),
        ("Fitness", "weights.accuracy weights.consistency weights.efficiency weights.diversity"),
        ("Model", "temperature max_tokens"),
    ),
    "mutation": (
        ("Task", "target mutator reward judge encoder success queries heldout"),
        ("Learning", "learner num_env_steps num_processes num_steps episode_length baselines repeats policy"),
        ("Model", "temperature max_tokens on_error use_batching"),
    ),
}
"""kind → groups in order, each with its keys in order"""

_LAST = {"secret_game": "Scenarios", "simulation": "More", "evolution": "Sizes", "mutation": "Training in detail"}
"""where the keys go that have no place"""

_NOTES = {"Game": "scoring"}

_SERVICE = "name budget_usd max_concurrent requests_per_minute tokens_per_minute batch_size"

PEOPLE = {"secret_game": ("agents", "Agents"), "simulation": ("entities", "Entities")}
"""kind → the list of tables that has a page of its own"""

_ON_PEOPLE_PAGE = {"entity_ids", "entity_file"}

AGENT_FIELDS = tuple(fields_of(Agent))
ENTITY_FIELDS = (
    Field(("name",), Form.WORD, "one line, and nobody else's", required=True),
    Field(("description",), Form.LONG, "who this is, as the others' and its own prompts say it", ""),
    Field(("attributes",), Form.TABLE, "key = value, one a line: numbers, text in quotes, true or false", {}),
)
ENTITY_FILE = Field(("simulation", "entity_file"), Form.WORD, "a JSON, TOML or CSV file with more of them")

PROVIDERS: dict[str, type[ProviderSettings]] = {
    "openai": ProviderSettings,
    "anthropic": ProviderSettings,
    "ollama": OllamaSettings,
    "simulated": SimulatedSettings,
}


def pages_of(kind: str) -> tuple[OutlinePage, ...]:
    pages = [OutlinePage("study", "Study", (_batch(), *_kind_groups(kind)))]
    if kind in PEOPLE:
        name, title = PEOPLE[kind]
        pages.append(OutlinePage(name, title))
    service = tuple(_placed([("Service", _SERVICE)], fields_of(Service, ("service",)), "Service"))
    return (
        *pages,
        OutlinePage("service", "Service", service),
        OutlinePage("providers", "Providers", tuple(_providers())),
    )


def _batch() -> FieldGroup:
    fields = {field.key: field for field in fields_of(Batch, ("batch",))}
    return FieldGroup("Batch", tuple(fields[name] for name in ("name", "seed", "description", "metadata")))


def _kind_groups(kind: str) -> Iterator[FieldGroup]:
    fields = [field for field in fields_of(load_kind(kind).settings, (kind,)) if field.key not in _ON_PEOPLE_PAGE]
    return _placed(_ORDER.get(kind, ()), fields, _LAST.get(kind, "More"))


def _placed(order: Iterable[tuple[str, str]], fields: Iterable[Field], last: str) -> Iterator[FieldGroup]:
    """Fields by group; the rest behind those of the group `last`, which is made where there is none."""
    left = {".".join(map(str, field.path[1:])): field for field in fields}
    groups = {title: [left.pop(key) for key in keys.split() if key in left] for title, keys in order}
    groups.setdefault(last, []).extend(left.values())
    return (FieldGroup(title, tuple(found), note=_NOTES.get(title, "")) for title, found in groups.items() if found)


def _providers() -> Iterator[FieldGroup]:
    """What is not written for one provider is as the service has it."""
    for name, section in PROVIDERS.items():
        own = [field for field in fields_of(section, ("providers", name)) if field.key not in Limits.model_fields]
        common = [field for field in fields_of(section, ("providers", name)) if field.key in Limits.model_fields]
        fields = (*own, *(replace(field, default=UNSET) for field in common))
        yield FieldGroup(name, fields, folded=True)


def words_of_choice(field: Field, option: str) -> str:
    """What a choice means, where its name does not say it all."""
    keys = tuple(str(part) for part in field.path if not isinstance(part, int))
    return CHOICES_IN_WORDS.get(keys, {}).get(option, "")
