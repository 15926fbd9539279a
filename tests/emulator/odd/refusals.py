"""Errors in the forms that servers have for them: OpenAI's own, FastAPI's, a bare text, a page, or a 200."""

import json
from collections.abc import Callable, Mapping
from typing import Any

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
    "detail-object": _says(400, {"detail": {"reason": "The prompt was blocked by the gateway's policy."}}),
    "text": _says(400, {"error": "The prompt is too long."}),
    "list": _says(400, [{"error": {"code": 400, "message": "The prompt is too long.", "status": "INVALID_ARGUMENT"}}]),
    "context": _says(
        400,
        {"error": {"message": "This model's maximum context length is 8 tokens.", "code": "context_length_exceeded"}},
    ),
    "null": _says(400, {"error": None}),
    "number": _says(400, {"error": 7, "code": ["x"]}),
    # a fault that heals
    "detail-500": _says(500, {"detail": "Internal Server Error"}),
    "text-500": _says(500, {"error": "CUDA out of memory"}),
    "empty-500": _raw(500, b""),
    "page-502": _raw(502, b"<html><h1>502 Bad Gateway</h1></html>"),
    "not-utf-8-500": _raw(500, b'{"error": "\xff\xfe"}'),
    "brackets-500": _raw(500, b"[" * 200_000),
    "520": _raw(520, b"error code: 520"),
    "408": _says(408, {"error": {"message": "Request timed out"}}),
    "409": _says(409, {"error": {"message": "Try again"}}),
    "429-text": _says(429, {"error": "Too many requests"}),
    "429-detail": _says(429, {"detail": "Rate limit exceeded: 10 per 1 minute"}),
    # an error dressed as an answer
    "in-200": _says(200, {"error": {"message": "Provider returned error", "code": 502}}),
    "in-200-text": _says(200, {"error": "upstream went away"}),
    "in-200-detail": _says(200, {"detail": "upstream went away"}),
    "in-200-beside": _says(200, {"error": {"message": "overloaded", "code": 503}, "choices": [], "usage": None}),
    "in-200-anthropic": _says(200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    "in-200-429": _says(200, {"error": {"message": "Rate limit exceeded", "code": 429}}),
}
