"""What the simulated persona makes of its prompt: who it is, where it leans, and how it talks."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

_WORD = re.compile(r"[^\W\d_]{5,}")
_EMPTY_WORDS = frozenset(
    _WORD.findall(
        "about above after again against along already although always among another answer because before "
        "being below between character could during every first going having other others should since still "
        "something their there these thing things those three through under until where whether which while "
        "whose within without would years"
    )
)
_TURNS = re.compile(r"Write one round: (one|[0-9]{1,4}) message")

_LEANING = {
    "agreeableness": 0.16,
    "kindness": 0.16,
    "trust in partners": 0.16,
    "openness": 0.08,
    "appetite for risk": 0.08,
    "neuroticism": -0.08,
}
"""what a point above 5.5 on a scale of ten adds to the stance"""

_COLOURS = (
    ("openness", 7, 11, "I would rather try something new than wait."),
    ("openness", 0, 4, "What has worked so far deserves some respect."),
    ("conscientiousness", 7, 11, "Show me the dates, and who answers for each of them."),
    ("conscientiousness", 0, 4, "We can sort out the details as we go."),
    ("extraversion", 7, 11, "Let us put it to everybody in the room and see what happens."),
    ("extraversion", 0, 4, "I have said little, but I have thought about it."),
    ("agreeableness", 7, 11, "I am sure we can find something that suits all of us."),
    ("agreeableness", 0, 4, "Somebody has to say the unpleasant part."),
    ("neuroticism", 7, 11, "I keep thinking of what could go wrong."),
    ("neuroticism", 0, 4, "I sleep well whichever way it goes."),
    ("age", 60, 1000, "I have seen plans like this come and go."),
    ("age", 0, 30, "It is my generation that will live with it."),
    ("courage", 7, 11, "Fear has never fed anybody."),
    ("cunning", 7, 11, "There is always a third way, for those who look."),
    ("magic", 5, 11, "The signs have been speaking of this for a while."),
    ("appetite for risk", 7, 11, "Those who wait for certainty come second."),
    ("appetite for risk", 0, 4, "We would want guarantees first."),
    ("employees", 1000, 1e9, "With so many people on our books we must plan ahead."),
)
_PLAIN_COLOURS = (
    "I speak from what I know.",
    "You may see it differently.",
    "That is how it looks from my side.",
)


@dataclass(frozen=True, slots=True)
class Character:
    name: str
    lean: float
    """its stance before anybody has spoken"""
    pliancy: float
    """how far a speaker's stance moves its own"""
    talkativeness: int
    """how often in ten it adds a sentence"""
    colours: tuple[str, ...]


class PersonaRole(NamedTuple):
    """A character in a situation."""

    character: Character
    topics: tuple[str, ...]
    thinks: bool


def role_of(system: str) -> PersonaRole:
    """Who an enacted prompt says it is."""
    portrait, _, rest = system.partition("\nThe situation: ")
    situation, _, advice = rest.rpartition("\nYou are ")
    return PersonaRole(_speaking(portrait), topics_of(situation or rest), "private thought" in advice)


@lru_cache(maxsize=4096)
def _speaking(portrait: str) -> Character:
    first, *lines = portrait.split("\n")
    return _character(first[8:].partition(". Speak as ")[0], lines)


@lru_cache(maxsize=1024)
def cast_of(request: str, thinks: bool) -> tuple[tuple[PersonaRole, ...], int]:
    """The characters of a scene that is to be written, and how many messages each of them has."""
    head, *portraits = request.split("\nCharacter ")
    topics = topics_of(head.removeprefix("The situation: "))
    turns = _TURNS.search(request)
    cast = tuple(
        PersonaRole(_character(portrait.partition(":")[0], portrait.split("\n")), topics, thinks)
        for portrait in portraits
    )
    return cast, 1 if turns is None or turns[1] == "one" else int(turns[1])


@lru_cache(maxsize=256)
def topics_of(situation: str) -> tuple[str, ...]:
    """The words of a text worth talking about."""
    words = (word.casefold() for word in _WORD.findall(situation[:4000]))
    return tuple(dict.fromkeys(word for word in words if word not in _EMPTY_WORDS))[:24] or ("this",)


def _character(name: str, lines: list[str]) -> Character:
    numbers = _numbers(lines)
    traits = [weight * (numbers[trait] - 5.5) for trait, weight in _LEANING.items() if trait in numbers]
    # Without a trait to go by, the description decides: some lean this way, some that.
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
