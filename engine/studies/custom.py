"""Studies of your own: a class in a Python file, with its settings, its units, a coroutine for one unit, and its measures.

    class Debate(Study):
        motion: str
        measures = [share("won", of="agent")]

        def units(self): ...
        async def play(self, unit): ...

The class is also a config in code, like `SecretGame`. `custom_kind` makes a kind of study of it.
"""

import sys
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from inspect import getsource
from itertools import combinations, groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Generic, TypeAlias, TypedDict, TypeVar, Unpack, overload

from pydantic import BaseModel, ConfigDict, Field, create_model

from tidepool.engine.answers import AnswerForm, form_of, in_words, made_up, read_answer
from tidepool.engine.call import Call, Message
from tidepool.engine.config import sections
from tidepool.engine.config.endpoints import PRESETS, resolve_model
from tidepool.engine.config.section import Section
from tidepool.engine.config.sections import Agent, Config, ModelName, reasoning_of
from tidepool.engine.errors import CallFailed, UsageError
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.inference.measures import PERCENT, UNBOUNDED
from tidepool.engine.registries import PROVIDERS
from tidepool.engine.runtime.unit import Unit as RunUnit
from tidepool.engine.studies.branches import FanOut

A = TypeVar("A")
M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


# -- measures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeasureOf:
    """A value that `unit.measure` stores, of a unit as a whole or of each agent."""

    name: str
    words: str = ""
    """its description in reports; by default the name"""
    of: str = ""
    """"agent": each agent has its own value"""
    unit: str = ""
    bounds: Interval = UNBOUNDED


def share(name: str, words: str = "", *, of: str = "") -> MeasureOf:
    """A measure that is true or false, shown in percent."""
    return MeasureOf(name, words, of, PERCENT, (0.0, 1.0))


def mean(name: str, words: str = "", *, of: str = "", unit: str = "", bounds: Interval = UNBOUNDED) -> MeasureOf:
    """A measure that is a number. Its bounds make intervals narrower."""
    return MeasureOf(name, words, of, unit, bounds)


# -- units -------------------------------------------------------------------------------------------------------------


Units: TypeAlias = "int | Iterable[Any]"
"""a number of equal units, or one item for each: its agents, or anything else that `play` needs"""


def round_robin(agents: Sequence[Agent], size: int = 2, repeats: int = 1) -> list[tuple[Agent, ...]]:
    """Every combination of so many agents, each this many times. The order within a combination rotates."""
    groups = list(combinations(agents, size))
    return [group[turn % size :] + group[: turn % size] for turn in range(repeats) for group in groups]


_FAN_OUT: ContextVar[FanOut] = ContextVar("fan_out")
_TOGETHER: ContextVar[bool] = ContextVar("together", default=False)


async def gather(*asked: Awaitable[T]) -> list[T]:
    """Sends several requests of a unit at the same time. Each needs a `step` of its own."""
    token = _TOGETHER.set(True)
    try:
        return await _FAN_OUT.get().all(asked)
    finally:
        _TOGETHER.reset(token)


@dataclass(frozen=True, slots=True)
class Said(Generic[A]):
    """A reply, which can be part of the transcript of later requests."""

    text: str
    speaker: str
    """the name of the agent, or of the setting that names the model"""
    answer: A

    def __str__(self) -> str:
        return self.text


Transcript: TypeAlias = "Iterable[Said[Any] | str]"
BEGIN, GO_ON = "Please begin.", "Please go on."
SEPARATE = 'Two requests of a unit are in flight. Give each a name of its own: unit.ask(…, step="name").'


class Asked(TypedDict, total=False):
    """Optional settings of a request."""

    system: str
    """instructions, which follow the agent's name"""
    step: str
    """the name of the request, for requests of a unit that are in flight at the same time"""
    max_tokens: int


Who: TypeAlias = "Agent | str"
"""an agent, or the name of a model"""


def _messages_to(name: str, transcript: Transcript) -> Iterator[Message]:
    """The transcript as this agent reads it, in turns of user and assistant. The user has the first turn and the last."""
    said: list[tuple[str, str]] = []
    for one in transcript:
        if not isinstance(one, Said | str):
            raise UsageError(f"A transcript consists of replies and texts, not of a {type(one).__name__}.")
        speaker = one.speaker if isinstance(one, Said) else ""
        if speaker and speaker == name:
            said.append(("assistant", str(one)))
        else:
            said.append(("user", f"{speaker}: {one}" if speaker else str(one)))
    if not said or said[0][0] == "assistant":
        said.insert(0, ("user", BEGIN))
    if said[-1][0] == "assistant":
        said.append(("user", GO_ON))
    for role, turn in groupby(said, itemgetter(0)):
        yield Message(role, "\n\n".join(text for _, text in turn))


class Unit:
    """One unit of the study while it runs: a conversation, a trial, a game."""

    def __init__(self, study: "Study", run: RunUnit, number: int, item: Any, seed: int) -> None:
        self.number = number
        """from 1, in the order of the plan"""
        self.item = item
        """its element of `units()`"""
        self.agents = agents_of(item)
        """the agents that take part, in the order of the item"""
        self.random = Random(seed)
        """for random choices: the same after a resume"""
        self._measured: dict[tuple[str, str | None], tuple[float | None, str | None]] = {}
        """value and cluster, by measure and agent"""
        self._study = study
        self._run = run
        self._steps: set[str] = set()
        self._waves = 0
        self._in_flight = 0

    @overload
    async def ask(self, who: Who, transcript: Transcript = (), **how: Unpack[Asked]) -> Said[None]: ...
    @overload
    async def ask(
        self, who: Who, transcript: Transcript = (), *, answer: list[str], **how: Unpack[Asked]
    ) -> Said[str]: ...
    @overload
    async def ask(
        self, who: Who, transcript: Transcript = (), *, answer: tuple[float, float], **how: Unpack[Asked]
    ) -> Said[float]: ...
    @overload
    async def ask(self, who: Who, transcript: Transcript = (), *, answer: type[M], **how: Unpack[Asked]) -> Said[M]: ...
    @overload
    async def ask(
        self, who: Who, transcript: Transcript = (), *, answer: Mapping[str, Any], **how: Unpack[Asked]
    ) -> Said[dict[str, Any]]: ...

    async def ask(
        self, who: Who, transcript: Transcript = (), *, answer: "AnswerForm | None" = None, **how: Unpack[Asked]
    ) -> Said[Any]:
        """Asks an agent, or a model by its name, and returns the reply.

        Messages of the same agent are its own; all others come with the names of their speakers. With `answer`, the reply has this
        form: one of a list of options, a number in a range, a pydantic model or a JSON schema. If it cannot be read twice, the unit
        fails. Requests one after the other need no `step`.
        """
        if not how.get("step") and (self._in_flight or _TOGETHER.get()):
            raise UsageError(SEPARATE)
        wave = self._waves + 1
        call = self._call(who, transcript, answer, wave, how)
        if call.step in self._steps:
            raise UsageError(f"A unit has two requests with step={call.step!r}. Give each request its own name.")
        self._steps.add(call.step)
        self._in_flight += 1
        try:
            reply = (await self._run.ask(call)).text
            found = answer and self._read(reply, call, answer)
            if answer is not None and found is None:
                again = call._replace(step=f"{call.step}/again")
                reply = (await self._run.ask(again)).text
                if (found := self._read(reply, again, answer)) is None:
                    raise CallFailed(f"{call.model} gave no readable answer in two replies")
        finally:
            self._in_flight -= 1
            self._waves = max(self._waves, wave)
        return Said(reply, call.speaker or "", found)

    def _read(self, reply: str, call: Call, answer: AnswerForm) -> Any:
        """A rehearsal has no replies, so an answer is made up."""
        found = read_answer(reply, answer)
        if found is None and self._run.rehearsed:
            return read_answer(made_up(call.form, Random(self.number)), answer)
        return found

    def _call(self, who: Who, said: Transcript, answer: "AnswerForm | None", wave: int, how: Asked) -> Call:
        agent = who if isinstance(who, Agent) else None
        system, most, form = how.get("system", ""), how.get("max_tokens", 0), "" if answer is None else form_of(answer)
        messages = list(_messages_to(agent.name if agent else "", said))
        if form:
            messages[-1] = Message("user", f"{messages[-1].text}\n\n{in_words(form)}")
        model = resolve_model(who.model if isinstance(who, Agent) else who)
        call = Call(how.get("step") or f"{wave}", wave, model, tuple(messages), system, form=form, turn=wave)
        if agent is None:
            speaker = self._study.speaker_of(model)
            return call._replace(temperature=0.0, max_tokens=most or call.max_tokens, speaker=speaker)
        return call._replace(
            system="\n".join(filter(None, (f"You are {agent.name}.", system, agent.instructions))),
            temperature=agent.temperature,
            max_tokens=most or agent.max_tokens,
            speaker=agent.name,
            **reasoning_of(agent),
        )

    def measure(
        self, *, of: Agent | str | None = None, cluster: str | None = None, **values: float | bool | None
    ) -> None:
        """Sets measured values, of an agent or of the unit. They are stored when the unit ends. None: it could not be measured."""
        participant = of.name if isinstance(of, Agent) else of
        names = [agent.name for agent in self.agents or self._study.agents]
        if participant is not None and participant not in names:
            raise UsageError(
                f"play() measures of={participant!r}, who is not in this unit. Its agents: {', '.join(names)}."
            )
        for name, value in values.items():
            self._study.check_measure(name, participant, value)
            if (name, participant) in self._measured:
                raise UsageError(f"play() measures {name!r} twice in a unit.")
            self._measured[name, participant] = None if value is None else float(value), cluster

    @property
    def measured(self) -> dict[str, float | None]:
        """The values by outcome, such as `won of Ada`."""
        return {f"{name} of {who}" if who else name: value for (name, who), (value, _) in self._measured.items()}

    def store(self, *, failed: bool) -> None:
        """Stores the measures of the unit. If it failed, all of them are missing."""
        everybody = [agent.name for agent in self.agents or self._study.agents]
        due = [(one.name, who) for one in self._study.measures for who in (everybody if one.of else [None])]
        for name, participant in due if failed else self._measured:
            value, cluster = (None, None) if failed else self._measured[name, participant]
            self._run.measure(name, value, participant, cluster)


# -- the class ---------------------------------------------------------------------------------------------------------


class Study(sections.Study):
    """The base class of a study of your own. Annotated attributes are its settings, as in a dataclass."""

    model_config = ConfigDict(ignored_types=(list, tuple))

    kind: str = ""
    agents: list[Agent] = Field(default_factory=list)
    """the agents, unless a config has [[agents]]"""
    measures: ClassVar[Sequence[MeasureOf]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **keywords: Any) -> None:
        super().__pydantic_init_subclass__(**keywords)
        own = {name: field for name, field in cls.model_fields.items() if name not in Study.model_fields}
        fields: dict[str, Any] = {
            name: (ModelName if field.annotation is str and _names_model(field.default) else field.annotation, field)
            for name, field in own.items()
        }
        cls.settings_type = create_model(cls.__name__, __base__=Section, **fields)

    def units(self) -> Units:
        """The units of the study: a number, or the item of each unit."""
        return 1

    async def play(self, unit: Unit) -> None:
        """Plays one unit: asks, and measures."""
        raise NotImplementedError(f"{type(self).__name__} needs `async def play(self, unit)`.")

    def items(self) -> Iterator[tuple[int, Any]]:
        """The units with their numbers."""
        units = self.units()
        yield from ((number, None) for number in range(1, units + 1)) if isinstance(units, int) else enumerate(units, 1)

    def participants(self) -> dict[str, Any]:
        return {"agents": self.agents}

    def speaker_of(self, model: str) -> str:
        """The setting that names a model, which is no agent; the model itself if several do. Raises if nothing names it."""
        names = [name for name in self.settings_type.model_fields if getattr(self, name, None) == model]
        if not names and model not in {agent.model for agent in self.agents}:
            raise UsageError(
                f"play() asks {model}, but no agent or setting names this model. Add a setting to the class, such as "
                f"`judge: str = {model!r}`, and ask `self.judge`."
            )
        return names[0] if len(names) == 1 else model

    def check_measure(self, name: str, participant: str | None, value: float | None) -> None:
        """Raises if the class does not declare this measure, or if the value is none of it."""
        declared = {one.name: one for one in self.measures}
        if name not in declared:
            near = get_close_matches(name, declared, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"play() measures {name!r}, which is not in `measures`.{hint}")
        measure = declared[name]
        if bool(measure.of) != bool(participant):
            example = "unit.measure(…, of=agent)" if measure.of else "unit.measure(…) without `of`"
            raise UsageError(f"The measure {name!r} needs {example}, since `measures` declares it so.")
        if value is None:
            return
        (low, high), share = measure.bounds, measure.unit == PERCENT
        if not isinstance(value, int | float) or not low <= value <= high or (share and value not in (0, 1)):
            needed = "true or false" if share else f"a number from {low:g} to {high:g}"
            raise UsageError(f"play() measures {name} = {value!r}, but this measure is {needed}.")

    def as_config(self) -> Config:
        kind = kind_of_class(type(self))
        study = self.model_copy(update={"kind": kind, "name": self.name or type(self).__name__})
        return super(Study, study).as_config()


def _names_model(default: object) -> bool:
    """Whether a text is the name of a model, so that the setting is one."""
    return isinstance(default, str) and (
        default in PRESETS or (default.partition(":")[0] in PROVIDERS and ":" in default)
    )


def agents_of(item: Any) -> tuple[Agent, ...]:
    """The agents of an item: itself, or its elements."""
    if isinstance(item, Agent):
        return (item,)
    return tuple(item) if isinstance(item, list | tuple) and all(isinstance(one, Agent) for one in item) else ()


async def play_unit(
    study: Study, run: RunUnit, number: int, item: Any, seed: int, fan_out: FanOut, *, stores: bool = True
) -> Unit:
    """Plays one unit of a run, of a branch (which stores its own measures), or of a rehearsal."""
    _FAN_OUT.set(fan_out)
    unit = Unit(study, run, number, item, seed)
    stores = stores and not run.rehearsed
    try:
        await study.play(unit)
    except CallFailed:
        if stores:
            unit.store(failed=True)
        raise
    if stores:
        unit.store(failed=False)
    return unit


# -- classes and their files ---------------------------------------------------------------------------------------------


LOADED: dict[tuple[str, str], type[Study]] = {}
"""by kind and hash of the file"""
NEWEST: dict[str, tuple[type[Study], str]] = {}
"""kind → its class, and the text of its file"""


def digest_of(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def kind_of_class(cls: type[Study]) -> str:
    """The kind of a class, which a script or a notebook defined."""
    known = next((kind for kind, (one, _) in NEWEST.items() if one is cls), None)
    if known is not None:
        return known
    module = sys.modules.get(cls.__module__)
    path = Path(getattr(module, "__file__", None) or "notebook.py")
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else getsource(cls)
    except (OSError, TypeError):
        raise UsageError(f"The source of {cls.__name__} is unknown. Define it in a file or in a notebook.") from None
    kind = f"{path.stem}.py:{cls.__name__}"
    LOADED[kind, digest_of(text)] = cls
    NEWEST[kind] = cls, text
    return kind
