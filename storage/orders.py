"""The rows of provider batches: written before the provider is asked, so that no purchase is ever forgotten."""

import json
import time
from collections import Counter
from dataclasses import dataclass

from storage.ledger import Ledger
from storage.tables import OrderRow, SurplusRow, unit_id
from storage.writer import Statement, insert_into

Address = tuple[int, str]

_CREATED = Statement("UPDATE provider_batch SET state = 'created', remote_id = ? WHERE id = ?", rank=1)
_POLLED = Statement("UPDATE provider_batch SET remote_state = ?, polled_at = ? WHERE id = ?", rank=1)
_CLOSED = Statement("UPDATE provider_batch SET state = ?, finished_at = ?, reservation_usd = 0 WHERE id = ?", rank=2)


@dataclass(frozen=True, slots=True)
class StoredOrder:
    order_id: str
    provider: str
    remote_id: str | None
    state: str
    addresses: list[tuple[Address, str]]
    """each call's address and its id at the provider"""
    wave: int
    content_hash: str
    reservation_usd: float
    created_at: float


class OrderBook:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def intend(self, order: StoredOrder) -> None:
        columns = [
            "id",
            "batch_number",
            "provider",
            "state",
            "calls",
            "count",
            "wave",
            "content_hash",
            "reservation_usd",
            "created_at",
        ]
        calls = json.dumps([[number, step, name] for (number, step), name in order.addresses], separators=(",", ":"))
        self._ledger.writer.put(
            insert_into(OrderRow, *columns, conflict="OR REPLACE"),
            (
                order.order_id,
                self._ledger.batch_number,
                order.provider,
                "intended",
                calls,
                len(order.addresses),
                order.wave,
                order.content_hash,
                order.reservation_usd,
                order.created_at,
            ),
        )

    def created(self, order_id: str, remote_id: str) -> None:
        self._ledger.writer.put(_CREATED, (remote_id, order_id))

    def polled(self, order_id: str, state: str) -> None:
        self._ledger.writer.put(_POLLED, (state, time.time(), order_id))

    def closed(self, order_id: str, state: str) -> None:
        self._ledger.writer.put(_CLOSED, (state, time.time(), order_id))

    def surplus(
        self,
        order_id: str,
        address: Address,
        text: str,
        input_tokens: int,
        output_tokens: int,
        cost_usd: float | None,
    ) -> None:
        columns = [
            "batch_number",
            "order_id",
            "unit_id",
            "step",
            "text",
            "input_tokens",
            "output_tokens",
            "cost_usd",
            "at",
        ]
        unit = unit_id(self._ledger.batch_number, address[0])
        values = (
            self._ledger.batch_number,
            order_id,
            unit,
            address[1],
            text,
            input_tokens,
            output_tokens,
            cost_usd,
        )
        self._ledger.writer.put(insert_into(SurplusRow, *columns), (*values, time.time()))
        self._ledger.bought_in_vain(input_tokens, output_tokens, cost_usd)

    def open(self) -> list[StoredOrder]:
        rows = self._ledger.reader.execute(
            "SELECT * FROM provider_batch WHERE batch_number = ? AND state IN ('intended', 'created')",
            (self._ledger.batch_number,),
        ).fetchall()
        return [
            StoredOrder(
                row["id"],
                row["provider"],
                row["remote_id"],
                row["state"],
                [((number, step), name) for number, step, name in json.loads(row["calls"])],
                row["wave"],
                row["content_hash"],
                row["reservation_usd"],
                row["created_at"],
            )
            for row in rows
        ]

    def orders_made(self) -> Counter[str]:
        """How many orders there were of each content."""
        rows = self._ledger.reader.execute(
            "SELECT content_hash, count(*) FROM provider_batch WHERE batch_number = ? GROUP BY content_hash",
            (self._ledger.batch_number,),
        ).fetchall()
        return Counter({row[0]: row[1] for row in rows})

    def answered(self, order: StoredOrder) -> tuple[set[Address], set[Address]]:
        """Those of an order's calls that the ledger holds already: all of them, and those answered another way, whose
        answers from this order are yet to be recorded."""
        by: dict[Address, str | None] = {}
        reader = self._ledger.reader
        for (number, step), _ in order.addresses:
            where = (unit_id(self._ledger.batch_number, number), step)
            row = reader.execute("SELECT order_id FROM call WHERE unit_id = ? AND step = ?", where).fetchone()
            if row is not None:
                by[number, step] = row[0]
        recorded = {
            (int(row[0]) - unit_id(self._ledger.batch_number, 0), str(row[1]))
            for row in reader.execute("SELECT unit_id, step FROM surplus WHERE order_id = ?", (order.order_id,))
        }
        elsewhere = {address for address, order_id in by.items() if order_id != order.order_id}
        return set(by), elsewhere - recorded
