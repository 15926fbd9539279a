"""A study of several batches is run, stopped, killed, paid for and read as one."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from tests.emulator.faults import Faults
from tests.emulator.server import Emulator
from tests.engine.design.designs import written
from tests.support.command import Tidepool
from tests.support.killing import wait_for_calls
from tests.support.state import Rows, end_state, query, sold_by_batch, sold_live
from tidepool.engine.config import ceilings
from tidepool.engine.config.loading import load_config
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import UsageError
from tidepool.engine.run import create_planned, resume_study, run_planned, run_study
from tidepool.storage.ledger import set_paused
from tidepool.storage.writer import Writer

SLOW = {
    "live": '[service]\nname = "live"\nmax_concurrent = 8\n[providers.simulated]\nlatency = 0.01\njitter = 0.7',
    "auto": "[service]\nbatch_from = 0\npoll_interval = 0.02\n[providers.simulated]\nbatch_seconds = 0.15",
}


def ends(database: Path) -> dict[str, dict[str, Rows]]:
    """What each cell came to, by its name."""
    batches = query(database, "SELECT name, id FROM batches ORDER BY name")
    return {name: end_state(database, batch) for name, batch in batches}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Rows]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    asyncio.run(run_study(load_config(written(folder)), folder / "study.db"))
    return ends(folder / "study.db")


@pytest.mark.slow
@pytest.mark.parametrize("service", SLOW)
def test_killed_twice_and_resumed_it_comes_to_the_same_and_buys_nothing_twice(
    service: str, undisturbed: dict[str, dict[str, Rows]], tmp_path: Path
) -> None:
    database = tmp_path / "study.db"
    command = Tidepool(tmp_path, database)
    begin = ["--run", str(written(tmp_path, more=SLOW[service]))]
    for calls in (40, 90):
        with command.start(*begin) as process:
            wait_for_calls(database, calls, process)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        begin = ["--resume", "last"]
    assert command.json("show", "last")["status"] == "interrupted"
    summary = command.json("--resume", "last")
    assert summary["status"] == "completed" and summary["units"] == {"total": 48, "completed": 48, "failed": 0}
    assert ends(database) == undisturbed
    leading = query(database, "SELECT id FROM batch ORDER BY number LIMIT 1")[0][0]
    ordered, live = sold_by_batch(database, leading, summary["study_id"]), sold_live(summary["study_id"])
    answered = dict(query(database, "SELECT source, count(*) FROM call GROUP BY 1"))
    assert ordered.total() == answered.get("batch", 0), "no provider batch was bought twice"
    assert 0 <= live.total() - answered.get("live", 0) <= 2 * 8, "live, only what was in flight"


def test_waves_of_all_cells_share_provider_batches_and_one_asks_what_two_want_to_know(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, more="[service]\nbatch_from = 20"))
    summary = asyncio.run(run_study(config, tmp_path / "study.db"))
    batches = query(tmp_path / "study.db", "SELECT count(*), sum(calls) FROM provider_batches")
    assert batches == [(3, summary["calls"]["bought"])], "three messages: three waves of 48 talks"
    assert summary["calls"]["cached"] > 0, "the first words of plain Bob are the same whichever model Ada is"
    assert summary["calls"]["total"] == 48 * 3


def test_replies_that_were_known_before_the_hypotheses_are_told(tmp_path: Path) -> None:
    config, database = load_config(written(tmp_path)), tmp_path / "study.db"
    first, again = (asyncio.run(run_study(config, database))["statistics"] for _ in range(2))
    assert (first["known_before"], again["known_before"]) == (False, True)


def test_the_budget_is_that_of_the_whole_study(tmp_path: Path) -> None:
    priced = '[service]\nname = "live"\nbudget_usd = 0.02\n[providers.simulated]\nprice_input = 1.0\nprice_output = 5.0'
    database = tmp_path / "study.db"
    command = Tidepool(tmp_path, database)
    stopped = command("--run", str(written(tmp_path, more=priced)), "--json")
    summary = json.loads(stopped.stdout)
    assert stopped.returncode == 4 and summary["status"] == "interrupted"
    assert "$0.0200 is too small" in stopped.stderr and "resume with a larger one" in stopped.stderr
    assert 0.01 < summary["cost_usd"] <= 0.02
    assert query(database, "SELECT sum(cost_usd) FROM batches")[0][0] == pytest.approx(summary["cost_usd"])
    assert command.json("--resume", "last", "--set", "service.budget_usd=1.0")["status"] == "completed"


def test_a_study_is_stopped_and_goes_on_by_any_of_its_names(tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    command = Tidepool(tmp_path, database)
    slow = '[service]\nname = "live"\nmax_concurrent = 2\n[providers.simulated]\nlatency = 0.3'
    with command.start("--run", str(written(tmp_path, more=slow))) as process:
        wait_for_calls(database, 5, process)
        assert command("stop", "last").returncode == 0
        assert "Traceback" not in process.communicate(timeout=30)[1]
    cell = query(database, "SELECT id FROM batch ORDER BY number LIMIT 1")[0][0]
    assert command.json("--resume", cell, "--set", "providers.simulated.latency=0.0")["status"] == "completed"
    assert "nothing to resume" in command("--resume", cell).stderr
    asyncio.run(_pause(database, 1))
    assert query(database, "SELECT sum(paused) FROM batch") == [(0,)], (
        "a cell that has ended is not paused with the others"
    )


async def test_a_wave_that_waits_only_for_a_live_cell_is_no_deadlock(tmp_path: Path) -> None:
    """Ollama has no batch API: the mixed cell waits for the first message, which the other cell buys live."""
    mixed = '[design.factors]\n"agents.\\"Dr. Bob\\".model" = ["ollama:llama3.2", "simulated:naive"]\n'
    more = "[service]\nbatch_from = 0\npoll_interval = 0.01\n[providers.ollama]\nbase_url = "
    async with Emulator(ollama=Faults(latency=0.1)) as emulator:
        path = written(tmp_path, factors=mixed, talks=1, more=more + f'"{emulator.urls["ollama"]}"')
        path.write_text(path.read_text().replace("simulated:guarded", "ollama:llama3.2"))
        summary = await run_study(load_config(path), tmp_path / "study.db")
    assert summary["status"] == "completed" and summary["calls"]["cached"] == 1


async def _pause(database: Path, number: int) -> None:
    writer = Writer(database)
    await writer.open()
    set_paused(writer, number, True)
    await writer.close()


def test_a_study_of_more_batches_than_any_config_makes_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, database = load_config(written(tmp_path)), tmp_path / "study.db"
    study, planned = create_planned(plan_study(config, database), database), plan_study(config, database)
    monkeypatch.setattr(ceilings, "CELLS", 7)
    with pytest.raises(UsageError, match="The maximum for a run is 7"):
        asyncio.run(resume_study(study, database))
    with pytest.raises(UsageError, match="The maximum for a run is 7"):
        asyncio.run(run_planned(planned, tmp_path / "again.db"))
    assert not (tmp_path / "again.db").exists()


def test_one_line_in_the_list_and_gone_as_one(tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    command = Tidepool(tmp_path, database)
    study = command.json("--run", str(written(tmp_path)))["study_id"]
    listed = command("list").stdout
    assert len(listed.splitlines()) == 2 and study in listed and "cells" in listed
    assert len(command("list", "--cells").stdout.splitlines()) == 10
    assert len(query(database, "SELECT * FROM cells WHERE study_id = ?", study)) == 16
    plan = command.json("--run", str(written(tmp_path)), "--dry-run")
    assert plan["units"] == 48 and plan["calls"] == 144 and len(plan["cells"]) == 8
    assert "is a study" in command("branch", study, "--all", "--at", "t2").stderr
    again = command.json("--db", str(tmp_path / "other.db"), "--run", f"{database}#last", "--dry-run")
    assert again["name"] == "Firm or plain" and again["cells"] == plan["cells"]
    assert command("delete", study, "--yes").returncode == 0
    assert query(
        database, "SELECT (SELECT count(*) FROM batch), (SELECT count(*) FROM study), (SELECT count(*) FROM study_cell)"
    ) == [(0, 0, 0)]
