"""The app in a browser: served on loopback, to its own page only."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidepool.tui.app import launching
from tidepool.tui.command.commands.web import from_here

pytest.importorskip("textual_serve", reason="the extra `web` is not installed")


@pytest.mark.parametrize(
    ("headers", "welcome"),
    [
        ({"Host": "127.0.0.1:8766"}, True),
        ({"Host": "localhost:8766", "Origin": "http://localhost:8766"}, True),
        ({"Host": "[::1]:8766"}, True),
        ({"Host": "127.0.0.1:8766", "Origin": "http://evil.example"}, False),
        ({"Host": "127.0.0.1:8766", "Origin": "http://localhost:9999"}, False),
        ({"Host": "127.0.0.1:8766", "Origin": "null"}, False),
        ({"Host": "evil.example:8766"}, False),
        ({}, False),
    ],
)
def test_only_the_page_itself_is_served(headers: dict[str, str], welcome: bool) -> None:
    assert from_here(headers, 8766) is welcome


@pytest.fixture
def served(tmp_path: Path) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        launching.command(tmp_path / "study.db", "web", "--port", str(port)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=launching.environment(),
    )
    assert process.stderr is not None
    assert "serving" in process.stderr.readline()
    yield port
    process.terminate()
    process.wait(30)
    process.stderr.close()


def _answers(port: int, **headers: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", headers=headers)
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(request, timeout=30) as page:
                return int(page.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except urllib.error.URLError:
            continue
    raise AssertionError("it never listened")


def test_the_command_serves_the_page_and_turns_other_sites_away(served: int) -> None:
    assert _answers(served) == 200
    assert _answers(served, Origin="http://evil.example") == 403
