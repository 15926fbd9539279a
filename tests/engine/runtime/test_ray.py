"""Hands as Ray has them: real processes, one of which is killed in the middle of a study."""

import os
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command import Tidepool
from tests.support.state import query

pytest.importorskip("ray", reason="the extra `cluster` is not installed")

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[3] / "examples" / "secret_game.toml"
STUDY = ("--run", str(EXAMPLE), "--set", "service.name=live", "--set", "secret_game.num_interactions=60")
SLOW = ("--set", "providers.simulated.latency=0.4", "--set", "service.max_concurrent=40")
CONTENT = (
    'SELECT unit_id, step, "key", text, truth, input_tokens, output_tokens, status FROM call ORDER BY unit_id, step'
)


def _busy_hand(database: Path, driver: int) -> int:
    """The process of one that has calls in flight: latency is long, so all have some once answers have come."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with suppress(sqlite3.Error):
            if query(database, "SELECT count(*) FROM call")[0][0]:
                titles = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in _process_tree(driver)}
                return next(pid for pid, title in titles.items() if title.startswith("ray::Worker"))
        time.sleep(0.05)
    raise AssertionError("no hand has shown itself")


def _process_tree(root: int) -> list[int]:
    found = [root]
    for pid in found:
        with suppress(OSError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                found += [int(child) for child in children.read_text().split()]
    return found


def _open_files(pids: list[int]) -> set[str]:
    """Symlink targets of all file descriptors, such as socket:[1234]."""
    found = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def _listening_addresses(pids: list[int]) -> list[str]:
    """Local addresses of listening TCP sockets and of all UDP sockets, in the kernel's hexadecimal notation."""
    sockets = _open_files(pids)
    rows = [
        (table, line.split())
        for table in ("tcp", "tcp6", "udp", "udp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return [
        row[1].partition(":")[0]
        for table, row in rows
        if f"socket:[{row[9]}]" in sockets and (row[3] == "0A" or table.startswith("udp"))
    ]


def _environment(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _session_folder(pids: list[int]) -> Path:
    lines = "\0".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in pids).split("\0")
    return next(Path(line.partition("=")[2]) for line in lines if line.startswith("--session_dir=/"))


def _assert_private(driver: int, home: Path) -> Path:
    """Ray's processes listen on loopback only, and no other user can read its token or its session folder."""
    pids = _process_tree(driver)
    addresses = _listening_addresses(pids)
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert len(addresses) >= 5 and set(addresses) <= loopback
    session = _session_folder(pids)
    assert any(folder.stat().st_mode & 0o077 == 0 for folder in session.parents)
    token = next((found for pid in pids if (found := _environment(pid).get("RAY_AUTH_TOKEN"))), None)
    token = token or (home / ".ray" / "auth_token").read_text()
    files = [file for folder in (home, session) for file in folder.rglob("*") if file.is_file()]
    holding = [file for file in files if token.encode() in file.read_bytes()]
    assert [file for file in holding if file.stat().st_mode & 0o077] == []
    return session


def test_a_study_by_hands_is_the_study_and_a_hand_killed_in_the_middle_costs_what_it_had(
    tidepool: Tidepool, tmp_path: Path
) -> None:
    at_home = tmp_path / "home.db"
    assert tidepool("--db", str(at_home), *STUDY).returncode == 0
    far = tmp_path / "far.db"
    with tidepool.start("--db", str(far), *STUDY, *SLOW, "--set", "cluster.hands=2", HOME=str(tmp_path)) as process:
        hand = _busy_hand(far, process.pid)
        session = _assert_private(process.pid, tmp_path)
        os.kill(hand, signal.SIGKILL)
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert not session.exists()
    assert "Traceback" not in err and "Ray" not in err and "ray::" not in out + err
    assert query(far, CONTENT) == query(at_home, CONTENT)
    ((calls, bought, retried, failed),) = query(far, "SELECT calls, bought, retried, failed FROM progress")
    lost = query(far, "SELECT count(*) FROM surplus WHERE reason = 'lost'")[0][0]
    assert (calls, bought - calls, retried, failed) == (300, lost, lost, 0) and 0 < lost <= 40
    log = [line for (line,) in query(far, "SELECT message FROM log_line")]
    assert any(line.startswith("Live requests are sent from 2 workers on ") for line in log)
    assert any(line.startswith(f"The worker {hand} on ") and "are retried" in line for line in log)


def test_an_address_where_nobody_listens_is_told_at_once(tidepool: Tidepool) -> None:
    done = tidepool(*STUDY, "--set", "cluster.ray=127.0.0.1:1")
    assert done.returncode == 2 and "127.0.0.1:1 cannot be joined (" in done.stderr
