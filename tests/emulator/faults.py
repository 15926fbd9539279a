"""How one provider misbehaves, and the dice that decide when.

A fault is a word, given for a step of a request's life: `{"live": {"500": 0.2, "drop": 0.05}}` as rates, or
`{"create": ["lost"]}` as a script that is used up in order before the rates are asked.

Steps   live · upload · create · poll · list · results · cancel · models · pull
        item (one request of a batch) · batch (the whole of it, once accepted)

Words   a status such as "500", "429", "404" or "529"   refused with the provider's error body
        spend      a 429 that no retry heals
        drop       the connection closes and nothing has happened
        hang       no answer, ever, and nothing has happened
        garbage    200 with a page of HTML, and nothing has happened
        lost       it happened (paid, created), and the connection closes before the answer
        lost-hang  it happened, and the answer never comes
        lost-500   it happened, and the answer is a 500
        cut        it happened, and the connection closes in the middle of the answer
        expire     item only: not done when the batch's time is over
        any code   batch only: the batch turns failed with it, such as "token_limit_exceeded" (OpenAI)
        KIND:WORD  a malformed or hostile answer, of the tables in `malformed_replies`: "reply:filtered", "usage:negative", "rows:corrupt"

A roll depends on the seed, the step, what was asked and how often it was asked, never on who was first.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidepool.engine.call import stream

AFTERWARDS = {"lost", "lost-hang", "lost-500", "cut"}
"""faults that strike once the thing was done"""


@dataclass(frozen=True, slots=True)
class Faults:
    """The conduct of one provider. Everything is well by default."""

    like: str = "ollama"
    """of a server of its own (`hosts`): the provider it speaks like"""
    seed: int = 0
    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    script: Mapping[str, Sequence[str]] = field(default_factory=dict)

    stubborn: bool = False
    """the same question meets the same fault, however often it is asked"""
    error_form: str = ""
    """how refusals are worded: the provider's own way, or `detail`, `detail-list` (FastAPI), `text`"""

    latency: float = 0.0
    """seconds a live call takes, mean"""
    jitter: float = 0.0
    """share of the latency by which it varies, evenly to both sides"""
    retry_after: float = 1.0
    """seconds in the Retry-After header of a "429" fault; 0 = no header"""

    requests_per_minute: int = 0
    """enforced over a sliding minute, and told in headers; 0 = no limit, no headers"""
    tokens_per_minute: int = 0
    minute: float = 60.0
    """how long a minute is, for tests in a hurry"""
    window: float = 0.0
    """seconds, such as 1, in which the share of a minute's requests is enforced too; 0 = only the minute"""
    spend_limit: int = 0
    """live calls and batch creations after this many purchases get the spend-limit 429; 0 = never"""

    keys: Sequence[str] = ()
    """keys that are accepted; empty = any"""
    models: Sequence[str] = ()
    """models that exist; empty = the provider's usual ones"""
    refused_settings: Sequence[str] = ()
    """request settings that the models do not take (400), such as temperature"""

    batch_seconds: float = 0.0
    batch_polls: int = 0
    """a batch ends once it is this old and was looked at more than this often"""
    shuffle: bool = True
    """results come in another order than the requests"""
    list_lag: float = 0.0
    """seconds for which a new batch is missing in the list"""
    batch_bytes: int = 0
    enqueued_tokens: int = 0
    """OpenAI: tokens that may wait in open batches of one model; 0 = no limit"""

    parallel: int = 0
    """calls that are worked on at once, the others wait and are not told; 0 = any number, at Ollama one"""
    queue: int = 512
    """calls that may wait for that"""
    outage_after: int = 0
    outage_seconds: float = 0.0
    """the live call of this number, and all that come for so long, find nobody there; 0 = never"""

    def in_window(self, limit: int) -> int:
        """A minute's limit in one window of it."""
        return max(1, round(limit * self.window / self.minute)) if limit and self.window else 0


class Dice:
    """Rolls the faults of one provider."""

    def __init__(self, faults: Faults) -> None:
        self._attempts: Counter[tuple[str, str]] = Counter()
        self.load(faults)

    def load(self, faults: Faults) -> None:
        self._seed = faults.seed
        self._stubborn = faults.stubborn
        self._rates = {step: dict(rates) for step, rates in faults.rates.items()}
        self._script = {step: deque(words) for step, words in faults.script.items()}

    def roll(self, step: str, key: str) -> str:
        """The fault that strikes this request at this step, or nothing."""
        if script := self._script.get(step):
            return script.popleft()
        if not (rates := self._rates.get(step)):
            return ""
        self._attempts[step, key] = 1 if self._stubborn else self._attempts[step, key] + 1
        return pick(rates, stream(self._seed, step, key, self._attempts[step, key]).random())

    def spread(self, key: str, jitter: float) -> float:
        """The factor by which this request's latency differs from the mean."""
        return 1 + jitter * (2 * stream(self._seed, "latency", key).random() - 1) if jitter else 1.0


def pick(rates: Mapping[str, float], draw: float) -> str:
    """The word whose share of [0, 1) holds the draw; the rest of the interval is health."""
    for word, rate in rates.items():
        if draw < rate:
            return word
        draw -= rate
    return ""
