"""Running counters of a batch and of its waves: cheap for screens to read, committed with the rows they count."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter

from sqlalchemy import bindparam
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import update

from tidepool.storage.call_record import CallRecord
from tidepool.storage.sql import compile_statement, table_of
from tidepool.storage.states import CallStatus, FinishReason, Source
from tidepool.storage.tables import Progress, Wave
from tidepool.storage.writer import Writer


@dataclass(slots=True)
class Counters:
    """What is added to the progress row with the next group."""

    units_completed: int = 0
    units_failed: int = 0
    calls: int = 0
    bought: int = 0
    cached: int = 0
    replayed: int = 0
    retried: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    call_seconds: float = 0.0
    reasoning_tokens: int = 0
    cut: int = 0
    unusable: int = 0
    usage_missing: int = 0


@dataclass(slots=True)
class _Wave:
    calls: int = 0
    failed: int = 0
    cached: int = 0
    retried: int = 0
    earlier_seconds: float = 0.0
    first: float = 0.0
    last: float = 0.0
    transports: frozenset[str] = frozenset()

    @property
    def seconds(self) -> float:
        return self.earlier_seconds + (self.last - self.first)


_FAILED, _CACHE, _LIVE = CallStatus.FAILED, Source.CACHE, Source.LIVE
_CUT = FinishReason.CUT
_NAMES = tuple(field.name for field in fields(Counters))
_VALUES = attrgetter(*_NAMES)
_PROGRESS = table_of(Progress).c
_ADD = compile_statement(
    update(Progress)
    .where(_PROGRESS.batch_number == bindparam("batch"))
    .values({name: _PROGRESS[name] + bindparam(f"add_{name}") for name in _NAMES}),
    rank=1,
)
_NEW_WAVE = insert(Wave)
_WAVE = compile_statement(
    _NEW_WAVE.on_conflict_do_update(
        index_elements=["batch_number", "wave"],
        set_={column.name: column for column in _NEW_WAVE.excluded if not column.primary_key},
    ),
    rank=1,
)


class Tally:
    def __init__(self, writer: Writer, reader: sqlite3.Connection, batch_number: int) -> None:
        self._writer = writer
        self._batch_number = batch_number
        self._delta = Counters()
        self._written = Counters()
        """by this run"""
        self.by_model: Counter[str] = Counter()
        """calls of this run, whatever they came to"""
        self._waves: dict[int, _Wave] = {}
        self._dirty_waves: set[int] = set()
        self.on_wave: Callable[[int, int], None] = lambda wave, calls: None
        """called before a commit with each wave that grew, and its calls"""
        self._load_waves(reader)
        writer.before_commit.append(self._put)

    def so_far(self) -> Counters:
        """What this run has counted."""
        return _sum(self._written, self._delta)

    def count(self, entry: CallRecord, asked_at: float) -> None:
        self._count(entry)
        self._count_wave(entry, asked_at)

    def unit_ended(self, *, failed: bool) -> None:
        if failed:
            self._delta.units_failed += 1
        else:
            self._delta.units_completed += 1

    def bought_in_vain(
        self,
        input_tokens: int,
        output_tokens: int,
        cost_usd: float | None,
        *,
        unusable: bool = False,
        usage_missing: bool = False,
    ) -> None:
        """A reply that was paid for and not used: unusable, or late (a call was answered another way)."""
        self._delta.unusable += unusable
        self._delta.usage_missing += usage_missing
        self._delta.bought += 1
        self._delta.input_tokens += input_tokens
        self._delta.output_tokens += output_tokens
        self._delta.unpriced += cost_usd is None
        self._delta.cost_usd += cost_usd or 0.0

    def replayed(self) -> None:
        self._delta.replayed += 1

    def retried(self) -> None:
        self._delta.retried += 1

    def wave_figures(self, number: int) -> tuple[int, int, float]:
        """Calls, failed calls and seconds of a wave."""
        wave = self._waves.get(number) or _Wave()
        return wave.calls, wave.failed, wave.seconds

    def _count(self, entry: CallRecord) -> None:
        delta = self._delta
        delta.calls += 1
        self.by_model[entry.model] += 1
        if entry.status is _FAILED:
            delta.failed += 1
            if entry.finish_reason is None:
                return
            delta.unusable += 1
        elif entry.finish_reason is _CUT:
            delta.cut += 1
        if entry.source is _CACHE:
            delta.cached += 1
        else:
            delta.bought += 1
            delta.call_seconds += entry.seconds if entry.source is _LIVE else 0.0
            delta.input_tokens += entry.input_tokens
            delta.output_tokens += entry.output_tokens
            delta.reasoning_tokens += entry.reasoning_tokens
            delta.usage_missing += entry.usage_missing
        if entry.cost_usd is None:
            delta.unpriced += 1
        else:
            delta.cost_usd += entry.cost_usd

    def _count_wave(self, entry: CallRecord, asked_at: float) -> None:
        wave = self._waves.get(entry.wave)
        if wave is None:
            wave = self._waves[entry.wave] = _Wave()
        if not wave.first:
            wave.first = asked_at
        wave.first = min(wave.first, asked_at)
        wave.last = time.monotonic()
        wave.calls += 1
        wave.failed += entry.status is _FAILED
        wave.cached += entry.source is _CACHE
        wave.retried += entry.attempts > 1
        if entry.source not in wave.transports:
            wave.transports |= {entry.source}
        self._dirty_waves.add(entry.wave)

    def _load_waves(self, reader: sqlite3.Connection) -> None:
        for row in reader.execute("SELECT * FROM wave WHERE batch_number = ?", (self._batch_number,)):
            self._waves[row["wave"]] = _Wave(
                calls=row["calls"],
                failed=row["failed"],
                cached=row["cached"],
                retried=row["retried"],
                earlier_seconds=row["seconds"],
                transports=frozenset(filter(None, row["transport"].split("+"))),
            )

    def _put(self) -> None:
        if self._delta != Counters():
            counts = {f"add_{name}": getattr(self._delta, name) for name in _NAMES}
            self._writer.put(_ADD, _ADD.row(batch=self._batch_number, **counts))
            self._written, self._delta = _sum(self._written, self._delta), Counters()
        for number in sorted(self._dirty_waves):
            wave = self._waves[number]
            transport = "+".join(sorted(wave.transports))
            self._writer.put(
                _WAVE,
                (
                    self._batch_number,
                    number,
                    wave.calls,
                    wave.failed,
                    wave.cached,
                    wave.retried,
                    wave.seconds,
                    transport,
                ),
            )
            self.on_wave(number, wave.calls)
        self._dirty_waves.clear()


def _sum(one: Counters, other: Counters) -> Counters:
    return Counters(*(a + b for a, b in zip(_VALUES(one), _VALUES(other), strict=True)))
