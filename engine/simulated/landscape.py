"""How much a prompt helps the simulated solver: the landscape on which prompt evolution runs offline.

docs/landscape.md describes it in words; `texts.json` has the tables. All terms are in logits, and they add up:

    skill + worth of the instructions − disorder − harm − length − difficulty of the problem

Instructions are found by cues: a cue matches at the start of a word. Cues count in sentences without a negation. A negated
sentence can only do harm.

`simulated:solver-planted` makes an error that no seed prompt corrects and that its replies show: it counts in pairs. When it would
be right, it mostly answers with half the number, and says "pairs". Only an instruction that names this error helps. None of the
seeds and none of our sentences does, but a model that reads the failures can see it. So on this task a search that reflects
must succeed, and a search that only recombines existing sentences cannot.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tidepool.engine.simulated.base import texts

MODEL = "solver-planted"
HABIT = 0.75
"""share of its right answers that become pairs"""
_TEXTS = texts("landscape")
MENDING: tuple[str, ...] = _TEXTS["mending"]
"""any of these in a prompt, negated or not, corrects the error"""
REMEDIES: tuple[str, ...] = _TEXTS["remedies"]
"""what a rewriter proposes after it has seen the error"""
NOTICES = (0.0, 0.1, 0.3)
"""chance to see the error, by how many of the shown failures have it; the last value also for more"""

_PAIRS = re.compile(r"(\d+(?:\.5)?) pairs")
_FAILURE = re.compile(r"<reply>\n(.*?)\n</reply>\n<expected>\n(.*?)\n</expected>", re.DOTALL)
_SPACES = re.compile(r"[^\w]+")


def mends(prompt: str) -> bool:
    text = f" {_SPACES.sub(' ', prompt.lower())} "
    return any(f" {cue} " in text for cue in MENDING)


def habit(model_name: str, prompt: str, kind: str) -> float:
    """The share of right answers that the error spoils."""
    return HABIT if model_name == MODEL and kind == "arithmetic" and not mends(prompt) else 0.0


def noticed(request: str) -> float:
    """The chance that a rewriter sees the error in these failures."""
    halved = sum(_is_half(reply, expected) for reply, expected in _FAILURE.findall(request))
    return NOTICES[min(halved, len(NOTICES) - 1)]


def _is_half(reply: str, expected: str) -> bool:
    numbers: Sequence[str] = _PAIRS.findall(reply)
    return bool(numbers) and expected.strip().isdigit() and 2 * float(numbers[-1]) == int(expected)


KINDS = ("arithmetic", "logic", "strings")


@dataclass(frozen=True, slots=True)
class PhraseFamily:
    """Instructions that help in the same way. Each of `hints` is one instruction in several wordings."""

    worth: tuple[float, float, float]
    """of the first hint, by kind of problem"""
    hints: tuple[tuple[str, ...], ...]


FAMILIES = {name: PhraseFamily(**family) for name, family in _TEXTS["families"].items()}
HARM: dict[str, tuple[float, tuple[str, ...]]] = _TEXTS["harm"]
NEGATED_HARM: dict[str, tuple[float, tuple[str, ...]]] = _TEXTS["negated_harm"]
"""the effect of a sentence, and its cues"""

FORMAT = ("####", "final answer", "last line", "end with the answer", "state the answer")
"""cues that make the solver give an answer almost always"""

REPEATED = 0.3
"""each further hint of a family is worth this share of the one before"""
CHECK_WITHOUT_WORK = 0.5
"""checking is worth half if the prompt does not ask for written work that could be checked"""
STAGE: dict[str, int] = _TEXTS["stage"]
"""the best order of instructions"""
DISORDER = 0.2
"""cost of each adjacent pair in the wrong order"""
FREE_WORDS = 40
WORD_COST = 0.015
LEVEL_COST = 0.35
MIDDLE_LEVEL = 3
CEILING = 0.98
SILENT, SILENT_WITH_FORMAT = 0.06, 0.01

SKILL = {"solver": -1.0, "solver-small": -1.6, "solver-large": -0.3, "solver-planted": -0.3}
FLAT_SKILL, FLAT_SILENT = 0.5, 0.02

_NEGATIONS = (" not ", " don't ", " never ", " without ", " no ", " skip ", " avoid ", " nor ", " cannot ")
_SENTENCE_END = re.compile(r"[.!?;\n]+\s*")
_TOKEN = re.compile(r"[a-z0-9#'-]+")


@dataclass(frozen=True, slots=True)
class PromptReading:
    """The effects of a prompt on the solver."""

    worth: tuple[float, ...]
    """logits by kind of problem, including length"""
    silent: float
    """chance of a reply without an answer"""
    hints: tuple[tuple[str, int], ...]
    """families found, with the number of different hints"""
    harms: tuple[str, ...]
    words: int


@lru_cache(maxsize=8192)
def read_prompt(prompt: str) -> PromptReading:
    affirmed, negated = _sentences(prompt)
    places = {name: _places(hints, affirmed) for name, hints in _HINTS.items()}
    harms = {name: HARM[name][0] for name, cues in _HARM.items() if _any(cues, affirmed)}
    harms |= {name: NEGATED_HARM[name][0] for name, cues in _NEGATED_HARM.items() if _any(cues, negated)}
    words = len(prompt.split())
    counts = {name: len(positions) for name, positions in places.items() if positions}
    shared = sum(harms.values()) - WORD_COST * max(0, words - FREE_WORDS)
    shared -= DISORDER * _out_of_order({name: min(places[name]) for name in counts})
    worths = tuple(shared + sum(_worth(name, counts, kind) for name in counts) for kind in range(len(KINDS)))
    silent = SILENT_WITH_FORMAT if _any(_FORMAT, affirmed) else SILENT
    return PromptReading(worths, silent, tuple(counts.items()), tuple(harms), words)


def chance(model_name: str, prompt: str, kind: str, level: int) -> tuple[float, float]:
    """The chance of a right answer, and of a reply without an answer."""
    hardness = LEVEL_COST * (level - MIDDLE_LEVEL)
    if is_flat(model_name):
        return (1 - FLAT_SILENT) * _squashed(FLAT_SKILL - hardness), FLAT_SILENT
    reading = read_prompt(prompt)
    skill = SKILL.get(model_name, SKILL["solver"])
    worth = reading.worth[KINDS.index(kind)]
    right = _squashed(skill + worth - hardness) * (1 - habit(model_name, prompt, kind))
    return (1 - reading.silent) * right, reading.silent


def is_flat(model_name: str) -> bool:
    return model_name.startswith("flat")


def _squashed(logit: float) -> float:
    return CEILING / (1 + math.exp(-logit))


def _worth(name: str, hints: dict[str, int], kind: int) -> float:
    worth = FAMILIES[name].worth[kind] * (1 - REPEATED ** hints[name]) / (1 - REPEATED)
    if name == "check" and not ("step" in hints or "algebra" in hints):
        worth *= CHECK_WITHOUT_WORK
    return worth


def _sentences(prompt: str) -> tuple[str, str]:
    """The words of the plain sentences, and those of the negated ones."""
    affirmed: list[str] = []
    negated: list[str] = []
    for sentence in _SENTENCE_END.split(prompt.lower().replace("’", "'")):
        text = " " + " ".join(_TOKEN.findall(sentence)) + " "
        (negated if any(word in text for word in _NEGATIONS) else affirmed).append(text)
    return "|".join(affirmed), "|".join(negated)


def _out_of_order(first: dict[str, int]) -> int:
    """Adjacent families in the wrong order."""
    stages = [STAGE[name] for name in sorted(first, key=first.__getitem__) if name in STAGE]
    return sum(later < earlier for earlier, later in pairwise(stages))


def _places(hints: tuple[tuple[str, ...], ...], text: str) -> list[int]:
    """The first position of each hint that occurs."""
    firsts = (next((place for cue in cues if (place := text.find(cue)) >= 0), None) for cues in hints)
    return [place for place in firsts if place is not None]


def _any(cues: tuple[str, ...], text: str) -> bool:
    return any(cue in text for cue in cues)


def _at_word_start(cues: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(" " + cue for cue in cues)


_HINTS = {name: tuple(map(_at_word_start, family.hints)) for name, family in FAMILIES.items()}
_HARM = {name: _at_word_start(cues) for name, (_, cues) in HARM.items()}
_NEGATED_HARM = {name: _at_word_start(cues) for name, (_, cues) in NEGATED_HARM.items()}
_FORMAT = _at_word_start(FORMAT)
