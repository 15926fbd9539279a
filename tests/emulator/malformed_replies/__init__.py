"""What an odd, broken or hostile server answers: `KIND:WORD` is a fault like any other, and a row of a table here.

Kinds   reply, usage       the answer itself, live or for one request of a batch: why it ended, what was said, what it used
        body, head         the answer on its way: bytes, encodings, slowness; headers of limits
        rows, card         a batch's file of results; a batch as it is shown
        error, wait, move  refusals, in the forms that compatible servers have for them, and redirects; nothing has happened

A row changes an honest answer after it was given and paid for, except for the last three kinds. To add a case is to add a
function to a table.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from .replies import REPLIES, USAGE
from .transport import BODIES, CARDS, HEADERS, MOVES, REFUSALS, ROWS, WAITS, in_form

if TYPE_CHECKING:
    from ..provider import Provider

REFUSING = ("error", "wait", "move")
"""kinds that strike before anything was done"""

WORDS = {
    "reply": sorted({word for table in REPLIES.values() for word in table}),
    "usage": list(USAGE),
    "body": list(BODIES),
    "head": list(HEADERS),
    "rows": list(ROWS),
    "card": sorted({word for table in CARDS.values() for word in table}),
    "error": list(REFUSALS),
    "wait": list(WAITS),
    "move": list(MOVES),
}


def is_malformed(fault: str) -> bool:
    return fault.partition(":")[0] in WORDS


def strikes_before(fault: str) -> bool:
    return fault.partition(":")[0] in REFUSING


def refusal(provider: Provider, fault: str, request: web.Request) -> web.Response:
    """What comes in place of an answer."""
    kind, _, word = fault.partition(":")
    if kind == "move":
        return MOVES[word](request)
    if kind == "wait":
        body = json.dumps(provider.error_body(429)).encode()
        return web.Response(body=body, status=429, headers=WAITS[word](), content_type="application/json")
    status, body = REFUSALS[word]()
    return web.Response(body=body, status=status, content_type="application/json")


def worded(form: str, response: web.StreamResponse) -> web.StreamResponse:
    """A refusal in another form; everything else as it is."""
    if not form or response.status < 400 or not isinstance(response, web.Response):
        return response
    body = json.dumps(in_form(form, json.loads(response.body or b"{}"))).encode()  # type: ignore[arg-type]
    headers = {name: value for name, value in response.headers.items() if name.lower().startswith(("retry", "x-"))}
    return web.Response(body=body, status=response.status, headers=headers, content_type="application/json")


def answer(family: str, fault: str, body: dict[str, Any]) -> dict[str, Any]:
    """The JSON of an answer, changed."""
    kind, _, word = fault.partition(":")
    if kind == "usage":
        USAGE[word](family, body)
    else:
        REPLIES[family][word](body)
    return body


async def response(
    provider: Provider, fault: str, request: web.Request, honest: web.StreamResponse
) -> web.StreamResponse:
    """What is sent in place of an honest response."""
    kind, _, word = fault.partition(":")
    if kind == "head":
        honest.headers.update(HEADERS[word]())
        return honest
    assert isinstance(honest, web.Response)
    content = honest.body if isinstance(honest.body, bytes) else b""
    if kind == "body":
        return await BODIES[word](request, content)
    if kind == "rows":
        return web.Response(body=ROWS[word](content), content_type=honest.content_type)
    if kind == "card":
        shown = CARDS[provider.family][word](json.loads(content))
    else:
        shown = answer(provider.family, fault, json.loads(content))
    return web.Response(body=json.dumps(shown).encode(), status=honest.status, content_type="application/json")
