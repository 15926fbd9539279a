"""What version 2 of the file keeps beside calls: readable through its views, copied and deleted with its batch."""

import json
from pathlib import Path

import pytest

from tests.support.state import change, query
from tests.support.studies import game
from tidepool.engine.exports.export import export_batch
from tidepool.engine.publishing.reuse import import_file
from tidepool.engine.run import run_batch
from tidepool.storage.batches import delete_batch
from tidepool.storage.errors import BatchLocked, FileError
from tidepool.storage.file import reading
from tidepool.storage.queries import conversations as secret_game
from tidepool.storage.states import unit_id
from tidepool.storage.studies import delete_any

VIEWS = ("studies", "cells", "answers", "codes", "records", "provider_batches")
ORDER = {"answers": " ORDER BY sample", "records": " ORDER BY conversation_id", "cells": " ORDER BY factor"}


def seen(database: Path) -> dict[str, list[dict[str, object]]]:
    """The rows of the new views, a conversation named by its place: its id is another in every file."""
    place = "conversation_id & 4294967295 AS conversation_id"
    found = {}
    for view in VIEWS:
        names = [row[0] for row in query(database, "SELECT name FROM pragma_table_info(?)", view)]
        columns = ", ".join(place if name == "conversation_id" else name for name in names)
        found[view] = [
            dict(zip(names, row, strict=True))
            for row in query(database, f"SELECT {columns} FROM {view}{ORDER.get(view, '')}")
        ]
    return found


@pytest.fixture
async def study(database: Path) -> str:
    """The second batch of its file, as one cell of a study, with a row of every new kind."""
    await run_batch(game(1, 1, service={"name": "live"}), database)
    batch = str((await run_batch(game(2, 2, service={"name": "live"}), database))["batch_id"])
    number, unit = 2, unit_id(2, 1)
    change(database, "UPDATE batch SET study_id = 'design', replicate = 3, origin = '{}' WHERE id = ?", batch)
    change(database, "INSERT INTO study VALUES ('design', 'Firmness', '{\"replicates\": 3}', 0.0)")
    change(database, "INSERT INTO study_cell VALUES (?, 'firmness', 'firm'), (?, 'mode', 'standard')", number, number)
    change(database, "INSERT INTO problem VALUES (?, 'training', 0, '1 + 1?', '2')", number)
    change(
        database,
        "INSERT INTO answer VALUES (?, 't1', 0, 'abc', 'training', 0, 0, '2', 1, 1.0, NULL), "
        "(?, 'lost', 0, 'abc', 'training', 0, 1, NULL, NULL, NULL, NULL)",
        *(unit, unit),
    )
    change(database, "UPDATE call SET finish_reason = 'complete', served_model = 'as-served', thought = 'hm'")
    change(database, "INSERT INTO code VALUES (?, 1, 0, 'Eve', 'Bob', 'revealed', 12.5, NULL, 0.0)", unit)
    change(
        database, "INSERT INTO record VALUES (?, 'tally', 0, '1'), (?, 'tally', 0, '[2]')", *(unit_id(number, 0), unit)
    )
    change(
        database,
        "INSERT INTO provider_batch VALUES ('o1', ?, 'openai', '', '', 'batch_7', 0, 'created', 'in_progress', '[]', 40, 1, "
        "'hash', 0.0, 0.0, NULL, NULL)",
        number,
    )
    return batch


def test_every_new_view_shows_its_rows(database: Path, study: str) -> None:
    found = seen(database)
    moment = "1970-01-01T00:00:00.000Z"
    assert found["studies"] == [
        {"id": "design", "name": "Firmness", "design": '{"replicates": 3}', "created_at": moment}
    ]
    assert [tuple(row.values()) for row in found["cells"]] == [
        ("design", study, 3, "firmness", "firm"),
        ("design", study, 3, "mode", "standard"),
    ]
    answered, lost = found["answers"]
    assert (answered["question"], answered["gold"], answered["extracted"]) == ("1 + 1?", "2", "2")
    assert answered["reply"] and (answered["finish_reason"], answered["correct"]) == ("complete", 1)
    assert (lost["reply"], lost["model"], lost["correct"], lost["gold"]) == (None, None, None, "2")
    (coded,) = found["codes"]
    assert (coded["agent"], coded["coder"], coded["code"], coded["turn"]) == ("Bob", "Eve", "revealed", None)
    assert [(row["conversation_id"], json.loads(str(row["content"]))) for row in found["records"]] == [
        (None, 1),
        (1, [2]),
    ]
    (ordered,) = found["provider_batches"]
    assert (ordered["remote_id"], ordered["state"], ordered["calls"]) == ("batch_7", "created", 40)
    assert set(query(database, "SELECT served_model, thought FROM messages")) == {("as-served", "hm")}


def test_a_study_without_factors_has_a_cell_for_each_batch(database: Path, study: str) -> None:
    change(database, "DELETE FROM study_cell")
    assert query(database, "SELECT * FROM cells") == [("design", study, 3, None, None)]


def test_all_of_it_goes_with_the_batch_into_another_file_and_back(database: Path, study: str, tmp_path: Path) -> None:
    before = seen(database)
    (alone,) = export_batch(database, study, "sqlite", tmp_path / "alone.db")
    assert seen(alone) == before
    delete_batch(database, study)
    assert seen(database) == {view: [] for view in VIEWS}
    assert query(database, "SELECT count(*) FROM problem UNION ALL SELECT count(*) FROM study") == [(0,), (0,)]
    import_file(database, alone)
    assert seen(database) == before


async def test_sides_come_by_the_page_with_their_scores_to_the_last_digit(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_batch(game(6, 2, service={"name": "live"}), database)
    monkeypatch.setattr(secret_game, "PAGE", 2)
    change(database, "UPDATE outcome SET agent = char(30) || ',\"é', score = 2 * side")
    change(database, "UPDATE outcome SET score = 0.1 + 0.2 WHERE unit_id = ? AND side = 0", unit_id(1, 1))
    change(database, "UPDATE outcome SET score = NULL WHERE unit_id = ? AND side = 1", unit_id(1, 2))
    change(database, "DELETE FROM outcome WHERE unit_id IN (?, ?)", unit_id(1, 3), unit_id(1, 4))
    with reading(database) as connection:
        first, last = secret_game.outcomes(connection, 1)
    assert [unit & 7 for unit in (*first.units, *last.units)] == [1, 1, 2, 2, 5, 5, 6, 6]
    assert first.scores == [0.1 + 0.2, 2.0, 0.0, None] and last.scores is None
    kinds = [json.loads(kind) for kind in last.kinds]
    assert [(kind[1], kind[3], kind[-1]) for kind in kinds] == [('\x1e,"é', 1, 0), ('\x1e,"é', 0, 2)] * 2


def test_a_study_stays_while_one_of_its_batches_does(database: Path, study: str) -> None:
    change(database, "UPDATE batch SET study_id = 'design'")
    delete_batch(database, study)
    assert query(database, "SELECT id FROM studies") == [("design",)]


def test_a_cell_is_not_deleted_while_provider_batches_of_its_study_are_under_way(database: Path, study: str) -> None:
    change(database, "UPDATE batch SET study_id = 'design'")
    change(database, "UPDATE provider_batch SET batch_number = 1")
    with pytest.raises(BatchLocked, match="calls of its other cells"):
        delete_any(database, study)
    change(database, "UPDATE provider_batch SET state = 'collected'")
    assert delete_any(database, study) == study


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE study SET id = '../up'",
        "UPDATE batch SET study_id = '../up' WHERE number = 1",
        "UPDATE study SET design = 'none'",
        "UPDATE record SET content = '{'",
        "UPDATE call SET reasoning_tokens = 'many'",
    ],
)
def test_what_a_stranger_changed_in_the_new_tables_is_not_imported(
    database: Path, study: str, tmp_path: Path, harm: str
) -> None:
    (alone,) = export_batch(database, study, "sqlite", tmp_path / "alone.db")
    change(alone, harm)
    with pytest.raises(FileError, match="not imported"):
        import_file(tmp_path / "new.db", alone)


async def test_a_file_whose_numbers_were_driven_to_their_end_takes_no_batch(database: Path) -> None:
    await run_batch(game(1, 1), database)
    change(database, "UPDATE sqlite_sequence SET seq = 1 << 40 WHERE name = 'batch'")
    with pytest.raises(FileError, match="no free batch numbers"):
        await run_batch(game(1, 1), database)
    assert query(database, "SELECT number FROM batch") == [(1,)]
