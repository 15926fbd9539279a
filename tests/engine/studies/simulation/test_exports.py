"""A batch of simulations out: one CSV file, and JSON that comes back the same."""

import csv
import json
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import PEOPLE, panel, rows
from tidepool import Design, Entity, run_batch, run_study
from tidepool.engine.exports.export import export_batch
from tidepool.engine.studies.simulation.exports import BEHIND, COLUMNS, listed


def read(path: Path, encoding: str = "utf-8") -> list[list[str]]:
    with path.open(encoding=encoding, newline="") as stream:
        return list(csv.reader(stream))


async def test_a_batch_is_one_table_with_the_contracts_columns(database: Path, tmp_path: Path) -> None:
    summary = await run_batch(
        panel(num_simulations=6, n_turns=2, thoughts=True, simulated={"fatal_rate": 0.2}), database
    )
    (path,) = export_batch(database, "last", "csv", tmp_path / "out.csv")
    header, *table = read(path)
    assert header == [*COLUMNS, *BEHIND]
    assert len(table) == 6 and all(len(row) == len(header) for row in table)
    units = rows(database, "SELECT * FROM conversations ORDER BY sequence_number")
    assert 0 < summary["units"]["failed"] < 6
    for row, unit in zip(table, units, strict=True):
        cells = dict(zip(header, row, strict=True))
        assert cells["Simulation ID"] == f"{summary['batch_id']}-{unit['sequence_number']}"
        assert (cells["Status"], cells["Error"]) == (unit["status"], unit["error"] or "")
        assert (cells["Replicate"], cells["Ratings"]) == ("1", "")
        assert cells["Entity Names"].split("; ") == json.loads(unit["participants"])
        assert cells["Context"] == "A plan for a new water mill"
        said = rows(database, "SELECT * FROM messages WHERE conversation_id = ? ORDER BY wave", unit["id"])
        lines = [f"{message['speaker']}: *{message['thought']}* {message['content']}" for message in said]
        assert cells["Content"] == "\n\n".join(lines)


async def test_every_rating_is_a_row_with_its_entity_its_attributes_and_the_judge(
    database: Path, tmp_path: Path
) -> None:
    from arro3.io import read_parquet

    people = [Entity("Ada; the miller", "", {"age": 61, "odd, name": True}), *PEOPLE[1:]]
    summary = await run_batch(panel(people, num_simulations=6, judge={"question": "In favour?"}), database)
    simulations, ratings = export_batch(database, "last", "csv", tmp_path / "tables", bom=True)
    assert (simulations.name, ratings.name) == ("simulations.csv", "ratings.csv")
    header, *table = read(simulations, "utf-8-sig")
    listed_ratings = [json.loads(row[header.index("Ratings")]) for row in table]
    for row in table:
        cells = dict(zip(header, row, strict=True))
        ids, names = (
            next(csv.reader([cells[name]], delimiter=";", skipinitialspace=True))
            for name in ("Entity IDs", "Entity Names")
        )
        attributes = json.loads(cells["Attributes"])
        assert ids == names and [dict(one.attributes) for one in people if one.name in names] == attributes
    stored = rows(database, "SELECT * FROM judgements ORDER BY conversation_id, place")
    assert [rating for row in listed_ratings for rating in row] == [row["rating"] for row in stored]
    with ratings.open(encoding="utf-8-sig", newline="") as stream:
        told = list(csv.DictReader(stream))
    for row, judgement in zip(told, stored, strict=True):
        person = next(one for one in people if one.name == row["entity"])
        assert row["entity_id"] == row["entity"] == judgement["entity"] == person.name
        assert float(row["rating"]) == judgement["rating"]
        assert (row["batch_id"], row["model"], row["served_model"]) == (summary["batch_id"], "simulated:judge", "")
        assert row["simulation_id"] == f"{summary['batch_id']}-{row['sequence_number']}"
        assert row["attribute: age"] == str(person.attributes["age"])
        assert row["attribute: odd, name"] == ("true" if person is people[0] else "")
    paths = export_batch(database, "last", "parquet", tmp_path / "typed")
    assert [path.name for path in paths] == ["messages.parquet", "simulations.parquet", "ratings.parquet"]
    typed = read_parquet(str(paths[2])).read_all()
    assert typed.column("rating").to_pylist() == [row["rating"] for row in stored]
    assert set(typed.column("attribute: odd, name").to_pylist()) == {True, None}


async def test_a_study_exports_the_ratings_of_all_cells_with_their_factors(database: Path, tmp_path: Path) -> None:
    study = panel(PEOPLE, num_simulations=3, judge={"question": "In favour?"})
    study.design = Design(factors={"simulation.temperature": [0.0, 1.0]}, replicates=2)
    summary = await run_study(study, database)
    export_batch(database, summary["study_id"], "csv", tmp_path / "tables")
    header, *table = read(tmp_path / "tables" / "ratings.csv")
    levels = [row[header.index("simulation.temperature")] for row in table]
    assert levels.count("0.0") == levels.count("1.0") > 0 and "attribute: age" in header
    header, *table = read(tmp_path / "tables" / "simulations.csv")
    assert {row[header.index("design_replicate")] for row in table} == {"1", "2"}


@pytest.mark.parametrize(
    ("names", "cell"),
    [
        (["Ada", "Bob"], "Ada; Bob"),
        (['Bob "the baker" Stone', "Smith, John"], 'Bob "the baker" Stone; Smith, John'),
        (["a; b", "c"], '"a; b"; c'),
        (["a;b", '"x" y', '";"'], '"a;b"; """x"" y"; """;"""'),
    ],
)
def test_names_in_one_cell_can_be_told_apart(names: list[str], cell: str) -> None:
    assert listed(names) == cell
    assert next(csv.reader([cell], delimiter=";", skipinitialspace=True)) == names


async def test_where_the_file_goes(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = await run_batch(panel(num_simulations=1), database)
    monkeypatch.chdir(tmp_path)
    assert export_batch(database, "last", "csv", None) == [Path(f"{summary['batch_id']}.csv")]
    assert export_batch(database, "last", "csv", Path("folder")) == [Path("folder/simulations.csv")]
    assert export_batch(database, "last", "csv", Path("x.csv")) == [Path("x.csv")]
    await run_batch(panel(num_simulations=1, judge={"question": "In favour?"}), database)
    assert export_batch(database, "last", "csv", Path("x.csv")) == [Path("x.csv"), Path("x-ratings.csv")]


async def test_json_holds_who_said_what_and_every_rating(database: Path, tmp_path: Path) -> None:
    judge = {"question": "Does the speaker agree, 1 to 5?"}
    await run_batch(panel(num_simulations=4, style="narrated", n_turns=2, judge=judge, interaction_size=3), database)
    results, analysis = export_batch(database, "last", "json", tmp_path)
    content = json.loads(results.read_text())
    for unit in content["units"]:
        assert unit["entity_ids"] == unit["participants"]
        assert [message["speaker"] for message in unit["messages"]] == unit["participants"] * 2
        assert [judgement["entity"] for judgement in unit["judgements"]] == unit["participants"]
        assert all(1 <= judgement["rating"] <= 5 for judgement in unit["judgements"])
    assert [entity["name"] for entity in content["batch"]["config"]["entities"]] == [e.name for e in PEOPLE]
    assert json.loads(analysis.read_text())["judgements"]["given"] == 12
