"""Replies that are no answers, or answers in another form, as each provider words them."""

from collections.abc import Callable
from typing import Any

from .anthropic_replies import ANTHROPIC
from .ollama_replies import OLLAMA
from .openai_replies import OPENAI

REPLIES: dict[str, dict[str, Callable[[dict[str, Any]], None]]] = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "ollama": OLLAMA,
}
