"""A batch's file of results, spoiled: what OpenAI's output and error files, and Anthropic's results, may come as."""

import json
import re
from collections.abc import Callable
from typing import Any

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


def _without(*names: str) -> Callable[[Row], Row]:
    return lambda row: {name: value for name, value in row.items() if name not in names}


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


def _strangers(lines: list[bytes]) -> list[bytes]:
    rows = [json.loads(line) for line in lines]
    strange = [json.dumps({**row, "custom_id": f"nobody-{at}"}).encode() for at, row in enumerate(rows)]
    return [*strange, *lines]


def _between(*more: bytes) -> Callable[[bytes], bytes]:
    """Lines of another kind among the others."""
    return _lines(lambda lines: [*more, *lines[: len(lines) // 2], *more, *lines[len(lines) // 2 :], *more])


ROWS: dict[str, Callable[[bytes], bytes]] = {
    # one row is lost, the others stand
    "corrupt": _middle(lambda line: line[:20] + b"}{" + line[25:]),
    "not-utf-8": _middle(lambda line: line[:-1] + b"\xff\xfe" + line[-1:]),
    "brackets": _middle(lambda line: b"[" * 200_000),
    "id-missing": _middle_row(_without("custom_id")),
    "id-number": _middle_row(lambda row: {**row, "custom_id": 7}),
    "id-object": _middle_row(lambda row: {**row, "custom_id": {"id": row["custom_id"]}}),
    "neither": _middle_row(lambda row: {"id": row.get("id"), "custom_id": row["custom_id"], "response": None}),
    "a-number": _middle(lambda line: b"7"),
    "body-null": _middle_row(_of_response(body=None, message=None)),
    "status-odd": _middle_row(_of_response(status_code="ok", type="odd")),
    "error-text": _middle_row(
        lambda row: {"id": 7, "custom_id": row["custom_id"], "response": None, "error": "gone", "result": "gone"}
    ),
    "truncated": lambda content: content[: int(len(content) * 0.9)],
    # every row is lost
    "empty": lambda content: b"",
    "page": lambda content: b"<html><body>502 Bad Gateway</body></html>",
    # nothing is lost
    "not-utf-8-reply": lambda content: re.sub(rb'"(content|text)": "', b'"\\1": "\xff\xfe ', content),
    "blank-lines": _between(b"", b"  "),
    "odd-lines": _between(b"null", b"[]", b'"text"', b"{}"),
    "bom": lambda content: b"\xef\xbb\xbf" + content,
    "crlf": lambda content: content.replace(b"\n", b"\r\n"),
    "body-text": _rows(_body_as_text),
    "status-text": _rows(_of_response(status_code="200")),
    "twice": _lines(lambda lines: lines * 2),
    "and-errors": _lines(_and_errors),
    "strangers": _lines(_strangers),
    "no-last-newline": lambda content: content.rstrip(b"\n"),
    "backwards": _lines(lambda lines: lines[::-1]),
}
