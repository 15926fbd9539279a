"""The hands of a running batch, as `show` tells of them."""

import json
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.state import change
from tests.tui.studies import game, played_now
from tidepool.storage.batches import holding
from tidepool.storage.queries.watching import WorkerLine, workers_in
from tidepool.tui.command.main import main

HANDS = [
    {"node": "gpu1", "process": 41, "in_flight": 12, "returned": 3400, "per_second": 85.0},
    {"node": "gpu[/2]", "process": 42, "in_flight": 0, "returned": 7, "per_second": 0.5},
]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "study.db"
    batch_id = played_now(path, game(talks=1))
    change(path, "UPDATE batch SET status = 'in_progress'")
    change(path, "UPDATE progress SET heartbeat_at = ?, limits = ?", time.time(), json.dumps({"hands": HANDS}))
    with holding(path, batch_id):
        yield path


def test_show_names_each_hand(running: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(running), "show", "last"]) == 0
    assert "hand 41 on gpu1: 12 in flight, 85/s, 3,400 came back" in capsys.readouterr().out
    assert main(["--db", str(running), "show", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hands"] == HANDS
    change(running, "UPDATE batch SET status = 'completed'")
    assert main(["--db", str(running), "show", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hands"] == []


def test_a_branch_hears_of_the_cluster_too(running: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(running, "UPDATE batch SET status = 'completed'")
    words = ["--db", str(running), "branch", "last", "--all", "--at", "t1", "--times", "1"]
    for said, told in (
        ("hands=-1", "cluster.hands"),
        ("ray=127.0.0.1:9", "127.0.0.1:9" if find_spec("ray") else "need Ray"),
    ):
        assert main([*words, "--set", f"cluster.{said}"]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("hands", ["gpu1", 3, [3], [{"node": 3}], [{"node": "a", "process": "b"}], [{}], None])
def test_what_somebody_wrote_into_a_file_as_hands_is_none(hands: object) -> None:
    assert workers_in(json.dumps({"hands": hands})) == ()
    assert workers_in(json.dumps({"hands": HANDS}))[0] == WorkerLine("gpu1", 41, 12, 3400, 85.0)
