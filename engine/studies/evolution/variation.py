"""Variation and selection without a model.

Selects parents, crosses two parents by segment, and mutates by segment and by word. Every operator draws from the given random
generator, so a seed determines a generation.

Word operators move only words: punctuation stays in place, and numbers never change. Every operator returns at least one
segment. If it cannot work (deleting the only segment), it returns its input.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import accumulate, zip_longest
from random import Random

from tidepool.engine.studies.evolution.genome import Frame, insert_frame, split_frame

TOURNAMENT_SIZE = 3
ELITIST_SHARE = 0.25


Selection = Callable[[Sequence[float], int, Random], list[int]]
"""(scores, count, generator) → parents by index"""


def tournament(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """The best of three drawn without repetition."""
    size = min(TOURNAMENT_SIZE, len(scores))
    everyone = range(len(scores))
    return [max(rng.sample(everyone, size), key=scores.__getitem__) for _ in range(count)]


def roulette(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """In proportion to fitness; scores below zero count as zero."""
    return rng.choices(range(len(scores)), weights=_shares(scores), k=count)


def rank(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """In proportion to the rank from the bottom, so that one extreme score does not dominate."""
    ordered = sorted(scores)
    last_place = {score: place for place, score in enumerate(ordered, 1)}
    first_place = {score: place for place, score in reversed(list(enumerate(ordered, 1)))}
    ranks = [(first_place[score] + last_place[score]) / 2 for score in scores]  # ties share their mean rank
    return rng.choices(range(len(scores)), weights=ranks, k=count)


def sus(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """Stochastic universal sampling: one spin, evenly spaced pointers; each gets its fair share."""
    if not count:
        return []
    wheel = list(accumulate(_shares(scores)))
    gap = wheel[-1] / count
    first = rng.random() * gap
    last = len(scores) - 1
    picked = [min(bisect_left(wheel, first + place * gap), last) for place in range(count)]
    rng.shuffle(picked)
    return picked


def elitist(scores: Sequence[float], count: int, rng: Random) -> list[int]:
    """Evenly from the best quarter, at least two."""
    best = elites(scores, max(2, round(len(scores) * ELITIST_SHARE)))
    return rng.choices(best, k=count)


SELECTIONS: dict[str, Selection] = {
    "tournament": tournament,
    "roulette": roulette,
    "rank": rank,
    "sus": sus,
    "elitist": elitist,
}


def elites(scores: Sequence[float], count: int) -> list[int]:
    """The best by score, the earlier one first among equals."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])[:count]


def _shares(scores: Sequence[float]) -> list[float]:
    shares = [max(0.0, score) for score in scores]
    return shares if sum(shares) > 0 else [1.0] * len(scores)


Crossover = Callable[[Sequence[str], Sequence[str], Random], tuple[str, ...]]
"""(mother, father, generator) → segments of the child"""


def single_point(mother: Sequence[str], father: Sequence[str], rng: Random) -> tuple[str, ...]:
    """The mother up to a point, the father from another point."""
    head = mother[: rng.randint(0, len(mother))]
    tail = father[rng.randint(0, len(father)) :]
    return _child([*head, *tail], mother)


def two_point(mother: Sequence[str], father: Sequence[str], rng: Random) -> tuple[str, ...]:
    """A stretch of the mother is replaced by a stretch of the father."""
    start, end = _stretch(mother, rng)
    his_start, his_end = _stretch(father, rng)
    return _child([*mother[:start], *father[his_start:his_end], *mother[end:]], mother)


def uniform(mother: Sequence[str], father: Sequence[str], rng: Random) -> tuple[str, ...]:
    """One parent's segment or the other's at each place; past the end of the shorter parent, a segment may be absent."""
    pairs = zip_longest(mother, father)
    chosen = (pair[rng.random() < 0.5] for pair in pairs)
    return _child([segment for segment in chosen if segment is not None], mother)


def blend(mother: Sequence[str], father: Sequence[str], rng: Random) -> tuple[str, ...]:
    """A share of the mother's segments and the rest of the father's, ordered by their original positions."""
    share = rng.random()
    placed = _placed_sample(mother, share, rng) + _placed_sample(father, 1 - share, rng)
    return _child([segment for _, segment in sorted(placed)], mother)


CROSSOVERS: dict[str, Crossover] = {
    "single_point": single_point,
    "two_point": two_point,
    "uniform": uniform,
    "blend": blend,
}


def _child(segments: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(segments)) or tuple(otherwise)


def _stretch(segments: Sequence[str], rng: Random) -> tuple[int, int]:
    first, second = rng.randint(0, len(segments)), rng.randint(0, len(segments))
    return min(first, second), max(first, second)


def _placed_sample(segments: Sequence[str], share: float, rng: Random) -> list[tuple[float, str]]:
    indices = sorted(rng.sample(range(len(segments)), round(share * len(segments))))
    return [((index + 0.5) / len(segments), segments[index]) for index in indices]


Segments = tuple[str, ...]
MOST_SEGMENTS = 20

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True)
class Material:
    """The material for insertion and replacement."""

    segments: tuple[str, ...]
    frames: tuple[Frame, ...] = ()
    """the frame around the question in seed prompts that have one, for randomly drawn prompts"""

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.lower() for text in self.segments for word in _WORD.findall(text)))


Mutation = Callable[[Segments, Random, Material], Segments]
Words = list[re.Match[str]]
WordChange = Callable[[str, Words, Random, Material], str]
"""one segment whose words are known"""


def _insert_one(segments: Segments, pool: Segments, rng: Random) -> Segments:
    if len(segments) >= MOST_SEGMENTS:
        return segments
    place = rng.randint(0, len(segments))
    return (*segments[:place], rng.choice(pool), *segments[place:])


def segment_insert(segments: Segments, rng: Random, material: Material) -> Segments:
    return _insert_one(segments, material.segments, rng)


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
    """Repeats a segment elsewhere, which adds emphasis, and the copy can change later."""
    return _insert_one(segments, segments, rng)


def segment_replace(segments: Segments, rng: Random, material: Material) -> Segments:
    place = rng.randrange(len(segments))
    return (*segments[:place], rng.choice(material.segments), *segments[place + 1 :])


def _in_one_segment(least_words: int) -> Callable[[WordChange], Mutation]:
    """Applies the change to one of the segments with enough words."""

    def as_mutation(change: WordChange) -> Mutation:
        @wraps(change)
        def mutation(segments: Segments, rng: Random, material: Material) -> Segments:
            word_lists = [list(_WORD.finditer(text)) for text in segments]
            fit = [index for index, words in enumerate(word_lists) if len(words) >= least_words]
            if not fit:
                return segments
            place = rng.choice(fit)
            changed = change(segments[place], word_lists[place], rng, material)
            return (*segments[:place], changed, *segments[place + 1 :])

        return mutation

    return as_mutation


@_in_one_segment(1)
def word_insert(text: str, words: Words, rng: Random, material: Material) -> str:
    start = rng.choice(words).start()
    return f"{text[:start]}{rng.choice(material.words)} {text[start:]}"


@_in_one_segment(2)
def word_delete(text: str, words: Words, rng: Random, material: Material) -> str:
    word = rng.choice(words)
    before, after = text[: word.start()], text[word.end() :]
    return before + after[1:] if after.startswith(" ") else before.rstrip(" ") + after


@_in_one_segment(2)
def word_swap(text: str, words: Words, rng: Random, material: Material) -> str:
    first, second = sorted(rng.sample(words, 2), key=lambda word: word.start())
    between = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


@_in_one_segment(1)
def word_duplicate(text: str, words: Words, rng: Random, material: Material) -> str:
    word = rng.choice(words)
    return f"{text[: word.end()]} {word[0]}{text[word.end() :]}"


@_in_one_segment(1)
def word_replace(text: str, words: Words, rng: Random, material: Material) -> str:
    word = rng.choice(words)
    return text[: word.start()] + rng.choice(material.words) + text[word.end() :]


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


WORD_SHARE = 0.25
"""share of word operators: they find new wordings, but most of their changes are typing errors"""
_BY_WORD = tuple(name for name in MUTATIONS if name.startswith("word_"))
_BY_SEGMENT = tuple(name for name in MUTATIONS if name.startswith("segment_"))


def mutate(segments: Segments, rng: Random, material: Material) -> tuple[Segments, str]:
    """Applies one randomly drawn operator, and returns its name too. Pieces with placeholders stay."""
    free, frame = split_frame(segments)
    name = rng.choice(_BY_WORD if rng.random() < WORD_SHARE else _BY_SEGMENT) if free else segment_insert.__name__
    return insert_frame(MUTATIONS[name](free, rng, material), frame), name
