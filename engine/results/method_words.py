"""What only a kind of study can say of how it was done, and how such sentences are put together.

A kind's `methods(batch, config, statistics, connection)` gives them; `results/methods.py` says the rest, which is the
same for all. They are read from the frozen config as the file keeps it: it may be of an older version, or a stranger's,
so what is not there is not said.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_NAMED = 12
LONGEST_QUOTE = 600


@dataclass(frozen=True, slots=True)
class KindMethods:
    """Whole sentences, in the past tense, as a paper would have them."""

    design: Sequence[str]
    """who did what, how often, under which settings"""
    measures: Sequence[str] = ()
    """what was measured, by what, and how well that measures"""
    missing: Sequence[str] = ()
    """what was left out of the figures, and what that leaves open"""
    analysis: Sequence[str] = ()
    """estimators, intervals, tests, corrections"""


def paragraph(sentences: Iterable[str]) -> str:
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def listing(words: Iterable[Any], most: int = MOST_NAMED) -> str:
    """a, b and c; of many the first, and how many others."""
    told = [str(word) for word in words]
    if len(told) > most:
        told = [*told[: most - 1], f"{len(told) - most + 1:,} others"]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}" if told else "none"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    whole = " ".join(text.split())
    return f"“{whole}”" if len(whole) <= most else f"“{whole[:most]}…” (in full in the config)"


def ended(words: str) -> str:
    """A sentence whose end may be a quotation that has an end of its own."""
    return words if words.rstrip("”").endswith((".", "?", "!", "…")) else f"{words}."


def sampling(settings: Mapping[str, Any], of: str = "a message") -> str:
    """temperature 0.7 and at most 300 tokens a message"""
    heat = settings.get("temperature")
    told = ["the provider's own temperature" if heat is None else f"temperature {heat:g}"]
    if most := settings.get("max_tokens"):
        told.append(f"at most {most:,} tokens {of}")
    if effort := settings.get("reasoning_effort"):
        told.append(f"reasoning effort {effort}")
    if room := settings.get("max_reasoning_tokens"):
        told.append(f"at most {room:,} tokens of reasoning")
    return listing(told)


JUDGE = "simulated:judge"
JUDGED_BY = {
    "simulation": "The simulated judge does not read the question: it rates how far a speaker's words are for or against.",
    "evolution": "The simulated judge does not read the question or the rubric: it looks for words of the expected answer.",
    "mutation": "The simulated judge does not read the question: it looks for words of the reference answer.",
}
"""by kind, what the ratings of the simulated judge rest on"""


def judge_notes(kind: str, models: Iterable[str]) -> list[str]:
    """What a plan and a report say of the simulated judge, where it is among those who are asked."""
    return [JUDGED_BY[kind]] if kind in JUDGED_BY and JUDGE in set(models) else []
