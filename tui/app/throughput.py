"""The pace of a batch over time: what happened before the watcher came, and what it sees from then on.

Kept in at most a few hundred stretches: when there are too many, neighbours are merged, so a week's batch costs as
much as a minute's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from tidepool.engine.results.blocks import Figure, line
from tidepool.storage.queries.watching import Stretch, Watched
from tidepool.tui.drawing.words import span

MOST = 480
SHORTEST = 0.2
"""seconds: a pace over less than that says nothing"""
SHORTEST_MEMORY, LONGEST_MEMORY = 5.0, 120.0
"""seconds after which a beat weighs a third in the steady pace"""


@dataclass(frozen=True, slots=True)
class Beat:
    """A stretch of time and what was answered in it."""

    at: float
    """its end"""
    seconds: float
    calls: int
    cost_usd: float
    latency: float | None

    @property
    def speed(self) -> float:
        return self.calls / self.seconds if self.seconds > 0 else 0.0


class Throughput:
    def __init__(self, past: Sequence[Stretch], now: Watched) -> None:
        self.beats: list[Beat] = _beats(past)
        self._last = now
        self._seen_at: float | None = None

    def take(self, now: Watched, at: float) -> bool:
        """Adds what happened since the last look; True where that was something to show."""
        before, seen_at = self._last, self._seen_at
        if seen_at is not None and now.running and at - seen_at < SHORTEST:
            return False
        self._last, self._seen_at = now, at
        if seen_at is None or at <= seen_at:
            return False
        bought, busy = now.bought - before.bought, now.call_seconds - before.call_seconds
        beat = Beat(
            at,
            at - seen_at,
            max(0, now.calls - before.calls),
            now.spent_usd - before.spent_usd,
            busy / bought if bought > 0 and busy > 0 else None,
        )
        if not now.running and not beat.calls:
            return False
        self.beats.append(beat)
        if len(self.beats) > MOST:
            self.beats = merged(self.beats)
        return True

    @property
    def speed(self) -> float:
        """Calls a second over the last few seconds."""
        calls = seconds = 0.0
        for beat in reversed(self.beats):
            calls, seconds = calls + beat.calls, seconds + beat.seconds
            if seconds >= 3:
                break
        return calls / seconds if seconds > 0 else 0.0

    @property
    def steady(self) -> float:
        """Calls a second, the newest seconds weighing most: what is left is told by it, and does not jump with every beat."""
        if not self.beats:
            return 0.0
        end = self.beats[-1].at
        memory = min(LONGEST_MEMORY, max(SHORTEST_MEMORY, (end - self.beats[0].at) / 8))
        calls = seconds = 0.0
        for beat in reversed(self.beats):
            weight = math.exp((beat.at - end) / memory)
            if weight < 0.01:
                break
            calls, seconds = calls + weight * beat.calls, seconds + weight * beat.seconds
        return calls / seconds if seconds > 0 else 0.0

    @property
    def latency(self) -> float | None:
        return next((beat.latency for beat in reversed(self.beats) if beat.latency is not None), None)

    def money(self) -> list[float]:
        """Dollars spent up to the end of each beat."""
        return list(accumulate(beat.cost_usd for beat in self.beats))


def merged(beats: Sequence[Beat]) -> list[Beat]:
    """Two and two become one."""
    pairs = [beats[i : i + 2] for i in range(0, len(beats), 2)]
    return [_one(pair) if len(pair) == 2 else pair[0] for pair in pairs]


def _one(pair: Sequence[Beat]) -> Beat:
    known = [(beat.latency, max(1, beat.calls)) for beat in pair if beat.latency is not None]
    weight = sum(calls for _, calls in known)
    return Beat(
        pair[-1].at,
        sum(beat.seconds for beat in pair),
        sum(beat.calls for beat in pair),
        sum(beat.cost_usd for beat in pair),
        sum(latency * calls for latency, calls in known) / weight if known else None,
    )


def _beats(past: Sequence[Stretch]) -> list[Beat]:
    """Slices in which nothing was answered are missing in what the file gives, and shown as such."""
    if len(past) < 2:
        return []
    width = min(b.at - a.at for a, b in pairwise(past))
    beats: list[Beat] = []
    for stretch in past:
        while beats and stretch.at - beats[-1].at > 1.5 * width:
            beats.append(Beat(beats[-1].at + width, width, 0, 0.0, None))
        beats.append(Beat(stretch.at, width, stretch.calls, stretch.cost_usd, stretch.latency))
    return beats


PLOTTED = 90
"""points of a curve: more would show noise"""


def figures(pulse: Throughput) -> dict[str, Figure]:
    """Speed, latency and money over the batch's life."""
    beats = pulse.beats
    if not beats:
        return {}
    while len(beats) > PLOTTED:
        beats = merged(beats)
    start = beats[0].at - beats[0].seconds
    xs = [beat.at - start for beat in beats]
    curves: dict[str, tuple[str, list[float | None], str]] = {
        "speed": ("calls a second", [beat.speed for beat in beats], "primary"),
        "latency": ("seconds a live call takes", [beat.latency for beat in beats], "accent"),
        "money": ("dollars spent", list(accumulate(beat.cost_usd for beat in beats)), "done"),
    }
    return {
        name: Figure("lines", f"{title}, over {span(xs[-1])}", (line("", xs, ys, colour),))
        for name, (title, ys, colour) in curves.items()
        if any(ys)
    }


BLOCKS = " ▁▂▃▄▅▆▇█"


def spark(values: Sequence[float | None], width: int) -> str:
    """The last of the values as a line of little bars, the highest one full."""
    shown = [value or 0.0 for value in values]
    while len(shown) > 2 * width:
        shown = [max(shown[i : i + 2]) for i in range(0, len(shown), 2)]
    shown = shown[-width:]
    top = max(shown, default=0.0)
    if top <= 0:
        return ("▁" * len(shown)).rjust(width)
    return "".join(BLOCKS[max(1, round(8 * value / top))] for value in shown).rjust(width)
