"""GEPA on our problems, and the handover between its thread and the study."""

import asyncio
import json
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.engine.studies.evolution.running import evolved, run, run_with_interruptions, study
from tests.support.state import query
from tidepool.engine.config.freezing import freeze
from tidepool.engine.errors import UsageError
from tidepool.engine.runtime.plans import priced
from tidepool.engine.studies.evolution.gepa import NEEDS_EXTRA, Ask, SearchEnded, lead, require_extra
from tidepool.engine.studies.study import study_from

pytest.importorskip("gepa", reason="the extra gepa")
FAULTY = {"fatal_rate": 0.1, "error_rate": 0.1}


async def test_gepa_is_the_same_by_any_transport_and_after_interruptions(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    databases = [tmp_path / f"{name}.db" for name in ("live", "auto", "interrupted")]
    live = await run(study(max_generations=3, strategy="gepa", service="live", simulated=FAULTY), databases[0])
    auto = await run(study(max_generations=3, strategy="gepa", simulated=FAULTY), databases[1])
    again, stops = await run_with_interruptions(
        study(max_generations=3, strategy="gepa", service="live", simulated=FAULTY), databases[2], 150
    )
    assert live["status"] == "completed" and stops >= 2
    assert evolved(auto, databases[1]) == evolved(live, databases[0]) == evolved(again, databases[2])
    assert again["calls"]["bought"] == live["calls"]["bought"]
    assert capfd.readouterr() == ("", "")
    assert {path.suffix for path in tmp_path.iterdir() if path.is_file()} == {".db"}
    _check_genealogy(live, databases[0])
    _check_budget(live, await run(study(max_generations=3, service="live", simulated=FAULTY), tmp_path / "genetic.db"))


def _check_genealogy(summary: dict[str, Any], database: Path) -> None:
    rows = query(database, "SELECT genome_id, generation, operator, parents, missing FROM genomes")
    ids = {row[0] for row in rows}
    proposed = [row for row in rows if row[2] == "reflect"]
    assert proposed and all(row[1] >= 1 for row in proposed)
    assert all(set(json.loads(row[3])) <= ids and row[3] != "[]" for row in proposed)
    assert summary["statistics"]["champion"]["genome_id"] in ids
    assert 0 < summary["statistics"]["genomes"]["missing"] < 0.25
    apart = query(database, "SELECT min(json_extract(details, '$.diversity')) FROM genome WHERE fitness IS NOT NULL")
    assert apart[0][0] > 0, "a proposal is compared with the prompts before it"


def _check_budget(gepa: dict[str, Any], genetic: dict[str, Any]) -> None:
    """As many generations, and as many calls up to one iteration."""
    ours, theirs = gepa["statistics"], genetic["statistics"]
    assert len(ours["generations"]) == len(theirs["generations"])
    assert abs(ours["search_calls"] - theirs["search_calls"]) <= 12 + 4 + 6
    assert [told["generation"] for told in ours["generations"]] == [0, 1, 2]


async def test_gepa_takes_no_more_than_its_plan_says(tmp_path: Path) -> None:
    config = study(strategy="gepa", max_generations=3, seed_prompts=["Solve this: {question}", "Think."])
    frozen = freeze(config, tmp_path / "study.db")
    planned = priced(study_from(frozen).plan(), frozen)["at_most"]
    summary = await run(config, tmp_path / "study.db")
    assert summary["calls"]["total"] <= planned["calls"]
    assert summary["tokens"]["input"] <= planned["tokens"]["input"]


async def test_where_everything_is_solved_gepa_stops_by_itself(tmp_path: Path) -> None:
    problems = tmp_path / "easy.jsonl"
    problems.write_text("".join(json.dumps({"question": f"Say {n}", "answer": str(n)}) + "\n" for n in range(1, 9)))
    config = study(strategy="gepa", service="live", problems=str(problems), max_problems=1, target_fitness=9.0)
    summary = await run(config, tmp_path / "study.db")
    assert summary["reason"] == "solved"
    assert summary["statistics"]["champion"]["accuracy"] == 1.0


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gepa", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError) as raised:
        require_extra()
    assert str(raised.value) == NEEDS_EXTRA and "\n" not in NEEDS_EXTRA


@pytest.mark.parametrize("how", ["cancelled", "failed"])
async def test_a_thread_unwinds_when_the_study_ends_before_it(how: str) -> None:
    unwound, asked = Event(), asyncio.Event()

    def work(ask: Ask) -> None:
        try:
            try:
                ask(1)
            except Exception:  # a library that swallows errors must not swallow this one
                ask(2)
        except SearchEnded:
            unwound.set()
            raise

    async def never(question: int) -> int:
        asked.set()
        if how == "failed":
            raise LookupError("no answer")
        await asyncio.get_running_loop().create_future()
        return 0

    leading = asyncio.create_task(lead(work, never))
    await asked.wait()
    if how == "cancelled":
        leading.cancel()
    with pytest.raises((LookupError, asyncio.CancelledError)):
        await leading
    assert await asyncio.to_thread(unwound.wait, 10)
