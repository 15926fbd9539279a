"""What calls wait for, as watchers of the file are told: by the head of Watch, by `list` and by `show`."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.state import change
from tests.tui.studies import game, played_now
from tidepool.storage.batches import holding
from tidepool.storage.file import reading
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.app.widgets.gauges import Expected, lines
from tidepool.tui.command.main import main

WORDS = "lab is down: waited 1 min, giving up in 8:"


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Path]:
    """A file whose batch waits for a server that is down."""
    path, now = tmp_path / "study.db", time.time()
    batch_id = played_now(path, game(talks=1))
    rest = {"why": "connection refused", "since": now - 80, "until": now + 520, "down": True}
    limits = json.dumps({"providers": {"lab": {"resting": rest}, "other": {"resting": None}}})
    change(path, "UPDATE batch SET status = 'in_progress'")
    change(path, "UPDATE progress SET heartbeat_at = ?, limits = ?", now, limits)
    with holding(path, batch_id):
        yield path


def test_the_head_of_watch_says_what_a_batch_waits_for(waiting: Path) -> None:
    with reading(waiting) as connection:
        (batch,) = read_batches(connection, waiting)
    assert f"running: {WORDS}" in lines(batch, None, Expected(), 120)[0].plain


def test_the_time_left_is_whole_in_a_small_terminal(waiting: Path) -> None:
    with reading(waiting) as connection:
        batch = replace(read_batches(connection, waiting)[0], calls=1_426, seconds=13.4, units_total=257, retried=12)
    small, large = (lines(batch, None, Expected(13_388), width)[1].plain for width in (78, 158))
    assert (
        small.endswith("13.4 s, about 1 min 52 s left")
        and len(small) <= 78
        and "1,426 of about 13,388 requests" in small
    )
    assert large.endswith("13.4 s, about 1 min 52 s left") and "257 units · 12 retried" in large
    ended = lines(replace(batch, status="partial", bought=1_424, cached=0, failed=2), None, Expected(), 158)[1].plain
    assert "1,426 requests: 1,424 new, 0 from cache, 2 failed · " in ended and ended.count("failed") == 1


@pytest.mark.parametrize("command", [["list"], ["show", "last"]])
def test_the_command_says_what_a_batch_waits_for(
    waiting: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--db", str(waiting), *command]) == 0
    assert WORDS in capsys.readouterr().out


def test_a_batch_whose_process_died_waits_for_nothing(
    waiting: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(waiting.read_bytes())
    assert main(["--db", str(copy), "list"]) == 0
    told = capsys.readouterr().out
    assert "interrupted" in told and WORDS not in told
