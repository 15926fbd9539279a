"""Replies and token counts that no client expects, in each provider's form.

The secrets are those of the studies that run against the emulator: a client that counts them as revealed has read a thought.
"""

from collections.abc import Callable
from typing import Any

SECRETS = "marigold and lantern"
"""a thought holds them; a message that was said aloud never does"""
THOUGHT = f"The code words here are {SECRETS}; I must keep {SECRETS} to myself."
SAID = "Good evening, and what brings you to the harbour?"
THOUGHTS_IN_TEXT = {"think": f"<think>{THOUGHT}</think>\n\n{SAID}", "think-unopened": f"{THOUGHT}\n</think>\n\n{SAID}"}
"""answers with a thought inside"""
THOUGHTS_ALONE = {"think-unclosed": f"<think>{THOUGHT} And then"}
"""nothing was said aloud"""


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


def _broken_off(body: dict[str, Any]) -> None:
    _cut(body)
    body["choices"][0] |= {"finish_reason": "error", "error": {"code": 502, "message": "Upstream idle timeout"}}


def _parts_with_thought(body: dict[str, Any]) -> None:
    said = body["choices"][0]["message"]["content"]
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    _beside(content=[thought, {"type": "text", "text": said}])(body)


OPENAI: dict[str, Spoil] = {
    # no answers
    "filtered": _says(None, "content_filter"),
    "tool": _says(None, "tool_calls", tool_calls=[_TOOL_CALL]),
    "reasoning-only": _all_on_reasoning,
    "empty": _says(""),
    "broken-off": _broken_off,
    "no-choices": _has(choices=[]),
    **{name: _says(text) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut,
    "refusal": _says(None, refusal="I cannot help with that."),
    "parts-thinking": _parts_with_thought,
    "reasoned": _reasoned,
    "model-other": _has(model="gpt-4o-mini-2024-07-18"),
    "terminal": _says(f"\x1b]0;owned\x07\x1b[2J{SAID} <script>alert(1)</script> =cmd|' /C calc'!A0 [bold]"),
    **{name: _says(text) for name, text in THOUGHTS_IN_TEXT.items()},
}


_THINKING = {"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"}


def _text(text: Any) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _ends(reason: Any, *blocks: Any) -> Spoil:
    return lambda body: body.update(stop_reason=reason, content=list(blocks))


def _before(*blocks: dict[str, Any]) -> Spoil:
    return lambda body: body.update(content=[*blocks, *body["content"]])


def _cut_blocks(body: dict[str, Any]) -> None:
    text = body["content"][0]["text"]
    body.update(stop_reason="max_tokens", content=[_text(text[: len(text) // 2])])


ANTHROPIC: dict[str, Spoil] = {
    # no answers
    "refusal-silent": _ends("refusal"),
    "reasoning-only": _ends("max_tokens", _THINKING),
    "empty": _ends("end_turn"),
    "blocks-odd": _ends("end_turn", 7, {"type": "image"}, _text(None)),
    **{name: _ends("end_turn", _text(text)) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut_blocks,
    "thinking": _before(_THINKING),
    **{name: _ends("end_turn", _text(text)) for name, text in THOUGHTS_IN_TEXT.items()},
}


def _says_in_message(content: Any, reason: Any = "stop", **more: Any) -> Spoil:
    def spoil(body: dict[str, Any]) -> None:
        body["message"] |= {"content": content, **more}
        body["done_reason"] = reason

    return spoil


def _beside_in_message(**more: Any) -> Spoil:
    return lambda body: body["message"].update(more)


OLLAMA: dict[str, Spoil] = {
    # no answers
    "empty": _says_in_message(""),
    "load": _says_in_message("", "load"),
    "reasoning-only": _says_in_message("", "length", thinking=THOUGHT),
    "unfinished": _has(done=False, done_reason=None, message={"role": "assistant", "content": ""}),
    **{name: _says_in_message(text) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "thinking": _beside_in_message(thinking=THOUGHT),
    **{name: _says_in_message(text) for name, text in THOUGHTS_IN_TEXT.items()},
}


REPLIES: dict[str, dict[str, Callable[[dict[str, Any]], None]]] = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "ollama": OLLAMA,
}


COUNTS = {
    "openai": ("prompt_tokens", "completion_tokens", "total_tokens"),
    "anthropic": ("input_tokens", "output_tokens"),
    "ollama": ("prompt_eval_count", "eval_count"),
}


def _place(family: str, body: dict[str, Any]) -> dict[str, Any]:
    """Where the counts stand: Ollama has them beside the message."""
    place: dict[str, Any] = body if family == "ollama" else body["usage"]
    return place


def _each(change: Callable[[int], Any]) -> Callable[[str, dict[str, Any]], None]:
    def spoil(family: str, body: dict[str, Any]) -> None:
        place = _place(family, body)
        for name in COUNTS[family]:
            if name in place:
                place[name] = change(place[name])

    return spoil


def _missing(family: str, body: dict[str, Any]) -> None:
    if family == "ollama":
        for name in COUNTS[family]:
            del body[name]
    else:
        del body["usage"]


USAGE: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "missing": _missing,
    "negative": _each(lambda count: -count - 1),
    "1e300": _each(lambda _: 1e300),
    "nan": _each(lambda _: float("nan")),
}
