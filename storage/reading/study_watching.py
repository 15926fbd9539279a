"""A study of several batches as it runs: what its cells come to together, row by row a cell."""

import sqlite3
from pathlib import Path

from tidepool.storage.batches import batch_numbered
from tidepool.storage.reading.study_lines import study_line
from tidepool.storage.reading.typed_rows import whole
from tidepool.storage.reading.watching import (
    LONGEST_NAME,
    LONGEST_WORDS,
    LogLine,
    UnitLine,
    Watched,
    WaveCell,
    WaveLine,
    order_lines,
    watched,
)
from tidepool.storage.study_rows.studies import StoredCell, cells_of


def watched_any(connection: sqlite3.Connection, path: Path, number: int) -> Watched | None:
    """A batch; or, by a number below zero, the study whose first batch has it."""
    if number >= 0:
        return watched(connection, path, number)
    cells = study_cells(connection, number)
    found = [one for cell in cells if (one := watched(connection, path, cell.batch["number"])) is not None]
    if not found or found[0].study_id is None:
        return None
    row = connection.execute(
        f"SELECT substr(name, 1, {LONGEST_NAME}) FROM study WHERE id = ?", (found[0].study_id,)
    ).fetchone()
    return study_line(found, found[0].study_id, row[0] if row else found[0].study_id)


def study_cells(connection: sqlite3.Connection, number: int) -> list[StoredCell]:
    first = batch_numbered(connection, -number)
    return cells_of(connection, first["study_id"]) if first is not None and first["study_id"] else []


def study_number(connection: sqlite3.Connection, study_id: str) -> int | None:
    row = connection.execute("SELECT min(number) FROM batch WHERE study_id = ?", (study_id,)).fetchone()
    return None if row is None or row[0] is None else -int(row[0])


def cell_lines(cells: list[StoredCell], first: int, last: int) -> list[UnitLine]:
    """The cells of a study as rows, from 1."""
    return [
        UnitLine(place, _labels(cell), str(cell.batch["status"]), cell.batch["reason"], None, cell.replicate)
        for place, cell in enumerate(cells, 1)
        if first <= place <= last
    ]


def _labels(cell: StoredCell) -> tuple[str, ...]:
    return (", ".join((*(level[:LONGEST_NAME] for level in cell.levels.values()), f"replicate {cell.replicate}")),)


def cell_waves(connection: sqlite3.Connection, cells: list[StoredCell], first: int, last: int) -> list[WaveCell]:
    """Of each cell in view how far its waves are: done where every unit's call is answered, else under way."""
    found: list[WaveCell] = []
    for place, cell in enumerate(cells, 1):
        if not first <= place <= last:
            continue
        ended = cell.batch["status"] in ("completed", "partial")
        for wave, calls, failed, cached, units in connection.execute(
            "SELECT w.wave, w.calls, w.failed, w.cached, p.units_total FROM wave w "
            "JOIN progress p ON p.batch_number = w.batch_number WHERE w.batch_number = ? ORDER BY w.wave LIMIT 1000",
            (cell.batch["number"],),
        ):
            under_way = not ended and calls < units
            state = "failed" if failed else "running" if under_way else "cached" if cached == calls else "done"
            found.append(WaveCell(place, wave, state))
    return found


def study_wave_lines(
    connection: sqlite3.Connection, study_id: str, leading: int, skip: int = 0, most: int = 200
) -> tuple[int, list[WaveLine]]:
    """How many waves there are, and these, summed over the cells."""
    of_study = "FROM wave w JOIN batch b ON b.number = w.batch_number WHERE b.study_id = ?"
    count = connection.execute(f"SELECT count(DISTINCT w.wave) {of_study}", (study_id,)).fetchone()[0]
    rows = connection.execute(
        f"SELECT w.wave, sum(w.calls), sum(w.failed), sum(w.cached), sum(w.retried), max(w.seconds), max(w.transport) {of_study} "
        "GROUP BY w.wave ORDER BY w.wave LIMIT ? OFFSET ?",
        (study_id, most, skip),
    ).fetchall()
    orders = order_lines(connection, leading)

    def line(row: sqlite3.Row) -> WaveLine:
        wave, calls, failed, cached, retried, seconds, transport = row
        beside = tuple(order for order in orders if order.wave == wave)
        return whole(WaveLine(wave, calls, failed, cached, retried, seconds, transport, beside))

    return int(count), [line(row) for row in rows]


def study_log_after(connection: sqlite3.Connection, study_id: str, after: int, most: int = 2_000) -> list[LogLine]:
    rows = connection.execute(
        f"SELECT l.id, l.at, substr(l.level, 1, {LONGEST_NAME}), substr(l.message, 1, {LONGEST_WORDS}) FROM log_line l "
        "JOIN batch b ON b.number = l.batch_number WHERE b.study_id = ? AND l.id > ? ORDER BY l.id DESC LIMIT ?",
        (study_id, after, most),
    ).fetchall()
    return [whole(LogLine(*row)) for row in reversed(rows)]
