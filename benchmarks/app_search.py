"""Reading a very large batch: how soon a search answers, and what scrolling costs in memory."""

import asyncio
import gc
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from tidepool.storage.batches import create_batch
from tidepool.storage.file import connect, prepare, writing
from tidepool.storage.queries import search
from tidepool.storage.queries.search import Filter
from tidepool.storage.states import unit_id
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.widgets.talk_list import ConversationList
from tidepool.tui.app.widgets.watching.wavefront import Wavefront

EACH = 5
"""messages in a conversation"""
STEPS = 1_000
"""looks while scrolling"""
WORDS = (
    "harbour lantern marigold evening river letter window garden market winter copper thread compass orchard signal "
    "kettle meadow bridge candle mirror paper anchor basket silver engine"
).split()
SEARCHES = ("marigold", "marigold lantern", "marig*", '"evening river"', "number77777", "nothing of that kind")


def search_seconds(path: Path, messages: int) -> tuple[float, float]:
    """(the slowest of several searches, what it took to index everything)"""
    number = large_batch(path, messages)
    began = time.perf_counter()
    while not search.fill_some(path).complete:
        pass
    filling = time.perf_counter() - began
    connection = connect(path)
    try:
        ids = search.id_range(connection, number)
        return max(_first_page(connection, number, ids, words) for words in SEARCHES), filling
    finally:
        connection.close()


def _first_page(connection: sqlite3.Connection, number: int, ids: tuple[int, int], words: str) -> float:
    """As the app asks; where the batch lies was looked up when it was opened."""
    began = time.perf_counter()
    search.find(connection, number, Filter(words), ids)
    return time.perf_counter() - began


def large_batch(path: Path, messages: int) -> int:
    prepare(path)
    batch_id = create_batch(path, kind="secret_game", name="Large", description="", seed=1, config="{}", version="0")
    talks = messages // EACH
    with writing(path) as connection:
        number = int(connection.execute("SELECT number FROM batch WHERE id = ?", (batch_id,)).fetchone()[0])
        connection.executemany(
            "INSERT INTO unit (id, batch_number, sequence_number, participants, status, sealed) "
            "VALUES (?, ?, ?, '[\"Ada\", \"Bob\"]', 'completed', 0)",
            ((unit_id(number, talk), number, talk) for talk in range(1, talks + 1)),
        )
        connection.executemany(
            "INSERT INTO call (unit_id, step, wave, turn, speaker, model, key, status, text, input_tokens, "
            "output_tokens, seconds, source, attempts, at) "
            "VALUES (?, ?, ?, ?, 'Ada', 'm', ?, 'answered', ?, 0, 0, 0, 'live', 1, 0)",
            _calls(number, talks),
        )
        connection.execute("UPDATE batch SET status = 'completed' WHERE number = ?", (number,))
        connection.execute(
            "UPDATE progress SET units_total = ?, units_completed = ?, calls = ? WHERE batch_number = ?",
            (talks, talks, messages, number),
        )
    return number


def _calls(number: int, talks: int) -> Iterator[tuple[object, ...]]:
    for talk in range(1, talks + 1):
        for turn in range(1, EACH + 1):
            place = talk * EACH + turn
            said = [WORDS[(place * step + step) % len(WORDS)] for step in (1, 3, 7, 11, 13, 17, 19, 23)]
            text = f"{' '.join(said)} and so on, number{place}."
            yield unit_id(number, talk), f"t{turn}", turn, turn, place.to_bytes(8, "big"), text


def scroll_growth(path: Path, rows: int) -> float:
    """Memory after scrolling so many rows, in Watch and in the list of talks, ÷ that after a tenth of them."""
    return asyncio.run(_scroll(path, rows))


async def _scroll(path: Path, rows: int) -> float:
    app = TidepoolApp(path)
    growth = 0.0
    try:
        async with app.run_test(size=(120, 36)) as pilot:
            for key, kind in (("3", Wavefront), ("4", ConversationList)):
                await pilot.press(key)
                while not (app.screen.query(kind) and app.screen.query_one(kind).count >= rows):
                    await pilot.pause(0.05)
                shown = app.screen.query_one(kind)
                step = max(30, rows // STEPS)
                after_a_tenth = 0
                for first in range(0, rows, step):
                    shown.go_to(first)
                    await pilot.pause()
                    if not after_a_tenth and first >= rows // 10:
                        after_a_tenth = _memory()
                growth = max(growth, _memory() / after_a_tenth)
    finally:
        app.let_go()
    return growth


def _memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1])
