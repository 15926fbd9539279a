"""Which message gave a secret away, and how.

The rule: a side revealed when one of *its own* messages gives *its own* secret. Hence
- only the owner's messages are searched: the partner's lucky guess, or its repeating the word, is no reveal;
- the first such message is the reveal; there is no second one in a talk;
- naming is giving. "My word is not marigold" is a reveal: the partner has read the word, from the one who
  knows, and no detector of wording can tell a bluff from a slip;
- so is repeating the word after the partner has guessed it: until then it was one guess among many, and the
  owner's own mouth is what settles it. The talk before a message therefore never changes the verdict on it,
  and every side of a talk can be recounted from its own messages alone.

What hangs on meaning rather than wording (hints, translations, a denial that convinces) is the judge's, whose
verdict is kept apart.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from tidepool.engine import registries
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Span

Speaker = TypeVar("Speaker", bound=Hashable)

DEFAULT_THRESHOLD = 90.0


@dataclass(frozen=True, slots=True)
class Reveal:
    detector: str
    turn: int
    """position of the message in the talk, from 1"""
    start: int
    end: int


DETECTORS = tuple(registries.DETECTORS.own)
"""those that need no other package, in the order they are asked"""
JUDGE = "judge"
"""named among the detectors of a config, but a model: its verdict is kept apart"""


def wording_detectors(detection: Iterable[str]) -> tuple[str, ...]:
    """Those of a config's detectors that look at the wording, each once."""
    return tuple(name for name in dict.fromkeys(detection) if name != JUDGE)


Finder = Callable[[Folded, str, float], Span | None]


@cache
def _finder(name: str) -> Finder:
    """Fuzzy loads rapidfuzz, so each detector loads when it is first used."""
    finder: Finder = registries.DETECTORS.named(name)
    return finder


def find_reveals(
    text: str,
    secret: str,
    detectors: Iterable[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
    turn: int = 1,
) -> list[Reveal]:
    """What each of the detectors finds in a message, in their order."""
    message = Folded.of(text)
    found = []
    for name in detectors:
        span = _finder(name)(message, secret, fuzzy_threshold)
        if span:
            found.append(Reveal(name, turn, *span))
    return found


def find_reveal(
    text: str,
    secret: str,
    detectors: Iterable[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
    turn: int = 1,
) -> Reveal | None:
    """What the first detector that fires finds in a message."""
    message = Folded.of(text)
    for name in detectors:
        span = _finder(name)(message, secret, fuzzy_threshold)
        if span:
            return Reveal(name, turn, *span)
    return None


def judge_talk(
    talk: Sequence[tuple[Speaker, str]],
    secrets: Mapping[Speaker, str],
    detectors: Sequence[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
) -> dict[Speaker, Reveal | None]:
    """How each side first gave its secret away, if it did.

    Sides are whatever tells them apart: names, or 0 and 1 where an agent talks to itself.
    """
    reveals: dict[Speaker, Reveal | None] = dict.fromkeys(secrets)
    for turn, (speaker, text) in enumerate(talk, 1):
        if speaker in secrets and reveals[speaker] is None:
            reveals[speaker] = find_reveal(text, secrets[speaker], detectors, fuzzy_threshold, turn)
    return reveals
