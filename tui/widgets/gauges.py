"""The head of a running batch: progress, rate, time left and money so far, in a few lines that line up."""

import json
from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from storage.watching import Watched
from tui.plain import fitted, one_line
from tui.pulse import Pulse, spark
from tui.theme import BATCH_GLYPHS, BATCH_STATES
from tui.widgets.batch_table import bar, status_of
from tui.words import count, dollars, percent, rate, span


class Gauges(Static):
    def show(self, batch: Watched | None, pulse: Pulse | None) -> None:
        if batch is None:
            self.update(Content("No batch yet. Press 1 for the list, or 2 to compose one."))
        else:
            self.update(Content("\n").join(lines(batch, pulse, self.content_size.width or 80)), layout=False)


def seconds_left(batch: Watched) -> float | None:
    """At the pace of the whole batch; nothing while nothing is known."""
    done = batch.units_done
    if not batch.running or not done or not batch.units_total or batch.paused:
        return None
    return batch.seconds / done * (batch.units_total - done)


def lines(batch: Watched, pulse: Pulse | None, width: int) -> list[Content]:
    return [_name(batch, width), _progress(batch, width), _pace(batch, pulse, width)]


def _name(batch: Watched, width: int) -> Content:
    status = status_of(batch)
    colour = f"$state-{BATCH_STATES.get(status, 'waiting')}"
    said = status.replace("in_progress", "running")
    if batch.reason and not batch.running:
        said += f": {one_line(batch.reason)}"
    right = f"{batch.kind.replace('_', ' ')} · {batch.id}" + (" · simulated" if batch.simulated else "")
    left = f"{BATCH_GLYPHS.get(status, ' ')} {said}  "
    room = max(10, width - len(left) - len(right) - 1)
    return Content.assemble(
        (left, f"bold {colour}"), (fitted(one_line(batch.name), room), "bold"), " ", (right, "$quiet")
    )


def _progress(batch: Watched, width: int) -> Content:
    figures = [
        percent(batch.units_done, batch.units_total),
        f"{count(batch.units_done)} of {count(batch.units_total)} units",
        f"{count(batch.calls)} calls",
    ]
    figures += [
        f"{count(value)} {name}"
        for value, name in (
            (batch.cached, "cached"),
            (batch.replayed, "replayed"),
            (batch.retried, "retried"),
            (batch.failed, "failed"),
        )
        if value
    ]
    words = " · ".join(figures)
    left = seconds_left(batch)
    time_words = span(batch.seconds) + (f", {span(left)} left" if left is not None else "")
    room = max(8, width - len(words) - len(time_words) - 5)
    pieces = [
        (text, f"$state-{name}") for text, name in bar(batch.units_done, batch.units_failed, batch.units_total, room)
    ]
    return Content.assemble(*pieces, f"  {words}", f"   {time_words}")


def _pace(batch: Watched, pulse: Pulse | None, width: int) -> Content:
    beats = pulse.beats if pulse else []
    money = pulse.money() if pulse else []
    speed = pulse.speed if pulse and batch.running else (batch.calls / batch.seconds if batch.seconds else 0.0)
    latency = pulse.latency if pulse else None
    each = max(8, (width - 62) // 3)
    parts: list[tuple[str, str, str]] = [
        ("speed", spark([beat.speed for beat in beats], each), rate(speed)),
        ("latency", spark([beat.latency for beat in beats], each), span(latency) if latency else "–"),
        ("spent", spark(money, each), _money(batch)),
    ]
    if flight := _in_flight(batch):
        parts.append(("", "", flight))
    return Content("   ").join(_gauge(*part) for part in parts)


def _gauge(name: str, line: str, value: str) -> Content:
    pieces = [(f"{name} ", "$quiet"), (line, "$primary"), (f" {value}", "bold")]
    return Content.assemble(*(piece for piece in pieces if piece[0].strip()))


def _money(batch: Watched) -> str:
    budget = json.loads(batch.limits).get("budget_usd") or 0.0
    spent = "nothing" if batch.simulated and not batch.spent_usd else dollars(batch.cost_usd)
    return spent + (f" of {dollars(budget)}" if budget else "")


def _in_flight(batch: Watched) -> str:
    if not batch.running:
        return ""
    providers: Sequence[dict[str, int]] = list(json.loads(batch.limits).get("providers", {}).values())
    flying = sum(one.get("in_flight", 0) for one in providers)
    allowed = sum(one.get("allowed", 0) for one in providers)
    return f"{count(flying)}/{count(allowed)} in flight"
