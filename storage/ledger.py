"""The ledger of one batch: what was answered, by address, and the running counters that belong to it.

Everything goes through the writer's queue, so rows and counters of one group are committed together and a
watcher never sees them disagree.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from storage.tables import (
    CallRow,
    FindingRow,
    GenomeRow,
    JudgementRow,
    LineRow,
    LogRow,
    OutcomeRow,
    PromptRow,
    SitOutRow,
    TrainingRow,
    UnitRow,
    unit_id,
)
from storage.writer import Statement, Writer, insert_into


class Entry(NamedTuple):
    """One call as the ledger keeps it."""

    sequence_number: int
    step: str
    wave: int
    turn: int | None
    speaker: str | None
    model: str
    key: bytes
    system: str
    prompt: bytes
    """hash of the system prompt"""
    status: str
    text: str = ""
    truth: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    source: str = "live"
    attempts: int = 1
    error: str | None = None
    order_id: str | None = None


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


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the file knows of a unit when it is taken up again."""

    status: str
    entries: dict[str, sqlite3.Row]


_NAMES = tuple(field.name for field in fields(Counters))
_ADD = Statement(
    f"UPDATE progress SET {', '.join(f'{name} = {name} + ?' for name in _NAMES)} WHERE batch_number = ?",
    rank=1,
)
_WAVE = Statement(
    "INSERT INTO wave (batch_number, wave, calls, failed, cached, retried, seconds, transport) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (batch_number, wave) DO UPDATE SET calls = excluded.calls, "
    "failed = excluded.failed, cached = excluded.cached, retried = excluded.retried, seconds = excluded.seconds, "
    "transport = excluded.transport",
    rank=1,
)
_TOTAL = Statement("UPDATE progress SET units_total = ? WHERE batch_number = ?", rank=1)
_END_UNIT = Statement(
    "UPDATE unit SET status = ?, error = ?, finished_at = ?, details = coalesce(?, details) WHERE id = ?",
    rank=1,
)
_SEAL = Statement("UPDATE unit SET sealed = 1 WHERE id = ?", rank=1)
_SCORE = Statement("UPDATE outcome SET score = ? WHERE unit_id = ? AND side = ?", rank=1)
_VERDICT = Statement("UPDATE outcome SET verdict = ?, verdict_step = ? WHERE unit_id = ? AND side = ?", rank=1)
_CALL_COLUMNS = [
    "unit_id",
    "step",
    "wave",
    "turn",
    "speaker",
    "model",
    "key",
    "prompt",
    "status",
    "text",
    "truth",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "seconds",
    "source",
    "attempts",
    "error",
    "order_id",
    "at",
]


class Ledger:
    def __init__(self, writer: Writer, reader: sqlite3.Connection, batch_number: int) -> None:
        self.writer = writer
        self.batch_number = batch_number
        self.reader = reader
        self._delta = Counters()
        self._waves: dict[int, _Wave] = {}
        self._dirty_waves: set[int] = set()
        self._prompts: set[bytes] = set()
        self._insert_call = insert_into(CallRow, *_CALL_COLUMNS)
        self._has_cache = False
        self._load_waves()
        writer.before_commit.append(self._put_counters)

    # -- reading -----------------------------------------------------------------------------------------

    def recall(self, first: int, last: int) -> dict[int, Remembered]:
        """Units first..last (sequence numbers) as the file knows them, with their answered and failed calls."""
        bounds = (unit_id(self.batch_number, first), unit_id(self.batch_number, last))
        offset = unit_id(self.batch_number, 0)
        found = {
            row["id"] - offset: Remembered(row["status"], {})
            for row in self.reader.execute("SELECT id, status FROM unit WHERE id BETWEEN ? AND ?", bounds)
        }
        for row in self.reader.execute(
            "SELECT unit_id, step, key, status, text, input_tokens, output_tokens, cost_usd, seconds, source, error "
            "FROM call WHERE unit_id BETWEEN ? AND ?",
            bounds,
        ):
            number = row["unit_id"] - offset
            found.setdefault(number, Remembered("in_progress", {})).entries[row["step"]] = row
        return found

    def open_cache(self, seed: int, kind: str) -> None:
        """Only batches of the same seed and kind can hold the same key, so without one there is nothing to look up."""
        row = self.reader.execute(
            "SELECT 1 FROM batch WHERE seed = ? AND kind = ? AND number <> ? AND NOT imported LIMIT 1",
            (seed, kind, self.batch_number),
        ).fetchone()
        self._has_cache = row is not None

    def cached(self, key: bytes) -> sqlite3.Row | None:
        if not self._has_cache:
            return None
        row: sqlite3.Row | None = self.reader.execute(
            "SELECT c.text, c.truth, c.input_tokens, c.output_tokens FROM call c "
            "JOIN batch b ON b.number = c.unit_id >> 32 "
            "WHERE c.key = ? AND c.status = 'answered' AND NOT b.imported LIMIT 1",
            (key,),
        ).fetchone()
        return row

    # -- calls -------------------------------------------------------------------------------------------

    def enter(self, entry: Entry, asked_at: float) -> None:
        """Queues a call's row; `asked_at` is the monotonic moment at which its story asked."""
        self.writer.put(
            self._insert_call,
            (
                unit_id(self.batch_number, entry.sequence_number),
                entry.step,
                entry.wave,
                entry.turn,
                entry.speaker,
                entry.model,
                entry.key,
                self._prompt(entry) if entry.system else None,
                entry.status,
                entry.text,
                entry.truth,
                entry.input_tokens,
                entry.output_tokens,
                entry.cost_usd,
                entry.seconds,
                entry.source,
                entry.attempts,
                entry.error,
                entry.order_id,
                time.time(),
            ),
        )
        self._count(entry)
        self._count_wave(entry, asked_at)

    def bought_in_vain(self, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
        """An answer that was paid for and not used."""
        self._delta.bought += 1
        self._delta.input_tokens += input_tokens
        self._delta.output_tokens += output_tokens
        self._delta.unpriced += cost_usd is None
        self._delta.cost_usd += cost_usd or 0.0

    def replayed(self) -> None:
        self._delta.replayed += 1

    def retried(self) -> None:
        self._delta.retried += 1

    def _count(self, entry: Entry) -> None:
        delta = self._delta
        delta.calls += 1
        if entry.status == "failed":
            delta.failed += 1
            return
        if entry.source == "cache":
            delta.cached += 1
        else:
            delta.bought += 1
            delta.call_seconds += entry.seconds if entry.source == "live" else 0.0
            delta.input_tokens += entry.input_tokens
            delta.output_tokens += entry.output_tokens
        if entry.cost_usd is None:
            delta.unpriced += 1
        else:
            delta.cost_usd += entry.cost_usd

    def _count_wave(self, entry: Entry, asked_at: float) -> None:
        wave = self._waves.get(entry.wave)
        if wave is None:
            wave = self._waves[entry.wave] = _Wave()
        if not wave.first:
            wave.first = asked_at
        wave.first = min(wave.first, asked_at)
        wave.last = time.monotonic()
        wave.calls += 1
        wave.failed += entry.status == "failed"
        wave.cached += entry.source == "cache"
        wave.retried += entry.attempts > 1
        if entry.source not in wave.transports:
            wave.transports |= {entry.source}
        self._dirty_waves.add(entry.wave)

    def _prompt(self, entry: Entry) -> bytes:
        """Puts a system prompt the first time it is met."""
        if entry.prompt not in self._prompts:
            self._prompts.add(entry.prompt)
            self.writer.put(insert_into(PromptRow, "hash", "text", conflict="OR IGNORE"), (entry.prompt, entry.system))
        return entry.prompt

    # -- units -------------------------------------------------------------------------------------------

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
        columns = [
            "id",
            "batch_number",
            "sequence_number",
            "game",
            "round",
            "interaction_type",
            "participants",
            "status",
            "sealed",
            "started_at",
            "details",
        ]
        self.writer.put(
            insert_into(UnitRow, *columns, conflict="OR IGNORE"),
            (
                unit_id(self.batch_number, sequence_number),
                self.batch_number,
                sequence_number,
                game,
                round,
                interaction_type,
                json.dumps(participants, ensure_ascii=False),
                "in_progress",
                False,
                time.time(),
                details,
            ),
        )

    def end_unit(self, sequence_number: int, error: str | None, details: str | None = None) -> None:
        status = "failed" if error else "completed"
        self.writer.put(_END_UNIT, (status, error, time.time(), details, unit_id(self.batch_number, sequence_number)))
        if error:
            self._delta.units_failed += 1
        else:
            self._delta.units_completed += 1

    def set_units_total(self, total: int) -> None:
        self.writer.put(_TOTAL, (total, self.batch_number))

    def seal(self, sequence_number: int) -> None:
        """Another unit reads this one's outcome: a failure in it must replay as one for ever."""
        self.writer.put(_SEAL, (unit_id(self.batch_number, sequence_number),))

    # -- what studies keep -------------------------------------------------------------------------------

    def put_outcome(self, sequence_number: int, **columns: Any) -> None:
        self._put(OutcomeRow, {"unit_id": unit_id(self.batch_number, sequence_number), **columns})

    def put_judgement(self, sequence_number: int, **columns: Any) -> None:
        self._put(JudgementRow, {"unit_id": unit_id(self.batch_number, sequence_number), **columns})

    def put_score(self, sequence_number: int, side: int, score: float) -> None:
        """What an outcome was worth in the end, where that is known only when its game is over."""
        self.writer.put(_SCORE, (score, unit_id(self.batch_number, sequence_number), side))

    def put_verdict(self, sequence_number: int, side: int, verdict: bool | None, step: str) -> None:
        self.writer.put(_VERDICT, (verdict, step, unit_id(self.batch_number, sequence_number), side))

    def put_sit_out(self, game: int, round: int, agent: str) -> None:
        self._put(SitOutRow, {"batch_number": self.batch_number, "game": game, "round": round, "agent": agent})

    def put_lines(self, sequence_number: int, lines: Iterable[Mapping[str, Any]]) -> None:
        for line in lines:
            self._put(LineRow, {"unit_id": unit_id(self.batch_number, sequence_number), **line})

    def put_genome(self, **columns: Any) -> None:
        self._put(GenomeRow, {"batch_number": self.batch_number, **columns})

    def put_training(self, **columns: Any) -> None:
        self._put(TrainingRow, {"batch_number": self.batch_number, **columns})

    def put_finding(self, name: str, content: Any) -> None:
        self._put(
            FindingRow,
            {
                "batch_number": self.batch_number,
                "name": name,
                "content": json.dumps(content, ensure_ascii=False),
            },
        )

    def log(self, level: str, message: str) -> None:
        self._put(
            LogRow,
            {"batch_number": self.batch_number, "at": time.time(), "level": level, "message": message},
            "",
        )

    def _put(self, table: Any, values: Mapping[str, Any], conflict: str = "OR REPLACE") -> None:
        columns = [column.name for column in table.__table__.columns if column.name in values]
        if len(columns) != len(values):
            raise TypeError(f"{table.__tablename__} has no column {sorted(set(values) - set(columns))}")
        self.writer.put(insert_into(table, *columns, conflict=conflict), tuple(values[column] for column in columns))

    # -- counters ----------------------------------------------------------------------------------------

    def _load_waves(self) -> None:
        for row in self.reader.execute("SELECT * FROM wave WHERE batch_number = ?", (self.batch_number,)):
            self._waves[row["wave"]] = _Wave(
                calls=row["calls"],
                failed=row["failed"],
                cached=row["cached"],
                retried=row["retried"],
                earlier_seconds=row["seconds"],
                transports=frozenset(filter(None, row["transport"].split("+"))),
            )

    def _put_counters(self) -> None:
        if self._delta != Counters():
            self.writer.put(_ADD, (*asdict(self._delta).values(), self.batch_number))
            self._delta = Counters()
        for number in sorted(self._dirty_waves):
            wave = self._waves[number]
            seconds = wave.earlier_seconds + (wave.last - wave.first)
            transport = "+".join(sorted(wave.transports))
            self.writer.put(
                _WAVE,
                (
                    self.batch_number,
                    number,
                    wave.calls,
                    wave.failed,
                    wave.cached,
                    wave.retried,
                    seconds,
                    transport,
                ),
            )
        self._dirty_waves.clear()
