"""Replies of an Ollama server, by done reason; its reasoning models think in a field of their own."""

from collections.abc import Callable
from typing import Any

from .spoken import BEYOND, SAID, SECRETS, THOUGHT, THOUGHTS_ALONE, THOUGHTS_IN_TEXT

Spoil = Callable[[dict[str, Any]], None]
_TOOL_CALL = {"function": {"name": "reveal", "arguments": {"secret": SECRETS}}}


def _says(content: Any, reason: Any = "stop", **more: Any) -> Spoil:
    def spoil(body: dict[str, Any]) -> None:
        body["message"] |= {"content": content, **more}
        body["done_reason"] = reason

    return spoil


def _has(**more: Any) -> Spoil:
    return lambda body: body.update(more)


def _beside(**more: Any) -> Spoil:
    return lambda body: body["message"].update(more)


def _cut(body: dict[str, Any]) -> None:
    content = body["message"]["content"]
    _says(content[: len(content) // 2], "length")(body)


OLLAMA: dict[str, Spoil] = {
    # no answers
    "empty": _says(""),
    "load": _says("", "load"),
    "tool": _says("", tool_calls=[_TOOL_CALL]),
    "reasoning-only": _says("", "length", thinking=THOUGHT),
    "null": _says(None),
    "message-null": _has(message=None),
    "message-missing": lambda body: body.pop("message"),
    "content-number": _says(7),
    "unfinished": _has(done=False, done_reason=None, message={"role": "assistant", "content": ""}),
    **{name: _says(text) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut,
    "thinking": _beside(thinking=THOUGHT),
    "finish-missing": lambda body: body.pop("done_reason"),
    "finish-unknown": _has(done_reason="eos"),
    "model-other": _has(model="llama3.2:1b"),
    "beyond-unicode": _says(f"{SAID} {BEYOND}"),
    **{name: _says(text) for name, text in THOUGHTS_IN_TEXT.items()},
}
