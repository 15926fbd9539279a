"""Requests as the checks send them."""

import json
from typing import Any

CHAT: dict[str, Any] = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Good morning"}]}
SPEAK: dict[str, Any] = {
    "model": "claude-haiku-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Good morning"}],
}


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {**CHAT, "messages": [{"role": "user", "content": text}], **more}


def speak(text: str, **more: Any) -> dict[str, Any]:
    return {**SPEAK, "messages": [{"role": "user", "content": text}], **more}


def input_file(count: int, **more: Any) -> bytes:
    """The lines of an OpenAI batch."""
    lines = (
        {
            "custom_id": f"c{at}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": chat(f"No. {at}", **more),
        }
        for at in range(count)
    )
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def message_requests(count: int, **more: Any) -> list[Any]:
    """The requests of an Anthropic batch."""
    return [{"custom_id": f"c{at}", "params": speak(f"No. {at}", **more)} for at in range(count)]
