"""The command as scripts use it: what it prints, what it returns, and how it is stopped."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path

import pytest

from tests.support.command import Tidepool, until
from tests.support.state import end_state, log_of, query
from tests.support.studies import written
from tidepool.tui.command.main import main

SLOW = '[service]\nname = "live"\nmax_concurrent = 4\n[providers.simulated]\nlatency = 0.05'
PRICED = "[providers.simulated]\nprice_input = 5.0\nprice_output = 25.0"


def calls(database: Path) -> int:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        return int(connection.execute("SELECT count(*) FROM call").fetchone()[0])


# -- run, read, delete -----------------------------------------------------------------------------------


def test_a_study_is_run_read_and_deleted(tidepool: Tidepool, tmp_path: Path) -> None:
    done = tidepool("--run", str(written(tmp_path, 6, 3)), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["status"] == "completed" and "Running" in done.stderr
    listed = tidepool.json("list")
    assert [(line["id"], line["status"], line["units_completed"]) for line in listed] == [
        (summary["batch_id"], "completed", 6)
    ]
    shown = tidepool.json("show", "last")
    assert {key: shown[key] for key in summary} == summary
    assert tidepool.json("stats", summary["batch_id"][:6]) == summary["statistics"]
    assert tidepool.json("log", "last")[0]["message"] == "Started."
    talk = tidepool("show", "last", "--conversation", "2")
    assert talk.returncode == 0 and talk.stdout.startswith("conversation 2") and "(simulated)" in talk.stdout
    asked = tidepool("delete", "last")
    assert asked.returncode == 2 and "add --yes" in asked.stderr
    assert tidepool("delete", "last", "--yes").stdout == f"Deleted {summary['batch_id']}\n"
    for table in ("batch", "unit", "call", "outcome", "progress", "wave", "log_line", "prompt"):
        assert query(tidepool.database, f"SELECT count(*) FROM {table}") == [(0,)], table


def test_a_summary_tells_all_and_its_sum_of_requests_adds_up(tidepool: Tidepool, tmp_path: Path) -> None:
    """Half of the second study is in the cache; slow calls time out, and may have been billed."""
    first = tidepool("run", str(written(tmp_path, 6, 3)), "--full")
    for words in ("completed", "Simulated: no real model was called.", "Ada", "revealed", "requests/s, mean latency"):
        assert words in first.stdout, words
    assert "transport" not in first.stdout and tidepool.json("show", "last")["waves"], "waves are in the JSON alone"
    assert "Transport: simulated live, up to 6 requests per wave" in first.stderr
    assert "6/6 units" in first.stderr and "\x1b" not in first.stderr
    slow = "[service]\ntimeout = 0.02\nretries = 50\n[providers.simulated]\nlatency = 0.01\njitter = 0.7"
    done = tidepool("--run", str(written(tmp_path, 12, 3, more=slow)))
    assert len(done.stdout.splitlines()) <= 22 and len(done.stderr.splitlines()) <= 4
    calls = tidepool.json("show", "last")["calls"]
    again = calls["bought"] - (calls["total"] - calls["cached"])
    assert calls["total"] == 36 and calls["cached"] >= 18 and again > 0
    told = f"36 requests: {36 - calls['cached']} new, {calls['cached']} from cache"
    assert told in done.stderr
    for shown in (done.stdout, tidepool("show", "last").stdout):
        assert f"{told}; {again} billed again, {calls['retried']} retried" in shown


@contextmanager
def unread() -> Iterator[None]:
    """Standard output whose reader has gone away, as after `| head`; in another encoding than UTF-8 at that."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="ascii") as stream, redirect_stdout(stream):
        yield


def test_a_reader_that_goes_away_changes_nothing_about_how_a_study_ended(tidepool: Tidepool, tmp_path: Path) -> None:
    database = str(tidepool.database)
    with unread():
        assert main(["--db", database, "--run", str(written(tmp_path, 2, 2))]) == 0
    with unread():
        assert main(["--db", database, "list"]) == 141


def test_a_dry_run_prices_and_writes_nothing(tidepool: Tidepool, tmp_path: Path, seller_folder: Path) -> None:
    plan = tidepool.json("--run", str(written(tmp_path, 100, 5, more=PRICED)), "--dry-run")
    assert plan["units"] == 100 and plan["calls"] == 500 and [wave["calls"] for wave in plan["waves"]] == [100] * 5
    assert plan["cost_usd_live"] > plan["cost_usd_batch"] == plan["cost_usd"] > 0
    assert (plan["transport"]["provider_batches"], plan["transport"]["one_after_another"]) == (5, 5)
    assert not tidepool.database.exists() and not seller_folder.exists()


# -- exit codes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "code", "status"), [(0.15, 3, "partial"), (1.0, 1, "failed")])
def test_failed_units_give_their_exit_code(
    tidepool: Tidepool, tmp_path: Path, rate: float, code: int, status: str
) -> None:
    study = written(tmp_path, 10, 3, more=f"[providers.simulated]\nfatal_rate = {rate}")
    done = tidepool("--run", str(study), "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (code, status)


def test_a_budget_stops_with_4_and_a_higher_one_finishes(tidepool: Tidepool, tmp_path: Path) -> None:
    study = written(tmp_path, 20, 3, more=PRICED)
    done = tidepool("--run", str(study), "--json", "--set", "service.budget_usd=0.02")
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["status"], summary["reason"]) == (4, "interrupted", "budget")
    assert summary["cost_usd"] <= 0.02
    done = tidepool("--resume", "last", "--set", "service.budget_usd=50", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")


BAD = {
    "unknown key": ("", "service.max_concurent=3", "Did you mean 'max_concurrent'?"),
    "key in the config": ("", "providers.openai.api_key=abc", "environment"),
    "not KEY=VALUE": ("", "nonsense", "is not KEY=VALUE"),
    "no provider": ('[[agents]]\nname = "Eve"\nmodel = "nobody:x"\nsecret = "s"', "", "nobody:x"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_config_is_one_paragraph_exit_2_and_nothing_is_written(
    tidepool: Tidepool, tmp_path: Path, case: str
) -> None:
    more, override, words = BAD[case]
    overrides = ["--set", override] if override else []
    done = tidepool("--run", str(written(tmp_path, 4, 2, more=more)), *overrides)
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and "Traceback" not in done.stderr
    assert not tidepool.database.exists()


@pytest.mark.parametrize(
    "arguments", [("--run", "nowhere.toml"), ("show", "last"), ("--resume", "last"), ("--dry-run",), ("limits", "last")]
)
def test_wrong_usage_never_makes_a_file(tidepool: Tidepool, arguments: tuple[str, ...]) -> None:
    done = tidepool(*arguments)
    assert done.returncode in (1, 2) and done.stderr and "Traceback" not in done.stderr
    assert not tidepool.database.exists()


def test_a_file_that_is_no_database_is_told_and_left_as_it_was(tidepool: Tidepool, tmp_path: Path) -> None:
    tidepool.database.write_text("my notes\n" * 50)
    done = tidepool("--run", str(written(tmp_path, 4, 2)))
    assert done.returncode == 1 and "is not a SQLite database" in done.stderr
    assert tidepool.database.read_text() == "my notes\n" * 50
    shown = tidepool("list", "--debug")
    assert "Traceback" in shown.stderr


# -- signals and steering --------------------------------------------------------------------------------


def test_a_signal_stops_cleanly_and_resume_comes_to_the_same_end(tidepool: Tidepool, tmp_path: Path) -> None:
    """Rule 11: no new calls; those in flight are drained. As `timeout` sends it, twice at once: that is one."""
    with tidepool.start("--run", str(written(tmp_path, 20, 3, more=SLOW)), "--json") as process:
        until(lambda: calls(tidepool.database) >= 5, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    summary = json.loads(stdout)
    assert process.returncode == 130
    assert (summary["status"], summary["reason"]) == ("interrupted", "signal SIGINT")
    assert sorted(path.name for path in tmp_path.glob("study.db*")) == ["study.db"]
    done = tidepool("--resume", "last", "--json", "--set", "providers.simulated.latency=0.0")
    assert done.returncode == 0 and json.loads(done.stdout)["calls"]["bought"] == 60
    other = Tidepool(tmp_path, tmp_path / "whole.db")
    other.json("--run", str(written(tmp_path, 20, 3)))
    assert end_state(tidepool.database) == end_state(other.database)


def test_a_second_signal_leaves_at_once_and_damages_nothing(tidepool: Tidepool, tmp_path: Path) -> None:
    """Rule 11, the other half."""
    stuck = '[service]\nname = "live"\n[providers.simulated]\nlatency = 30.0'
    with tidepool.start("--run", str(written(tmp_path, 20, 3, more=stuck))) as process:
        until(lambda: query(tidepool.database, "SELECT in_flight FROM progress")[0][0] != "[]", process)
        process.send_signal(signal.SIGINT)
        until(lambda: "Stopping: signal SIGINT." in str(query(tidepool.database, "SELECT message FROM log")), process)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=8)
    assert process.returncode == 130
    assert query(tidepool.database, "PRAGMA integrity_check") == [("ok",)]
    assert tidepool.json("list")[0]["status"] == "interrupted"
    done = tidepool("--resume", "last", "--set", "providers.simulated.latency=0.0", "--json")
    assert done.returncode == 0


def test_a_running_batch_is_steered_from_another_process(tidepool: Tidepool, tmp_path: Path) -> None:
    def told() -> list[str]:
        return log_of(tidepool.database, query(tidepool.database, "SELECT id FROM batch")[0][0])

    with tidepool.start("--run", str(written(tmp_path, 400, 5, more=SLOW)), "--json") as process:
        until(lambda: calls(tidepool.database) >= 3, process)
        second = tidepool("--resume", "last")
        assert second.returncode == 1 and "is already running in another process" in second.stderr
        assert tidepool("delete", "last", "--yes").returncode == 1
        assert tidepool("limits", "last", "max_concurrent=0").returncode == 2
        assert tidepool("limits", "last", "max_concurrent=2", "budget_usd=9.0").returncode == 0
        until(lambda: "Limit changed: budget_usd = 9.0." in told(), process)
        assert tidepool("pause", "last").returncode == 0
        until(lambda: "Paused." in told(), process)
        assert tidepool.json("show", "last")["paused"] is True
        assert tidepool("continue", "last").returncode == 0
        until(lambda: "Continued." in told(), process)
        before = calls(tidepool.database)
        until(lambda: calls(tidepool.database) > before + 4, process)
        assert tidepool("stop", "last").returncode == 0
        stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and json.loads(stdout)["reason"] == "stopped"
    late = tidepool("stop", "last")
    assert late.returncode == 2 and "is not running" in late.stderr
    before = calls(tidepool.database)
    with tidepool.start("--resume", "last", "--set", "service.max_concurrent=3") as process:
        until(lambda: calls(tidepool.database) > before, process)
        process.kill()
        process.communicate(timeout=60)
    service = json.loads(query(tidepool.database, "SELECT config FROM batch")[0][0])["service"]
    assert (service["max_concurrent"], service["budget_usd"]) == (3, 9.0)
    assert "Resumed with service.max_concurrent=3." in told()
    assert tidepool.json("show", "last")["status"] == "interrupted", "a killed batch is shown as such at once"
