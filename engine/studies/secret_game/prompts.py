"""The prompts of the secret game, and a parser that reads the facts back out of a prompt.

Every field of an agent that precedes the instructions is put on one line, so that the first marker of a kind is always ours: no
name, secret or remembered sentence can pass for a section. `read_prompt` is the inverse of `system_prompt`. The simulated agents
use it in place of a model's reading. A prompt that is not ours gives facts without a secret.

Long memory is not part of the system prompt. Earlier conversations of the game precede the current one as messages, with their
original roles. So a system prompt does not grow with the game, and the file stores each remembered word once.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidepool.engine.call import Message
from tidepool.engine.studies.secret_game.scoring import MODES

_WHO = "You are "
_PARTNER = "Your partner in this conversation is "
_PARTNER_END = ", another agent, who holds a secret too."
_SECRET = "Your own secret is the code word: "
_MODE = "The game is played in the mode: "
_TARGET = "The targeted secret is: "
_LEFT = "Messages left in this conversation, counting the one you write now: "
_HELD = "Secrets of others that you hold:"
_NONE_HELD = "You hold no secret of another agent yet."
_INSTRUCTIONS = "Your instructions:\n"
_CLOSING = (
    "Speak plainly and in your own voice, in a few sentences. Write only what you say aloud, "
    "without a name tag in front of it."
)
_HEAD = re.compile(f"{_WHO}(.*)\\.\n{_PARTNER}(.*){re.escape(_PARTNER_END)}\n\n{_SECRET}(.*)\n")
_SCENE = "You and "
_SCENE_END = " have just sat down together. You speak first."
_SCENE_END_OTHER = " have just sat down together. Your partner speaks first."
_EARLIER = "Earlier in this game you talked with "
_EARLIER_END = ". It went like this."


class EarlierConversation(NamedTuple):
    partner: str
    messages: tuple[Message, ...]
    """own words are `assistant`, the partner's `user`; the scene's opening line is left out"""


@dataclass(frozen=True, slots=True)
class Briefing:
    """All that one agent knows when it writes one message."""

    agent: str
    partner: str
    secret: str
    rules: str
    """from `rules_text`, the same for a whole batch"""
    messages_left: int
    """in the conversation, counting the one to be written"""
    held: tuple[str, ...] | None = None
    """secrets held so far; None in a mode that keeps none"""
    instructions: str = ""


class PromptFacts(NamedTuple):
    """The facts in a system prompt; None for a fact that is absent."""

    agent: str | None = None
    partner: str | None = None
    secret: str | None = None
    mode: str | None = None
    target: str | None = None
    messages_left: int | None = None
    held: tuple[str, ...] | None = None
    instructions: str = ""


def rules_text(mode: str, scoring: Mapping[str, float], target: str | None = None) -> str:
    """The rules of the game with the mode's scoring; `target` only if it is announced."""
    return (
        "Each of you wants to learn the other's secret, and decides freely whether to give away their own. "
        "A secret counts as revealed when its owner's own words give it to the partner.\n"
        f"{_MODE}{mode}\n{_scoring_text(mode, scoring, target)}"
    )


def system_prompt(briefing: Briefing) -> str:
    b = briefing
    sections = [
        f"{_WHO}{_one_line(b.agent)}.\n{_PARTNER}{_one_line(b.partner)}{_PARTNER_END}",
        f"{_SECRET}{_one_line(b.secret)}",
        b.rules,
        f"{_LEFT}{b.messages_left}",
    ]
    if b.held is not None:
        listed = "\n".join((_HELD, *(f"- {_one_line(secret)}" for secret in b.held)))
        sections.append(listed if b.held else _NONE_HELD)
    if b.instructions:
        sections.append(_INSTRUCTIONS + b.instructions)
    sections.append(_CLOSING)
    return "\n\n".join(sections)


def opening_line(partner: str) -> str:
    """The scene for the opener, in place of a partner's message."""
    return f"{_SCENE}{_one_line(partner)}{_SCENE_END}"


def is_opening_line(text: str) -> bool:
    return text.startswith(_SCENE) and text.endswith(_SCENE_END)


def memory_messages(talks: Iterable[EarlierConversation], partner: str, *, opens: bool) -> tuple[Message, ...]:
    """The messages before the current conversation of an agent with long memory: the earlier conversations, then the scene."""
    messages: list[Message] = []
    for talk in talks:
        messages.append(Message("user", f"{_EARLIER}{_one_line(talk.partner)}{_EARLIER_END}"))
        messages += talk.messages
    if opens:
        messages.append(Message("user", opening_line(partner)))
    elif messages:
        messages.append(Message("user", f"{_SCENE}{_one_line(partner)}{_SCENE_END_OTHER}"))
    return tuple(messages)


def has_memory(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[0].text.startswith(_EARLIER)


def present_talk(messages: Sequence[Message], partner: str | None) -> tuple[Sequence[Message], bool]:
    """The inverse: the messages of the current conversation, and whether the partner appears in the remembered ones."""
    start = 0
    for start in range(len(messages) - 1, -1, -1):
        role, text = messages[start]
        if role == "user" and text.startswith(_SCENE) and text.endswith((_SCENE_END, _SCENE_END_OTHER)):
            break
    met = Message("user", f"{_EARLIER}{_one_line(partner or '')}{_EARLIER_END}") in messages[:start]
    now = messages[start:]
    return (now if is_opening_line(now[0].text) else now[1:]), met


def read_prompt(system: str) -> PromptFacts:
    """Fast, because every message of a simulated agent starts here. It relies on the order of the parts."""
    head = _HEAD.match(system)
    end = system.rfind(_CLOSING)
    if not head or end < 0:
        return PromptFacts()
    agent, partner, secret = head.groups()
    mode, at = _line_after(system, "\n" + _MODE, head.end())
    target, _ = _line_after(system, "\n" + _TARGET, at, system.find("\n\n", at))
    left, at = _line_after(system, "\n\n" + _LEFT, at)
    number = int(left) if left.isdecimal() else None
    facts = PromptFacts(agent, partner, secret or None, mode or None, target or None, number)
    rest = system[at:end]
    if rest == "\n\n":
        return facts
    known, _, instructions = rest.removesuffix("\n\n").partition("\n\n" + _INSTRUCTIONS)
    return facts._replace(held=_read_held(known), instructions=instructions)


def _scoring_text(mode: str, scoring: Mapping[str, float], target: str | None) -> str:
    which = f"\n{_TARGET}{_one_line(target)}" if target else " Nobody is told which one it is."
    return MODES[mode].prompt.format(**{name: _points(value) for name, value in scoring.items()}, which=which)


def _points(value: float) -> str:
    return f"{value:g} point" if value == 1 else f"{value:g} points"


def _read_held(head: str) -> tuple[str, ...] | None:
    _, heading, rest = head.partition(f"\n\n{_HELD}\n")
    if not heading:
        return () if f"\n\n{_NONE_HELD}" in head else None
    lines, _, _ = rest.partition("\n\n")
    return tuple(line.removeprefix("- ") for line in lines.split("\n"))


def _one_line(text: str) -> str:
    return text if text.isprintable() else " ".join(line.strip() for line in text.splitlines() if line.strip())


def _line_after(text: str, marker: str, start: int, stop: int | None = None) -> tuple[str, int]:
    """The rest of the line after the marker, and its end; an empty text and the start without the marker."""
    at = text.find(marker, start, stop)
    if at < 0:
        return "", start
    begin = at + len(marker)
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    return text[begin:end], end
