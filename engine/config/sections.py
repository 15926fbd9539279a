"""The sections of a config. The contract names every key, and each kind adds its own section.

Values are strictly typed, so an ambiguous config is an error before anything runs. A `Config` is what a user writes. A
`FrozenConfig` is what a batch stores: full model names, the content of files and library entries, and every default.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar, cast

from annotated_types import MaxLen
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializeAsAny,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from tidepool.engine.config import ceilings
from tidepool.engine.config.ceilings import PerMinute, Seconds, Share, Text
from tidepool.engine.config.cluster import Cluster
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS, Family, is_endpoint_name, known_model, unknown_provider
from tidepool.engine.config.problems import WrongValue
from tidepool.engine.config.section import ConfigOrigin, Hosts, NamesModel, OneOf, Section, models_named
from tidepool.engine.errors import UsageError
from tidepool.engine.kinds import load_kind
from tidepool.engine.registries import KINDS, PROVIDERS, section_of

Name = Annotated[str, MaxLen(ceilings.NAME)]


class Hypothesis(Section):
    """One of [[design.hypotheses]]: frozen before the first call."""

    outcome: Name
    """the measure: revealed, obtained, score; rating; accuracy, calls; reward"""
    contrast: Name
    """`FACTOR: LEVEL - LEVEL`, over all other factors"""
    direction: Literal["less", "greater", "two-sided"] = "two-sided"
    """the expected direction of the difference"""


def _dotted(name: str, nested: object) -> str:
    """The intended key if TOML read its dots as nested tables."""
    while isinstance(nested, Mapping) and nested:
        inner, nested = next(iter(nested.items()))
        name = f"{name}.{inner}"
    return name


class Design(Section):
    """The section [design]: each combination of levels is a cell, and each cell is a batch for every replicate."""

    replicates: int = Field(default=1, ge=1, le=ceilings.CELLS)
    """batches of each cell; the first has batch.seed, the others derived seeds"""
    mode: Literal["full", "paired"] = Field(default="full", title="Levels crossed")
    """full: all combinations of levels; paired: the first levels of all factors, then the second levels, and so on"""
    factors: dict[Name, list[Any]] = Field(default_factory=dict, max_length=ceilings.FACTORS)
    """a config key with its values, or any name with levels `{ level = "…", set = { KEY = VALUE } }`"""
    hypotheses: list[Hypothesis] = Field(default_factory=list, max_length=ceilings.HYPOTHESES)
    """hypotheses to test; all other results are exploratory"""

    @field_validator("factors", mode="before")
    @classmethod
    def _keys_in_quotes(cls, factors: Any) -> Any:
        for name, levels in factors.items() if isinstance(factors, Mapping) else ():
            if isinstance(levels, Mapping):
                raise WrongValue(f'a key with dots needs quotes: "{_dotted(name, levels)}" = [ … ]', name)
        return factors


class StopWhenSure(Section):
    """What is to be known, and how well. The length that the study's own section plans is the most that is asked."""

    outcome: str = Field(max_length=ceilings.NAME)
    """the measure to watch: revealed or obtained, or a measure of a study of your own"""
    agent: str = Field(default="", max_length=200)
    """only sides of this agent; empty: all sides"""
    half_width: float | None = Field(default=None, gt=0, allow_inf_nan=False, title="Interval within ±")
    """stop when the interval is at most this far to either side; 0.03 is ±3 percentage points"""
    decided: bool = Field(default=False, title="Stop when decided")
    """stop when it is clear on which side of the line the value is"""
    difference: str = Field(default="", max_length=ceilings.NAME)
    """with decided: the difference of two agents, such as "Ada - Bob\""""
    line: float | None = Field(default=None, allow_inf_nan=False)
    """with decided: the line; for a difference 0 if not set"""

    @field_validator("outcome", mode="before")
    @classmethod
    def _independent(cls, outcome: Any) -> Any:
        if outcome in ("rating", "words"):
            words = "stop rules need independent conversations, but conversations of a simulation share personas"
            raise WrongValue(f"{words}, so [stop] cannot watch ratings or words", "outcome")
        return outcome

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if self.decided == (self.half_width is not None):
            raise WrongValue("set either half_width = … or decided = true", "half_width")
        if not self.decided and (self.difference or self.line is not None):
            word = "difference" if self.difference else "line"
            raise WrongValue(f"{word} requires decided = true", word)
        if self.decided and not self.difference and self.line is None:
            raise WrongValue(
                'decided needs a line, such as line = 0.5, or a difference, such as difference = "Ada - Bob"', "line"
            )
        if self.agent and self.difference:
            raise WrongValue("set agent or the difference of two agents, not both", "agent")
        return self

    @property
    def at(self) -> float:
        """The threshold of the decision."""
        return self.line or 0.0


ServiceName = Literal["auto", "default", "live", "openai", "anthropic", "openai-conversation", "anthropic-conversation"]
KindName = Annotated[str, OneOf(KINDS)]


ModelName = Annotated[str, MaxLen(ceilings.WORD), AfterValidator(known_model), NamesModel()]
"""PROVIDER:MODEL or a preset; a frozen config has the full name"""


ReasoningEffort = Annotated[
    Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"], Field(title="Reasoning")
]
REASONING_TOKENS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 65_536}
"""reasoning tokens for each effort, unless a config sets another number"""


Temperature = Annotated[
    float | None, Field(ge=0, le=2), BeforeValidator(lambda value: None if value == "none" else value)
]
"""None uses the provider's own value; TOML has no null, so a config writes `temperature = "none"`"""
MostTokens = Annotated[int, Field(ge=1, le=ceilings.TOKENS, title="Longest reply")]
ReasoningRoom = Annotated[int, Field(ge=0, le=ceilings.TOKENS, title="Reasoning tokens")]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Reasons(Protocol):
    """A section with the reasoning settings of its models."""

    reasoning_effort: ReasoningEffort
    max_reasoning_tokens: int


def reasoning_of(settings: Reasons) -> dict[str, Any]:
    """The reasoning settings of a call from such a section."""
    effort, tokens = settings.reasoning_effort, settings.max_reasoning_tokens
    if not effort and not tokens:
        return {}
    return {"reasoning_effort": effort, "max_reasoning_tokens": tokens or REASONING_TOKENS.get(effort, 0)}


def _not_too_large(metadata: dict[str, Any]) -> dict[str, Any]:
    try:
        size = len(json.dumps(metadata, ensure_ascii=False, allow_nan=False, default=str).encode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it cannot be stored ({error})") from None
    if size > ceilings.METADATA:
        raise ValueError(f"it has {size:,} bytes as JSON, and the maximum is {ceilings.METADATA:,}")
    return metadata


Metadata = Annotated[dict[str, Any], AfterValidator(_not_too_large)]


class Batch(Section):
    """The section [batch]: which kind of study it is, and what people call it."""

    kind: KindName
    """the kind of study"""
    name: str = Field(default="", max_length=ceilings.NAME)
    """the name in lists; empty: the kind"""
    description: Text = ""
    """what the study is about"""
    seed: int = Field(default=42, ge=-(2**63), lt=2**63)
    """seed of all random choices"""
    metadata: Metadata = Field(default_factory=dict)
    """your own data, stored and exported with the batch"""


class Limits(Section):
    """What rules the calls. Stated under [service] for all, under [providers.NAME] for one."""

    max_concurrent: int = Field(default=10, ge=1, le=100_000, title="Requests at once")
    """maximum of live requests in flight; adapts below it"""
    batch_size: int = Field(default=5000, ge=1, le=100_000, title="Requests per batch")
    """maximum of requests in a provider batch; with name openai or anthropic: conversations at a time"""
    requests_per_minute: PerMinute = 0
    """0: no fixed limit; adapts to the provider's headers and 429 errors"""
    tokens_per_minute: PerMinute = 0
    """0: no fixed limit"""
    retries: int = Field(default=5, ge=0, le=100)
    """retries for temporary errors"""
    timeout: float = Field(default=60.0, gt=0, le=ceilings.SECONDS, title="Timeout")
    """maximum seconds of a live request"""
    poll_interval: float = Field(default=30.0, gt=0, le=ceilings.SECONDS, title="Check interval")
    """seconds between checks of a provider batch"""
    rescue_after: Seconds = 0.0
    """seconds until missing replies of a provider batch are requested live; 0: never"""
    cache: bool = Field(default=True, title="Reuse answers")
    """reuse replies to identical requests of the same seed in this file"""
    budget_usd: NonNegative = Field(default=0.0, title="Budget in dollars")
    """maximum cost in dollars; 0: no limit"""
    batch_from: int = Field(default=100, ge=0, le=ceilings.PER_MINUTE, title="Smallest batch")
    """smallest wave that `auto` sends by batch API; 0: any"""
    outage_patience: Seconds = Field(default=600.0, title="Outage patience")
    """seconds that requests wait for a provider that is down, before they fail"""


class Service(Limits):
    """The section [service]: how the calls of the whole batch are made."""

    name: ServiceName = Field(default="auto", title="Service")
    """how requests are sent, and how many conversations advance at once"""


class ModelPrice(Section):
    """What a model costs, in dollars for a million tokens."""

    input: NonNegative
    """dollars per million input tokens"""
    output: NonNegative
    """dollars per million output tokens, reasoning included"""
    cache_read: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """dollars per million input tokens from the server's prompt cache; else like input"""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """dollars per million input tokens written to the prompt cache; else like input"""
    batch_factor: NonNegative = 1.0
    """the share of these prices that the batch API costs"""


class ProviderSettings(Limits):
    """Keys that are not written here are those of [service]."""

    like: Family | None = Field(default=None, title="API format")
    """API dialect of your own endpoint; known endpoints need none"""
    base_url: str | None = Field(default=None, max_length=ceilings.ADDRESS, title="Address")
    """else the environment variable of the provider's SDK, or the usual address"""
    hosts: Hosts = Field(default_factory=list, max_length=ceilings.SERVERS, title="Servers")
    """several servers as one pool, instead of base_url; or "local": each worker of a [cluster] uses the server on its own node"""
    api_key_env: str | None = Field(
        default=None, max_length=ceilings.WORD, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", title="Variable of the key"
    )
    """environment variable with the key; without it, your own endpoint gets no key"""
    prices: dict[str, ModelPrice] = Field(default_factory=dict, max_length=ceilings.SERVERS)
    """prices by model, and `"*"` for all others; else from the built-in table"""
    batch_api: bool | None = Field(default=None, title="Batch API")
    """whether it has a batch API; else openai, anthropic and azure have one"""


class OllamaSettings(ProviderSettings):
    """The section [providers.ollama]."""


class SimulatedSettings(ProviderSettings):
    """The embedded provider: offline, deterministic by seed, and as slow or faulty as you like."""

    latency: Seconds = Field(default=0.0, title="Latency")
    """mean seconds of a live request"""
    jitter: float = Field(default=0.0, ge=0)
    """spread of the latency, as a share of it; log-normal, so some requests are much slower"""
    error_rate: Share = 0.0
    """share of attempts that fail temporarily"""
    fatal_rate: Share = 0.0
    """share of requests that fail for good"""
    enforced_per_minute: int = Field(default=0, ge=0, title="Rate limit")
    """live requests in a sliding minute above which it answers 429, without announcing the limit"""
    price_input: float = Field(default=0.0, ge=0, title="Price of input")
    """simulated dollars per million input tokens"""
    price_output: float = Field(default=0.0, ge=0, title="Price of output")
    """simulated dollars per million output tokens"""
    batch_api: bool = Field(default=True, title="Batch API")
    """false: it has none, and auto sends live"""
    batch_seconds: Seconds = Field(default=0.0, title="Batch duration")
    """seconds that a provider batch takes"""
    batch_error_rate: Share = 0.0
    """share of a provider batch's requests that fail"""
    batch_expire_rate: Share = 0.0
    """share of a provider batch's requests that expire without a reply"""
    batch_refuse: bool = False
    """true: refuses every provider batch"""


class Providers(Section):
    """The sections [providers.NAME]."""

    other_names: ClassVar = ' Your own endpoint needs like = "openai", "anthropic" or "ollama".'
    """added to the error for an unknown name"""

    openai: ProviderSettings = Field(default_factory=ProviderSettings)
    anthropic: ProviderSettings = Field(default_factory=ProviderSettings)
    ollama: OllamaSettings = Field(default_factory=OllamaSettings)
    simulated: SimulatedSettings = Field(default_factory=SimulatedSettings)

    def __new__(cls, /, **sections: Any) -> Self:
        """Adds a field for each section with another name: the class is chosen before it is filled."""
        return super().__new__(_widened(cls, sections))

    @model_validator(mode="wrap")
    @classmethod
    def _with_others(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Accepts sections of the user's endpoints and of installed providers. Any other name is an error."""
        wider = _widened(cls, data) if isinstance(data, Mapping) else cls
        return handler(data) if wider is cls else wider.model_validate(data)

    @model_validator(mode="after")
    def _refuse_borrowed_names(self) -> Self:
        for name in type(self).model_fields:
            like = getattr(self, name).like
            if like and name in PROVIDERS and like != name:
                raise WrongValue(
                    f"{name} is a built-in provider, so it cannot be like {like}. Choose another name", name
                )
            if not is_endpoint_name(name):
                raise WrongValue("the name of an endpoint may only have letters, digits, - and _", name)
        return self

    @classmethod
    def section_type(cls, name: str) -> type[ProviderSettings] | None:
        """The class of the section with this name; None if the name is unknown and the section has no `like`."""
        if name in cls.model_fields:
            return cast(type[ProviderSettings], cls.model_fields[name].annotation)
        if name in KNOWN_ENDPOINTS:
            return ProviderSettings
        return PROVIDERS[name].settings if name in PROVIDERS else None

    @classmethod
    def type_under(cls, name: str) -> type[ProviderSettings]:
        """The class of a section with any name."""
        return cls.section_type(name) or ProviderSettings

    def section(self, name: str) -> ProviderSettings:
        """The settings of one provider. Sections of presets and installed packages may be left out."""
        if name in type(self).model_fields:
            section: ProviderSettings = getattr(self, name)
            return section
        section_type = self.section_type(name)
        if section_type is None:
            raise UsageError(unknown_provider(name, type(self).model_fields), ("providers", name))
        return section_type()

    def limits_for(self, name: str, service: Service) -> ProviderSettings:
        """The limits for the requests to one provider: its own keys if they are set, else those of [service]."""
        section = self.section(name)
        common = {key: getattr(service, key) for key in Limits.model_fields if key not in section.model_fields_set}
        return section.model_copy(update=common)


P = TypeVar("P", bound=Providers)


def _widened(providers: type[P], sections: Mapping[Any, Any]) -> type[P]:
    """The class with a field for every section; the same class if it has all of them."""
    names = [str(name) for name in sections if name not in providers.model_fields]
    types = {name: _type_of(providers, name, sections[name]) for name in names}
    return (
        _wider(providers, tuple(sorted((name, of) for name, of in types.items() if of)))
        if any(types.values())
        else providers
    )


def _type_of(providers: type[Providers], name: str, section: object) -> type[ProviderSettings] | None:
    like = section.get("like") if isinstance(section, Mapping) else getattr(section, "like", None)
    return ProviderSettings if like is not None else providers.section_type(name)


@cache
def _wider(providers: type[P], types: tuple[tuple[str, type[ProviderSettings]], ...]) -> type[P]:
    fields: dict[str, Any] = {name: (of, Field(default=...)) for name, of in types}
    wider: type[P] = create_model("Providers", __base__=providers, **fields)
    return wider


class Agent(Section):
    """One of [[agents]]: a model that plays a part."""

    name: str = Field(min_length=1, max_length=200, kw_only=False)
    """the name in transcripts and statistics, unique in a study"""
    model: ModelName = Field(kw_only=False)
    """PROVIDER:MODEL, or a preset such as gpt4o_mini or claude_sonnet"""
    secret: str = Field(default="", max_length=1000)
    """the code word of the secret game"""
    memory: Literal["short", "long"] = "short"
    """short: this conversation; long: also its earlier ones in the same game"""
    temperature: Temperature = 0.7
    """sampling temperature; "none": the provider's default; left out for models that take none"""
    max_tokens: MostTokens = 300
    """maximum tokens of a reply"""
    reasoning_effort: ReasoningEffort = ""
    """reasoning effort; empty: the model's default"""
    max_reasoning_tokens: ReasoningRoom = 0
    """reasoning tokens in addition to max_tokens; 0: set by the effort, and none without an effort"""
    instructions: Text = ""
    """added to the system prompt"""


class ConfigSections(Section):
    """One batch: everything that decides what is asked, and how. It is either written or frozen."""

    batch: Batch
    service: Service = Field(default_factory=Service)
    providers: SerializeAsAny[Providers] = Field(default_factory=Providers)
    agents: list[Agent] = Field(default_factory=list, max_length=ceilings.AGENTS)
    agent_ids: list[ceilings.Word] = Field(default_factory=list, max_length=ceilings.AGENTS)
    """agents from the file's library"""
    entities: list[dict[str, Any]] = Field(default_factory=list, max_length=ceilings.ENTITIES)
    stop: StopWhenSure | None = None
    """when the batch can stop before its plan ends"""
    settings: SerializeAsAny[Section]
    """the section with the name of the kind"""

    @field_validator("agents", "entities", mode="before")
    @classmethod
    def _no_ids(cls, entries: Any) -> Any:
        if isinstance(entries, str) or (isinstance(entries, list) and any(isinstance(item, str) for item in entries)):
            raise WrongValue(
                "each is a section of its own, [[agents]] or [[entities]]. Entries of the library are named by agent_ids, "
                "before the first section, or by entity_ids in [simulation]"
            )
        return entries

    def limits_for(self, provider: str) -> ProviderSettings:
        """The limits for the requests to one provider in this batch."""
        return self.providers.limits_for(provider, self.service)

    def budget_of(self, provider: str) -> float:
        """The budget of one provider, if it is set; 0 = no budget of its own."""
        section = self.providers.section(provider)
        return section.budget_usd if "budget_usd" in section.model_fields_set else 0.0

    def as_written(self) -> dict[str, Any]:
        """The config in the layout of its file, with all defaults."""
        left_out = {"settings", "stop"} if self.stop is None else {"settings"}
        data = self.model_dump(mode="json", exclude=left_out)
        for name in type(self.providers).model_fields:
            data["providers"][name] = self.providers.section(name).model_dump(mode="json", exclude_unset=True)
        data[section_of(self.batch.kind)] = self.settings.model_dump(mode="json")
        return data


class Config(ConfigSections):
    """A batch as a user writes it: models by preset, agents and entities by id, problems and contexts by file.

    `engine.config.freezing` turns it into the config that a batch stores.
    """

    design: Design | None = None
    """factors; the study then has several batches"""
    cluster: Cluster | None = None
    """Ray workers that send live requests; not stored in a batch"""
    _origin: ConfigOrigin = PrivateAttr(default=ConfigOrigin("", None))

    @property
    def origin(self) -> ConfigOrigin:
        """The file that the config comes from. A config built in code has no name and starts in the working folder."""
        return self._origin

    def written_in(self, origin: ConfigOrigin) -> Self:
        """The same config with its origin."""
        copy = self.model_copy()
        copy._origin = origin
        return copy

    def as_given(self) -> dict[str, Any]:
        """The study in the layout of its file, without defaults."""
        data = self.model_dump(mode="json", exclude_unset=True, exclude={"settings", "cluster"})
        return {**data, section_of(self.batch.kind): self.settings.model_dump(mode="json", exclude_unset=True)}


CHANGEABLE = (
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "retries",
    "timeout",
    "poll_interval",
    "rescue_after",
    "outage_patience",
    "budget_usd",
    "batch_size",
)


def limit_change(key: str, value: Any) -> tuple[str, str | None, Any]:
    """The limit, its provider (None: all), and its checked value. Raises UsageError."""
    *path, name = key.removeprefix("service.").split(".")
    for_provider = len(path) == 2 and path[0] == "providers" and is_endpoint_name(path[1])
    if name not in CHANGEABLE or (path and not for_provider):
        raise UsageError(
            f"{key[:200]!r} is not a limit that you can change while a batch runs. Use {', '.join(CHANGEABLE)}, "
            "or providers.NAME.LIMIT."
        )
    try:
        checked = Limits.model_validate({name: value})
    except ValidationError as error:
        raise UsageError(f"{key} = {str(value)[:200]}: {error.errors()[0]['msg']}.") from None
    return name, path[1] if path else None, getattr(checked, name)


def as_overrides(changes: Mapping[str, Any]) -> list[str]:
    """The same changes in the form of `--set`."""
    return [
        f"{key if key.startswith(('service.', 'providers.')) else f'service.{key}'}={value!r}"
        for key, value in changes.items()
    ]


class FrozenConfig(ConfigSections):
    """The config of a batch. Only `freezing.freeze` and `freezing.load_frozen` create it."""

    model_config = ConfigDict(frozen=True)

    def __init__(self, **_: Any) -> None:
        raise TypeError("Create a frozen config with freeze() or load_frozen().")

    def to_json(self) -> str:
        """The config as the file stores it."""
        return json.dumps(self.as_written(), ensure_ascii=False)

    def models(self) -> set[str]:
        """Every PROVIDER:MODEL that the study may call."""
        kind = load_kind(self.batch.kind)
        models = models_named(self.settings, kind.idle_roles(dict(self.settings)))
        return models.union(*map(models_named, self.agents)) if kind.people == "agents" else models


def as_frozen(config: Config) -> FrozenConfig:
    """The config as a FrozenConfig. Only for `freezing`, which has checked that nothing is left to add."""
    return FrozenConfig.model_construct(**{name: getattr(config, name) for name in ConfigSections.model_fields})


class Study(Batch):
    """What every study built in code has, whatever its kind. `run_batch` takes it as it takes a config."""

    settings_type: ClassVar[type[Section]]
    """the section of the kind's own keys, which a subclass inherits beside this class"""

    service: Service = Field(default_factory=Service)
    """how requests are sent, and the budget"""
    providers: Providers = Field(default_factory=Providers)
    """settings of single providers"""
    design: Design | None = None
    """factors; the study then has several batches, for `run_study`"""
    cluster: Cluster | None = None
    """Ray workers that send live requests instead of this process"""
    stop: StopWhenSure | None = None
    """when a secret game can stop before its plan ends"""

    def as_config(self) -> Config:
        """The same study as a config."""
        fields = {name: getattr(self, name) for name in self.model_fields_set}
        batch_fields = {name: fields[name] for name in Batch.model_fields if name in fields}
        return Config(
            batch=Batch(**{**batch_fields, "kind": self.kind, "name": self.name or self.kind}),
            service=self.service,
            providers=self.providers,
            stop=self.stop,
            cluster=self.cluster,
            settings=self.settings_type(**_only(fields, self.settings_type)),
            **self.participants(),
            **_only({"design": self.design} if self.design is not None else {}, Config),
        )

    def participants(self) -> dict[str, Any]:
        """The participants, under the keys of a config."""
        return {}


def _only(fields: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """The explicitly set keys of the section. All other keys take their defaults there."""
    return {name: value for name, value in fields.items() if name in section.model_fields}
