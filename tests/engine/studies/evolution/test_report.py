"""Reports, methods and the genealogy of an evolution."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import run, study
from tests.support.command import Tidepool
from tidepool.engine.exports.export import export_batch
from tidepool.engine.reports.blocks import Estimate, Table, text_of
from tidepool.engine.studies.evolution.records import Family, Member
from tidepool.engine.studies.evolution.results import EvolutionResults


async def test_the_report_names_champion_and_best_seed_and_draws_the_way(database: Path, tmp_path: Path) -> None:
    models = ["simulated:solver-small", "simulated:solver"]
    hostile = "Say <script>alert(1)</script> & solve it step by step."
    config = study(models=models, max_generations=2, seed_prompts=[hostile], random_baseline=True)
    found = (await run(config, database))["statistics"]
    (path,) = export_batch(database, "last", "html", tmp_path / "report.html")
    page = path.read_text()
    champion = found["champion"]
    ends = tuple(100 * end for end in champion["validation_ci95"])
    assert text_of(Estimate(100 * champion["validation_accuracy"], ends, unit=" %")) in page
    gain = tuple(100 * end for end in found["difference_ci95"])
    shown = text_of(Estimate(100 * found["difference"], gain, unit=" points", signed=True))
    assert page.count(shown) == 1, "the gain is the headline"
    assert page.count(f"on {found['pairs']} held-out problems, ") >= 1
    assert (
        "comparisons are exploratory and form one family" in page
        and "random_search" in found
        and found["p_value_holm"] is not None
    )
    assert "against a random search of" in page and page.count("compare runs over several seeds") == 2
    assert found["rewrites"] > sum(found["refused_rewrites"].values()) >= 0
    assert page.count("<polyline") == 2 and "random search" in page and "simulated:solver-small" in page
    assert "Intervals are at 95 % and describe these prompts on problems like these." in page
    assert "Bonett DG, Price RM (2012)" in page and "Wilson EB (1927)" in page
    assert "could not reverse them" in page and f"and {found['search_calls']:,} requests." in page
    assert "<script" not in page and "&lt;script&gt;" in page
    found["champion"] |= {"missing": 0.123, "validation_missing": 0.456}
    (finalists,) = [
        one
        for one in EvolutionResults().blocks(found)
        if isinstance(one, Table) and "never used for selection" in one.title
    ]
    assert text_of(finalists.rows[0][finalists.columns.index("missing")]) == "45.6 %", "beside what is held out"


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
