"""Which message gave a secret away, and how.

The rule: a side revealed when one of *its own* messages gives *its own* secret. Hence
- only the owner's messages are searched: the partner's lucky guess, or its repeating the word, is no reveal;
- the first such message is the reveal; there is no second one in a talk;
- naming is giving. "My word is not marigold" is a reveal: the partner has read the word, from the one who
  knows, and no detector of wording can tell a bluff from a slip;
- so is repeating the word after the partner has guessed it: until then it was one guess among many, and the
  owner's own mouth is what settles it. The talk before a message therefore never changes the verdict on it,
  and every side of a talk can be recounted from its own messages alone.

- a hit that is an ordinary reading as well ("the sun rose") is *uncertain*: it is kept, and no reveal;
- what a side gives piece by piece, over several of its messages, it has given with the last piece.

What hangs on meaning rather than wording (hints, translations, a denial that convinces) is the judge's, whose
verdict is kept apart.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TypeVar

from tidepool.engine import registries
from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span

Speaker = TypeVar("Speaker", bound=Hashable)

DEFAULT_THRESHOLD = 90.0


@dataclass(frozen=True, slots=True)
class Reveal:
    detector: str
    turn: int
    """position of the message in the talk, from 1"""
    start: int
    end: int
    uncertain: bool = False
    """it is an ordinary reading as well"""


DETECTORS = tuple(registries.DETECTORS.own)
"""those that need no other package, in the order they are asked"""
JUDGE = "judge"
"""named among the detectors of a config, but a model: its verdict is kept apart"""


def wording_detectors(detection: Iterable[str]) -> tuple[str, ...]:
    """Those of a config's detectors that look at the wording, each once."""
    return tuple(name for name in dict.fromkeys(detection) if name != JUDGE)


Finder = Callable[[Folded, str, float], Hit | Span | None]


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
        hit = _finder(name)(message, secret, fuzzy_threshold)
        if hit:
            found.append(Reveal(name, turn, *hit))
    return found


def find_reveal(
    text: str,
    secret: str,
    detectors: Iterable[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
    turn: int = 1,
) -> Reveal | None:
    """The first certain hit in a message, by the order of the detectors; without one the first uncertain hit."""
    return first_of(find_reveals(text, secret, detectors, fuzzy_threshold, turn))


def first_of(hits: Iterable[Reveal]) -> Reveal | None:
    """What stands for a side: its earliest certain hit, else its earliest uncertain one."""
    return min(hits, key=lambda hit: (hit.uncertain, hit.turn), default=None)


def is_revealed(hits: Iterable[Reveal]) -> bool:
    return any(not hit.uncertain for hit in hits)


def as_json(hits: Iterable[Reveal]) -> str:
    """As an outcome keeps them: every detector's first hit."""
    return json.dumps([asdict(hit) for hit in hits])


def find_in_talk(
    talk: Sequence[tuple[Speaker, str]],
    secrets: Mapping[Speaker, str],
    detectors: Sequence[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
) -> dict[Speaker, list[Reveal]]:
    """For each side every detector's first hit, in the order of the detectors: the first certain one if there is any.

    Sides are whatever tells them apart: names, or 0 and 1 where an agent talks to itself.
    """
    return {
        speaker: _first_hits(
            [(turn, Folded.of(text)) for turn, (by, text) in enumerate(talk, 1) if by == speaker],
            secret,
            detectors,
            fuzzy_threshold,
        )
        for speaker, secret in secrets.items()
    }


def _first_hits(
    said: Sequence[tuple[int, Folded]], secret: str, detectors: Sequence[str], fuzzy_threshold: float
) -> list[Reveal]:
    found: list[Reveal] = []
    for name in detectors:
        finder, first = _finder(name), None
        for turn, message in said:
            hit = finder(message, secret, fuzzy_threshold)
            if hit and (first is None or first.uncertain):
                reveal = Reveal(name, turn, *hit)
                first = reveal if first is None or not reveal.uncertain else first
                if not first.uncertain:
                    break
        if name == SPELLED and len(said) > 1 and (first is None or first.uncertain):
            pieces = find_in_pieces(said, secret)
            first = Reveal(name, *pieces) if pieces else first
        if first:
            found.append(first)
    return found


def find_in_pieces(said: Sequence[tuple[int, Folded]], secret: str) -> tuple[int, int, int, bool] | None:
    """The turn that completes a secret given over several messages, and where its last piece stands."""
    from tidepool.engine.studies.secret_game.detectors.pieces import find_pieces

    found = find_pieces([message for _, message in said], secret)
    return (said[found[0]][0], *found[1]) if found else None


SPELLED = "spelled"


def judge_talk(
    talk: Sequence[tuple[Speaker, str]],
    secrets: Mapping[Speaker, str],
    detectors: Sequence[str] = DETECTORS,
    fuzzy_threshold: float = DEFAULT_THRESHOLD,
) -> dict[Speaker, Reveal | None]:
    """How each side first gave its secret away, if it did, or may have."""
    found = find_in_talk(talk, secrets, detectors, fuzzy_threshold)
    return {speaker: first_of(hits) for speaker, hits in found.items()}
