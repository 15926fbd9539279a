"""Searching the ledger: what is found and in which order; batches named by how long ago they were made."""

from dataclasses import replace
from pathlib import Path

import pytest

from tidepool.storage.batches import NewBatch, find_batch, insert_batch
from tidepool.storage.errors import NotFound
from tidepool.storage.file import connect, prepare, reading, writing
from tidepool.storage.queries import search
from tidepool.storage.queries.search import Filter
from tidepool.storage.states import unit_id
from tidepool.storage.studies import NewCell, create_study, find_study, study_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    prepare(path)
    return path


def batch(path: Path) -> tuple[str, int]:
    with writing(path) as connection:
        return insert_batch(connection, NewBatch("secret_game", "x", "", 1, "{}", "0"))


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
        hits = search.find(connection, number, Filter(words, **filters), most=100)  # type: ignore[arg-type]
        return [(hit.sequence_number, hit.turn) for hit in hits]
    finally:
        connection.close()


def test_every_word_must_occur_and_quotes_find_phrases(path: Path) -> None:
    _, number = batch(path)
    say(path, number, (1, 1, "The Café by the harbour"), (2, 1, "no harbour here"), (3, 1, "100 % of a cafe"))
    say(path, number, (4, 1, "harbours are far away"), (5, 1, "away far"))
    assert found(path, number, "Harbour CAFÉ") == [(1, 1)], "case does not matter"
    assert found(path, number, "harb") == [(1, 1), (2, 1), (4, 1)] and found(path, number, '"far away"') == [(4, 1)]
    assert found(path, number, '"100 % of"') == [(3, 1)] and found(path, number, "har_our") == []


@pytest.mark.parametrize("typed", ['"', "AND", "*", "%", "_", "(", 'so"me', "'; DROP"])
def test_what_is_typed_is_never_an_operator(path: Path, typed: str) -> None:
    _, number = batch(path)
    say(path, number, (1, 1, "something"))
    assert found(path, number, typed) == []


def test_the_first_hits_come_in_the_order_in_which_they_were_said(path: Path) -> None:
    _, number = batch(path)
    say(path, number, *((talk, 1, "word") for talk in range(1, 31)))
    connection = connect(path)
    hits = search.find(connection, number, Filter("word"), most=20)
    connection.close()
    assert [hit.sequence_number for hit in hits] == list(range(1, 21))


def test_only_the_batch_in_hand_is_searched(path: Path) -> None:
    _, first = batch(path)
    _, second = batch(path)
    say(path, first, (1, 1, "word"))
    say(path, second, (1, 1, "word"), (2, 1, "word"))
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


# -- batches counted back -----------------------------------------------------------------------------


GAME = NewBatch("secret_game", "first", "", 1, "{}", "0")


def test_batches_are_counted_back_and_a_study_is_one_of_them(database: Path) -> None:
    with writing(database) as connection:
        insert_batch(connection, GAME)
    cells = [NewCell(replace(GAME, name=f"cell {place}"), 1, {"a": str(place)}) for place in range(3)]
    study_id, _ = create_study(database, "study", {}, cells)
    with writing(database) as connection:
        insert_batch(connection, replace(GAME, name="newest"))
    with reading(database) as connection:
        found = [find_batch(connection, word)["name"] for word in ("last", "last~0", "last~2")]
        assert found == ["newest", "newest", "first"]
        with pytest.raises(NotFound, match="last~1 is a study of 3 batches, and this command needs one of them"):
            find_batch(connection, "last~1")
        assert study_of(connection, "last") is None and find_study(connection, "last~1").id == study_id
        for word in ("last~3", "last~", "last~-1", "last~x", "last~99999999"):
            with pytest.raises(NotFound, match="`tidepool list` shows the batches of this file"):
                find_batch(connection, word)
