"""The other two doors to a stranger's file: the HTTP API and the app, walked through as a user would."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidepool.engine.api.app import PATH, create_app
from tidepool.engine.api.door import Door
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
    """Everything that can be asked of a file over HTTP; prints what is answered."""
    from fastapi.testclient import TestClient

    asked = False

    def launch(database: Path, batch_id: str) -> _Started:
        print("started" if asked else UNASKED, file=sys.stderr)
        return _Started()

    try:
        app = create_app(path, launch, door=Door(None, here_only=True, what="The API"))
    except TidepoolError as error:
        print(f"tidepool: {error}", file=sys.stderr)
        return error.exit_code
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        listed = _told(client.get(PATH))
        _told(client.get(PATH, params={"include_simulations": True}))
        _told(client.get("/api/entities"))
        for batch in (listed or [])[:MOST_BATCHES]:
            place = f"{PATH}/{quote(str(batch['id']), safe='')}"
            _told(client.get(place))
            _told(client.get(f"{place}/export"))
            _told(client.get(f"{place}/export", params={"format": "csv"}))
            asked = True
            _told(client.post(f"{place}/resume"))
    return 0


def _told(response: Any) -> Any:
    """JSON writes control characters as \\u001b: what reaches a terminal is the client's own doing."""
    print(f"{response.status_code} {response.text[:2_000]!r}")
    fine = response.status_code == 200 and response.headers["content-type"].startswith("application/json")
    return response.json().get("data") if fine else None


def app(path: Path) -> int:
    """Every screen of the app in turn; prints what is on each."""
    return asyncio.run(_walk(path))


async def _walk(path: Path) -> int:
    from tests.tui.persons import opened, screen_text

    try:
        async with opened(path) as (app, pilot):
            for key in MODES:
                await pilot.press(key)
                for _ in range(PAUSES):
                    await pilot.pause(0.05)
                print(screen_text(app))
                await pilot.press("escape")
    except TidepoolError as error:
        print(f"tidepool: {error}", file=sys.stderr)
        return error.exit_code
    return 0
