"""Full-text search over the ledger: what is found, in which order, and what is forgotten with a batch."""

import sqlite3
from pathlib import Path

import pytest

from tidepool.storage.batches import create_batch, delete_batch
from tidepool.storage.file import connect, prepare, writing
from tidepool.storage.queries import search
from tidepool.storage.queries.search import Filter
from tidepool.storage.states import unit_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    prepare(path)
    return path


def batch(path: Path) -> tuple[str, int]:
    batch_id = create_batch(path, kind="secret_game", name="x", description="", seed=1, config="{}", version="0")
    connection = connect(path)
    number = connection.execute("SELECT number FROM batch WHERE id = ?", (batch_id,)).fetchone()[0]
    connection.close()
    return batch_id, number


def say(path: Path, number: int, *messages: tuple[int, int, str], status: str = "answered") -> None:
    """(conversation, wave, text) as the ledger keeps them."""
    with writing(path) as connection:
        for talk, wave, text in messages:
            connection.execute(
                "INSERT OR IGNORE INTO unit (id, batch_number, sequence_number, participants, status, sealed) "
                "VALUES (?, ?, ?, '[\"Ada\", \"Bob\"]', 'completed', 0)",
                (unit_id(number, talk), number, talk),
            )
            connection.execute(
                "INSERT INTO call (unit_id, step, wave, turn, speaker, model, key, status, text, input_tokens, "
                "output_tokens, seconds, source, attempts, at, reasoning_tokens, usage_missing) "
                "VALUES (?, ?, ?, ?, 'Ada', 'm', x'00', ?, ?, 0, 0, 0, 'live', 1, 0, 0, 0)",
                (unit_id(number, talk), f"t{wave}", wave, wave, status, text),
            )


def found(path: Path, number: int, words: str, **filters: object) -> list[tuple[int, int | None]]:
    connection = connect(path)
    try:
        hits = search.find(connection, number, Filter(words, **filters))  # type: ignore[arg-type]
        return [(hit.sequence_number, hit.turn) for hit in hits]
    finally:
        connection.close()


def fill(path: Path) -> None:
    while not search.fill_some(path).complete:
        pass


def test_every_word_must_occur_a_star_finds_beginnings_and_quotes_find_phrases(path: Path) -> None:
    _, number = batch(path)
    say(path, number, (1, 1, "The CAFÉ by the harbour"), (2, 1, "no harbour here"), (3, 1, "a cafe"))
    say(path, number, (4, 1, "harbours are far away"), (5, 1, "away far"))
    fill(path)
    assert found(path, number, "harbour cafe") == [(1, 1)], "case and accents do not matter"
    assert found(path, number, "Harbour") == [(1, 1), (2, 1)]
    assert found(path, number, "harbours*") == [(4, 1)] and found(path, number, "harb") == []
    assert found(path, number, '"far away"') == [(4, 1)]


@pytest.mark.parametrize("typed", ['"', "AND", "NEAR(", "a OR", "text:x", "*", "^", "-", "(", 'ha"rbour', "'; DROP"])
def test_what_is_typed_is_never_an_operator(path: Path, typed: str) -> None:
    _, number = batch(path)
    say(path, number, (1, 1, "something"))
    fill(path)
    assert found(path, number, typed) == []


def test_hits_come_page_by_page_in_the_order_in_which_they_were_said(path: Path) -> None:
    _, number = batch(path)
    say(path, number, *((talk, 1, "word") for talk in range(1, 31)))
    fill(path)
    connection = connect(path)
    first = search.find(connection, number, Filter("word"), most=20)
    rest = search.find(connection, number, Filter("word"), after=first[-1].call_id, most=20)
    connection.close()
    assert [hit.sequence_number for hit in first + rest] == list(range(1, 31))


def test_only_the_batch_in_hand_is_searched(path: Path) -> None:
    _, first = batch(path)
    _, second = batch(path)
    say(path, first, (1, 1, "word"))
    say(path, second, (1, 1, "word"), (2, 1, "word"))
    fill(path)
    assert found(path, first, "word") == [(1, 1)]
    assert found(path, second, "word") == [(1, 1), (2, 1)]


def test_filters_narrow_hits_and_lists_alike(path: Path) -> None:
    _, number = batch(path)
    say(path, number, (1, 1, "word"), (1, 2, "word"), (2, 1, "word"))
    say(path, number, (3, 1, ""), status="failed")
    with writing(path) as connection:
        connection.execute(
            "INSERT INTO outcome (unit_id, side, mode, game, agent, opponent, revealed, obtained, turn) "
            "VALUES (?, 0, 'standard', 1, 'Ada', 'Bob', 1, 0, 2)",
            (unit_id(number, 2),),
        )
    fill(path)
    assert found(path, number, "word", wave=2) == [(1, 2)]
    assert found(path, number, "word", show="revealed") == [(2, 1)]
    assert found(path, number, "word", agent="Ada") == [(1, 1), (1, 2), (2, 1)]
    assert found(path, number, "word", agent="Cleo") == []
    connection = connect(path)
    units = {
        show: list(search.matching_units(connection, number, Filter(show=show)))
        for show in ("all", "revealed", "failed")
    }
    connection.close()
    assert units == {"all": [1, 2, 3], "revealed": [2], "failed": [3]}


def test_a_deleted_batch_is_forgotten_and_its_ids_can_be_used_again(path: Path) -> None:
    _, first = batch(path)
    gone, second = batch(path)
    say(path, first, (1, 1, "staying"))
    say(path, second, (1, 1, "leaving"))
    fill(path)
    delete_batch(path, gone)
    _, third = batch(path)
    say(path, third, (1, 1, "arriving"))
    fill(path)
    assert found(path, third, "leaving") == []
    assert found(path, third, "arriving") == [(1, 1)]
    assert found(path, first, "staying") == [(1, 1)]
    connection = connect(path)
    connection.execute("INSERT INTO message_search (message_search) VALUES ('integrity-check')")
    connection.close()


def test_a_failed_call_that_a_resume_deletes_leaves_no_gap(path: Path) -> None:
    """A deleted last row gives its id to the next one."""
    _, number = batch(path)
    say(path, number, (1, 1, "first"))
    say(path, number, (2, 1, ""), status="failed")
    fill(path)
    with writing(path) as connection:
        connection.execute("DELETE FROM call WHERE status = 'failed'")
    say(path, number, (2, 1, "second"))
    fill(path)
    assert found(path, number, "second") == [(2, 1)]


def test_filling_in_chunks_goes_on_where_it_stopped(path: Path) -> None:
    _, number = batch(path)
    say(path, number, *((talk, 1, f"word{talk}") for talk in range(1, 8)))
    states = [search.fill_some(path, chunk=3) for _ in range(3)]
    assert [state.complete for state in states] == [False, False, True]
    assert found(path, number, "word7") == [(7, 1)]


def test_nothing_is_indexed_while_a_batch_writes_and_the_text_is_kept_once(path: Path) -> None:
    """Rule 15: the index follows behind, never by trigger on the hot path."""
    _, number = batch(path)
    say(path, number, (1, 1, "later"))
    assert found(path, number, "later") == []
    fill(path)
    assert found(path, number, "later") == [(1, 1)]
    connection = sqlite3.connect(path)
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'message_search%'")}
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    connection.close()
    assert triggers == [] and "message_search_content" not in names
