"""However much a file holds, what is read to be shown is what can be shown."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.simulation.panels import panel
from tests.support.command import ROOT
from tests.support.state import change
from tests.untrusted_files.forging import GAME
from tidepool import run_batch
from tidepool.engine.config import ceilings
from tidepool.engine.config.loading import config_from
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import create_batch
from tidepool.storage import file as watched
from tidepool.storage import text as plain_text
from tidepool.storage.queries import summary as figures
from tidepool.storage.queries.summary import MOST_WAVES
from tidepool.storage.queries.watching import LONGEST_NAME
from tidepool.storage.transfer import formats as json_files
from tidepool.tui.command.commands.list_batches import MOST_SHOWN
from tidepool.tui.command.main import main

COUNT = "WITH RECURSIVE n(x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < {most})"


@pytest.fixture
def file(database: Path) -> Path:
    create_batch(panel(num_simulations=1), database)
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
    counters += "output_tokens, cost_usd, unpriced, seconds, call_seconds, peak_concurrency, heartbeat, heartbeat_at, in_flight, limits, "
    counters += "in_flight_usd, reasoning_tokens, cut, unusable, usage_missing"
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


LONG = "printf('%.*c', 300000, 'x')"
LAST_MESSAGE = "WHERE id = (SELECT max(id) FROM call WHERE turn IS NOT NULL)"
CONFIG = f"UPDATE batch SET config = json_set(config, '$.batch.metadata.x', {LONG})"
WAVE = "batch_number, wave, calls, failed, cached, retried, seconds, transport"
COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("show", "last"),
    "show --json": ("show", "last", "--json"),
    "stats": ("stats", "last"),
    **{name: ("export", "last", "--format", name) for name in ("json", "csv", "parquet", "html", "markdown", "toml")},
}
MORE, SHOWN = " characters more", 100_000
REFUSED = "contains a text or a row of more than"
LEFT_OUT: dict[str, tuple[str, list[tuple[object, str, int]], dict[str, str]]] = {
    "codes": (
        f"INSERT INTO code (unit_id, side, turn, coder, agent, code, at) {COUNT.format(most=109)} "
        "SELECT (SELECT min(id) FROM unit), 0, 1, 'coder' || x, 'Ada', 'yes', 1.0 FROM n",
        [(json_files, "MOST_CODES", 30)],
        {"json": '"codes_left_out": 70', "csv": "coder109"},
    ),
    "waves": (
        f"INSERT INTO wave ({WAVE}) {COUNT.format(most=109)} SELECT 1, x, 1, 0, 0, 0, 1.0, 'live' FROM n",
        [(json_files, "MOST_WAVES", 30), (figures, "MOST_WAVES", 30)],
        {"json": '"waves_left_out": 73'},
    ),
    "a message": (f"UPDATE call SET text = {LONG} {LAST_MESSAGE}", [], {"html": MORE, "csv": "x" * 300_000}),
    "a prompt": (
        f"UPDATE prompt SET text = {LONG} WHERE hash = (SELECT min(hash) FROM prompt)",
        [],
        {"html": MORE, "markdown": MORE},
    ),
    "a config": (
        CONFIG,
        [(ceilings, "CONFIG_BYTES", 1_000)],
        {"html": MORE, "markdown": MORE, "toml": "The maximum for a config file is"},
    ),
    "a model": (f"UPDATE call SET model = {LONG} {LAST_MESSAGE}", [], {"csv": "x" * 300_000}),
    "a log line": (f"UPDATE log_line SET message = {LONG}", [], {}),
    "a message that is not read": (
        f"UPDATE call SET text = {LONG} {LAST_MESSAGE}",
        [(watched, "LONGEST_TEXT", 200_000)],
        dict.fromkeys(("json", "csv", "parquet", "html"), REFUSED),
    ),
    "a config that is not read": (CONFIG, [(watched, "LONGEST_TEXT", 200_000)], dict.fromkeys(COMMANDS, REFUSED)),
}
"""what the file holds → how it is made, which ceilings are lowered for it, and what commands say or write"""


@pytest.mark.parametrize(("sql", "lowered", "expected"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_no_study_holds_is_left_out_in_words(
    sql: str,
    lowered: list[tuple[Any, str, int]],
    expected: dict[str, str],
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asyncio.run(run_batch(config_from(GAME, source="a game"), database))
    change(database, sql)
    for module, name, most in (*lowered, (plain_text, "LONGEST_IN_REPORT", SHOWN)):
        monkeypatch.setattr(module, name, most)
    for name, words in COMMANDS.items():
        out = database.with_name(f"out {name}")
        code = main(["--db", str(database), *words, *(["-o", str(out)] if words[0] == "export" else [])])
        printed = "".join(capsys.readouterr())
        files = [out] if out.is_file() else sorted(out.rglob("*.*"))
        text = printed + "".join(file.read_text(errors="replace") for file in files)
        assert expected.get(name, "") in text, name
        assert len(printed) < 50_000 or "--json" in words, name
        assert code == (0 if REFUSED not in text and "The maximum for" not in text else 1 if REFUSED in text else 2), (
            name
        )
        if name in ("html", "markdown"):
            assert len(text) < 2 * SHOWN + 100_000, name


PEAK = """
import sys
from tidepool.tui.command.main import main

assert main(sys.argv[1:]) == 0
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
def test_a_text_of_60_mb_takes_less_than_half_a_gigabyte(database: Path) -> None:
    asyncio.run(run_batch(config_from(GAME, source="a game"), database))
    change(database, f"UPDATE call SET model = {LONG.replace('300000', '60000000')} {LAST_MESSAGE}")
    words = ["--db", str(database), "export", "last", "--format", "html", "-o", str(database.with_name("out.html"))]
    ended = subprocess.run([sys.executable, "-c", PEAK, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(ended.stdout.split()[-1]) < 500 * 1024
