"""The ledger of one batch: what was answered, by address, and the running counters that belong to it.

Everything goes through the writer's queue, so rows and counters of one group are committed together and a
watcher never sees them disagree.
"""

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func
from sqlmodel import SQLModel, col, update

from tidepool.storage.call_record import CallRecord
from tidepool.storage.sql import compile_statement, insert_into, table_of, update_by
from tidepool.storage.states import UnitStatus
from tidepool.storage.tables import (
    Answer,
    Call,
    Finding,
    Genome,
    Judgement,
    Line,
    LogLine,
    Outcome,
    Problem,
    Progress,
    Prompt,
    Record,
    SitOut,
    TrainingUpdate,
    Unit,
)
from tidepool.storage.tally import Tally
from tidepool.storage.text import storable
from tidepool.storage.unit_ids import unit_id
from tidepool.storage.writer import Writer


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the file knows of a unit when it is taken up again."""

    status: str
    entries: dict[str, sqlite3.Row]


class UnitLine(NamedTuple):
    """What the file says of a unit that was begun."""

    sequence_number: int
    participants: tuple[str, ...]
    game: int | None
    round: int | None
    interaction_type: str | None
    details: str | None


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
_TELL = "SELECT unit_id, step, text, error, finish_reason, served_model FROM call WHERE unit_id"

LONGEST_REPLY = 4_000_000
"""letters, beyond what any model says: a longer one was put into the file by somebody, and does not serve again"""


LONGEST_LINE = 4_000
"""characters of a line of the log: it may repeat what a server or a plugin wrote"""

MOST_CANDIDATES = 50
"""replies to one request that are looked through for one that fits"""


class Ledger:
    def __init__(self, writer: Writer, reader: sqlite3.Connection, batch_number: int) -> None:
        self.writer = writer
        self.batch_number = batch_number
        self.reader = reader
        self.tally = Tally(writer, reader, batch_number)
        self._prompts: set[bytes] = set()
        self._has_cache = False

    # -- reading -----------------------------------------------------------------------------------------

    def recall(self, first: int, last: int) -> dict[int, Remembered]:
        """Units first..last (sequence numbers) as the file knows them, with their answered and failed calls."""
        bounds = (unit_id(self.batch_number, first), unit_id(self.batch_number, last))
        offset = unit_id(self.batch_number, 0)
        found = {
            row["id"] - offset: Remembered(row["status"], {})
            for row in self.reader.execute("SELECT id, status FROM unit WHERE id BETWEEN ? AND ?", bounds)
        }
        for row in self.reader.execute(f"{_RECALL} BETWEEN ? AND ?", bounds):
            number = row["unit_id"] - offset
            found.setdefault(number, Remembered(UnitStatus.IN_PROGRESS, {})).entries[row["step"]] = row
        return found

    def recall_again(self, sequence_numbers: Iterable[int], *, whole: bool) -> Iterator[tuple[UnitLine, Remembered]]:
        """These units once more: what the file says of each, with its calls, whole or as far as a story sees them."""
        ids = json.dumps([unit_id(self.batch_number, number) for number in sequence_numbers])
        entries: dict[int, dict[str, sqlite3.Row]] = defaultdict(dict)
        calls = self.reader.cursor()
        if not whole:
            calls.row_factory = None  # plain tuples are half the work
        for row in calls.execute(f"{_RECALL if whole else _TELL} IN (SELECT value FROM json_each(?))", (ids,)):
            entries[row[0]][row[1]] = row
        for identity, number, participants, game, round, kind, details, status in self.reader.execute(
            "SELECT id, sequence_number, participants, game, round, interaction_type, details, status FROM unit "
            "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (ids,),
        ):
            line = UnitLine(number, tuple(json.loads(participants)), game, round, kind, details)
            yield line, Remembered(status, entries[identity])

    def marks_of(self, sequence_number: int) -> dict[str, dict[str, Any]]:
        """What the answers of a unit were marked, by step."""
        rows = self.reader.execute(
            "SELECT step, extracted, correct, score, details FROM answer WHERE unit_id = ?",
            (unit_id(self.batch_number, sequence_number),),
        )
        return {row["step"]: dict(row) for row in rows}

    def open_cache(self, seed: int, kind: str) -> None:
        """Only batches of the same seed and kind can hold the same key, so without one there is nothing to look up."""
        row = self.reader.execute(
            "SELECT 1 FROM batch WHERE seed = ? AND kind = ? AND number <> ? AND NOT imported LIMIT 1",
            (seed, kind, self.batch_number),
        ).fetchone()
        self._has_cache = row is not None

    def cached(self, key: bytes, fits: Callable[[sqlite3.Row], bool] | None = None) -> sqlite3.Row | None:
        """A reply to the same request of another batch, one that `fits` where that is asked."""
        if not self._has_cache:
            return None
        rows = self.reader.execute(
            "SELECT c.text, c.truth, c.input_tokens, c.output_tokens, c.finish_reason, c.served_model, c.thought, c.seal FROM call c "
            "JOIN batch b ON b.number = c.unit_id >> 32 "
            "WHERE c.key = ? AND c.status = 'answered' AND NOT b.imported AND length(c.text) <= ? LIMIT ?",
            (key, LONGEST_REPLY, 1 if fits is None else MOST_CANDIDATES),
        )
        return next((row for row in rows if fits is None or fits(row)), None)

    # -- calls -------------------------------------------------------------------------------------------

    def enter(self, entry: CallRecord, asked_at: float, *, counted: bool = True) -> None:
        """Queues a call's row; `asked_at` is the monotonic moment at which its story asked. What nobody was asked for is
        not counted as a call."""
        self.writer.put(
            _INSERT_CALL,
            (
                unit_id(self.batch_number, entry.sequence_number),
                entry.step,
                entry.wave,
                entry.turn,
                entry.speaker,
                entry.model,
                entry.key,
                self._prompt(entry) if entry.system else None,
                entry.status._value_,  # SQLite takes a plain text at once and asks around about any other
                entry.text,
                entry.truth,
                entry.input_tokens,
                entry.output_tokens,
                entry.cost_usd,
                entry.seconds,
                entry.source._value_,
                entry.attempts,
                entry.error,
                entry.order_id,
                time.time(),
                None if entry.finish_reason is None else entry.finish_reason._value_,
                entry.served_model,
                entry.thought,
                entry.reasoning_tokens,
                entry.usage_missing,
                entry.seal,
            ),
        )
        if counted:
            self.tally.count(entry, asked_at)

    def _prompt(self, entry: CallRecord) -> bytes:
        """Puts a system prompt the first time it is met."""
        if entry.prompt not in self._prompts:
            self._prompts.add(entry.prompt)
            self.writer.put(_INSERT_PROMPT, (entry.prompt, entry.system))
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
        """Another unit reads this one's outcome: a failure in it must replay as one for ever."""
        self.writer.put(_SEAL, _SEAL.row(sealed=True, id=unit_id(self.batch_number, sequence_number)))

    # -- what studies keep -------------------------------------------------------------------------------

    def put_outcome(self, sequence_number: int, **columns: Any) -> None:
        self._put(Outcome, {"unit_id": unit_id(self.batch_number, sequence_number), **columns})

    def put_judgement(self, sequence_number: int, **columns: Any) -> None:
        self._put(Judgement, {"unit_id": unit_id(self.batch_number, sequence_number), **columns})

    def put_score(self, sequence_number: int, side: int, score: float) -> None:
        """What an outcome was worth in the end, where that is known only when its game is over."""
        unit = unit_id(self.batch_number, sequence_number)
        self.writer.put(_SCORE, _SCORE.row(score=score, unit_id=unit, side=side))

    def put_verdict(self, sequence_number: int, side: int, verdict: bool | None, step: str) -> None:
        unit = unit_id(self.batch_number, sequence_number)
        row = _VERDICT.row(verdict=verdict, verdict_step=step, unit_id=unit, side=side)
        self.writer.put(_VERDICT, row)

    def put_sit_out(self, game: int, round: int, agent: str) -> None:
        self._put(SitOut, {"batch_number": self.batch_number, "game": game, "round": round, "agent": agent})

    def put_lines(self, sequence_number: int, lines: Iterable[Mapping[str, Any]]) -> None:
        for line in lines:
            self._put(Line, {"unit_id": unit_id(self.batch_number, sequence_number), **line})

    def put_problem(self, **columns: Any) -> None:
        self._put(Problem, {"batch_number": self.batch_number, **columns})

    def put_answer(self, sequence_number: int, **columns: Any) -> None:
        self._put(Answer, {"unit_id": unit_id(self.batch_number, sequence_number), **columns})

    def put_genome(self, **columns: Any) -> None:
        self._put(Genome, {"batch_number": self.batch_number, **columns})

    def put_training(self, **columns: Any) -> None:
        self._put(TrainingUpdate, {"batch_number": self.batch_number, **columns})

    def put_finding(self, name: str, content: Any) -> None:
        self._put(
            Finding,
            {
                "batch_number": self.batch_number,
                "name": name,
                "content": json.dumps(content, ensure_ascii=False),
            },
        )

    def put_record(self, name: str, position: int, content: Any, sequence_number: int = 0) -> None:
        """A row of a kind that has no table of its own; of a unit, or of the batch as a whole."""
        unit = unit_id(self.batch_number, sequence_number)
        text = json.dumps(content, ensure_ascii=False)
        self._put(Record, {"unit_id": unit, "name": name, "position": position, "content": text})

    def log(self, level: str, message: str) -> None:
        message = storable(message)[:LONGEST_LINE]
        self._put(
            LogLine,
            {"batch_number": self.batch_number, "at": time.time(), "level": level, "message": message},
            "",
        )

    def _put(self, table: type[SQLModel], values: Mapping[str, Any], conflict: str = "REPLACE") -> None:
        """A note of sandboxed code, a metric's name or an error may hold a key, so every text passes `storable`."""
        statement = insert_into(table, *values, conflict=conflict)
        found = (values[name] for name in statement.names)
        self.writer.put(statement, tuple([storable(value) if isinstance(value, str) else value for value in found]))
