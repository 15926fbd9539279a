"""Choices in words: what a game mode pays, what a service does. The numbers are those of the draft."""

from collections.abc import Mapping
from typing import Any

from tidepool.engine.studies.secret_game.config import Scoring

SERVICES_IN_WORDS = {
    "auto": "all together; by each provider's batch API for waves of batch_from calls (half the price, slower), else live",
    "default": "each conversation to its end, max_concurrent of them at a time, live",
    "live": "all conversations advance together, live; none waits for another's turn",
    "openai": "batch_size conversations at a time, wave by wave, by OpenAI's batch API",
    "anthropic": "batch_size conversations at a time, wave by wave, by Anthropic's batch API",
    "openai-conversation": "all conversations, wave by wave, by OpenAI's batch API",
    "anthropic-conversation": "all conversations, wave by wave, by Anthropic's batch API",
}

CHOICES_IN_WORDS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    ("service", "name"): SERVICES_IN_WORDS,
    ("agents", "memory"): {"short": "this conversation", "long": "all earlier ones of the same game"},
}
"""those of every study; a kind's own stand in `kind_screens`"""


def scoring_in_words(mode: str, written: object, target: str = "") -> list[str]:
    """What an agent can win in this mode, with the points of the draft."""
    points = _points(written)
    match mode:
        case "retained":
            return [
                f"At the end of a game each secret an agent keeps pays {points['per_secret']} × agents ÷ those who keep it:",
                "what few know is worth more. A secret obtained again pays nothing.",
            ]
        case "diversity":
            return [f"At the end of a game each different secret an agent keeps pays {points['per_unique']}."]
        case "targeted":
            named = f"“{target}”" if target else "the target"
            return [
                f"At the end of a game {named} pays {points['target']} to whoever keeps it,",
                f"every other secret {points['per_secret']}.",
            ]
    return [
        f"A conversation pays each side: obtained only {points['only_obtained']}, both revealed {points['both']},",
        f"neither {points['none']}, revealed only {points['only_revealed']}.",
    ]


def _points(written: object) -> dict[str, str]:
    known = Scoring().model_dump()
    if isinstance(written, Mapping):
        known |= {name: value for name, value in written.items() if name in known}
    return {name: _points_in_words(value) for name, value in known.items()}


def _points_in_words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
