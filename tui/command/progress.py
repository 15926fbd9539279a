"""Progress of a headless run on stderr: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TextIO

from tidepool.engine.events import (
    BatchEnded,
    BatchStarted,
    CallAnswered,
    CallLost,
    CallRetried,
    CallsExpected,
    Event,
    Listener,
    Logged,
    ProviderBatchChanged,
    ProvidersRest,
    Resting,
    ServersNamed,
    TransportPlanned,
    UnitEnded,
    UnitsExpected,
)
from tidepool.storage.text import one_line
from tidepool.tui.command.output import write_progress
from tidepool.tui.drawing import text as words

BAR = 16
BAR_SECONDS = 0.1
LINE_SECONDS = 5.0


@dataclass(slots=True)
class ProgressTally:
    """The progress of a run, counted from events."""

    started: float = field(default_factory=time.monotonic)
    batch_id: str = ""
    units: int = 0
    units_done: int = 0
    units_failed: int = 0
    calls: int = 0
    calls_expected: int = 0
    exact: bool = False
    """whether the number of expected calls is exact"""
    ended: bool = False
    cached: int = 0
    replayed: int = 0
    failed: int = 0
    retried: int = 0
    wave: int = 0
    cost: float = 0.0
    priced: bool = True
    order: str = ""
    resting: tuple[tuple[str, Resting], ...] = ()

    def add(self, event: Event) -> None:
        match event:
            case CallAnswered(wave=wave, source=source, cost_usd=cost):
                self.calls += 1
                self.cached += source == "cache"
                self.replayed += source == "replay"
                self.wave = max(self.wave, wave)
                self.priced &= cost is not None
                self.cost += cost or 0.0
            case UnitEnded(error=error):
                self.units_done += 1
                self.units_failed += error is not None
            case CallLost():
                self.failed += 1
            case CallRetried():
                self.retried += 1
            case CallsExpected(total=total, exact=exact):
                self.calls_expected, self.exact = total, exact
            case BatchEnded():
                self.ended = True
            case UnitsExpected(total=total):
                self.units = total
            case BatchStarted(batch_id=batch_id):
                self.batch_id = batch_id
            case ProvidersRest(resting=resting):
                self.resting = resting
            case ProviderBatchChanged(provider=provider, state=state, calls=calls, waited=waited):
                self.order = f"{provider} batch of {calls}: {state}, {waited:.0f} s"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def figures(self) -> str:
        rate = (self.calls - self.replayed) / self.seconds if self.seconds > 0 else 0.0
        texts = [self.calls_text(), f"{self.units_done:,}/{self.units:,} units", f"wave {self.wave}", words.rate(rate)]
        rare = {"replayed": self.replayed, "retried": self.retried}
        if not self.ended:
            rare = {"cached": self.cached, **rare, "failed": self.failed}
        texts += [f"{count:,} {name}" for name, count in rare.items() if count]
        more = " more" if self.replayed else ""
        texts.append(f"${self.cost:.4f}{more}" if self.priced else "price unknown")
        if self.order and self.units_done < self.units:
            texts.append(self.order)
        texts += [words.resting(name, **asdict(rest)) for name, rest in self.resting]
        return " · ".join(texts)

    @property
    def calls_done(self) -> int:
        return self.calls + self.failed

    @property
    def calls_left(self) -> int:
        """Returns the number of planned calls left, without those of failed units."""
        left = max(0, self.calls_expected - self.calls_done)
        if not self.units_failed:
            return left
        return min(left, round(self.calls_expected * max(0, self.units - self.units_done) / max(1, self.units)))

    def bar(self) -> str:
        done = BAR * self.calls_done // max(1, self.calls_done + self.calls_left)
        return "━" * done + "─" * (BAR - done)

    def calls_text(self) -> str:
        if self.ended:
            new = self.calls - self.replayed - self.cached
            return words.requests(self.calls_done - self.replayed, new, self.cached, self.failed)
        if not self.calls_left:
            return f"{self.calls:,} requests"
        return f"{self.calls:,} of {'' if self.exact else 'about '}{self.calls_expected:,} requests"

    def seconds_left(self) -> float | None:
        """Estimates the time left from the rate of new calls, since replayed calls are faster. The first calls say too little."""
        new = self.calls_done - self.replayed
        enough = new > 0 and new >= min(100, self.calls_expected / 50)
        return self.seconds / new * self.calls_left if enough and self.calls_left else None

    def time_left_text(self) -> str:
        left = self.seconds_left()
        return "" if left is None else f"{'' if self.exact else 'about '}{words.span(left)} left"


def _notices(event: Event, quiet: bool) -> Iterator[str]:
    """Yields lines that stay above the progress."""
    match event:
        case ServersNamed(words=words) if not quiet:
            yield from (f"Server: {line}" for line in words)
        case TransportPlanned(words=words) if not quiet:
            yield from (f"Transport: {line}" for line in words)
        case Logged(level=level, message=message) if level != "info":
            yield f"{level}: {message}"


def progress_on(stream: TextIO, *, quiet: bool = False) -> Listener:
    """Returns a listener that updates one line on a terminal, or prints a line every few seconds; only warnings if quiet."""
    tally, terminal = ProgressTally(), stream.isatty()
    shown_at = 0.0 if terminal else time.monotonic()

    def write(text: str, end: str = "\n") -> None:
        write_progress(one_line(text, 4_000), stream, end)

    def listen(event: Event) -> None:
        nonlocal shown_at
        tally.add(event)
        for line in _notices(event, quiet):
            write(line)
        if quiet:
            return
        match event:
            case BatchStarted(batch_id=batch_id, name=name, resumed=resumed):
                write(f"{'Resuming' if resumed else 'Running'} {batch_id} ({name})")
            case BatchEnded(status=status, reason=reason):
                write(f"{status}{f' ({reason})' if reason else ''}: {tally.figures()}")
                return
        if time.monotonic() - shown_at >= (BAR_SECONDS if terminal else LINE_SECONDS):
            shown_at = time.monotonic()
            parts = list(filter(None, (tally.figures(), tally.time_left_text())))
            if not terminal:
                write(" · ".join(parts))
            elif tally.batch_id:
                text = f"{tally.bar()} {' · '.join(reversed(parts))}"  # the end may be cut
                write(words.fitted(text, words.console(stream).width - 1), end="")

    return listen
