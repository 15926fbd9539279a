"""The HTTP API and the app on an untrusted file, used as a person would."""

import asyncio
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tidepool.engine.api.app import PATH
from tidepool.engine.api.auth import TokenAuth, listening
from tidepool.engine.api.server import api_server
from tidepool.engine.errors import TidepoolError

UNASKED = "started without being asked"
MOST_BATCHES = 2
MODES = ("1", "3", "4", "5")
"""the keys of Batches, Watch, Results and Library: the screens that show what is in a file"""
PAUSES = 4


@dataclass
class _Started:
    ended: bool = True

    def complaint(self) -> str | None:
        return None


def api(path: Path) -> int:
    """Everything that can be asked of a file over HTTP, of a server as a user has it; prints what is answered."""
    asked = threading.Event()

    def launch(database: Path, batch_id: str) -> _Started:
        print("started" if asked.is_set() else UNASKED, file=sys.stderr)
        return _Started()

    try:
        server = api_server(path, launch, TokenAuth(None, local_only=True, name="The API"))
    except TidepoolError as error:
        print(f"tidepool: {error}", file=sys.stderr)
        return error.exit_code
    with listening("127.0.0.1", 0, "The API") as listener:
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def visit() -> None:
            try:
                with httpx.Client(base_url=base, timeout=None) as client, suppress(httpx.HTTPError):
                    _everything(client, asked)
            finally:
                server.should_exit = True

        visitor = threading.Thread(target=visit, daemon=True)
        visitor.start()
        server.run(sockets=[listener])
        visitor.join()
    return 0


def _everything(client: httpx.Client, asked: threading.Event) -> None:
    listed = _told(client.get(PATH))
    _told(client.get(PATH, params={"include_simulations": True}))
    _told(client.get("/api/entities"))
    for batch in (listed or [])[:MOST_BATCHES]:
        place = f"{PATH}/{quote(str(batch['id']), safe='')}"
        _told(client.get(place))
        _told(client.get(f"{place}/export"))
        _told(client.get(f"{place}/export", params={"format": "csv"}))
        asked.set()
        _told(client.post(f"{place}/resume"))


def _told(response: httpx.Response) -> Any:
    """JSON writes control characters as \\u001b: what reaches a terminal is the client's own doing."""
    print(f"{response.status_code} {response.text[:2_000]!r}")
    fine = response.status_code == 200 and response.headers["content-type"].startswith("application/json")
    return response.json().get("data") if fine else None


def app(path: Path) -> int:
    """Every screen of the app in turn; prints what is on each."""
    return asyncio.run(_walk(path))


async def _walk(path: Path) -> int:
    from tests.tui.persons import screen_text
    from tidepool.storage.file import prepare
    from tidepool.tui.app.app import TidepoolApp

    try:
        prepare(path)
    except TidepoolError as error:
        print(f"tidepool: {error}", file=sys.stderr)
        return error.exit_code
    app = TidepoolApp(path)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            for key in MODES:
                await pilot.press(key)
                for _ in range(PAUSES):
                    await pilot.pause(0.05)
                print(screen_text(app))
                await pilot.press("escape")
    finally:
        app.shut_down()
    return 0
