"""The head of a running batch: progress, rate, remaining time and cost in a few lines."""

import json
import math
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from tidepool.engine.reports.blocks import Headline
from tidepool.storage.queries.watching import BatchLine
from tidepool.storage.states import BatchStatus
from tidepool.tui.app.theme import BATCH_STATES
from tidepool.tui.app.widgets.batch_list import bar, status_of
from tidepool.tui.drawing.text import count, dollars, fitted, one_line, percent, rate, requests, resting, span

SHORTEST = 0.2
"""seconds; a rate over less time is meaningless"""
SHORTEST_MEMORY, LONGEST_MEMORY = 5.0, 120.0
"""seconds after which a sample has a third of its weight in the smoothed rate"""


class Throughput:
    """The smoothed rate of calls per second, in which recent seconds weigh most, and the latency of the last calls."""

    def __init__(self, now: BatchLine) -> None:
        self.speed = now.calls / now.seconds if now.seconds > 0 else 0.0
        self.latency: float | None = now.call_seconds / now.bought if now.bought and now.call_seconds else None
        self._last = now
        self._seen_at: float | None = None

    def update_from(self, now: BatchLine, at: float) -> None:
        """Adds a sample."""
        before, seen_at = self._last, self._seen_at
        if seen_at is not None and at - seen_at < SHORTEST:
            return
        self._last, self._seen_at = now, at
        if seen_at is None:
            return
        memory = min(LONGEST_MEMORY, max(SHORTEST_MEMORY, now.seconds / 8))
        latest = max(0, now.calls - before.calls) / (at - seen_at)
        self.speed += (latest - self.speed) * (1 - math.exp((seen_at - at) / memory))
        bought, busy = now.bought - before.bought, now.call_seconds - before.call_seconds
        if bought > 0 and busy > 0:
            self.latency = busy / bought


LONGEST_REASON = 60
"""characters of the reason of a batch, so that its name fits too; the overview shows all of it"""


@dataclass(frozen=True, slots=True)
class Expected:
    """The planned size of a batch."""

    calls: int = 0
    exact: bool = False
    """whether the number of calls is exact; if not, it is an estimate"""
    columns: int = 0
    """planned number of waves, for kinds with a column for each wave"""

    @property
    def about(self) -> str:
        return "" if self.exact else "about "


NOTHING_EXPECTED = Expected()
UNFINISHED = (BatchStatus.IN_PROGRESS, BatchStatus.INTERRUPTED)
SHORTEST_BAR = 7
MOST_SLOWER = 4
"""factor by which a batch may become slower than so far, for the estimate of the remaining time"""


class Gauges(Static):
    def show(
        self,
        batch: BatchLine | None,
        pulse: Throughput | None = None,
        expected: Expected = NOTHING_EXPECTED,
        finding: Headline | None = None,
    ) -> None:
        self.set_class(finding is not None, "-with-finding")
        if batch is None:
            self.update(Content("No batch yet. Press 2 to compose a study, or 1 for the list."))
            return
        shown_lines = lines(batch, pulse, expected, self.content_size.width or 80)
        if finding is not None:
            shown_lines.append(Content.styled(one_line(finding.text), "bold"))
        self.update(Content("\n").join(shown_lines), layout=False)


def advance(batch: BatchLine, expected: Expected) -> tuple[float, float]:
    """Returns (done, total) in calls, because all units may end at the end. Uses units without a plan and for ended batches."""
    if batch.status not in UNFINISHED or not expected.calls:
        return batch.units_done, batch.units_total
    left = max(0, expected.calls - batch.calls)
    if batch.units_failed:  # failed units make no further calls
        left = min(left, round(expected.calls * (1 - batch.units_done / max(1, batch.units_total))))
    return batch.calls, batch.calls + max(1, left)


def seconds_left(batch: BatchLine, pulse: Throughput | None, expected: Expected) -> float | None:
    """Estimates the remaining time from the smoothed rate of calls, or without a plan from the rate of the whole batch. A limit
    keeps a few slow calls at the end from inflating the estimate."""
    done, whole = advance(batch, expected)
    if not batch.running or not done or whole <= done or batch.paused or 0 < expected.calls <= batch.calls:
        return None
    by_all = batch.seconds / done * (whole - done)
    if expected.calls and pulse is not None and pulse.speed > 0:
        return min((whole - done) / pulse.speed, MOST_SLOWER * by_all)
    return by_all


def lines(batch: BatchLine, pulse: Throughput | None, expected: Expected, width: int) -> list[Content]:
    return [_name(batch, width), _progress(batch, pulse, expected, width), _pace(batch, pulse)]


def _name(batch: BatchLine, width: int) -> Content:
    status = status_of(batch)
    glyph, state = BATCH_STATES.get(status, (" ", "waiting"))
    state_text: str = one_line(status.replace("in_progress", "running"))
    if batch.reason and not batch.running:
        state_text += f": {one_line(batch.reason, LONGEST_REASON)}"
    for provider, rest in batch.resting.items():
        state_text += f": {one_line(resting(provider, **rest))}"
    right: str = one_line(f"{batch.kind.replace('_', ' ')} · {batch.id}")
    if batch.simulated:
        right += " · partly simulated" if batch.partly_simulated else " · simulated"
    left = f"{glyph} {state_text}  "
    available = max(10, width - len(left) - len(right) - 1)
    return Content.assemble(
        (left, f"bold $state-{state}"), (fitted(one_line(batch.name), available), "bold"), " ", (right, "$quiet")
    )


def _progress(batch: BatchLine, pulse: Throughput | None, expected: Expected, width: int) -> Content:
    done, whole = advance(batch, expected)
    running = batch.status in UNFINISHED and expected.calls > batch.calls
    figures = [
        percent(done, whole),
        f"{count(batch.calls)} of {expected.about}{count(whole)} requests"
        if running
        else requests(batch.calls, batch.bought, batch.cached, batch.failed),
        f"{count(batch.units_done)} of {count(batch.units_total)} units",
    ]
    rare = {"replayed": batch.replayed, "retried": batch.retried}
    if running:
        rare = {"cached": batch.cached, **rare, "failed": batch.failed}
    figures += [f"{count(value)} {name}" for name, value in rare.items() if value]
    left = seconds_left(batch, pulse, expected)
    time_words = span(batch.seconds) + (f", {expected.about}{span(left)} left" if left is not None else "")
    most = width - len(time_words) - 5 - SHORTEST_BAR
    while len(figures) > 2 and len(" · ".join(figures)) > most:  # the time is more important than the units
        del figures[2]
    figures_text = " · ".join(figures)
    bar_width = max(SHORTEST_BAR, width - len(figures_text) - len(time_words) - 5)
    share = int(1000 * done / whole) if whole else 0
    failed_share = int(1000 * batch.units_failed / batch.units_total) if batch.units_total else 0
    pieces = [(text, f"$state-{name}") for text, name in bar(share, failed_share, 1000 if whole else 0, bar_width)]
    return Content.assemble(*pieces, f"  {figures_text}", (f"   {time_words}", "$quiet"))


def _pace(batch: BatchLine, pulse: Throughput | None) -> Content:
    speed = pulse.speed if pulse and batch.running else (batch.calls / batch.seconds if batch.seconds else 0.0)
    latency = pulse.latency if pulse else None
    limits = json.loads(batch.limits)
    spent = "nothing" if batch.free else dollars(batch.cost_usd)
    if budget := limits.get("budget_usd"):
        spent += f" of {dollars(budget)}"
    figures = {"speed": rate(speed), "latency": span(latency) if latency else "–", "spent": spent}
    gauges = [Content.assemble((f"{name} ", "$quiet"), (value, "bold")) for name, value in figures.items()]
    if batch.running:
        providers = limits.get("providers", {}).values()
        flying, allowed = (sum(provider.get(name, 0) for provider in providers) for name in ("in_flight", "allowed"))
        gauges.append(Content.styled(f"{count(flying)}/{count(allowed)} in flight", "$quiet"))
    return Content("   ").join(gauges)
