"""Adapters write the requests and read the replies of a family of servers. `EndpointProvider` does everything else.

An adapter learns from error messages which settings each model supports. It reports an unsupported setting once and then
leaves it out. `CALLED` lists the words with which servers refer to a setting. To support a new setting, add a line there
and its name to the adapter's list of optional settings.
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
"""some servers store a seed in 32 bits"""
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
"""settings, with their names in error messages"""
AT_ANY_COMPLAINT = ("seed", "reasoning_effort", "response_format", "thinking", "output_config")
"""settings that are left out after any error about them: a study works without them, and their values are never unusual"""
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
"""a server that crashes on a setting instead of rejecting it"""
_PATH = re.compile(r"[.\[\]]+")


class UnsupportedSettings:
    def __init__(self, notices: Notices, optional: tuple[str, ...], renamed: tuple[str, ...] = ()) -> None:
        """`optional` settings may be left out; `renamed` settings have a second name that a model may support."""
        self._notices = notices
        self._renamed = renamed
        self._without_system = SYSTEM_ROLE in optional
        self._optional = {
            name: re.compile(rf"(?<![\w-])({CALLED[name]})(?![\w-])", re.IGNORECASE)
            for name in (*optional, *renamed)
            if name in CALLED
        }
        """the words for each setting in error messages"""
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
        """The setting that caused an error, if leaving it out can help. It is no longer sent to the model."""
        setting = self.find(complaint)
        if setting is not None and setting not in self._renamed:
            value = "by address" if setting == "seed" else (sent or {}).get(setting, "any")
            self.refuse(model_name, setting, value)
        return setting

    def find(self, complaint: ProviderComplaint) -> str | None:
        """The setting that an error is about."""
        text = f"{complaint.code} {complaint.words}"
        if complaint.status not in _REFUSING and not (complaint.status == 500 and _CRASHED.search(text)):
            return None
        if self._without_system and _NO_SYSTEM.search(complaint.words):
            return SYSTEM_ROLE
        is_unsupported = _UNSUPPORTED.search(text) is not None
        parts = _PATH.split(complaint.param)  # such as response_format.json_schema
        if setting := next((name for name in self._optional if name in parts), None):
            return setting if is_unsupported or setting in AT_ANY_COMPLAINT else None
        hits = ((pattern.search(complaint.words), name) for name, pattern in self._optional.items())
        mentions = [(hit.start(), name) for hit, name in hits if hit]
        # The first setting that the message mentions: suggested replacements come later.
        return min(mentions)[1] if mentions and is_unsupported else None


def _notice_of(model_name: str, setting: str, value: object) -> str:
    if setting == SYSTEM_ROLE:
        return f"{model_name} does not support system messages. The system prompt is put at the start of its first message."
    if isinstance(value, Mapping):
        return f"{model_name} does not support {setting}. It is not sent, and replies are parsed without it."
    return f"{model_name} does not support {setting}. The study's {setting} = {value} is not sent to it."


@dataclass(frozen=True, slots=True)
class ModelCard:
    name: str
    retires: str | None = None
    """the announced shutdown date, in the past or future"""


class Adapter(ABC):
    """Writes requests and reads replies for one family of servers."""

    optional: tuple[str, ...]
    """settings that may be left out"""
    renamed: Mapping[str, str] = {}
    """settings that a model may know by another name, with that name"""
    models_path: str
    """the path of the list of models; each model is below it"""
    start_hint = "Check the network, the proxy, and base_url or hosts under [providers] in your config. Then run again."
    """advice if no server answers"""
    nothing_there = "no server answers"
    """the note of an empty list of models"""
    busy_hint = ""
    """what to change on a busy server"""

    def __init__(self, notices: Notices, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.habits = UnsupportedSettings(notices, self.optional, tuple(self.renamed))
        self._names: dict[str, str] = {}
        """the name that a model accepts after it rejected the other one"""

    @abstractmethod
    def path(self, call: Call) -> str: ...

    @abstractmethod
    def body(self, call: Call, seed: int) -> dict[str, Any]: ...

    def headers(self, call: Call) -> dict[str, str] | None:
        return None

    def limits(self, headers: Mapping[str, str]) -> RateLimits | None:
        """The rate limits in the headers of a reply."""
        return None

    @abstractmethod
    def answer(
        self, data: Mapping[str, Any], call: Call | None, tag: PriceTag | None, limits: RateLimits | None = None
    ) -> Answer:
        """The answer in a reply. A result of a provider batch may have no `call`. Raises an exception for invalid data."""

    @abstractmethod
    def cards(self, listed: Mapping[str, Any]) -> Iterator[ModelCard]:
        """The models of a list."""

    def full_name(self, model_name: str) -> str:
        return model_name

    def fetch_hint(self, model_name: str, similar: str) -> str:
        """Advice if no server has a model."""
        return f"Did you mean {similar}?" if similar else "`tidepool models` lists the available models."

    def learn(self, call: Call, complaint: ProviderComplaint, sent: Mapping[str, Any]) -> bool:
        """Learns from an error. Returns whether the next request for this call will differ from the rejected one."""
        self.lesson(call.model_name, complaint, sent)
        return _outline(self.body(call, 0)) != _outline(sent)

    def lesson(self, model_name: str, complaint: ProviderComplaint, sent: Mapping[str, Any] | None = None) -> bool:
        """Whether an error is about a setting, which is then left out or sent under its other name."""
        setting = self.habits.learn(model_name, complaint, sent)
        if setting is not None and setting in self.renamed:
            self._names.setdefault(model_name, self.renamed[setting])
        return setting is not None


def _outline(body: Mapping[str, Any]) -> tuple[object, ...]:
    """The parts of a request that `learn` can change."""
    return body.keys(), [message["role"] for message in body.get("messages", ())]
