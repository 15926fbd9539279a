"""The app in a browser: served on loopback, to those who hold the token, and to its own page only."""

import asyncio
import os
import re
import select
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.api.auth import VARIABLE
from tidepool.tui.app import launching
from tidepool.tui.command.main import main

pytest.importorskip("textual_serve", reason="the extra `web` is not installed")


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["subprocess.Popen[str]"]:
    monkeypatch.delenv(VARIABLE, raising=False)
    command = launching.command(tmp_path / "study.db", "web", "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=launching.environment()) as process:
        try:
            yield process
        finally:
            process.kill()


@asynccontextmanager
async def browsing(process: "subprocess.Popen[str]") -> AsyncIterator[tuple[Any, str, str]]:
    """A browser that has not been here, the address, and the link with the token."""
    import aiohttp

    assert process.stderr is not None
    link = re.search(r"serving (http://127\.0\.0\.1:\d+)/(\?token=\S+) on ", process.stderr.readline())
    assert link
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        yield browser, link[1], link[1] + "/" + link[2]


def apps_of(process: "subprocess.Popen[str]") -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(number) for number in listed.stdout.split()]


async def test_the_link_opens_the_app_and_nothing_else_does_and_both_end_together(
    process: "subprocess.Popen[str]",
) -> None:
    from aiohttp import WSServerHandshakeError

    async with browsing(process) as (browser, address, link):

        async def answer(path: str, **headers: str) -> int:
            async with browser.get(address + path, headers=headers, allow_redirects=False) as response:
                assert response.headers.getall("Content-Security-Policy") == ["frame-ancestors 'none'"], path
                assert response.headers.getall("X-Frame-Options") == ["DENY"], path
                return int(response.status)

        for path in ("/", "/ws", "/static/css/xterm.css", "/download/x", "/?token=wrong"):
            assert await answer(path) == 401
        async with browser.get(link) as page:
            assert page.status == 200 and str(page.url) == address + "/"
            assert "https://" not in await page.text(), "nobody else is asked for anything"
        again = link.removeprefix(address)
        for path, code in ((again, 303), ("/", 200), ("/static/css/xterm.css", 200), ("/none", 404), ("/ws", 400)):
            assert await answer(path) == code
        assert await answer("/", Origin="http://evil.example") == 403
        assert await answer("/", Host="evil.example") == 403
        for foreign in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
            with pytest.raises(WSServerHandshakeError, match="403"):
                await browser.ws_connect(f"{address}/ws", headers=foreign)
        async with browser.ws_connect(f"{address}/ws?width=100&height=30", origin=address) as screen:
            await screen.receive(timeout=60)
            (app,) = apps_of(process)
            process.terminate()
            assert await asyncio.to_thread(process.wait, 30) == 143
            with pytest.raises(ProcessLookupError):
                os.kill(app, 0)
    assert process.stderr is not None and "Traceback" not in process.stderr.read()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
@pytest.mark.parametrize(
    "how", ["server killed", *(pytest.param(how, marks=pytest.mark.slow) for how in ("closed", "never read"))]
)
async def test_an_app_ends_with_its_tab_and_with_its_server(process: "subprocess.Popen[str]", how: str) -> None:
    async with browsing(process) as (browser, address, link):
        async with browser.get(link):
            pass
        screen = await browser.ws_connect(f"{address}/ws?width=200&height=60", origin=address)
        await screen.receive(timeout=60)
        (app,) = apps_of(process)
        ended = os.pidfd_open(app)
        if how == "closed":
            await screen.close()
        elif how == "never read":
            screen._response.connection.transport.pause_reading()
            for _ in range(100):
                await screen.send_json(["stdin", "24?\x1b"])
            screen._response.connection.transport.abort()
        else:
            process.kill()
        readable, *_ = await asyncio.to_thread(select.select, [ended], [], [], 9.0)
        os.close(ended)
        assert readable, "the app is still there"


def test_a_port_in_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["--db", str(tmp_path / "s.db"), "web", "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot serve" in capsys.readouterr().err
