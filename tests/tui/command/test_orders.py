"""`tidepool orders`: provider batches are shown with state and age, and one that takes too long is given up."""

import json
import signal
from pathlib import Path

from tests.support.command import Tidepool, until
from tests.support.state import query
from tests.support.studies import written

ENDLESS = """[service]
name = "auto"
batch_from = 0
poll_interval = 0.05
[providers.simulated]
batch_seconds = 1e6
price_input = 5.0
price_output = 25.0
"""


def is_followed(database: Path) -> bool:
    return query(database, "SELECT remote_state FROM provider_batch WHERE state = 'created'") == [("in_progress",)]


def test_open_provider_batches_are_listed_and_one_is_given_up_while_its_batch_runs(
    tidepool: Tidepool, tmp_path: Path, database: Path
) -> None:
    with tidepool.start("--run", str(written(tmp_path, 6, 1, more=ENDLESS)), "--json") as process:
        until(lambda: is_followed(database), process)
        (order,) = tidepool.json("orders", "last")["orders"]
        found = (order["state"], order["remote_state"], order["calls"], order["wave"])
        assert found == ("created", "in_progress", 6, 1)
        table = tidepool("orders", "last").stdout
        assert order["remote_id"] in table and "in_progress" in table
        done = tidepool("orders", "last", "--give-up", order["remote_id"][:9], "--yes")
        assert done.returncode == 0 and "resends its requests" in done.stdout
        out, _ = process.communicate(timeout=60)
    summary = json.loads(out)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 6
    assert tidepool.json("orders", "last")["orders"] == []
    (order,) = tidepool.json("orders", "last", "--all")["orders"]
    assert (order["state"], order["open"], order["reserved_usd"]) == ("cancelled", False, 0)


def test_one_of_a_stopped_batch_is_given_up_and_resume_asks_its_calls_again(
    tidepool: Tidepool, tmp_path: Path, database: Path
) -> None:
    with tidepool.start("--run", str(written(tmp_path, 6, 1, more=ENDLESS))) as process:
        until(lambda: is_followed(database), process)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    asked = tidepool("orders", "last", "--give-up", "")
    assert asked.returncode != 0
    (order,) = tidepool.json("orders", "last")["orders"]
    refused = tidepool("orders", "last", "--give-up", order["id"])
    assert refused.returncode == 2 and "--yes" in refused.stderr
    unknown = tidepool("orders", "last", "--give-up", "batch_of_nobody", "--yes")
    assert unknown.returncode != 0 and "has no provider batch 'batch_of_nobody'" in unknown.stderr
    given_up = tidepool.json("orders", "last", "--give-up", order["id"], "--yes")
    assert given_up["outcome"] == "later"
    done = tidepool("--resume", "last", "--set", "service.name=live", "--json")
    summary = json.loads(done.stdout)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 6
    assert query(database, "SELECT state, reservation_usd FROM provider_batch") == [("cancelled", 0)]
    again = tidepool("orders", "last", "--give-up", order["id"], "--yes")
    assert again.returncode != 0 and "is already" in again.stderr
