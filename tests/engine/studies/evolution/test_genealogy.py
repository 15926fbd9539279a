"""Who descends from whom."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import run, study
from tests.support.command import Tidepool
from tidepool.engine.exports.export import export_batch
from tidepool.engine.studies.evolution.records.genealogy import Family, Member
from tidepool.tui.command.report import print_family
from tidepool.tui.drawing.text import console


def member(name: str, generation: int, *parents: str) -> Member:
    return Member(name, generation, parents, "reflect" if parents else "seed", f"Prompt {name}.", 0.5, 0.5, 0.0)


FAMILY = Family(
    {
        one.genome_id: one
        for one in (member("a", 0), member("b", 0), member("c", 1, "a", "b"), member("d", 2, "c"), member("e", 2, "b"))
    },
    champion="d",
    baseline="b",
)


@pytest.mark.parametrize(
    ("genome", "mothers", "ancestors"),
    [("d", ["d", "c", "a"], ["d", "c", "a", "b"]), ("e", ["e", "b"], ["e", "b"]), ("a", ["a"], ["a"]), ("?", [], [])],
)
def test_a_line_of_mothers_and_all_ancestors(genome: str, mothers: list[str], ancestors: list[str]) -> None:
    assert [one.genome_id for one in FAMILY.mothers(genome)] == mothers
    assert [one.genome_id for one in FAMILY.ancestors(genome)] == ancestors


def test_a_strangers_file_with_a_circle_in_it_does_not_hang() -> None:
    circle = Family({"a": member("a", 0, "b"), "b": member("b", 0, "a")}, "a", None)
    assert [one.genome_id for one in circle.mothers("a")] == ["a", "b"]
    assert len(circle.ancestors("a")) == 2


def test_the_family_as_json_counts_children_and_operators() -> None:
    found = FAMILY.as_json()
    assert found["lineage"] == ["d", "c", "a", "b"]
    assert found["operators"] == {"reflect": 3, "seed": 2}
    assert {one["genome_id"]: one["children"] for one in found["genomes"]} == {"a": 1, "b": 2, "c": 1, "d": 0, "e": 0}


async def test_the_command_shows_the_champions_ancestors(database: Path, tidepool: Tidepool) -> None:
    summary = await run(study(max_generations=2), database)
    found: dict[str, Any] = tidepool.json("show", "last", "--genealogy")
    ids = {one["genome_id"] for one in found["genomes"]}
    assert found["champion"] == summary["statistics"]["champion"]["genome_id"]
    assert found["baseline"] in ids and set(found["lineage"]) <= ids
    assert all(set(one["parents"]) <= ids for one in found["genomes"])
    written = {path.name: path for path in export_batch(database, "last", "json", database.parent / "out")}
    exported = json.loads(written["results.json"].read_text())
    assert {one["genome_id"]: one["parents"] for one in exported["genomes"]} == {
        one["genome_id"]: one["parents"] for one in found["genomes"]
    }


def test_the_tree_names_the_champion_first_and_each_ancestor_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_family(console(), FAMILY)
    shown = capsys.readouterr().out
    assert "3 ancestors, 2 of them seed prompts" in shown
    assert [shown.count(f"Prompt {name}.") for name in "dcabe"] == [1, 1, 1, 1, 0]
    assert shown.index("Prompt d.") < shown.index("Prompt c.") < shown.index("Prompt a.")
