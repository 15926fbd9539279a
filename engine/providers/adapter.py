"""How a family of servers is addressed: its adapter writes requests and reads replies; everything else is `EndpointProvider`.

An adapter learns from refusals which settings each model takes: a setting it does not take is told once, then left out. A
setting is known here by the words with which servers complain of it. A new one is a line in `CALLED`, and its name where an
adapter lists what may be left out.
"""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidepool.engine.call import Call, PriceTag
from tidepool.engine.providers.endpoint import Endpoint
from tidepool.engine.providers.errors import ProviderComplaint
from tidepool.engine.providers.protocol import Answer, Notices, RateLimits

SYSTEM_ROLE = "system role"
SEED_BITS = 0x7FFF_FFFF
"""some servers keep a seed in 32 bits"""
CALLED = {
    "temperature": r"temperature",
    "seed": r"seed",
    "max_tokens": r"max_tokens",
    "max_completion_tokens": r"max_completion_tokens",
    "reasoning_effort": r"reasoning[_.]effort|reasoning",
    "response_format": r"response_format|json_schema|structured[ _]outputs?",
    "thinking": r"thinking",
    "output_config": r"output_config|effort|structured outputs?",
    "think": r"think|thinking",
    "format": r"format|structured outputs?",
}
"""settings, with what complaints call them"""
AT_ANY_COMPLAINT = ("seed", "reasoning_effort", "response_format", "thinking", "output_config")
"""settings that are left out whatever was wrong with them: a study does without, and a value of ours is never odd"""
_UNSUPPORTED = re.compile(
    r"unsupported|not (be )?support|unrecogni[sz]ed|unknown|extra (inputs|fields)|not permitted|unexpected|deprecated"
    r"|only the default|not (allowed|accepted|available|implemented|enabled)|does(n't| not) accept|no such param"
    r"|cannot find field",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"only user and assistant|system (role|message|prompt)s?\b.{0,20}\bnot\b|support .?(system|developer)\b"
    r"|messages.{0,9}role.{0,40}input should be|developer instruction is not|roles must alternate",
    re.IGNORECASE,
)
_REFUSING = (400, 422, 501)
_CRASHED = re.compile(r"unexpected keyword|jinja|template", re.IGNORECASE)
"""a server that trips over a setting where it should refuse it"""
_PATH = re.compile(r"[.\[\]]+")


class UnsupportedSettings:
    def __init__(self, notices: Notices, optional: tuple[str, ...], renamed: tuple[str, ...] = ()) -> None:
        """`optional` settings may be left out; `renamed` ones have another name that a model may take."""
        self._notices = notices
        self._renamed = renamed
        self._without_system = SYSTEM_ROLE in optional
        self._optional = {
            name: re.compile(rf"(?<![\w-])({CALLED[name]})(?![\w-])", re.IGNORECASE)
            for name in (*optional, *renamed)
            if name in CALLED
        }
        """settings that complaints may be about, with the words for them"""
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def supports(self, model_name: str, setting: str) -> bool:
        return setting not in self._refused[model_name]

    def refuse(self, model_name: str, setting: str, value: object) -> None:
        if setting not in self._refused[model_name]:
            self._refused[model_name].add(setting)
            self._notices(_notice_of(model_name, setting, value))

    def learn(
        self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, object] | None = None
    ) -> str | None:
        """The setting that a refusal is about, where leaving it out will help: the model is not sent it again."""
        setting = self.find(complaint)
        if setting is not None and setting not in self._renamed:
            value = "by address" if setting == "seed" else (sent or {}).get(setting, "any")
            self.refuse(model_name, setting, value)
        return setting

    def find(self, complaint: ProviderComplaint) -> str | None:
        """The setting that a refusal is about."""
        text = f"{complaint.code} {complaint.words}"
        if complaint.status not in _REFUSING and not (complaint.status == 500 and _CRASHED.search(text)):
            return None
        if self._without_system and _NO_SYSTEM.search(complaint.words):
            return SYSTEM_ROLE
        is_unsupported = _UNSUPPORTED.search(text) is not None
        if (setting := self._find_named(complaint.param)) and (is_unsupported or setting in AT_ANY_COMPLAINT):
            return setting
        return self._find_mentioned(complaint.words) if is_unsupported and not setting else None

    def _find_named(self, param: str) -> str | None:
        """By the path that the provider gives, such as response_format.json_schema."""
        names = _PATH.split(param)
        return next((name for name in self._optional if name in names), None)

    def _find_mentioned(self, text: str) -> str | None:
        """By the first word for any of them: what should be used instead comes later."""
        mentions = [(hit.start(), name) for name, pattern in self._optional.items() if (hit := pattern.search(text))]
        return min(mentions)[1] if mentions else None


def _notice_of(model_name: str, setting: str, value: object) -> str:
    if setting == SYSTEM_ROLE:
        return f"{model_name} takes no system message: the system prompt stands at the head of the first message to it."
    if isinstance(value, Mapping):
        return f"{model_name} takes no {setting}: it is not sent, and replies are read without it."
    return f"{model_name} takes no {setting}: {setting} = {value} of the study is not sent to it."


@dataclass(frozen=True, slots=True)
class ModelCard:
    name: str
    retires: str | None = None
    """the day on which it will be, or was, shut down, as far as announced"""


class Adapter(ABC):
    """How one family of servers is addressed."""

    optional: tuple[str, ...]
    """settings that may be left out"""
    renamed: Mapping[str, str] = {}
    """settings with another name that a model may take, each with the other"""
    models_path: str
    """where the list of models stands, and below it each of them"""
    start_hint = "Check the network, the proxy and the addresses of its section, then run again."
    """what to do where no server answers"""
    nothing_there = "no server answers"
    """what a list says where it has nothing to show"""
    busy_hint = ""
    """what to change on a server that is busy"""

    def __init__(self, notices: Notices, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.habits = UnsupportedSettings(notices, self.optional, tuple(self.renamed))
        self._names: dict[str, str] = {}
        """the name that a model takes, where it refused the other"""

    @abstractmethod
    def path(self, call: Call) -> str: ...

    @abstractmethod
    def body(self, call: Call, seed: int) -> dict[str, Any]: ...

    def headers(self, call: Call) -> dict[str, str] | None:
        return None

    def limits(self, headers: Mapping[str, str]) -> RateLimits | None:
        """What the headers of a reply say of rate limits."""
        return None

    @abstractmethod
    def answer(
        self, data: Mapping[str, Any], call: Call | None, tag: PriceTag | None, limits: RateLimits | None = None
    ) -> Answer:
        """Of a batch where there is no call. Raises an exception of bad data where it is no answer."""

    @abstractmethod
    def cards(self, listed: Mapping[str, Any]) -> Iterator[ModelCard]:
        """The models of a list."""

    def full_name(self, model_name: str) -> str:
        return model_name

    def fetch_hint(self, model_name: str, similar: str) -> str:
        """What to do where no server has a model."""
        return f"Did you mean {similar}?" if similar else "`tidepool models` lists those there are."

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Whether the next request for this call will differ from the one that was sent and refused."""
        self.lesson(call.model_name, complaint, sent)
        return _outline(self.body(call, 0)) != _outline(sent)

    def lesson(self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, Any] | None = None) -> bool:
        """Whether a refusal is about a setting, which is then sent no more, or under its other name."""
        setting = self.habits.learn(model_name, complaint, sent)
        if setting is not None and setting in self.renamed:
            self._names.setdefault(model_name, self.renamed[setting])
        return setting is not None


def _outline(body: Mapping[str, Any]) -> tuple[object, ...]:
    """What a lesson can change of a request."""
    return body.keys(), [message["role"] for message in body.get("messages", ())]
