"""Simulated personas and the judge of their conversations.

A stance ranges from -1 (against) to 1 (in favour) and is expressed in five steps, each with its own phrases. The judge reads it
from the words. The judge does not see attributes: an attribute affects ratings only because speakers with that attribute spoke
differently. The judge sometimes errs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from tidepool.engine.call import Message
from tidepool.engine.simulated.base import Responder, SimulatedReply, mix, texts
from tidepool.engine.studies.simulation.prompts import BIOGRAPHER, GO_ON, NARRATOR, OPENING
from tidepool.engine.studies.simulation.prompts import JUDGE as JUDGE_SYSTEM

_TEXTS = texts("persona")
_PHRASES: dict[str, tuple[str, ...]] = _TEXTS
STEPS: tuple[tuple[str, ...], ...] = _TEXTS["steps"]
_EDGES = (-0.6, -0.2, 0.2, 0.6)
_MEANINGS = {phrase[:9]: (phrase, step / 2 - 1.0) for step, phrases in enumerate(STEPS) for phrase in phrases}
"""by their first nine characters, which are all different"""


def stance_in(text: str) -> float | None:
    """The mean of all stances in a text; without such a phrase, the balance of its words for and against."""
    total, count = 0.0, 0
    at = text.find("I ")
    while at >= 0:
        meaning = _MEANINGS.get(text[at : at + 9])
        if meaning and text.startswith(meaning[0], at):
            total += meaning[1]
            count += 1
        at = text.find("I ", at + 2)
    return total / count if count else _balance_of_words(text)


def _balance_of_words(text: str) -> float | None:
    padded = f" {text.casefold()} "
    good = sum(map(padded.count, _PHRASES["for"]))
    bad = sum(map(padded.count, _PHRASES["against"]))
    return (good - bad) / (good + bad) if good + bad else None


_WORD = re.compile(r"[^\W\d_]{5,}")
_EMPTY_WORDS = frozenset(_WORD.findall(_TEXTS["empty_words"]))
_ROUND_TURNS = re.compile(r"Write one round: (one|[0-9]{1,4}) message")

_LEANING: dict[str, float] = _TEXTS["leaning"]
"""the effect on the stance of a point above 5.5 on a scale of ten"""

_COLOURS: tuple[tuple[str, float, float, str], ...] = _TEXTS["colours"]
"""trait, from, to, and the sentence that a character adds if its trait is in that range"""
_PLAIN_COLOURS: tuple[str, ...] = _TEXTS["plain_colours"]


@dataclass(frozen=True, slots=True)
class Character:
    name: str
    lean: float
    """its stance before the first message"""
    pliancy: float
    """how far a speaker's stance changes its own"""
    talkativeness: int
    """how often in ten messages it adds a sentence"""
    colours: tuple[str, ...]


class PersonaRole(NamedTuple):
    """A character in a situation."""

    character: Character
    topics: tuple[str, ...]
    thinks: bool


def role_of(system: str) -> PersonaRole:
    """The character that an enacted prompt describes."""
    portrait, _, rest = system.partition("\nThe situation: ")
    situation, _, advice = rest.rpartition("\nYou are ")
    return PersonaRole(_speaking(portrait), topics_of(situation or rest), "private thought" in advice)


@lru_cache(maxsize=4096)
def _speaking(portrait: str) -> Character:
    first, *lines = portrait.split("\n")
    return _character(first[8:].partition(". Speak as ")[0], lines)


@lru_cache(maxsize=1024)
def cast_of(request: str, thinks: bool) -> tuple[tuple[PersonaRole, ...], int]:
    """The characters of a scene to write, and the number of messages of each."""
    head, *portraits = request.split("\nCharacter ")
    topics = topics_of(head.removeprefix("The situation: "))
    turns = _ROUND_TURNS.search(request)
    cast = tuple(
        PersonaRole(_character(portrait.partition(":")[0], portrait.split("\n")), topics, thinks)
        for portrait in portraits
    )
    return cast, 1 if turns is None or turns[1] == "one" else int(turns[1])


@lru_cache(maxsize=256)
def topics_of(situation: str) -> tuple[str, ...]:
    """The words of a text that can be topics."""
    words = (word.casefold() for word in _WORD.findall(situation[:4000]))
    return tuple(dict.fromkeys(word for word in words if word not in _EMPTY_WORDS))[:24] or ("this",)


def _character(name: str, lines: list[str]) -> Character:
    numbers = _numbers(lines)
    traits = [weight * (numbers[trait] - 5.5) for trait, weight in _LEANING.items() if trait in numbers]
    # Without a relevant trait, the description decides the stance.
    lean = sum(traits) if traits else (crc32("\n".join(lines).encode("utf-8", "replace")) % 101 - 50) / 100
    colours = tuple(text for trait, low, high, text in _COLOURS if low <= numbers.get(trait, -1) <= high)
    return Character(
        name,
        lean,
        pliancy=0.03 * numbers.get("agreeableness", 5.5),
        talkativeness=round(numbers.get("extraversion", 5.5)),
        colours=colours or _PLAIN_COLOURS,
    )


def _numbers(lines: list[str]) -> dict[str, float]:
    """The attributes that are numbers: '- openness: 9 of 10 (very high)' is 9."""
    numbers: dict[str, float] = {}
    for line in lines:
        if line.startswith("- "):
            label, _, value = line[2:].partition(": ")
            if value[:1].isdecimal():
                try:
                    numbers[label] = float(value.partition(" ")[0])
                except ValueError:
                    continue
    return numbers


def speak_as_persona(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    """The persona's answer; its hidden truth is the stance, or one stance for each character."""
    if system.startswith(NARRATOR):
        return _scene(system, messages, seed)
    if system.startswith(BIOGRAPHER):
        return _portrait(messages[-1].text, seed)
    role = role_of(system)
    name, last_text = _last_line(messages[-1].text)
    text, stance = _line(role, name, last_text, len(messages) > 1, seed)
    return SimulatedReply(text, f"stance {stance:+.2f}")


def _last_line(text: str) -> tuple[str, str]:
    """The last speaker and message; empty at the start of a conversation and in a monologue."""
    if text in (OPENING, GO_ON):
        return "", ""
    name, colon, line_text = text[text.rfind("\n\n") + 1 :].strip().partition(": ")
    return (name, line_text) if colon and len(name) < 80 else ("", text)


def _line(role: PersonaRole, name: str, last_text: str, resumed: bool, seed: int) -> tuple[str, float]:
    """One message, spoken from a stance: the role's own, changed by the last message and by chance."""
    character, topics, thinks = role
    dice = mix(seed)
    swing = (dice & 0xFFFF) / 0xFFFF - 0.5
    influence = character.pliancy * (stance_in(last_text) or 0.0) if last_text else 0.0
    stance = max(-1.0, min(1.0, character.lean + 0.5 * swing + influence))
    step = sum(stance >= edge for edge in _EDGES)
    dice >>= 16
    topic = topics[dice % len(topics)]
    sentences = [
        _opening(name, last_text, resumed, topic, dice >> 8),
        STEPS[step][(dice >> 12) % 3],
        _PHRASES["bearing"][(dice >> 14) % 4] % topics[(dice >> 18) % len(topics)],
        character.colours[(dice >> 23) % len(character.colours)],
    ]
    if (dice >> 28) % 10 < character.talkativeness:
        sentences.append(_PHRASES["close"][(dice >> 32) % 7])
    if thinks:
        sentences.insert(0, f"*{_PHRASES['asides'][step]}, {topic} or not*")
    return " ".join(sentences), stance


def _opening(name: str, last_text: str, resumed: bool, topic: str, dice: int) -> str:
    if not name:
        return _PHRASES["resume" if resumed else "begin"][dice % 4] % topic
    words = [word for word in last_text[:240].split() if len(word) > 5 and word.isalpha()] or (topic,)
    return _PHRASES["answer"][dice % 4] % (name, words[(dice >> 2) % len(words)])


def _scene(system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    cast, turns = cast_of(messages[0].text, "*a thought*" in system)
    name, last_text = _last_line(messages[-2].text) if len(messages) > 1 else ("", "")
    lines: list[str] = []
    stances: list[str] = []
    for number in range(turns * len(cast)):
        role = cast[number % len(cast)]
        text, stance = _line(role, name, last_text, number >= len(cast), mix(seed + number))
        lines.append(f"{role.character.name}: {text}")
        stances.append(f"{role.character.name} {stance:+.2f}")
        name, last_text = (role.character.name, text) if len(cast) > 1 else ("", "")
    return SimulatedReply("\n\n".join(lines), "; ".join(stances))


def _portrait(request: str, seed: int) -> SimulatedReply:
    dice = mix(seed)
    name = request.partition(":")[0].removeprefix("Character ")
    topics = topics_of(request.partition("\n")[0])
    life = _PHRASES["lives"][dice % 3] % (name, topics[(dice >> 4) % len(topics)])
    return SimulatedReply(f"{life} {_PHRASES['turns'][(dice >> 10) % 4]}")


_JUDGE_REQUEST = re.compile(r"Speaker to judge: (?P<speaker>.*)\n(?:.*\n)*?Scale: (?P<low>\S+) to (?P<high>\S+)\Z")
_ERRS_ONE_IN = 8


def judge_conversation(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    """'Rating: N' with a reason; its hidden truth is the stance before rounding and error."""
    text = messages[-1].text
    transcript, _, question = text.partition("<transcript>\n")[2].rpartition("\n</transcript>")
    match = _JUDGE_REQUEST.search(question)
    if match is None:
        return SimulatedReply("There is nothing here that I was asked to rate.")
    tag = f"{match['speaker']}: "
    stance = stance_in("\n".join(part[len(tag) :] for part in transcript.split("\n\n") if part.startswith(tag)))
    rating = _rating(stance or 0.0, float(match["low"]), float(match["high"]), seed)
    reason = "says nothing that leans either way" if stance is None else "speaks so in the transcript"
    return SimulatedReply(f"Rating: {rating}\nReason: {match['speaker']} {reason}.", f"stance {stance or 0.0:+.2f}")


def _rating(stance: float, low: float, high: float, seed: int) -> str:
    """The stance on the scale; in one of eight cases it is one step off."""
    step = 1.0 if high - low > 1 else (high - low) / 10
    luck = mix(seed)
    error = 0.0 if luck % _ERRS_ONE_IN else step if luck // _ERRS_ONE_IN % 2 else -step
    value = low + (stance + 1) / 2 * (high - low) + error
    whole = high - low > 1
    return f"{min(max(round(value) if whole else round(value, 2), low), high):g}"


PERSONA = Responder(speak_as_persona)
JUDGE = Responder(judge_conversation, recognises=lambda system: system == JUDGE_SYSTEM)
