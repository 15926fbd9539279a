"""The head of a running batch: progress, rate, time left and money so far, in a few lines that line up."""

import json
from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tidepool.storage.reading.watching import Watched
from tidepool.tui.app.theme import BATCH_GLYPHS, BATCH_STATES
from tidepool.tui.app.throughput import Throughput, spark
from tidepool.tui.app.widgets.batch_list import bar, status_of
from tidepool.tui.drawing.plain import fitted, one_line
from tidepool.tui.drawing.words import count, dollars, percent, rate, resting, span


class Gauges(Static):
    def show(self, batch: Watched | None, pulse: Throughput | None, expected_calls: int = 0) -> None:
        if batch is None:
            self.update(Content("No batch yet. Press 1 for the list, or 2 to compose one."))
        else:
            self.update(
                Content("\n").join(lines(batch, pulse, expected_calls, self.content_size.width or 80)), layout=False
            )


def advance(batch: Watched, expected_calls: int) -> tuple[float, float]:
    """(done, whole): in calls where their number is known, since units may all end at the end; else in units."""
    if not batch.running or not expected_calls or batch.units_failed:
        return batch.units_done, batch.units_total
    return min(batch.calls, expected_calls), expected_calls


def seconds_left(batch: Watched, pulse: Throughput | None, expected_calls: int) -> float | None:
    """At the pace of the last seconds where calls are counted, else of the whole batch."""
    done, whole = advance(batch, expected_calls)
    if not batch.running or not done or not whole or batch.paused:
        return None
    if whole == expected_calls and pulse is not None and pulse.speed > 0:
        return (whole - done) / pulse.speed
    return batch.seconds / done * (whole - done)


def lines(batch: Watched, pulse: Throughput | None, expected_calls: int, width: int) -> list[Content]:
    return [_name(batch, width), _progress(batch, pulse, expected_calls, width), _pace(batch, pulse, width)]


def _name(batch: Watched, width: int) -> Content:
    status = status_of(batch)
    colour = f"$state-{BATCH_STATES.get(status, 'waiting')}"
    said: str = one_line(status.replace("in_progress", "running"))
    if batch.reason and not batch.running:
        said += f": {one_line(batch.reason)}"
    for provider, rest in batch.resting.items():
        said += f": {one_line(resting(provider, **rest))}"
    right = one_line(f"{batch.kind.replace('_', ' ')} · {batch.id}") + _simulated(batch)
    left = f"{BATCH_GLYPHS.get(status, ' ')} {said}  "
    room = max(10, width - len(left) - len(right) - 1)
    return Content.assemble(
        (left, f"bold {colour}"), (fitted(one_line(batch.name), room), "bold"), " ", (right, "$quiet")
    )


def _simulated(batch: Watched) -> str:
    return "" if not batch.simulated else " · simulated in part" if batch.partly_simulated else " · simulated"


def _progress(batch: Watched, pulse: Throughput | None, expected_calls: int, width: int) -> Content:
    done, whole = advance(batch, expected_calls)
    figures = [
        percent(done, whole),
        f"{count(batch.units_done)} of {count(batch.units_total)} units",
        f"{count(batch.calls)} calls",
    ]
    figures += [f"{count(value)} {name}" for value, name in _rare(batch) if value]
    words = " · ".join(figures)
    left = seconds_left(batch, pulse, expected_calls)
    time_words = span(batch.seconds) + (f", {span(left)} left" if left is not None else "")
    room = max(8, width - len(words) - len(time_words) - 5)
    share = int(1000 * done / whole) if whole else 0
    lost = int(1000 * batch.units_failed / batch.units_total) if batch.units_total else 0
    pieces = [(text, f"$state-{name}") for text, name in bar(share, lost, 1000 if whole else 0, room)]
    return Content.assemble(*pieces, f"  {words}", (f"   {time_words}", "$quiet"))


def _rare(batch: Watched) -> list[tuple[int, str]]:
    return [
        (batch.cached, "cached"),
        (batch.replayed, "replayed"),
        (batch.retried, "retried"),
        (batch.failed, "failed"),
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
