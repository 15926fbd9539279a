"""One batch out, in every format, and back in elsewhere."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.engine.studies.secret_game.table import Table, agents
from tests.support.html_page import Page
from tests.support.state import query
from tests.support.studies import game
from tidepool import SecretGame
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.publishing.reuse import import_file
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import run_batch
from tidepool.storage.file import reading
from tidepool.storage.transfer.tables import columns_of

MODES = ("standard", "retained", "diversity", "targeted")
HOSTILE = '<script>alert(1)</script><img src="https://x.example/a.png" onerror=go> =1+1 \x1b[31m\x00 ]]> &amp;'


@pytest.fixture
async def batch(database: Path) -> str:
    """A batch that is not the only one of its file, with failures, a judge and an odd agent."""
    await run_batch(game(3), database)
    study = game(
        40,
        simulated={"fatal_rate": 0.05},
        service={"name": "live", "retries": 0},
        mode="retained",
        judge="simulated:judge",
    )
    study.agents.append(agents(5)[4])
    study.detection = ["exact", "judge"]
    return str((await run_batch(study, database))["batch_id"])


def rows_of_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


async def test_json_is_a_folder_named_by_the_batch_with_results_and_analysis(
    database: Path, batch: str, tmp_path: Path
) -> None:
    written = export_batch(database, batch, "json", tmp_path / "out")
    folder = tmp_path / "out" / batch
    assert written == [folder / "results.json", folder / "analysis.json"]
    results = json.loads((folder / "results.json").read_text())
    summary = summarise(database, batch)
    assert json.loads((folder / "analysis.json").read_text()) == summary["statistics"]
    assert results["batch"]["batch_id"] == batch
    assert results["batch"]["config"]["secret_game"]["mode"] == "retained"
    assert [unit["sequence_number"] for unit in results["units"]] == list(range(1, 41))
    assert sum(len(unit["messages"]) for unit in results["units"]) == len(
        query(database, "SELECT 1 FROM messages WHERE batch_id = ?", batch)
    )
    failed = [unit for unit in results["units"] if unit["status"] == "failed"]
    assert failed and all(unit["outcomes"] == [] and unit["error"] for unit in failed)


async def test_csv_has_the_views_columns_and_rows(database: Path, batch: str, tmp_path: Path) -> None:
    written = export_batch(database, batch, "csv", tmp_path / "tables")
    assert [path.name for path in written] == ["messages.csv", "outcomes.csv", "verdicts.csv", "measures.csv"]
    for path in written:
        with reading(database) as connection:
            columns = columns_of(connection, path.stem)
        found = rows_of_csv(path)
        assert list(found[0]) == columns
        assert {row["batch_id"] for row in found} == {batch}
        assert len(found) == query(database, f"SELECT count(*) FROM {path.stem} WHERE batch_id = ?", batch)[0][0]
    assert re.match(
        r"batch_id,conversation_id,turn,wave,speaker,model,served_model,content,thought,finish_reason,",
        written[0].read_text(),
    )


async def test_a_spreadsheet_gets_a_mark_only_where_it_is_asked_for(database: Path, tmp_path: Path) -> None:
    await run_batch(game(1), database)
    for bom in (False, True):
        for path in export_batch(database, "last", "csv", tmp_path, bom=bom):
            assert path.read_bytes().startswith(b"\xef\xbb\xbfbatch_id" if bom else b"batch_id")
    with pytest.raises(UsageError, match="--bom only works with --format csv"):
        export_batch(database, "last", "json", tmp_path, bom=True)


@pytest.mark.parametrize("mode", MODES)
async def test_a_batch_exported_and_imported_elsewhere_has_equal_statistics(
    database: Path, tmp_path: Path, mode: str
) -> None:
    await run_batch(game(2), database)
    settings = {"targeted_secret": "violet"} if mode == "targeted" else {}
    study = game(30, mode=mode, simulated={"fatal_rate": 0.02}, service={"name": "live", "retries": 0}, **settings)
    summary = await run_batch(study, database)
    (alone,) = export_batch(database, summary["batch_id"], "sqlite", tmp_path / "alone.db")
    assert query(alone, "SELECT id FROM batches") == [(summary["batch_id"],)]
    elsewhere = tmp_path / "elsewhere.db"
    await run_batch(game(1, seed=3), elsewhere)
    import_file(elsewhere, alone)
    for path in (alone, elsewhere):
        assert summarise(path, summary["batch_id"]) == summary
        assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert not list(tmp_path.glob("*.db-wal"))


async def test_what_cannot_be_exported_is_told(database: Path, tmp_path: Path) -> None:
    await run_batch(game(1), database)
    with pytest.raises(FileError, match="already exists"):
        export_batch(database, "last", "sqlite", database)
    with pytest.raises(UsageError, match="json, csv, sqlite, html, markdown, parquet"):
        export_batch(database, "last", "policy", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="-o"):
        export_batch(database, "last", "html", tmp_path / "file" / "report.html")
    assert summarise(database, "last")["status"] == "completed"


# -- parquet ---------------------------------------------------------------------------------------------


async def test_parquet_holds_the_same_rows_with_types(database: Path, batch: str, tmp_path: Path) -> None:
    from arro3.io import read_parquet

    written = export_batch(database, batch, "parquet", tmp_path)
    assert [path.name for path in written] == [
        "messages.parquet",
        "outcomes.parquet",
        "verdicts.parquet",
        "measures.parquet",
    ]
    found = read_parquet(str(written[1])).read_all()
    stored = query(
        database,
        "SELECT agent, opener, revealed, turn, score FROM outcomes WHERE batch_id = ? ORDER BY conversation_id, opener DESC",
        batch,
    )
    columns = [found.column(name).to_pylist() for name in ("agent", "opener", "revealed", "turn", "score")]
    assert list(zip(*columns, strict=True)) == stored
    assert set(columns[1]) == {True, False} and isinstance(columns[4][0], float)


# -- html ------------------------------------------------------------------------------------------------


async def test_an_html_report_is_whole_and_asks_for_nothing(database: Path, batch: str, tmp_path: Path) -> None:
    (path,) = export_batch(database, batch, "html", tmp_path / "report.html")
    page = Page(path.read_text())
    assert {*page.tags}.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "base", "form", "a"})
    assert not [name for name, value in page.attributes if name in ("src", "href", "action") or "url(" in (value or "")]
    assert "http" not in path.read_text().replace("http-equiv", "")
    assert "Simulated: no real model was called" in page.text
    for told in ("Mean score", "The judge's verdicts", "Missing:", "Rounds without a partner", "Ada", "0.0 %"):
        assert told in page.text


async def test_foreign_text_is_text_in_a_report_and_in_a_table(table: Table, tmp_path: Path) -> None:
    table.speech = lambda call, seed: HOSTILE
    players = [agent.model_copy(update={"name": f"{agent.name}<b>{HOSTILE}"}) for agent in agents(2)]
    await table.run(SecretGame(agents=players, name=HOSTILE, num_interactions=2, messages_per_interaction=2))
    (path,) = export_batch(table.database, "last", "html", tmp_path / "report.html")
    text = path.read_text()
    page = Page(text)
    assert {*page.tags}.isdisjoint({"script", "img", "b"})
    assert "alert(1)" in page.text
    assert "\x1b" not in text and "\x00" not in text
    for exported in export_batch(table.database, "last", "csv", tmp_path / "tables"):
        for row in rows_of_csv(exported):
            assert not any(str(cell).startswith(("=", "+", "-", "@")) for cell in row.values())
