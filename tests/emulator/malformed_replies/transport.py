"""What goes wrong around a reply: bytes and pace of the body, limits in headers, redirects, refusals, and a batch's card and result file."""

import asyncio
import gzip
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from typing import Any

from aiohttp import web

MEGABYTE = 1 << 20
BOMB_MEGABYTES = 160
BRACKETS = 200_000
DRIP_SECONDS = 1.0

Spoil = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


def _json(content: bytes, **headers: str) -> web.Response:
    return web.Response(body=content, headers=headers, content_type="application/json")


def _bytes(change: Callable[[bytes], bytes]) -> Spoil:
    async def spoil(request: web.Request, content: bytes) -> web.StreamResponse:
        return _json(change(content))

    return spoil


def _status(status: int) -> Spoil:
    async def spoil(request: web.Request, content: bytes) -> web.StreamResponse:
        return web.Response(status=status)

    return spoil


@cache
def bomb() -> bytes:
    """So many megabytes of blanks, which JSON skips, in a few hundred kilobytes."""
    return gzip.compress(b" " * (BOMB_MEGABYTES * MEGABYTE), 1)


async def _bomb(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(await asyncio.to_thread(bomb) + gzip.compress(content), **{"Content-Encoding": "gzip"})


async def _broken_gzip(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(content, **{"Content-Encoding": "gzip"})


async def _good_gzip(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(gzip.compress(content), **{"Content-Encoding": "gzip"})


async def _drip(request: web.Request, content: bytes) -> web.StreamResponse:
    """One byte a second, for ever: no single read takes long."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while request.transport is not None and not request.transport.is_closing():
        await response.write(b" ")
        await asyncio.sleep(DRIP_SECONDS)
    return response


def _with_key(request: web.Request, content: bytes) -> bytes:
    """A gateway in a debug mode: the first text of the answer holds the request's own key."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.headers.get("x-api-key", "")
    quoted = json.dumps(f"Your key is {given}, is it not?").encode()
    for name in (b'"content": "', b'"text": "'):
        if name in content:
            before, _, after = content.partition(name)
            return before + name[:-1] + quoted + after.partition(b'"')[2]
    return content


async def _echo(request: web.Request, content: bytes) -> web.StreamResponse:
    return _json(_with_key(request, content))


BODIES: dict[str, Spoil] = {
    "bomb": _bomb,
    "drip": _drip,
    "gzip": _good_gzip,
    "gzip-broken": _broken_gzip,
    "brackets": _bytes(lambda content: b"[" * BRACKETS),
    "half": _bytes(lambda content: content[: len(content) // 2]),
    "nothing": _bytes(lambda content: b""),
    "json-text": _bytes(lambda content: b'"Good evening"'),
    "bom": _bytes(lambda content: b"\xef\xbb\xbf" + content),
    "no-content": _status(204),
    "key": _echo,
}


Headers = Callable[[], dict[str, str]]
SOON = 2
"""seconds until the date that a Retry-After names: dates have no fractions, so at least one second is left"""


def _limits(limit: str, remaining: str, reset: str) -> Headers:
    """The same for requests and tokens, in both providers' spelling."""
    said = {"limit": limit, "remaining": remaining, "reset": reset}
    headers = {f"x-ratelimit-{what}-{of}": value for what, value in said.items() for of in ("requests", "tokens")}
    headers |= {f"anthropic-ratelimit-{of}-{what}": value for what, value in said.items() for of in ("requests",)}
    return lambda: headers


def _retry_after(value: str) -> Headers:
    return lambda: {"retry-after": value}


def _date(seconds: float) -> Headers:
    return lambda: {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)}


HEADERS: dict[str, Headers] = {
    "none-left": _limits("60000", "0", "99999d"),
    "negative": _limits("-5", "-1", "-3s"),
    "garbage": _limits("many", "some", "soon"),
}
"""on an answer"""

WAITS: dict[str, Headers] = {"date": _date(SOON), "9999": _retry_after("9999"), "garbage": _retry_after("a while")}
"""on a 429"""


def _elsewhere(status: int) -> Callable[[web.Request], web.Response]:
    """The same machine under another name is another host: keys and questions shall not go there."""

    def move(request: web.Request) -> web.Response:
        where = f"http://localhost:{request.url.port}/elsewhere{request.path}"
        return web.Response(status=status, headers={"Location": where})

    return move


def _in_circles(request: web.Request) -> web.Response:
    return web.Response(status=307, headers={"Location": str(request.url)})


MOVES: dict[str, Callable[[web.Request], web.Response]] = {
    "elsewhere": _elsewhere(307),
    "moved": _elsewhere(301),
    "in-circles": _in_circles,
}


Refusal = Callable[[], tuple[int, bytes]]


def _says(status: int, body: Any) -> Refusal:
    return lambda: (status, json.dumps(body).encode())


def _raw(status: int, body: bytes) -> Refusal:
    return lambda: (status, body)


def _field(where: str, words: str) -> dict[str, Any]:
    """A row of FastAPI's list of what is wrong with a request."""
    return {"type": "extra_forbidden", "loc": ["body", where], "msg": words, "input": 7}


def in_form(form: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """An error of OpenAI's in another server's words: the setting it is about is named as that server would."""
    error = body.get("error", body)
    words, setting = (error.get("message", ""), error.get("param")) if isinstance(error, dict) else (str(error), None)
    if form == "detail-list":
        where = ["body", setting] if setting else ["body"]
        return {"detail": [{"type": "extra_forbidden", "loc": where, "msg": "Extra inputs are not permitted"}]}
    return {"detail": words} if form == "detail" else {"error": words}


REFUSALS: dict[str, Refusal] = {
    # of this request alone
    "detail": _says(422, {"detail": "This prompt is too long for the engine."}),
    "detail-list": _says(422, {"detail": [_field("messages", "List should have at most 4 items")]}),
    "text": _says(400, {"error": "The prompt is too long."}),
    # a fault that heals
    "page-502": _raw(502, b"<html><h1>502 Bad Gateway</h1></html>"),
    "brackets-500": _raw(500, b"[" * 200_000),
    # an error dressed as an answer
    "in-200-text": _says(200, {"error": "upstream went away"}),
    "in-200-anthropic": _says(200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "in-200-429": _says(200, {"error": {"message": "Rate limit exceeded", "code": 429}}),
}


Card = dict[str, Any]
CardChange = Callable[[Card], Any]


def _has(**more: Any) -> CardChange:
    return lambda card: {**card, **more}


def _without(*names: str) -> CardChange:
    return lambda card: {name: value for name, value in card.items() if name not in names}


def _once_ended(change: CardChange) -> CardChange:
    """Only where the batch has come to its end."""
    return lambda card: change(card) if card.get("completed_at") or card.get("ended_at") else card


_COUNTS: dict[str, Any] = {
    "counts-text": {"total": "many", "completed": "some", "failed": "", "processing": "x", "succeeded": "y"},
    "counts-null": None,
}
_EITHER: dict[str, CardChange] = {
    **{name: _has(request_counts=counts) for name, counts in _COUNTS.items()},
    "counts-missing": _without("request_counts"),
    "null": lambda card: None,
    "times-odd": _has(created_at="yesterday", expires_at=-1, in_progress_at={}),
    "id-missing": _without("id"),
}

CARDS: dict[str, dict[str, CardChange]] = {
    "openai": {
        **_EITHER,
        "status-missing": _without("status"),
        "status-unknown": _has(status="paused_for_review"),
        "status-stuck": _has(status="paused_for_review", output_file_id=None, error_file_id=None),
        "status-null": _has(status=None),
        "expired-empty": _once_ended(_has(status="expired", output_file_id=None, error_file_id=None)),
        "completed-empty": _once_ended(_has(output_file_id=None, error_file_id=None)),
        "file-gone": _once_ended(_has(output_file_id="file-nobody-has")),
        "failed-silent": _once_ended(_has(status="failed", errors=None, output_file_id=None)),
    },
    "anthropic": {
        **_EITHER,
        "status-missing": _without("processing_status"),
        "status-unknown": _has(processing_status="paused_for_review"),
        "status-null": _has(processing_status=None),
        "no-results": _once_ended(_has(results_url=None)),
        "results-elsewhere": _once_ended(_has(results_url="http://localhost:9/elsewhere/results")),
    },
}


Row = dict[str, Any]


def _lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(line + b"\n" for line in change(content.splitlines()))


def _middle(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """One line, in the middle of the file."""

    def spoil(lines: list[bytes]) -> list[bytes]:
        at = len(lines) // 2
        return [change(line) if number == at else line for number, line in enumerate(lines)]

    return _lines(spoil)


def _rows(change: Callable[[Row], Any]) -> Callable[[bytes], bytes]:
    return _lines(lambda lines: [json.dumps(change(json.loads(line))).encode() for line in lines])


def _middle_row(change: Callable[[Row], Any]) -> Callable[[bytes], bytes]:
    return _middle(lambda line: json.dumps(change(json.loads(line))).encode())


def _of_response(**changes: Any) -> Callable[[Row], Row]:
    """OpenAI's response, or Anthropic's result, with something else in it."""

    def change(row: Row) -> Row:
        name = "response" if "response" in row else "result"
        return {**row, name: {**(row[name] or {}), **changes}}

    return change


def _body_as_text(row: Row) -> Row:
    """As OGX writes it."""
    response = row.get("response")
    if not response:
        return row
    return {**row, "response": {**response, "body": json.dumps(response["body"])}}


def _failed(row: Row) -> Row:
    """The same id, and an error."""
    if "result" in row:
        error = {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}
        return {"custom_id": row["custom_id"], "result": {"type": "errored", "error": error}}
    return {**row, "response": None, "error": {"code": "server_error", "message": "The server had an error"}}


def _and_errors(lines: list[bytes]) -> list[bytes]:
    """Every id twice: an error before the first half of the answers, and after the second."""
    half = len(lines) // 2
    errors = [json.dumps(_failed(json.loads(line))).encode() for line in lines]
    return [*errors[:half], *lines, *errors[half:]]


def _unknown_ids(lines: list[bytes]) -> list[bytes]:
    rows = [json.loads(line) for line in lines]
    strange = [json.dumps({**row, "custom_id": f"nobody-{at}"}).encode() for at, row in enumerate(rows)]
    return [*strange, *lines]


def _between(*more: bytes) -> Callable[[bytes], bytes]:
    """Lines of another kind among the others."""
    return _lines(lambda lines: [*more, *lines[: len(lines) // 2], *more, *lines[len(lines) // 2 :], *more])


ROWS: dict[str, Callable[[bytes], bytes]] = {
    # one row is lost, the others stand
    "corrupt": _middle(lambda line: line[:20] + b"}{" + line[25:]),
    "brackets": _middle(lambda line: b"[" * 200_000),
    "id-missing": _middle_row(_without("custom_id")),
    "body-null": _middle_row(_of_response(body=None, message=None)),
    "error-text": _middle_row(
        lambda row: {"id": 7, "custom_id": row["custom_id"], "response": None, "error": "gone", "result": "gone"}
    ),
    "truncated": lambda content: content[: int(len(content) * 0.9)],
    # every row is lost
    "empty": lambda content: b"",
    "page": lambda content: b"<html><body>502 Bad Gateway</body></html>",
    # nothing is lost
    "not-utf-8-reply": lambda content: re.sub(rb'"(content|text)": "', b'"\\1": "\xff\xfe ', content),
    "odd-lines": _between(b"null", b"[]", b'"text"', b"{}"),
    "bom": lambda content: b"\xef\xbb\xbf" + content,
    "body-text": _rows(_body_as_text),
    "and-errors": _lines(_and_errors),
    "unknown-ids": _lines(_unknown_ids),
}
