"""A batch that is a cell of a study says in every table which level each factor has there."""

import csv
import json
import sqlite3
from contextlib import closing
from io import StringIO
from pathlib import Path

from tests.support.state import query
from tests.support.studies import game
from tidepool.engine.exports.export import export_batch
from tidepool.engine.run import run_batch

LEVELS = {"agents.Ada.model": "simulated:guarded", "Score": "=1+1"}


def made_a_cell(database: Path, study: str = "5tudy", replicate: int = 1) -> None:
    """All batches of the file, as one study's."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT OR IGNORE INTO study VALUES (?, 'Firmness', '{}', 1.8e9)", (study,))
        connection.execute("UPDATE batch SET study_id = ?, replicate = ?", (study, replicate))
        for factor, level in LEVELS.items():
            connection.execute("INSERT INTO study_cell SELECT number, ?, ? FROM batch", (factor, level))


async def test_factors_stand_behind_the_columns_of_every_table(database: Path, tmp_path: Path) -> None:
    from arro3.io import read_parquet

    await run_batch(game(2), database)
    plain = export_batch(database, "last", "csv", tmp_path / "plain")
    made_a_cell(database)
    for before, path in zip(plain, export_batch(database, "last", "csv", tmp_path / "cell"), strict=True):
        head, first = list(csv.reader(StringIO(path.read_text(encoding="utf-8"))))[:2]
        assert ",".join(head) == f"{before.read_text().splitlines()[0]},replicate,factor: Score,agents.Ada.model"
        assert first[-2:] == ["'=1+1", "simulated:guarded"]
    table = read_parquet(str(export_batch(database, "last", "parquet", tmp_path)[1])).read_all()
    assert set(table.column("factor: Score").to_pylist()) == {"=1+1"}
    (batch,) = query(database, "SELECT id FROM batches")[0]
    head = json.loads(export_batch(database, batch, "json", tmp_path)[0].read_text())["batch"]
    assert head["factors"] == LEVELS and (head["study_id"], head["replicate"]) == ("5tudy", 1)
    assert query(database, "SELECT count(*) FROM cells") == [(2,)]
