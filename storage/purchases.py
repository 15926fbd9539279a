"""Records possible purchases: provider batches, and paid replies that were not used.

The row of a provider batch, and of a live call, is written before the request is sent. A process that dies therefore leaves
a list of everything that it may have bought. Rows of live calls have falling negative ids, so they never collide with the
ids that SQLite assigns.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from random import SystemRandom
from typing import Any, NamedTuple

from sqlalchemy import bindparam
from sqlmodel import col, delete

from tidepool.storage import tables
from tidepool.storage.file import value_of
from tidepool.storage.ledger import Ledger
from tidepool.storage.states import (
    GIVEN_UP,
    OPEN_PHASES_SQL,
    ProviderBatchPhase,
    batch_number_of,
    sequence_number_of,
    unit_id,
)
from tidepool.storage.tables import ProviderBatch
from tidepool.storage.writer import Statement, compile_statement, insert_into, update_by

_COLUMNS = (
    *("batch_number", "order_id", "unit_id", "step", "text"),
    *("input_tokens", "output_tokens", "cost_usd", "at", "reason"),
)
_ADD = insert_into(tables.Surplus, *_COLUMNS)
_LEAVING = insert_into(tables.Surplus, "id", *_COLUMNS)
_ARRIVED = compile_statement(delete(tables.Surplus).where(col(tables.Surplus.id) == bindparam("id")), rank=1)


class Surplus(NamedTuple):
    """A reply that was not used, or an attempt that may have been charged."""

    order_id: str
    """the provider batch that returned it, or the provider of a live call"""
    address: tuple[int, str]
    """the unit's id and the step of the call"""
    text: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    reason: str | None = None
    """None: the reply came too late"""


class SurplusBook:
    """The surplus of one batch in the file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers = count(-SystemRandom().randrange(2**61, 2**62), -1)

    def add(self, surplus: Surplus, *, usage_missing: bool = False) -> None:
        self._ledger.writer.put(_ADD, self._row(surplus))
        figures = (surplus.input_tokens, surplus.output_tokens, surplus.cost_usd)
        self._ledger.tally.bought_in_vain(*figures, unusable=surplus.reason is not None, usage_missing=usage_missing)

    def leaving(self, surplus: Surplus) -> int:
        """Records that a live call is about to be sent. Pass the returned number to `arrived`."""
        number = next(self._numbers)
        self._ledger.writer.calls_in_flight += 1
        self._ledger.writer.put(_LEAVING, (number, *self._row(surplus)))
        return number

    def arrived(self, number: int) -> None:
        self._ledger.writer.calls_in_flight -= 1
        self._ledger.writer.put(_ARRIVED, (number,))

    def _row(self, surplus: Surplus) -> tuple[object, ...]:
        order_id, address, text, input_tokens, output_tokens, cost, reason = surplus
        head = (self._ledger.batch_number, order_id, *address, text)
        return (*head, input_tokens, output_tokens, cost, time.time(), reason)


Address = tuple[int, str]
"""a unit's id and the step in it"""

_ORDER_COLUMNS = (
    *("id", "batch_number", "provider", "lot", "upload_id", "unsure", "state", "calls", "count", "wave"),
    *("content_hash", "reservation_usd", "created_at"),
)
_INTEND = insert_into(ProviderBatch, *_ORDER_COLUMNS)
_CREATING = update_by(ProviderBatch, ["id"], ["state", "upload_id"])
_CREATED = update_by(ProviderBatch, ["id"], ["state", "remote_id", "unsure"])
_POLLED = update_by(ProviderBatch, ["id"], ["remote_state", "polled_at"])
_CLOSED = update_by(ProviderBatch, ["id"], ["state", "finished_at", "reservation_usd"], rank=2)


@dataclass(frozen=True, slots=True)
class StoredProviderBatch:
    """A row of a provider batch."""

    order_id: str
    provider: str
    group: str
    calls: list[tuple[Address, str]]
    """the address and the request key of each call"""
    wave: int
    content_hash: str
    reservation_usd: float
    created_at: float
    phase: ProviderBatchPhase = ProviderBatchPhase.INTENDED
    upload_id: str = ""
    remote_id: str | None = None
    unsure: bool = False
    given_up: bool = False
    """the user no longer waits for it, so it is abandoned when the batch is resumed"""


class ProviderBatchBook:
    """The provider batches of one batch in the file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ids: dict[int, str] = {}
        """ids of other batches of the study, by number"""

    def intend(self, job: StoredProviderBatch) -> None:
        calls = json.dumps([self._written(unit, step, key) for (unit, step), key in job.calls], separators=(",", ":"))
        row = (job.order_id, self._ledger.batch_number, job.provider, job.group, "", False, ProviderBatchPhase.INTENDED)
        content = (calls, len(job.calls), job.wave, job.content_hash, job.reservation_usd, job.created_at)
        self._ledger.writer.put(_INTEND, (*row, *content))

    def creating(self, order_id: str, upload_id: str) -> None:
        self._put(_CREATING, order_id, state=ProviderBatchPhase.CREATING, upload_id=upload_id)

    def created(self, order_id: str, remote_id: str, unsure: bool) -> None:
        self._put(_CREATED, order_id, state=ProviderBatchPhase.CREATED, remote_id=remote_id, unsure=unsure)

    def polled(self, order_id: str, state: str) -> None:
        self._put(_POLLED, order_id, remote_state=state, polled_at=time.time())

    def closed(self, order_id: str, phase: ProviderBatchPhase) -> None:
        self._put(_CLOSED, order_id, state=phase, finished_at=time.time(), reservation_usd=0.0)

    def _put(self, statement: Statement, order_id: str, **values: Any) -> None:
        self._ledger.writer.put(statement, statement.row(id=order_id, **values))

    def _written(self, unit: int, step: str, key: str) -> list[int | str]:
        """Writes the unit's number, and the batch's id for another batch of the study, because an import never changes that id."""
        number, batch_number = sequence_number_of(unit), batch_number_of(unit)
        if batch_number == self._ledger.batch_number:
            return [number, step, key]
        if batch_number not in self._ids:
            query = "SELECT id FROM batch WHERE number = ?"
            self._ids[batch_number] = value_of(self._ledger.reader, query, (batch_number,))
        return [number, step, key, self._ids[batch_number]]

    def _read(self, calls: Iterable[Sequence[Any]]) -> Iterator[tuple[Address, str]]:
        """Reads the calls. Skips calls of batches that this file no longer contains."""
        numbers: dict[str | None, int | None] = {None: self._ledger.batch_number}
        for number, step, key, *batch in calls:
            batch_id = batch[0] if batch else None
            if batch_id not in numbers:
                query = "SELECT number FROM batch WHERE id = ?"
                numbers[batch_id] = value_of(self._ledger.reader, query, (batch_id,))
            if (batch_number := numbers[batch_id]) is not None:
                yield (unit_id(batch_number, number), step), key

    def open(self) -> Iterator[StoredProviderBatch]:
        """Yields the open provider batches one by one, because together they may hold a million calls."""
        ids = self._ledger.reader.execute(
            f"SELECT id FROM provider_batch WHERE batch_number = ? AND state IN {OPEN_PHASES_SQL}",
            (self._ledger.batch_number,),
        ).fetchall()
        for (order_id,) in ids:
            row = self._ledger.reader.execute("SELECT * FROM provider_batch WHERE id = ?", (order_id,)).fetchone()
            same = ("provider", "wave", "content_hash", "reservation_usd", "created_at", "upload_id", "remote_id")
            yield StoredProviderBatch(
                order_id=row["id"],
                group=row["lot"],
                calls=list(self._read(json.loads(row["calls"]))),
                phase=ProviderBatchPhase(row["state"]),
                unsure=bool(row["unsure"]),
                given_up=row["remote_state"] == GIVEN_UP,
                **{name: row[name] for name in same},
            )

    def made_so_far(self) -> Counter[str]:
        """Counts the provider batches by content."""
        rows = self._ledger.reader.execute(
            "SELECT content_hash, count(*) FROM provider_batch WHERE batch_number = ? GROUP BY content_hash",
            (self._ledger.batch_number,),
        ).fetchall()
        return Counter({row[0]: row[1] for row in rows})

    def remote_ids(self) -> set[str]:
        """Returns the remote ids of all provider batches in this file, of all studies."""
        rows = self._ledger.reader.execute("SELECT remote_id FROM provider_batch WHERE remote_id IS NOT NULL")
        return {row[0] for row in rows}

    def surplus_of(self, order_id: str) -> set[Address]:
        """Returns the late replies of a provider batch that are already recorded."""
        rows = self._ledger.reader.execute("SELECT unit_id, step FROM surplus WHERE order_id = ?", (order_id,))
        return {(row["unit_id"], row["step"]) for row in rows}

    def answered(self, addresses: Iterable[Address]) -> dict[Address, str | None]:
        """Returns the calls that are already in the ledger, each with the provider batch that answered it."""
        wanted = set(addresses)
        found: dict[Address, str | None] = {}
        units = json.dumps([*{unit for unit, _ in wanted}])
        for unit, step, order_id in self._ledger.reader.execute(
            "SELECT unit_id, step, order_id FROM call WHERE unit_id IN (SELECT value FROM json_each(?))", (units,)
        ):
            if (unit, step) in wanted:
                found[unit, step] = order_id
        return found
