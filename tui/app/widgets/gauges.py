"""The head of a running batch: progress, rate, time left and money so far, in a few lines that line up."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static

from tidepool.engine.results.blocks import Headline
from tidepool.storage.queries.watching import Watched
from tidepool.storage.states import BatchStatus
from tidepool.tui.app.theme import BATCH_GLYPHS, BATCH_STATES
from tidepool.tui.app.throughput import Throughput, spark
from tidepool.tui.app.widgets.batch_list import bar, status_of
from tidepool.tui.drawing.plain import fitted, one_line
from tidepool.tui.drawing.words import count, dollars, percent, rate, requests, resting, span

LONGEST_REASON = 60
"""letters of why a batch ended, so that its name is seen too; the overview has all of it"""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan of a batch says of it."""

    calls: int = 0
    exact: bool = False
    """else their number is an estimate"""
    columns: int = 0
    """waves that it is to have, where a unit's calls stand by wave"""
    simulated: tuple[str, ...] = ()
    """roles that are simulated beside real models"""

    @property
    def about(self) -> str:
        return "" if self.exact else "about "


NOTHING_EXPECTED = Expected()
UNFINISHED = (BatchStatus.IN_PROGRESS, BatchStatus.INTERRUPTED)
SHORTEST_BAR = 8
MOST_SLOWER = 4
"""than so far, that a batch is believed to become"""


class Gauges(Static):
    def show(
        self,
        batch: Watched | None,
        pulse: Throughput | None,
        expected: Expected = NOTHING_EXPECTED,
        finding: Headline | None = None,
    ) -> None:
        self.set_class(finding is not None, "-with-finding")
        if batch is None:
            self.update(Content("No batch yet. Press 1 for the list, or 2 to compose one."))
            return
        told = lines(batch, pulse, expected, self.content_size.width or 80)
        if finding is not None:
            told.append(Content.styled(one_line(finding.text), "bold"))
        self.update(Content("\n").join(told), layout=False)


def advance(batch: Watched, expected: Expected) -> tuple[float, float]:
    """(done, whole) in calls, since units may all end at the end; in units where the plan is not known, or the batch ended."""
    if batch.status not in UNFINISHED or not expected.calls:
        return batch.units_done, batch.units_total
    left = max(0, expected.calls - batch.calls)
    if batch.units_failed:  # their further calls are not made
        left = min(left, round(expected.calls * (1 - batch.units_done / max(1, batch.units_total))))
    return batch.calls, batch.calls + max(1, left)


def seconds_left(batch: Watched, pulse: Throughput | None, expected: Expected) -> float | None:
    """At the steady pace of late where calls are counted, else at that of the whole batch. Calls that are slow to come at the very
    end, when few are left, are not taken for a pace."""
    done, whole = advance(batch, expected)
    if not batch.running or not done or whole <= done or batch.paused or 0 < expected.calls <= batch.calls:
        return None
    by_all = batch.seconds / done * (whole - done)
    if expected.calls and pulse is not None and pulse.steady > 0:
        return min((whole - done) / pulse.steady, MOST_SLOWER * by_all)
    return by_all


def lines(batch: Watched, pulse: Throughput | None, expected: Expected, width: int) -> list[Content]:
    return [_name(batch, expected, width), _progress(batch, pulse, expected, width), _pace(batch, pulse, width)]


def _name(batch: Watched, expected: Expected, width: int) -> Content:
    status = status_of(batch)
    colour = f"$state-{BATCH_STATES.get(status, 'waiting')}"
    said: str = one_line(status.replace("in_progress", "running"))
    if batch.reason and not batch.running:
        said += f": {one_line(batch.reason, LONGEST_REASON)}"
    for provider, rest in batch.resting.items():
        said += f": {one_line(resting(provider, **rest))}"
    right = one_line(f"{batch.kind.replace('_', ' ')} · {batch.id}") + _simulated(batch, expected)
    left = f"{BATCH_GLYPHS.get(status, ' ')} {said}  "
    room = max(10, width - len(left) - len(right) - 1)
    return Content.assemble(
        (left, f"bold {colour}"), (fitted(one_line(batch.name), room), "bold"), " ", (right, "$quiet")
    )


def _simulated(batch: Watched, expected: Expected) -> str:
    if not batch.simulated:
        return ""
    if not batch.partly_simulated:
        return " · simulated"
    return f" · simulated: {' and '.join(expected.simulated)}" if expected.simulated else " · simulated in part"


def _progress(batch: Watched, pulse: Throughput | None, expected: Expected, width: int) -> Content:
    done, whole = advance(batch, expected)
    going = batch.status in UNFINISHED and expected.calls > batch.calls
    figures = [
        percent(done, whole),
        f"{count(batch.calls)} of {expected.about}{count(whole)} calls"
        if going
        else requests(batch.calls, batch.bought, batch.cached, batch.failed),
        f"{count(batch.units_done)} of {count(batch.units_total)} units",
    ]
    figures += [f"{count(value)} {name}" for value, name in _rare(batch, going) if value]
    left = seconds_left(batch, pulse, expected)
    time_words = span(batch.seconds) + (f", {expected.about}{span(left)} left" if left is not None else "")
    most = width - len(time_words) - 5 - SHORTEST_BAR
    while len(figures) > 2 and len(" · ".join(figures)) > most:  # how long it takes is wanted more than the units
        del figures[2]
    words = " · ".join(figures)
    room = max(SHORTEST_BAR, width - len(words) - len(time_words) - 5)
    share = int(1000 * done / whole) if whole else 0
    lost = int(1000 * batch.units_failed / batch.units_total) if batch.units_total else 0
    pieces = [(text, f"$state-{name}") for text, name in bar(share, lost, 1000 if whole else 0, room)]
    return Content.assemble(*pieces, f"  {words}", (f"   {time_words}", "$quiet"))


def _rare(batch: Watched, going: bool) -> list[tuple[int, str]]:
    return [
        (batch.cached if going else 0, "cached"),
        (batch.replayed, "replayed"),
        (batch.retried, "retried"),
        (batch.failed if going else 0, "failed"),
    ]


def _pace(batch: Watched, pulse: Throughput | None, width: int) -> Content:
    beats = pulse.beats if pulse else []
    money = pulse.money() if pulse else []
    speed = pulse.speed if pulse and batch.running else (batch.calls / batch.seconds if batch.seconds else 0.0)
    latency = pulse.latency if pulse else None
    curves: list[tuple[str, Sequence[float | None], str]] = [
        ("speed", [beat.speed for beat in beats], rate(speed)),
        ("latency", [beat.latency for beat in beats], span(latency) if latency else "–"),
        ("spent", money, _money(batch)),
    ]
    flight = _in_flight(batch)
    words = sum(len(name) + len(value) + 2 for name, _, value in curves) + 3 * len(curves) + len(flight)
    each = max(4, (width - words) // len(curves))
    gauges = [_gauge(name, spark(values, each) if any(values) else "", value) for name, values, value in curves]
    return Content("   ").join([*gauges, Content.styled(flight, "$quiet")] if flight else gauges)


def _gauge(name: str, line: str, value: str) -> Content:
    pieces = [(f"{name} ", "$quiet"), (line, "$primary"), (f" {value}", "bold")]
    return Content.assemble(*(piece for piece in pieces if piece[0].strip()))


def _money(batch: Watched) -> str:
    budget = json.loads(batch.limits).get("budget_usd") or 0.0
    spent = "nothing" if batch.free else dollars(batch.cost_usd)
    return spent + (f" of {dollars(budget)}" if budget else "")


def _in_flight(batch: Watched) -> str:
    if not batch.running:
        return ""
    providers = list(json.loads(batch.limits).get("providers", {}).values())
    flying = sum(one.get("in_flight", 0) for one in providers)
    allowed = sum(one.get("allowed", 0) for one in providers)
    return f"{count(flying)}/{count(allowed)} in flight"
