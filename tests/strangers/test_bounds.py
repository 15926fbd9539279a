"""However much a file holds, what is read to be shown is what can be shown."""

import json
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import panel
from tests.support.state import change
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import enlist
from tidepool.storage.reading.figures import MOST_WAVES
from tidepool.storage.reading.watching import LONGEST_NAME
from tidepool.tui.command.commands.list_batches import MOST_SHOWN
from tidepool.tui.command.main import main

COUNT = "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < {most})"


@pytest.fixture
def file(database: Path) -> Path:
    enlist(panel(num_simulations=1), database)
    return database


def test_more_waves_than_any_study_has_are_cut(file: Path) -> None:
    change(
        file,
        "INSERT INTO wave (batch_number, wave, calls, failed, cached, retried, seconds, transport) "
        f"{COUNT.format(most=MOST_WAVES + 100)} SELECT 1, x, 1, 0, 0, 0, 1.0, 'live' FROM n",
    )
    assert len(summarise(file, "last")["waves"]) == MOST_WAVES
    assert main(["--db", str(file), "export", "last", "--format", "json", "-o", str(file.with_name("out"))]) == 0
    exported = json.loads(next(file.with_name("out").rglob("results.json")).read_text())
    assert len(exported["waves"]) == MOST_WAVES and exported["waves_left_out"] == 91


def test_a_long_list_shows_the_newest_and_says_where_all_are(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "kind, name, description, status, paused, seed, simulated, imported, config, version, created_at"
    change(
        file,
        f"INSERT INTO batch (number, id, {names}) {COUNT.format(most=MOST_SHOWN + 50)} SELECT x, 'b' || x, {names} FROM batch, n",
    )
    counters = (
        "units_total, units_completed, units_failed, calls, bought, cached, replayed, retried, failed, input_tokens, "
    )
    counters += "output_tokens, cost_usd, unpriced, seconds, call_seconds, peak_concurrency, heartbeat, heartbeat_at, in_flight, limits"
    change(
        file,
        f"INSERT INTO progress (batch_number, {counters}) SELECT number, {counters} FROM batch, progress WHERE number > 1",
    )
    assert main(["--db", str(file), "list"]) == 0
    printed = capsys.readouterr().out
    assert f"b{MOST_SHOWN + 50}" in printed and "list --json" in printed and "b12 " not in printed
    assert main(["--db", str(file), "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == MOST_SHOWN + 42


def test_a_name_as_long_as_a_book_is_cut(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(file, "UPDATE batch SET name = printf('%.*c', 20000000, 'x')")
    assert len(summarise(file, "last")["name"]) == LONGEST_NAME
    assert main(["--db", str(file), "list"]) == 0
    assert len(capsys.readouterr().out) < 2_000
