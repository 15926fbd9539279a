"""Under which names an evolution keeps what it finds: those who read it need nothing of what plays it."""

from collections.abc import Mapping

GENERATION = "generation/"
RESULT = "result"
VALIDATION = "validation"

REASONS = {
    "answer": "told an answer",
    "question": "quoted a problem",
    "form": "changed the task",
    "placeholder": "lost or added a placeholder",
    "too_long": "too long",
    "unchanged": "unchanged",
    "refusal": "declined",
    "unusable": "no prompt in the reply",
}
"""why a rewrite is refused, in words"""


def counted_reasons(refused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {REASONS.get(reason, reason)}" for reason, count in refused.items())
