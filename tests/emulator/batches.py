"""The life of a batch, the same at OpenAI and Anthropic.

It waits, runs, and ends with each of its requests done, failed, expired or cancelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic, time
from typing import Any

from aiohttp import web

from tidepool.engine.call import stream

from . import malformed_replies as malformed
from .books import Purchase
from .faults import Faults
from .points import Points
from .provider import Outcome, Provider


@dataclass(slots=True)
class Item:
    """One request of a batch and what comes, or came, of it."""

    custom_id: str
    outcome: Outcome
    fate: str = ""
    """expire or cancel: it never got its turn"""

    @property
    def kind(self) -> str:
        return self.fate or ("done" if self.outcome.status == 200 else "failed")


@dataclass(slots=True)
class Batch:
    id: str
    items: list[Item]
    details: dict[str, Any] = field(default_factory=dict)
    """what the provider repeats of the creation"""
    failure: str = ""
    born: float = field(default_factory=monotonic)
    created_at: float = field(default_factory=time)
    polls: int = 0
    ended_at: float | None = None
    cancelled_at: float | None = None

    @property
    def open(self) -> bool:
        return self.ended_at is None and not self.failure

    def purchases(self) -> list[Purchase]:
        """What its owner pays for, if nothing is cancelled."""
        return [item.outcome.bought for item in self.items if item.kind == "done" and item.outcome.bought]

    def look(self, faults: Faults) -> None:
        """A poll: time has passed, and one more look was taken."""
        self.polls += 1
        self.pass_time(faults)

    def pass_time(self, faults: Faults) -> None:
        if self.open and (self.cancelled_at or self.progress(faults) >= 1):
            self.ended_at = time()

    def progress(self, faults: Faults) -> float:
        """The share of the batch that is through."""
        if not faults.batch_polls and not faults.batch_seconds:
            return float(self.polls > 0)
        looks = self.polls / (faults.batch_polls + 1) if faults.batch_polls else 1.0
        age = (monotonic() - self.born) / faults.batch_seconds if faults.batch_seconds else 1.0
        return min(looks, age, 1.0)

    def cancel(self, faults: Faults) -> set[str]:
        """Ends it early; the custom ids that would have been answered and now are not."""
        self.cancelled_at = time()
        through = int(self.progress(faults) * len(self.items))
        stopped = [item for item in self.items[through:] if item.kind == "done"]
        for item in self.items[through:]:
            item.fate = "cancel"
        return {item.custom_id for item in stopped}

    def counts(self) -> dict[str, int]:
        kinds = [item.kind for item in self.items]
        return {kind: kinds.count(kind) for kind in ("done", "failed", "expire", "cancel")}

    def in_any_order(self, faults: Faults) -> list[Item]:
        items = list(self.items)
        if faults.shuffle:
            stream(faults.seed, "order", self.id).shuffle(items)
        return items


def item_of(provider: Provider, custom_id: str, batch_id: str, outcome: Outcome) -> Item:
    """A request of a batch, after the faults of its step."""
    if not outcome.bought:
        return Item(custom_id, outcome)
    fault = provider.roll("item", outcome.bought.content)
    if fault == "expire":
        return Item(custom_id, outcome, "expire")
    if malformed.is_malformed(fault) and not malformed.strikes_before(fault):
        outcome = replace(outcome, body=malformed.answer(provider.family, fault, outcome.body))
    elif fault:
        return Item(custom_id, Outcome(int(fault), provider.error_body(int(fault))))
    return Item(custom_id, outcome.in_batch(custom_id, batch_id))


def page(batches: Sequence[Batch], faults: Faults, after: str | None, limit: int) -> tuple[list[Batch], bool]:
    """Newest first, as both providers list; and whether there is more."""
    seen = [batch for batch in reversed(batches) if monotonic() - batch.born >= faults.list_lag]
    if after:
        ids = [batch.id for batch in seen]
        seen = seen[ids.index(after) + 1 :] if after in ids else []
    return seen[:limit], len(seen) > limit


async def send_rows(
    request: web.Request, lines: Sequence[str], points: Points, point: str, content_type: str
) -> web.StreamResponse:
    """JSON lines, in one piece or, when a test waits for it, in two."""
    body = "".join(line + "\n" for line in lines).encode()
    if not points.armed(point):
        return web.Response(body=body, content_type=content_type)
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    await points.come_by(point)
    await response.write(body[len(body) // 2 :])
    await response.write_eof()
    return response


def rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
