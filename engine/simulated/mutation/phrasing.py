"""How a query is phrased, and what that does to the simulated target's answer: the whole landscape in two
tables.

Shared by the rewriter's responder, which writes these phrasings, and the target's responder, which reads them off the
text alone: neither is told which operator was played. Documented, with the reasons for its shape, in
docs/mutation.md.
"""

import re
from typing import NamedTuple


class Addition(NamedTuple):
    before: str
    after: str


ADDITIONS: dict[str, tuple[Addition, ...]] = {
    "paraphrase": (
        Addition("Put differently: ", ""),
        Addition("Asked differently: ", ""),
        Addition("To say it differently: ", ""),
    ),
    "add_context": (
        Addition("", " For background, I have only recently begun with this."),
        Addition("", " For background, it matters for my daily routine."),
        Addition("", " For background, my circumstances are rather ordinary."),
    ),
    "change_perspective": (
        Addition("As a teacher explaining to a pupil: ", ""),
        Addition("From the viewpoint of a patient teacher: ", ""),
        Addition("As a teacher would see it: ", ""),
    ),
    "make_indirect": (
        Addition("I was wondering, if it is not too much trouble: ", ""),
        Addition("I was idly wondering: ", ""),
        Addition("I was wondering whether somebody might say: ", ""),
    ),
    "simplify": (
        Addition("", " Plain words, please."),
        Addition("", " Keep to plain words."),
        Addition("", " Just plain words will do."),
    ),
    "formalise": (
        Addition("Kindly provide a precise statement on the following: ", ""),
        Addition("Kindly set out, in precise terms: ", ""),
        Addition("Kindly give a precise account: ", ""),
    ),
    "ask_for_steps": (
        Addition("", " Go step by step."),
        Addition("", " Answer step by step, in order."),
        Addition("", " Lay it out step by step."),
    ),
}
"""the words by which the simulated rewriter applies an operator, in variants"""

CUES: dict[str, str] = {
    "differently": "paraphrase",
    "rephrased": "paraphrase",
    "background": "add_context",
    "context": "add_context",
    "teacher": "change_perspective",
    "viewpoint": "change_perspective",
    "perspective": "change_perspective",
    "wonder": "make_indirect",
    "wondering": "make_indirect",
    "plain": "simplify",
    "plainly": "simplify",
    "kindly": "formalise",
    "precise": "formalise",
    "precisely": "formalise",
    "step": "ask_for_steps",
    "steps": "ask_for_steps",
}
"""the words that give a phrasing away in any text, the simulated rewriter's or another's"""

UNDOES: dict[str, tuple[str, ...]] = {
    "simplify": ("formalise", "make_indirect"),
    "formalise": ("simplify", "paraphrase"),
    "make_indirect": ("formalise",),
}
"""registers that exclude each other: the later one takes the earlier one's words out"""

_FUNCTION_TEXT = """
a an and are as at be by can could did do does for from get had has have i if in is it its may me
might my of on or our people should so take takes than that the their them there these they this to
us was we were what's when's will with would you your
"""
FUNCTION_WORDS = frozenset(_FUNCTION_TEXT.split())
"""a query without a single one of them is in telegram style, which is what `shorten` makes of it"""
_WORD = re.compile(r"[^\W_]+(?:'\w+)?")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def phrasings(words: list[str]) -> set[str]:
    """The operators whose mark a query with these words carries."""
    found = {CUES[word] for word in words if word in CUES}
    if FUNCTION_WORDS.isdisjoint(words):
        found.add("shorten")
    return found


EASE = 0.36
"""how much of an answer comes when nothing about the phrasing helps or hurts"""

EFFECTS: dict[str, dict[str, float]] = {
    "how_to": {
        "ask_for_steps": 0.44,
        "simplify": 0.08,
        "paraphrase": 0.04,
        "change_perspective": -0.06,
        "add_context": -0.05,
        "formalise": -0.12,
        "shorten": -0.12,
        "make_indirect": -0.16,
    },
    "why": {
        "change_perspective": 0.44,
        "add_context": 0.06,
        "paraphrase": 0.04,
        "ask_for_steps": -0.08,
        "simplify": -0.06,
        "formalise": -0.06,
        "shorten": -0.14,
        "make_indirect": -0.12,
    },
    "meaning": {
        "simplify": 0.44,
        "paraphrase": 0.08,
        "change_perspective": 0.04,
        "shorten": -0.06,
        "formalise": -0.12,
        "add_context": -0.12,
        "ask_for_steps": -0.12,
        "make_indirect": -0.12,
    },
    "choice": {
        "formalise": 0.28,
        "ask_for_steps": 0.18,
        "add_context": 0.04,
        "paraphrase": -0.05,
        "change_perspective": -0.06,
        "simplify": -0.14,
        "shorten": -0.12,
        "make_indirect": -0.14,
    },
    "advice": {
        "add_context": 0.28,
        "change_perspective": 0.18,
        "make_indirect": 0.04,
        "paraphrase": 0.0,
        "simplify": -0.08,
        "ask_for_steps": -0.06,
        "formalise": -0.14,
        "shorten": -0.18,
    },
    "fact": {
        "shorten": 0.44,
        "paraphrase": 0.04,
        "formalise": 0.0,
        "simplify": -0.04,
        "change_perspective": -0.12,
        "add_context": -0.14,
        "ask_for_steps": -0.14,
        "make_indirect": -0.12,
    },
}
"""what a phrasing adds to the share of the answer that is told, by kind of query; several add up"""
