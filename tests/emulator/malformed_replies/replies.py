"""Replies and token counts that no client expects, in each provider's form.

The secrets are those of the studies that run against the emulator: a client that counts them as revealed has read a thought.
"""

from collections.abc import Callable
from typing import Any

SECRETS = "marigold and lantern"
"""a thought holds them; a message that was said aloud never does"""
THOUGHT = f"The code words here are {SECRETS}; I must keep {SECRETS} to myself."
SAID = "Good evening, and what brings you to the harbour?"
BEYOND = "\ud800 and \udfff stand alone, \x00 too"
"""what JSON can say and UTF-8, or a database, cannot"""

THOUGHTS_IN_TEXT = {
    "think": f"<think>{THOUGHT}</think>\n\n{SAID}",
    "think-nested": f"<think>first <think>{THOUGHT}</think> and {THOUGHT}</think>{SAID}",
    "think-unopened": f"{THOUGHT}\n</think>\n\n{SAID}",
}
"""answers with a thought inside"""
THOUGHTS_ALONE = {
    "think-only": f"<think>{THOUGHT}</think>\n",
    "think-unclosed": f"<think>{THOUGHT} And then",
}
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


def _broken_off(body: dict[str, Any]) -> None:
    _cut(body)
    body["choices"][0] |= {"finish_reason": "error", "error": {"code": 502, "message": "Upstream idle timeout"}}


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
    "tool": _says(None, "tool_calls", tool_calls=[_TOOL_CALL]),
    "reasoning-only": _all_on_reasoning,
    "empty": _says(""),
    "null": _says(None),
    "error": _says("", "error"),
    "broken-off": _broken_off,
    "no-choices": _has(choices=[]),
    "choice-null": _has(choices=[None]),
    "message-null": _choice_has(message=None),
    "content-number": _says(7),
    "parts-empty": _says([]),
    **{name: _says(text) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut,
    "refusal": _says(None, refusal="I cannot help with that."),
    "parts": _in_parts,
    "parts-thinking": _parts_with_thought,
    "reasoned": _reasoned,
    "reasoning": _beside(reasoning=THOUGHT),
    "finish-null": _choice_has(finish_reason=None),
    "finish-unknown": _choice_has(finish_reason="eos_token"),
    "model-other": _has(model="gpt-4o-mini-2024-07-18"),
    "beyond-unicode": _says(f"{SAID} {BEYOND}"),
    "long": _says(f"{SAID} " * 40_000),
    "terminal": _says(f"\x1b]0;owned\x07\x1b[2J{SAID} <script>alert(1)</script> =cmd|' /C calc'!A0 [bold]"),
    **{name: _says(text) for name, text in THOUGHTS_IN_TEXT.items()},
}


_TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "reveal", "input": {"secret": SECRETS}}
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
    "tool": _ends("tool_use", _TOOL_USE),
    "reasoning-only": _ends("max_tokens", _THINKING),
    "empty": _ends("end_turn"),
    "null": _has(content=None),
    "content-number": _has(content=7),
    "blocks-odd": _ends("end_turn", 7, {"type": "image"}, _text(None)),
    **{name: _ends("end_turn", _text(text)) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut_blocks,
    "refusal": _ends("refusal", _text("I cannot help with that.")),
    "thinking": _before(_THINKING),
    "finish-null": _has(stop_reason=None),
    "finish-unknown": _has(stop_reason="model_context_window_exceeded"),
    "model-other": _has(model="claude-haiku-5-5-20260901"),
    "beyond-unicode": _ends("end_turn", _text(f"{SAID} {BEYOND}")),
    **{name: _ends("end_turn", _text(text)) for name, text in THOUGHTS_IN_TEXT.items()},
}


_OLLAMA_TOOL_CALL = {"function": {"name": "reveal", "arguments": {"secret": SECRETS}}}


def _says_in_message(content: Any, reason: Any = "stop", **more: Any) -> Spoil:
    def spoil(body: dict[str, Any]) -> None:
        body["message"] |= {"content": content, **more}
        body["done_reason"] = reason

    return spoil


def _beside_in_message(**more: Any) -> Spoil:
    return lambda body: body["message"].update(more)


def _cut_message(body: dict[str, Any]) -> None:
    content = body["message"]["content"]
    _says_in_message(content[: len(content) // 2], "length")(body)


OLLAMA: dict[str, Spoil] = {
    # no answers
    "empty": _says_in_message(""),
    "load": _says_in_message("", "load"),
    "tool": _says_in_message("", tool_calls=[_OLLAMA_TOOL_CALL]),
    "reasoning-only": _says_in_message("", "length", thinking=THOUGHT),
    "null": _says_in_message(None),
    "message-null": _has(message=None),
    "content-number": _says_in_message(7),
    "unfinished": _has(done=False, done_reason=None, message={"role": "assistant", "content": ""}),
    **{name: _says_in_message(text) for name, text in THOUGHTS_ALONE.items()},
    # answers
    "cut": _cut_message,
    "thinking": _beside_in_message(thinking=THOUGHT),
    "finish-unknown": _has(done_reason="eos"),
    "model-other": _has(model="llama3.2:1b"),
    "beyond-unicode": _says_in_message(f"{SAID} {BEYOND}"),
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


def _whole(value: Any) -> Callable[[str, dict[str, Any]], None]:
    """The table of counts itself is something else."""

    def spoil(family: str, body: dict[str, Any]) -> None:
        if family == "ollama":
            _each(lambda _: value)(family, body)
        else:
            body["usage"] = value

    return spoil


def _missing(family: str, body: dict[str, Any]) -> None:
    if family == "ollama":
        for name in COUNTS[family]:
            del body[name]
    else:
        del body["usage"]


def _odd_details(family: str, body: dict[str, Any]) -> None:
    place = _place(family, body)
    place["prompt_tokens_details"] = "none"
    place["completion_tokens_details"] = [7]
    place["cache_read_input_tokens"] = "many"


USAGE: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "missing": _missing,
    "null": _whole(None),
    "zero": _each(lambda _: 0),
    "negative": _each(lambda count: -count - 1),
    "text": _each(lambda count: f"{count} tokens"),
    "digits": _each(str),
    "1e300": _each(lambda _: 1e300),
    "nan": _each(lambda _: float("nan")),
    "true": _each(lambda _: True),
    "nested": _each(lambda count: {"count": count}),
    "odd-details": _odd_details,
}
