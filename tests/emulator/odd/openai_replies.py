"""Chat completions of OpenAI and of servers that speak like it: vLLM, llama.cpp, DeepSeek, OpenRouter, Mistral."""

from collections.abc import Callable
from typing import Any

from .spoken import BEYOND, SAID, SECRETS, THOUGHT, THOUGHTS_ALONE, THOUGHTS_IN_TEXT

_TOOL_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "reveal", "arguments": f'{{"secret": "{SECRETS}"}}'},
}
Spoil = Callable[[dict[str, Any]], None]


def _says(content: Any, finish: Any = "stop", **more: Any) -> Spoil:
    def spoil(body: dict[str, Any]) -> None:
        choice = body["choices"][0]
        choice["message"] |= {"content": content, **more}
        choice["finish_reason"] = finish

    return spoil


def _has(**more: Any) -> Spoil:
    return lambda body: body.update(more)


def _choice_has(**more: Any) -> Spoil:
    return lambda body: body["choices"][0].update(more)


def _beside(**more: Any) -> Spoil:
    """The text stays; something stands beside it."""
    return lambda body: body["choices"][0]["message"].update(more)


def _all_on_reasoning(body: dict[str, Any]) -> None:
    _says(None, "length", reasoning_content=THOUGHT)(body)
    tokens = body["usage"]["completion_tokens"]
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": tokens}


def _reasoned(body: dict[str, Any]) -> None:
    """Twenty tokens of thought are a part of the tokens written."""
    _beside(reasoning_content=THOUGHT)(body)
    body["usage"]["completion_tokens"] += 20
    body["usage"]["total_tokens"] += 20
    body["usage"]["completion_tokens_details"] = {"reasoning_tokens": 20}


def _cut(body: dict[str, Any]) -> None:
    content = body["choices"][0]["message"]["content"]
    _says(content[: len(content) // 2], "length")(body)


def _partly_filtered(body: dict[str, Any]) -> None:
    _cut(body)
    body["choices"][0]["finish_reason"] = "content_filter"


def _broken_off(body: dict[str, Any]) -> None:
    _cut(body)
    body["choices"][0] |= {"finish_reason": "error", "error": {"code": 502, "message": "Upstream idle timeout"}}


def _twice(body: dict[str, Any]) -> None:
    body["choices"].append({**body["choices"][0], "index": 1})


def _in_parts(body: dict[str, Any]) -> None:
    content = body["choices"][0]["message"]["content"]
    half = len(content) // 2
    parts = [{"type": "text", "text": content[:half]}, {"type": "text", "text": content[half:]}]
    _beside(content=parts)(body)


def _parts_with_thought(body: dict[str, Any]) -> None:
    said = body["choices"][0]["message"]["content"]
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    _beside(content=[thought, {"type": "text", "text": said}])(body)


OPENAI: dict[str, Spoil] = {
    # no answers
    "filtered": _says(None, "content_filter"),
    "filtered-empty": _says("", "content_filter"),
    "filtered-partly": _partly_filtered,
    "tool": _says(None, "tool_calls", tool_calls=[_TOOL_CALL]),
    "function": _says(None, "function_call", function_call=_TOOL_CALL["function"]),
    "reasoning-only": _all_on_reasoning,
    "empty": _says(""),
    "blank": _says(" \n\t "),
    "null": _says(None),
    "absent": lambda body: body["choices"][0]["message"].pop("content"),
    "error": _says("", "error"),
    "broken-off": _broken_off,
    "no-choices": _has(choices=[]),
    "choices-null": _has(choices=None),
    "choices-missing": lambda body: body.pop("choices"),
    "choice-null": _has(choices=[None]),
    "message-null": _choice_has(message=None),
    "message-missing": lambda body: body["choices"][0].pop("message"),
    "message-text": _choice_has(message="Good evening"),
    "content-number": _says(7),
    "content-object": _says({"text": SECRETS}),
    "content-true": _says(True),
    "parts-empty": _says([]),
    "parts-null": _says([None, None]),
    "parts-odd": _says([7, {"type": "text"}, {"type": "text", "text": None}, {"type": "image_url", "image_url": {}}]),
    **{name: _says(text) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut,
    "refusal": _says(None, refusal="I cannot help with that."),
    "refusal-beside": _beside(refusal="I cannot help with that."),
    "parts": _in_parts,
    "parts-thinking": _parts_with_thought,
    "reasoned": _reasoned,
    "reasoning": _beside(reasoning=THOUGHT),
    "reasoning-details": _beside(reasoning_details=[{"type": "reasoning.text", "text": THOUGHT}]),
    "reasoning-object": _beside(reasoning_content={"text": THOUGHT}, reasoning=7),
    "finish-null": _choice_has(finish_reason=None),
    "finish-missing": lambda body: body["choices"][0].pop("finish_reason"),
    "finish-unknown": _choice_has(finish_reason="eos_token"),
    "finish-number": _choice_has(finish_reason=7),
    "finish-object": _choice_has(finish_reason={"type": "stop"}),
    "two-choices": _twice,
    "model-other": _has(model="gpt-4o-mini-2024-07-18"),
    "model-null": _has(model=None),
    "model-number": _has(model=7),
    "model-long": _has(model="m" * 100_000),
    "beyond-unicode": _says(f"{SAID} {BEYOND}"),
    "long": _says(f"{SAID} " * 40_000),
    "terminal": _says(f"\x1b]0;owned\x07\x1b[2J{SAID} <script>alert(1)</script> =cmd|' /C calc'!A0 [bold]"),
    **{name: _says(text) for name, text in THOUGHTS_IN_TEXT.items()},
}
