"""Batches that stop when they are sure: where, what is kept, and that neither haste nor death moves it."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.command import Tidepool
from tests.support.killing import wait_for_calls
from tests.support.state import query
from tests.support.studies import game, written
from tidepool import Summary, resume_batch, run_batch
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import StopWhenSure
from tidepool.engine.errors import UsageError
from tidepool.engine.results.report import report_of
from tidepool.engine.runtime.services import stages_of
from tidepool.engine.runtime.stop_results import read
from tidepool.engine.studies.secret_game.expectations import WatchedGame
from tidepool.engine.studies.secret_game.pairing import Schedule
from tidepool.engine.studies.study import study_from
from tidepool.storage.file import reading

LINE = StopWhenSure(outcome="revealed", decided=True, line=0.6)
TALKS, STOPS_AT = 240, 36
"""with the seed of these studies"""


def _stopping(summary: Summary) -> dict[str, Any]:
    found: dict[str, Any] = summary.statistics["stopping"]
    return found


def _the_same(found: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on how fast the answers came."""
    return {name: value for name, value in found.items() if name not in ("begun", "calls_saved")}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, Path]:
    database = tmp_path_factory.mktemp("stopping") / "study.db"
    return await run_batch(game(TALKS, stop=LINE, service={"name": "live"}), database), database


async def test_a_batch_that_is_sure_completes_and_tells_what_it_saved(undisturbed: tuple[Summary, Path]) -> None:
    summary, database = undisturbed
    found = _stopping(summary)
    assert found["stopped_at"] == STOPS_AT and found["verdict"] == "below" and found["max"] == TALKS
    assert found["interval"][1] < 0.6 and found["calls_saved"] == 3 * (TALKS - found["begun"]) > 500
    assert summary.status == "completed" and summary.units.completed == summary.units.total == found["begun"]
    assert query(database, "SELECT stop_code FROM batch") == [("rule",)]
    assert (summary.reason or "").startswith("stopped early: revealed ")
    report = report_of(database, summary)
    told = " ".join(str(block) for block in report.findings)
    assert "early stopping" in told and "until it is clearly above or below 60 %" in told
    assert "A stopping rule" in " ".join(str(block) for block in report.methods)


@pytest.mark.parametrize(
    "change",
    [
        {"rule": 3},
        {"rule": {"outcome": "revealed"}},
        {"looks": "many"},
        {"stopped_at": "soon"},
        {"interval": [0.1]},
        {"interval": 7},
        {"estimate": "half"},
        {"verdict": None},
    ],
)
def test_what_no_rule_has_written_into_a_file_is_not_believed(
    change: dict[str, Any], undisturbed: tuple[Summary, Path]
) -> None:
    content = _stopping(undisturbed[0])
    assert read(content) is not None and read({**content, **change}) is None


@pytest.mark.parametrize("agent", ["", "Cleo"])
def test_what_a_half_width_is_held_to_is_the_interval_of_the_report(
    agent: str, undisturbed: tuple[Summary, Path]
) -> None:
    summary, database = undisturbed
    schedule = Schedule(("Ada", "Bob", "Cleo", "Dion"), num_interactions=TALKS)
    watched = WatchedGame(schedule, "obtained", (agent,) if agent else ())
    with reading(database) as connection:
        watched.read_block(connection, 1, summary.units.total)
    found, told = watched.known(), summary.statistics
    share, ends = ("times_obtained_secret", told["agents"][agent]) if agent else ("secrets_revealed", told["overall"])
    assert found is not None and found.interval is not None
    assert 100 * found.mean == pytest.approx(ends[f"{share}_percentage"])
    assert [100 * end for end in found.interval] == pytest.approx(ends[f"{share}_ci95"])


@pytest.mark.parametrize(
    ("service", "simulated", "most"),
    [
        ({"name": "live", "max_concurrent": 16}, {"latency": 0.002, "jitter": 1.5}, STOPS_AT + 6 + 2 * 20),
        ({"name": "openai"}, {}, 120),
        ({"name": "auto", "batch_from": 40}, {}, 42),
    ],
)
async def test_neither_pace_nor_transport_moves_where_it_stops(
    service: dict[str, Any], simulated: dict[str, Any], most: int, undisturbed: tuple[Summary, Path], tmp_path: Path
) -> None:
    summary = await run_batch(game(TALKS, stop=LINE, service=service, simulated=simulated), tmp_path / "x.db")
    assert _the_same(_stopping(summary)) == _the_same(_stopping(undisturbed[0]))
    assert summary.units.total <= most


def test_a_killed_batch_resumes_to_the_same_stop(undisturbed: tuple[Summary, Path], tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    more = '[service]\nname = "live"\nbatch_from = 0\n[providers.simulated]\nlatency = 0.03\njitter = 1.0\n[stop]\n'
    more += 'outcome = "revealed"\nline = 0.6\ndecided = true\n'
    with Tidepool(tmp_path, database).start("--run", str(written(tmp_path, TALKS, more=more))) as process:
        wait_for_calls(database, 50, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert query(database, "SELECT count(*) FROM finding") == [(0,)], "it was not sure yet"
    found = _stopping(asyncio.run(resume_batch("last", database)))
    assert _the_same(found) == _the_same(_stopping(undisturbed[0]))
    outcomes = "SELECT sequence_number, side, revealed FROM outcome o JOIN unit u ON u.id = o.unit_id WHERE sequence_number <= ? ORDER BY 1, 2"
    assert query(database, outcomes, STOPS_AT) == query(undisturbed[1], outcomes, STOPS_AT)


async def test_talks_that_failed_are_bounded_and_a_resume_retries_them_and_goes_no_further(tmp_path: Path) -> None:
    study = game(TALKS, stop=LINE, service={"name": "live", "retries": 0}, simulated={"error_rate": 0.03})
    first = await run_batch(study, tmp_path / "x.db")
    found = _stopping(first)
    assert first.status == "partial" and first.units.failed and found["stopped_at"] >= STOPS_AT
    again = await resume_batch("last", tmp_path / "x.db", overrides=["service.retries=9"])
    assert again.status == "completed" and again.reason == first.reason
    assert _stopping(again) == found and again.units.total == first.units.total


async def test_at_its_most_it_may_be_undecided(tmp_path: Path) -> None:
    close = StopWhenSure(outcome="revealed", decided=True, line=0.25)
    summary = await run_batch(game(60, stop=close, service={"name": "live"}), tmp_path / "x.db")
    found = _stopping(summary)
    assert (found["stopped_at"], found["verdict"], found["calls_saved"]) == (None, "undecided", 0)
    assert summary.units.completed == 60 and summary.reason is None
    assert found["interval"][0] < 0.25 < found["interval"][1]


@pytest.mark.parametrize(
    ("service", "size", "gathered"),
    [
        ({"name": "live", "max_concurrent": 8}, 10, False),
        ({"name": "default", "max_concurrent": 7}, 7, False),
        ({"name": "auto", "batch_from": 80}, 80, True),  # three groups
        ({"name": "auto", "batch_from": 10}, 30, True),  # at most eight
        ({"name": "auto", "batch_from": 150, "max_concurrent": 500}, 149, False),  # one group would save nothing
        ({"name": "openai", "batch_size": 50}, 50, True),
    ],
)
def test_how_many_units_are_begun_at_a_time(service: dict[str, Any], size: int, gathered: bool) -> None:
    frozen = freeze(game(TALKS, stop=LINE, service=service), Path("none.db"))
    stages = stages_of(frozen, ["simulated:guarded"], TALKS)
    assert (stages.size, stages.gathered) == (size, gathered)
    notes = " ".join(study_from(frozen).plan().notes)
    assert "may stop early" in notes and ("groups" in notes) == gathered


@pytest.mark.parametrize(
    ("kind", "section", "why"),
    [
        ("evolution", {}, "does not promise this. If it has stop rules"),
        ("simulation", {"context": "A hall"}, "share their entities"),
    ],
)
def test_other_kinds_take_none(kind: str, section: dict[str, str], why: str) -> None:
    data = {"batch": {"kind": kind}, kind: section, "stop": {"outcome": "revealed", "half_width": 0.1}}
    entities = {"entities": [{"name": "Ada"}, {"name": "Bob"}]} if kind == "simulation" else {}
    with pytest.raises(UsageError, match=why):
        freeze(config_from(data | entities), Path("none.db"))
