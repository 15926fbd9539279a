"""Small changes to a prompt without a model: by segment and by word.

Word operators move words only: punctuation stays where it stood, and numbers are never touched. Every
operator returns at least one segment; where it cannot do its work (deleting the only segment) it returns
what it got.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from random import Random

from tidepool.engine.studies.evolution.placeholders import Frame, framed, unframed

Segments = tuple[str, ...]
MOST_SEGMENTS = 20

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class Material:
    """What insertion and replacement draw from."""

    segments: tuple[str, ...]
    frames: tuple[Frame, ...] = ()
    """what stands around the question in seed prompts that have that, for prompts drawn at random"""

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.lower() for text in self.segments for word in _WORD.findall(text)))


Mutation = Callable[[Segments, Random, Material], Segments]


def segment_insert(segments: Segments, rng: Random, material: Material) -> Segments:
    if len(segments) >= MOST_SEGMENTS:
        return segments
    place = rng.randint(0, len(segments))
    return (*segments[:place], rng.choice(material.segments), *segments[place:])


def segment_delete(segments: Segments, rng: Random, material: Material) -> Segments:
    if len(segments) < 2:
        return segments
    place = rng.randrange(len(segments))
    return segments[:place] + segments[place + 1 :]


def segment_swap(segments: Segments, rng: Random, material: Material) -> Segments:
    if len(segments) < 2:
        return segments
    first, second = rng.sample(range(len(segments)), 2)
    swapped = list(segments)
    swapped[first], swapped[second] = swapped[second], swapped[first]
    return tuple(swapped)


def segment_duplicate(segments: Segments, rng: Random, material: Material) -> Segments:
    """Says one thing again elsewhere: emphasis, and room for the copy to change."""
    if len(segments) >= MOST_SEGMENTS:
        return segments
    place = rng.randint(0, len(segments))
    return (*segments[:place], rng.choice(segments), *segments[place:])


def segment_replace(segments: Segments, rng: Random, material: Material) -> Segments:
    place = rng.randrange(len(segments))
    return (*segments[:place], rng.choice(material.segments), *segments[place + 1 :])


def word_insert(segments: Segments, rng: Random, material: Material) -> Segments:
    def change(text: str, words: list[re.Match[str]]) -> str:
        start = rng.choice(words).start()
        return f"{text[:start]}{rng.choice(material.words)} {text[start:]}"

    return _in_one_segment(segments, rng, 1, change)


def word_delete(segments: Segments, rng: Random, material: Material) -> Segments:
    def change(text: str, words: list[re.Match[str]]) -> str:
        gone = rng.choice(words)
        before, after = text[: gone.start()], text[gone.end() :]
        return before + after[1:] if after.startswith(" ") else before.rstrip(" ") + after

    return _in_one_segment(segments, rng, 2, change)


def word_swap(segments: Segments, rng: Random, material: Material) -> Segments:
    def change(text: str, words: list[re.Match[str]]) -> str:
        first, second = sorted(rng.sample(words, 2), key=lambda word: word.start())
        between = text[first.end() : second.start()]
        return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]

    return _in_one_segment(segments, rng, 2, change)


def word_duplicate(segments: Segments, rng: Random, material: Material) -> Segments:
    def change(text: str, words: list[re.Match[str]]) -> str:
        word = rng.choice(words)
        return f"{text[: word.end()]} {word[0]}{text[word.end() :]}"

    return _in_one_segment(segments, rng, 1, change)


def word_replace(segments: Segments, rng: Random, material: Material) -> Segments:
    def change(text: str, words: list[re.Match[str]]) -> str:
        word = rng.choice(words)
        return text[: word.start()] + rng.choice(material.words) + text[word.end() :]

    return _in_one_segment(segments, rng, 1, change)


MUTATIONS: dict[str, Mutation] = {
    operator.__name__: operator
    for operator in (
        segment_insert,
        segment_delete,
        segment_swap,
        segment_duplicate,
        segment_replace,
        word_insert,
        word_delete,
        word_swap,
        word_duplicate,
        word_replace,
    )
}


def _in_one_segment(
    segments: Segments, rng: Random, least_words: int, change: Callable[[str, list[re.Match[str]]], str]
) -> Segments:
    """Applies a change to one of the segments that have words enough for it."""
    found = [list(_WORD.finditer(text)) for text in segments]
    fit = [index for index, words in enumerate(found) if len(words) >= least_words]
    if not fit:
        return segments
    place = rng.choice(fit)
    return (*segments[:place], change(segments[place], found[place]), *segments[place + 1 :])


WORD_SHARE = 0.25
"""share of word operators: they find new wordings, but most of what they do is a typing error"""
_BY_WORD = tuple(name for name in MUTATIONS if name.startswith("word_"))
_BY_SEGMENT = tuple(name for name in MUTATIONS if name.startswith("segment_"))


def mutated(segments: Segments, rng: Random, material: Material) -> tuple[Segments, str]:
    """One operator drawn and applied, with its name. Pieces with placeholders stay."""
    free, frame = unframed(segments)
    name = rng.choice(_BY_WORD if rng.random() < WORD_SHARE else _BY_SEGMENT) if free else segment_insert.__name__
    return framed(MUTATIONS[name](free, rng, material), frame), name
