"""What batches have spent and may still have to pay, by provider: what a budget starts from when they are taken up."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tidepool.storage.states import OPEN_PHASES_SQL
from tidepool.storage.under_way import UNDER_WAY
from tidepool.storage.unit_ids import unit_id


@dataclass(frozen=True, slots=True)
class Money:
    spent: float = 0.0
    reserved: float = 0.0
    """what open provider batches may still cost: their reservation outlives the process that made it"""


def money_by_provider(connection: sqlite3.Connection, batch_numbers: Iterable[int]) -> dict[str, Money]:
    """Of several batches together."""
    found: dict[str, Money] = {}
    for number in batch_numbers:
        for provider, money in _money_of(connection, number).items():
            before = found.get(provider, Money())
            found[provider] = Money(before.spent + money.spent, before.reserved + money.reserved)
    return found


def _money_of(connection: sqlite3.Connection, batch_number: int) -> dict[str, Money]:
    bounds = (unit_id(batch_number, 0), unit_id(batch_number + 1, 0) - 1)
    spent = Counter(
        dict(
            connection.execute(
                "SELECT substr(model, 1, instr(model, ':') - 1), sum(cost_usd) FROM call "
                "WHERE unit_id BETWEEN ? AND ? AND cost_usd > 0 GROUP BY 1",
                bounds,
            ).fetchall()
        )
    )
    spent.update(
        dict(
            connection.execute(
                "SELECT coalesce(p.provider, s.order_id), sum(s.cost_usd) FROM surplus s "
                "LEFT JOIN provider_batch p ON p.id = s.order_id "
                "WHERE s.batch_number = ? AND s.cost_usd > 0 AND s.reason IS NOT ? GROUP BY 1",
                (batch_number, UNDER_WAY),
            ).fetchall()
        )
    )
    reserved = dict(
        connection.execute(
            "SELECT provider, sum(reservation_usd) FROM provider_batch "
            f"WHERE batch_number = ? AND state IN {OPEN_PHASES_SQL} GROUP BY 1",
            (batch_number,),
        ).fetchall()
    )
    return {name: Money(spent[name], reserved.get(name, 0.0)) for name in {*spent, *reserved}}
