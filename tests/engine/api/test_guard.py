import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.engine.api.conftest import OPEN, Launcher
from tidepool.engine.api.app import create_app
from tidepool.engine.api.auth import VARIABLE, Token, TokenAuth, greeting, is_loopback
from tidepool.engine.api.limits import RequestLimits
from tidepool.engine.api.server import serve
from tidepool.engine.errors import UsageError

PATH = "/api/batch-simulations"


HERE = ("localhost", "127.0.0.1", "localhost:8765", "127.0.0.1:1", "[::1]", "[::1]:8765")
ELSEWHERE = (
    *("evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil.example", "", "10.0.0.1", "::1"),
    *("127.0.0.1:80@evil.example", "127.0.0.1:80@evil.example:8765", "user@127.0.0.1:8765", "127.0.0.1:8765/x"),
    *("127.0.0.1:", "[::1"),
)
STRANGE_PAGES = (
    "http://localhost:8765",
    "http://127.0.0.1",
    "https://evil.example",
    "http://localhost.a.example",
    "null",
)


def test_without_a_token_only_names_and_pages_of_this_machine_are_served(client: TestClient) -> None:
    cases = [({"host": host}, 200) for host in HERE] + [({"host": host}, 403) for host in ELSEWHERE]
    cases += [({"origin": "http://localhost"}, 200), *(({"origin": page}, 403) for page in STRANGE_PAGES)]
    for headers, code in cases:
        response = client.get(PATH, headers=headers)
        assert response.status_code == code, headers
        assert code == 200 or response.json()["status"] == "error"


@pytest.fixture
def locked(database: Path) -> Iterator[TestClient]:
    app = create_app(database, Launcher(), auth=TokenAuth("correct horse", local_only=False, name="The API"))
    with TestClient(app, base_url="http://lab.example") as client:
        yield client


def test_with_a_token_nothing_is_served_without_it(locked: TestClient) -> None:
    wrong = [
        {"authorization": given.encode()} for given in ("", "Bearer", "Bearer wrong", "Basic correct horse", "bearer é")
    ]
    wrong += [
        {},
        *(
            {"cookie": cookie}
            for cookie in (b"tidepool-80=", b"tidepool-80=\xff", b"tidepool-81=x; tidepool-80", b"=;;=")
        ),
    ]
    for path in (
        PATH,
        "/docs",
        "/openapi.json",
        "/nowhere",
        *(f"{PATH}?{query}" for query in ("token=", "token=wrong", "token=%ff")),
    ):
        for headers in wrong:
            response = locked.get(path, headers=headers)
            assert response.status_code == 401 and response.headers["www-authenticate"] == "Bearer"
    assert locked.post(f"{PATH}?token=correct%20horse").status_code == 401
    assert locked.get(PATH, headers={"authorization": "Bearer correct horse"}).status_code == 200


def test_the_link_leaves_a_cookie_that_opens_the_rest(locked: TestClient) -> None:
    response = locked.get("http://lab.example//docs?token=correct%20horse&a=1", follow_redirects=False)
    assert response.status_code == 303 and response.headers["location"] == "/docs?a=1"
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("tidepool-80=") and "horse" not in cookie
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert locked.get(PATH).status_code == 200
    assert locked.get(PATH, headers={"origin": "http://lab.example"}).status_code == 200
    assert locked.get(PATH, headers={"origin": "http://lab.example:81"}).status_code == 403


def test_on_loopback_the_token_opens_no_other_name_and_no_other_page(database: Path) -> None:
    app = create_app(database, Launcher(), auth=TokenAuth("correct horse", local_only=True, name="The API"))
    with TestClient(app, base_url="http://localhost") as client:
        token = {"authorization": "Bearer correct horse"}
        assert client.get(PATH).status_code == 401
        assert client.get(PATH, headers=token).status_code == 200
        assert client.get(PATH, headers={**token, "host": "evil.example"}).status_code == 403
        assert client.get(PATH, headers={**token, "origin": "http://evil.example"}).status_code == 403
        assert client.get(f"{PATH}?token=correct%20horse", headers={"host": "evil.example"}).status_code == 403


def test_each_start_has_a_token_of_its_own_unless_one_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    one, other = Token.of_start(), Token.of_start()
    assert one != other and f"?token={one.value}" in greeting("http://127.0.0.1:1/docs", one)
    monkeypatch.setenv(VARIABLE, "correct horse")
    assert Token.of_start().value == "correct horse"
    assert "horse" not in greeting("http://127.0.0.1:1/docs", Token.of_start())
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(UsageError, match="fewer than 8"):
        Token.of_start()


def test_a_body_is_read_to_its_limit_and_no_further(database: Path) -> None:
    app = create_app(database, Launcher(), auth=OPEN, most_bytes=1000)
    asked = 0

    def endless() -> Iterator[bytes]:
        nonlocal asked
        while asked < 100:
            asked += 1
            yield b" " * 500

    with TestClient(app, base_url="http://localhost") as client:
        kind = {"content-type": "application/json"}
        assert client.post(PATH, content=b" " * 1001, headers=kind).status_code == 413
        assert client.post(PATH, content=endless(), headers=kind).status_code == 413
        assert client.post(PATH, content=b" " * 1000, headers=kind).status_code == 422


def test_it_does_not_serve_others_without_a_token(database: Path) -> None:
    for host in ("0.0.0.0", "::", "example.org", ""):
        for token in (None, ""):
            with pytest.raises(UsageError, match="token"):
                serve(database, Launcher(), host=host, port=0, token=token, at_once=1, on_ready=lambda port: None)
    assert not database.exists()
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost", "127.1.2.3")))


def test_a_port_in_use_is_told(database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="cannot serve"):
        port = taken.getsockname()[1]
        serve(database, Launcher(), host="127.0.0.1", port=port, token=None, at_once=1, on_ready=lambda port: None)


async def test_a_body_that_never_ends_is_not_waited_for() -> None:
    sent: list[Any] = []

    async def never() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nothing came in")

    scope = {"type": "http", "method": "POST", "path": PATH, "headers": [(b"host", b"localhost")]}
    await RequestLimits(app, OPEN, body_seconds=0.01)(scope, never, send)
    assert sent[0]["status"] == 408 and (b"connection", b"close") in sent[0]["headers"]
