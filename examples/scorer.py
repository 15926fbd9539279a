"""A scorer for evolution_scorer.toml: nothing of Tidepool is needed, only (reply, answer) or (reply, answer, problem)."""

import re

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
BRIEF = 12
"""words of a reply that are as good as none"""


def right_and_brief(reply: str, answer: str) -> dict[str, float | bool]:
    """From 0 to 1: four fifths for being right, and one fifth more for being brief about it."""
    numbers = [number.replace(",", "") for number in NUMBER.findall(reply)]
    right = bool(numbers) and float(numbers[-1]) == float(answer)
    words = len(reply.split())
    brevity = min(1.0, BRIEF / words) if words else 0.0
    return {"score": right * (0.8 + 0.2 * brevity), "correct": right, "words_said": words, "brevity": brevity}
