"""The ledger of one batch: its answered and failed calls by address, with their running counters.

Everything goes through the writer's queue. Rows and counters of one group are committed together, so a reader never sees
them disagree.
"""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import SQLModel, col, select, update

from tidepool.storage.states import IN_FLIGHT, BatchStatus, CallStatus, FinishReason, Source, UnitStatus, unit_id
from tidepool.storage.tables import (
    Batch,
    Call,
    Control,
    Finding,
    Line,
    LogLine,
    Outcome,
    Progress,
    Prompt,
    Record,
    Surplus,
    Unit,
    Wave,
)
from tidepool.storage.text import storable
from tidepool.storage.writer import Writer, compile_statement, insert_into, table_of, update_by


class CallRecord(NamedTuple):
    """A row of the table `call`, in the order of its columns. Enums are plain text here, which SQLite binds fastest."""

    unit_id: int
    step: str
    wave: int
    turn: int | None
    speaker: str | None
    model: str
    key: bytes
    prompt: bytes | None
    """hash of the system prompt; None without one"""
    status: str
    text: str
    truth: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float
    source: str
    attempts: int
    error: str | None
    order_id: str | None
    at: float
    finish_reason: str | None
    """None: no reply came"""
    served_model: str | None
    thought: str | None
    reasoning_tokens: int
    usage_missing: bool
    seal: bytes | None


@dataclass(slots=True)
class Counters:
    """Increments of the progress row for the next group."""

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


_FAILED, _CACHE, _LIVE = CallStatus.FAILED.value, Source.CACHE.value, Source.LIVE.value
_CUT = FinishReason.CUT.value
_NAMES = tuple(field.name for field in fields(Counters))
_VALUES = attrgetter(*_NAMES)
_PROGRESS = table_of(Progress).c
_ADD = compile_statement(
    update(Progress)
    .where(_PROGRESS.batch_number == bindparam("batch"))
    .values({name: _PROGRESS[name] + bindparam(f"add_{name}") for name in _NAMES}),
    rank=1,
)
assert _ADD.names == (*(f"add_{name}" for name in _NAMES), "batch"), "the values are passed in this order"
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
        """what this run has already written"""
        self.by_model: Counter[str] = Counter()
        """calls of this run, answered or failed"""
        self._waves: dict[int, _Wave] = {}
        self._dirty_waves: set[int] = set()
        self.on_wave: Callable[[int, int], None] = lambda wave, calls: None
        """called before a commit with each changed wave and its number of calls"""
        self._load_waves(reader)
        writer.before_commit.append(self._put)

    def so_far(self) -> Counters:
        """Returns the counts of this run."""
        return _sum(self._written, self._delta)

    def count(self, entry: CallRecord, asked_at: float) -> None:
        self._count(entry)
        self._count_wave(entry, asked_at)

    def unit_ended(self, *, failed: bool) -> None:
        self._delta.units_failed += failed
        self._delta.units_completed += not failed

    def bought_in_vain(
        self,
        input_tokens: int,
        output_tokens: int,
        cost_usd: float | None,
        *,
        unusable: bool = False,
        usage_missing: bool = False,
    ) -> None:
        """Counts a paid reply that was not used because it is unusable or came too late."""
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
        """Returns the calls, failed calls and seconds of a wave."""
        wave = self._waves.get(number) or _Wave()
        return wave.calls, wave.failed, wave.seconds

    def _count(self, entry: CallRecord) -> None:
        delta = self._delta
        delta.calls += 1
        self.by_model[entry.model] += 1
        if entry.status == _FAILED:
            delta.failed += 1
            if entry.finish_reason is None:
                return
            delta.unusable += 1
        elif entry.finish_reason == _CUT:
            delta.cut += 1
        if entry.source == _CACHE:
            delta.cached += 1
        else:
            delta.bought += 1
            delta.call_seconds += entry.seconds if entry.source == _LIVE else 0.0
            delta.input_tokens += entry.input_tokens
            delta.output_tokens += entry.output_tokens
            delta.reasoning_tokens += entry.reasoning_tokens
            delta.usage_missing += entry.usage_missing
        delta.unpriced += entry.cost_usd is None
        delta.cost_usd += entry.cost_usd or 0.0

    def _count_wave(self, entry: CallRecord, asked_at: float) -> None:
        wave = self._waves.get(entry.wave)
        if wave is None:
            wave = self._waves[entry.wave] = _Wave()
        wave.first = min(wave.first or asked_at, asked_at)
        wave.last = time.monotonic()
        wave.calls += 1
        wave.failed += entry.status == _FAILED
        wave.cached += entry.source == _CACHE
        wave.retried += entry.attempts > 1
        if entry.source not in wave.transports:
            wave.transports |= {entry.source}
        self._dirty_waves.add(entry.wave)

    def _load_waves(self, reader: sqlite3.Connection) -> None:
        for row in reader.execute("SELECT * FROM wave WHERE batch_number = ?", (self._batch_number,)):
            figures = (row[name] for name in ("calls", "failed", "cached", "retried", "seconds"))
            wave = self._waves[row["wave"]] = _Wave(*figures)
            wave.transports = frozenset(filter(None, row["transport"].split("+")))

    def _put(self) -> None:
        counts = _VALUES(self._delta)
        if any(counts):
            self._writer.put(_ADD, (*counts, self._batch_number))
            self._written, self._delta = _sum(self._written, self._delta), Counters()
        for number in sorted(self._dirty_waves):
            wave = self._waves[number]
            transport = "+".join(sorted(wave.transports))
            figures = (wave.calls, wave.failed, wave.cached, wave.retried, wave.seconds)
            self._writer.put(_WAVE, (self._batch_number, number, *figures, transport))
            self.on_wave(number, wave.calls)
        self._dirty_waves.clear()


def _sum(one: Counters, other: Counters) -> Counters:
    return Counters(*(a + b for a, b in zip(_VALUES(one), _VALUES(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored state of a unit that is resumed."""

    status: str
    entries: dict[str, sqlite3.Row]


_TOTAL = update_by(Progress, ["batch_number"], ["units_total"])
_END_UNIT = compile_statement(
    update(Unit)
    .where(col(Unit.id) == bindparam("unit"))
    .values(
        status=bindparam("state"),
        error=bindparam("problem"),
        finished_at=bindparam("now"),
        details=func.coalesce(bindparam("more"), col(Unit.details)),
    ),
    rank=1,
)
_SEAL = update_by(Unit, ["id"], ["sealed"])
_SCORE = update_by(Outcome, ["unit_id", "side"], ["score"])
_VERDICT = update_by(Outcome, ["unit_id", "side"], ["verdict", "verdict_step"])
_INSERT_CALL = insert_into(Call, *(column.name for column in table_of(Call).c if column.name != "id"))
_INSERT_PROMPT = insert_into(Prompt, "hash", "text", conflict="IGNORE")
_START_UNIT = insert_into(
    Unit,
    *("id", "batch_number", "sequence_number", "game", "round", "interaction_type", "participants", "status", "sealed"),
    *("started_at", "details"),
    conflict="IGNORE",
)


_RECALL = (
    "SELECT unit_id, step, key, status, text, input_tokens, output_tokens, cost_usd, seconds, source, error, finish_reason, "
    "served_model, seal FROM call WHERE unit_id"
)
LONGEST_REPLY = 4_000_000
"""characters, more than any model returns; a longer reply comes from another program and is not reused"""


LONGEST_LINE = 4_000
"""characters of a log line, which may quote a server or a plugin"""

MOST_CANDIDATES = 50
"""replies to one request that are checked for a suitable one"""


class Ledger:
    def __init__(self, writer: Writer, reader: sqlite3.Connection, batch_number: int) -> None:
        self.writer = writer
        self.batch_number = batch_number
        self.reader = reader
        self.tally = Tally(writer, reader, batch_number)
        self._prompts: set[bytes] = set()
        self._has_cache = False

    def recall(self, first: int, last: int) -> dict[int, Remembered]:
        """Returns the stored units first..last (sequence numbers) with their answered and failed calls."""
        bounds = (unit_id(self.batch_number, first), unit_id(self.batch_number, last))
        offset = unit_id(self.batch_number, 0)
        units = {
            row["id"] - offset: Remembered(row["status"], {})
            for row in self.reader.execute("SELECT id, status FROM unit WHERE id BETWEEN ? AND ?", bounds)
        }
        for row in self.reader.execute(f"{_RECALL} BETWEEN ? AND ?", bounds):
            number = row["unit_id"] - offset
            units.setdefault(number, Remembered(UnitStatus.IN_PROGRESS, {})).entries[row["step"]] = row
        return units

    def marks_of(self, sequence_number: int) -> dict[str, dict[str, Any]]:
        """Returns the grades of a unit's answers, by step."""
        rows = self.reader.execute(
            "SELECT step, extracted, correct, score, details FROM answer WHERE unit_id = ?",
            (unit_id(self.batch_number, sequence_number),),
        )
        return {row["step"]: dict(row) for row in rows}

    def open_cache(self, seed: int, kind: str) -> None:
        """Enables the cache if there is another batch of the same seed and kind, because only those share request keys."""
        row = self.reader.execute(
            "SELECT 1 FROM batch WHERE seed = ? AND kind = ? AND number <> ? AND NOT imported LIMIT 1",
            (seed, kind, self.batch_number),
        ).fetchone()
        self._has_cache = row is not None

    def cached(self, key: bytes, fits: Callable[[sqlite3.Row], bool] | None = None) -> sqlite3.Row | None:
        """Returns the reply of another batch to the same request; with `fits`, the first one that fits."""
        if not self._has_cache:
            return None
        rows = self.reader.execute(
            "SELECT c.text, c.truth, c.input_tokens, c.output_tokens, c.finish_reason, c.served_model, c.thought, c.seal FROM call c "
            "JOIN batch b ON b.number = c.unit_id >> 32 "
            "WHERE c.key = ? AND c.status = 'answered' AND NOT b.imported AND length(c.text) <= ? LIMIT ?",
            (key, LONGEST_REPLY, 1 if fits is None else MOST_CANDIDATES),
        )
        return next((row for row in rows if fits is None or fits(row)), None)

    def enter(self, entry: CallRecord, system: str, asked_at: float, *, counted: bool = True) -> None:
        """Queues the row of a call and its system prompt.

        `asked_at` is the monotonic time at which the study asked for the call. Pass `counted=False` for a message that was
        not sent to a model.
        """
        if entry.prompt is not None and entry.prompt not in self._prompts:
            self._prompts.add(entry.prompt)
            self.writer.put(_INSERT_PROMPT, (entry.prompt, system))
        self.writer.put(_INSERT_CALL, entry)
        if counted:
            self.tally.count(entry, asked_at)

    def start_unit(
        self,
        sequence_number: int,
        *,
        game: int | None = None,
        round: int | None = None,
        interaction_type: str | None = None,
        participants: Sequence[str] = (),
        details: str | None = None,
    ) -> None:
        self.writer.put(
            _START_UNIT,
            (
                unit_id(self.batch_number, sequence_number),
                self.batch_number,
                sequence_number,
                game,
                round,
                interaction_type,
                json.dumps(participants, ensure_ascii=False),
                UnitStatus.IN_PROGRESS._value_,
                False,
                time.time(),
                details,
            ),
        )

    def end_unit(self, sequence_number: int, error: str | None, details: str | None = None) -> None:
        status = UnitStatus.FAILED if error else UnitStatus.COMPLETED
        error = error and storable(error)
        unit = unit_id(self.batch_number, sequence_number)
        row = _END_UNIT.row(unit=unit, state=status, problem=error, now=time.time(), more=details)
        self.writer.put(_END_UNIT, row)
        self.tally.unit_ended(failed=bool(error))

    def set_units_total(self, total: int) -> None:
        self.writer.put(_TOTAL, _TOTAL.row(units_total=total, batch_number=self.batch_number))

    def seal(self, sequence_number: int) -> None:
        """Marks a unit whose outcome another unit has read, so that a failure in it replays as a failure from now on."""
        self.writer.put(_SEAL, _SEAL.row(sealed=True, id=unit_id(self.batch_number, sequence_number)))

    def put(self, table: type[SQLModel], sequence_number: int | None = None, /, **columns: Any) -> None:
        """Inserts or replaces a row of the batch or, with a sequence number, of one of its units."""
        if sequence_number is None:
            self._put(table, {"batch_number": self.batch_number, **columns})
        else:
            self._put(table, {"unit_id": unit_id(self.batch_number, sequence_number), **columns})

    def put_score(self, sequence_number: int, side: int, score: float) -> None:
        """Sets the score of an outcome in modes where it is known only after the game."""
        unit = unit_id(self.batch_number, sequence_number)
        self.writer.put(_SCORE, _SCORE.row(score=score, unit_id=unit, side=side))

    def put_verdict(self, sequence_number: int, side: int, verdict: bool | None, step: str) -> None:
        unit = unit_id(self.batch_number, sequence_number)
        row = _VERDICT.row(verdict=verdict, verdict_step=step, unit_id=unit, side=side)
        self.writer.put(_VERDICT, row)

    def put_lines(self, sequence_number: int, lines: Iterable[Mapping[str, Any]]) -> None:
        for line in lines:
            self.put(Line, sequence_number, **line)

    def put_finding(self, name: str, content: Any) -> None:
        self.put(Finding, name=name, content=json.dumps(content, ensure_ascii=False))

    def put_record(self, name: str, position: int, content: Any, sequence_number: int = 0) -> None:
        """Adds a row for a kind without a table of its own, to a unit or (0) to the whole batch."""
        text = json.dumps(content, ensure_ascii=False)
        self.put(Record, sequence_number, name=name, position=position, content=text)

    def log(self, level: str, message: str) -> None:
        line = {"at": time.time(), "level": level, "message": storable(message)[:LONGEST_LINE]}
        self._put(LogLine, {"batch_number": self.batch_number, **line}, "")

    def _put(self, table: type[SQLModel], values: Mapping[str, Any], conflict: str = "REPLACE") -> None:
        """Inserts a row. Every text passes `storable`, because notes of sandboxed code, metric names and errors may contain a key."""
        statement = insert_into(table, *values, conflict=conflict)
        row = [
            storable(value) if isinstance(value, str) else value for value in map(values.__getitem__, statement.names)
        ]
        self.writer.put(statement, tuple(row))


# -- Control -----------------------------------------------------------------------------------------------------------


_IN_FLIGHT_USD = (
    select(func.coalesce(func.sum(Surplus.cost_usd), 0))
    .where(col(Surplus.batch_number) == col(Progress.batch_number), col(Surplus.reason) == IN_FLIGHT)
    .scalar_subquery()
)
_BEAT = compile_statement(
    update(Progress)
    .where(col(Progress.batch_number) == bindparam("batch"))
    .values(
        heartbeat=col(Progress.heartbeat) + 1,
        heartbeat_at=bindparam("now"),
        seconds=bindparam("running"),
        peak_concurrency=func.max(col(Progress.peak_concurrency), bindparam("peak")),
        in_flight=bindparam("calls"),
        limits=bindparam("rules"),
        in_flight_usd=_IN_FLIGHT_USD,
    ),
    rank=1,
)
_MARK_READ = update_by(Control, ["id"], ["taken_at"])
_PAUSED = update_by(Batch, ["number", "status"], ["paused"])


def beat(
    writer: Writer,
    batch_number: int,
    *,
    seconds: float,
    peak_concurrency: int,
    in_flight: Sequence[Sequence[int]],
    limits: Mapping[str, Any],
) -> None:
    """Writes the heartbeat: the running time, the calls in flight (unit and wave of each) and the limits."""
    in_flight_json = json.dumps(in_flight, separators=(",", ":"))
    row = _BEAT.row(
        batch=batch_number,
        now=time.time(),
        running=seconds,
        peak=peak_concurrency,
        calls=in_flight_json,
        rules=json.dumps(limits),
    )
    writer.beat(_BEAT, row)


def commands_for(connection: sqlite3.Connection, batch_number: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yields the commands for a batch that were not read yet."""
    for row in connection.execute(
        "SELECT id, command, arguments FROM control WHERE batch_number = ? AND taken_at IS NULL ORDER BY id",
        (batch_number,),
    ).fetchall():
        yield row["id"], row["command"], json.loads(row["arguments"])


def mark_command_read(writer: Writer, number: int) -> None:
    """Marks a command as read, so that it is not read again."""
    writer.put(_MARK_READ, _MARK_READ.row(taken_at=time.time(), id=number))


def set_paused(writer: Writer, batch_number: int, paused: bool) -> None:
    writer.put(_PAUSED, _PAUSED.row(paused=paused, number=batch_number, status=BatchStatus.IN_PROGRESS))
