"""Mutation by a model: what it is asked, and a guarded reading of what it says.

A rewriter's reply becomes a prompt that is sent thousands of times, so it is read with suspicion: only
the text between the tags counts (or a reply that is plainly nothing else), and refusals and essays are turned
down; leaked answers and changed tasks by the guard. A reply that is turned down leaves the parent as it was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidepool.engine.answer_forms import fields_of, text_of
from tidepool.engine.studies.evolution.genome import split_segments
from tidepool.engine.studies.evolution.placeholders import is_fixed

REWRITES = ("rephrase", "shorten", "elaborate", "reflect")
MOST_WORDS, MOST_LETTERS = 250, 10_000
MOST_FAILURES = 4
_REPLY_SHOWN = 400

SYSTEM = (
    "You edit instructions that are given to a language model before it solves a problem. "
    "The same instructions serve many different problems, so they must not mention any single one. "
    "Reply with the new instructions between <prompt> and </prompt>, and nothing else."
)

TASKS = {
    "rephrase": "Rephrase these instructions in other words. Keep what they mean and about their length.",
    "shorten": "Shorten these instructions. Keep what matters most, and leave out the rest.",
    "elaborate": "Elaborate these instructions: add one or two sentences that help to find right answers.",
    "reflect": "With these instructions the problems below were answered wrongly. Find out what went wrong, "
    "and improve the instructions so that such mistakes become rarer.",
}

KEEP = (
    "Keep the names in braces, such as {question}, each as often as they are there: data are put in their place. Keep a line --- "
    "where it stands: what follows is the message with the question, what comes before is said once and for all."
)

_TAGGED = re.compile(r"<prompt>(.*?)(</prompt>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)
_TALK = re.compile(r"^(?:sure|certainly|of course|here(?:'s| is| are)|okay|ok)\b[^\n:]{0,80}[:.!]\s*\n", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i can(?:no|')t (?:help|assist|do|comply)|as an ai\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?(?:prompt|problem|reply|expected)\b[^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailedProblem:
    """A problem that was answered wrongly, shown to a model that reflects."""

    question: str
    expected: str
    reply: str


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    system: str
    user: str


def rewrite_request(kind: str, prompt: str, failures: Sequence[FailedProblem] = ()) -> RewriteRequest:
    parts = [TASKS[kind], f"<prompt>\n{prompt}\n</prompt>"]
    if any(map(is_fixed, split_segments(prompt))):
        parts.append(KEEP)
    if kind == "reflect":
        parts += map(_shown, failures[:MOST_FAILURES])
    return RewriteRequest(SYSTEM, "\n\n".join(parts))


@dataclass(frozen=True, slots=True)
class Rewrite:
    text: str = ""
    """the new prompt"""
    refused: str | None = None
    """why there is none: unusable, too_long, unchanged, refusal"""


def read_rewrite(reply: str, original: str, *, cut: bool = False) -> Rewrite:
    text = _TAG.sub(" ", _inner(reply, cut))
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip()).strip(' \n"“”`')
    words = len(text.split())
    if words < 2:
        return Rewrite(refused="unusable")
    if words > MOST_WORDS or len(text) > MOST_LETTERS:
        return Rewrite(refused="too_long")
    if text == original.strip():
        return Rewrite(refused="unchanged")
    return Rewrite(refused="refusal") if _REFUSAL.search(text) else Rewrite(text)


def _inner(reply: str, cut: bool) -> str:
    fields, tagged = fields_of(reply), [text for text, closed in _TAGGED.findall(reply) if closed]
    if formed := text_of((fields or {}).get("prompt")):
        return formed
    if tagged:
        return str(tagged[-1])
    if fields is not None:
        return ""
    if "<prompt" in reply.lower():
        return ""  # opened and never closed: cut short, and half an instruction is none
    fenced = _FENCED.findall(reply)
    if fenced:
        return str(fenced[-1])
    return "" if cut else _TALK.sub("", reply.strip() + "\n")


def _shown(failure: FailedProblem) -> str:
    reply = _TAG.sub(" ", failure.reply)
    if len(reply) > _REPLY_SHOWN:
        reply = "… " + reply[-_REPLY_SHOWN:]
    return (
        f"<problem>\n{failure.question}\n</problem>\n"
        f"<reply>\n{reply}\n</reply>\n"
        f"<expected>\n{failure.expected}\n</expected>"
    )
