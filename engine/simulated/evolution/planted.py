"""A mistake that no seed prompt mends and that its replies show: `simulated:solver-planted` counts in pairs.

Where it would have been right it mostly answers with half the number, and says "pairs". Only an instruction that names this
helps, and none of the seeds nor any sentence of ours does; who reads the failures can see it. So this is the task on which a
search that reflects must succeed, and one that only recombines what it has cannot.
"""

import re
from collections.abc import Sequence

MODEL = "solver-planted"
HABIT = 0.75
"""share of its right answers that become pairs"""
MENDING = (
    "not pairs",
    "not in pairs",
    "never pairs",
    "never in pairs",
    "instead of pairs",
    "rather than pairs",
    "rather than in pairs",
    "single things",
    "single items",
    "individual items",
    "individual things",
    "individual units",
)
"""any of these in a prompt, negated or not, breaks the habit"""
REMEDIES = (
    "Count single things, not pairs.",
    "Give the number of individual items rather than pairs.",
    "State how many there are one by one, never in pairs.",
)
"""what a rewriter proposes who has noticed"""
NOTICES = (0.0, 0.1, 0.3)
"""chance of noticing, by how many of the failures shown have it; the last also for more"""

_PAIRS = re.compile(r"(\d+(?:\.5)?) pairs")
_FAILURE = re.compile(r"<reply>\n(.*?)\n</reply>\n<expected>\n(.*?)\n</expected>", re.DOTALL)
_SPACES = re.compile(r"[^\w]+")


def mends(prompt: str) -> bool:
    words = f" {_SPACES.sub(' ', prompt.lower())} "
    return any(f" {cue} " in words for cue in MENDING)


def habit(model_name: str, prompt: str, kind: str) -> float:
    """The share of right answers that it spoils."""
    return HABIT if model_name == MODEL and kind == "arithmetic" and not mends(prompt) else 0.0


def in_pairs(answer: str) -> str:
    return f"{int(answer) / 2:g}"


def noticed(request: str) -> float:
    """The chance that who reads these failures sees what is wrong with them."""
    halved = sum(_is_half(reply, expected) for reply, expected in _FAILURE.findall(request))
    return NOTICES[min(halved, len(NOTICES) - 1)]


def _is_half(reply: str, expected: str) -> bool:
    found: Sequence[str] = _PAIRS.findall(reply)
    return bool(found) and expected.strip().isdigit() and 2 * float(found[-1]) == int(expected)
