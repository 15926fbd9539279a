"""Messages of Anthropic, by stop reason and by the blocks they are made of."""

from collections.abc import Callable
from typing import Any

from .spoken import BEYOND, SAID, SECRETS, THOUGHT, THOUGHTS_ALONE, THOUGHTS_IN_TEXT

_TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "reveal", "input": {"secret": SECRETS}}
_THINKING = {"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"}
_REDACTED = {"type": "redacted_thinking", "data": "c2VjcmV0"}
Spoil = Callable[[dict[str, Any]], None]


def _text(text: Any) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _ends(reason: Any, *blocks: Any) -> Spoil:
    return lambda body: body.update(stop_reason=reason, content=list(blocks))


def _has(**more: Any) -> Spoil:
    return lambda body: body.update(more)


def _before(*blocks: dict[str, Any]) -> Spoil:
    return lambda body: body.update(content=[*blocks, *body["content"]])


def _cut(body: dict[str, Any]) -> None:
    text = body["content"][0]["text"]
    body.update(stop_reason="max_tokens", content=[_text(text[: len(text) // 2])])


ANTHROPIC: dict[str, Spoil] = {
    # no answers
    "refusal-silent": _ends("refusal"),
    "tool": _ends("tool_use", _TOOL_USE),
    "pause": _ends("pause_turn"),
    "reasoning-only": _ends("max_tokens", _THINKING),
    "redacted-only": _ends("end_turn", _REDACTED),
    "empty": _ends("end_turn"),
    "blank": _ends("end_turn", _text(" \n ")),
    "null": _has(content=None),
    "absent": lambda body: body.pop("content"),
    "content-number": _has(content=7),
    "blocks-null": _has(content=[None]),
    "blocks-odd": _ends("end_turn", 7, {"type": "image"}, _text(None)),
    **{name: _ends("end_turn", _text(text)) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut,
    "refusal": _ends("refusal", _text("I cannot help with that.")),
    "thinking": _before(_THINKING),
    "redacted": _before(_REDACTED),
    "finish-null": _has(stop_reason=None),
    "finish-unknown": _has(stop_reason="model_context_window_exceeded"),
    "finish-number": _has(stop_reason=7),
    "model-other": _has(model="claude-haiku-5-5-20260901"),
    "model-null": _has(model=None),
    "beyond-unicode": _ends("end_turn", _text(f"{SAID} {BEYOND}")),
    "content-text": _has(content=SAID),
    **{name: _ends("end_turn", _text(text)) for name, text in THOUGHTS_IN_TEXT.items()},
}
