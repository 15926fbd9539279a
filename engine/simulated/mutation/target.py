"""The simulated target: knows the answers to the built-in queries, and tells more or less of one by how it is
asked.

It reads the text of the query and nothing else: which query it is, from its rare words; how it is phrased,
from cues; and by the tables in `phrasing` what share of the answer that is worth. The rest of the answer's
length is small talk. A query it does not know is answered with the query's own words, by the same rules.
Asked very badly, it declines.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from tidepool.engine.call import Message
from tidepool.engine.simulated.mutation.phrasing import EASE, EFFECTS, FUNCTION_WORDS, phrasings, words_of
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.studies.mutation.queries import Query, builtin_queries

_SMALL_TALK_TEXT = """
well that is hard to say and it may be one way or another so who can tell really as these things go
and then again it all depends on this or that or something else which would be more than i could say
just now
"""
_SMALL_TALK = tuple(_SMALL_TALK_TEXT.split())
_DECLINES = "I'm sorry, I can't help with that."
_DECLINES_BELOW = 0.12
_LUCK = 0.08
"""an answer's share moves by up to half of this either way from sample to sample"""
_UNEVENNESS = 0.08
"""the same from query to query: some are easier"""
_RARE = 8
"""a word in at most so many queries helps to tell which one is meant"""
_KINDS = tuple(EFFECTS)


class _Reading(NamedTuple):
    kind: str
    answer: list[str]
    share: float
    """of the answer, before luck"""


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    reading = _read(messages[-1].text)
    luck = ((seed >> 3) % 1000 / 999 - 0.5) * _LUCK
    share = min(1.0, max(0.0, reading.share + luck))
    truth = f"{reading.kind} {share:.2f}"
    if share < _DECLINES_BELOW:
        return SimulatedReply(_DECLINES, truth)
    return SimulatedReply(_told(reading.answer, share, seed), truth)


@lru_cache(maxsize=4096)
def _read(text: str) -> _Reading:
    words = words_of(text)
    known = _recognised(words)
    kind = known.kind if known else _guessed_kind(words)
    answer = known.reference.split() if known else [word for word in words if word not in FUNCTION_WORDS] or words
    effects = EFFECTS[kind]
    helped = sum(effects.get(name, 0.0) for name in phrasings(words))
    return _Reading(kind, answer, _ease(known.text if known else text) + helped)


def _ease(text: str) -> float:
    return EASE + (crc32(text.encode("utf-8", "surrogatepass")) % 1000 / 999 - 0.5) * _UNEVENNESS


def _told(answer: list[str], share: float, seed: int) -> str:
    """The first words of the answer up to its share, and small talk in place of the rest."""
    told = round(share * len(answer))
    start = seed % len(_SMALL_TALK)
    rest = [_SMALL_TALK[(start + place) % len(_SMALL_TALK)] for place in range(len(answer) - told)]
    return " ".join(answer[:told] + rest) or "Well."


def _guessed_kind(words: list[str]) -> str:
    opening = set(words)
    if "why" in opening:
        return "why"
    if "should" in opening:
        return "advice"
    if "which" in opening:
        return "choice"
    if not opening.isdisjoint(("many", "much", "when", "long", "far", "tall", "fast")):
        return "fact"
    if "how" in opening:
        return "how_to"
    return "meaning" if "what" in opening else _KINDS[crc32(" ".join(sorted(opening)).encode()) % len(_KINDS)]


@lru_cache(maxsize=1)
def _index() -> tuple[dict[str, list[tuple[int, float]]], list[float], tuple[Query, ...]]:
    """Which queries each rare word belongs to, and with what weight; and each query's weight in all."""
    queries = builtin_queries()
    holders: dict[str, list[int]] = {}
    for number, query in enumerate(queries):
        for word in set(words_of(query.text)) - FUNCTION_WORDS:
            holders.setdefault(word, []).append(number)
    postings = {
        word: [(number, 1 / len(numbers)) for number in numbers]
        for word, numbers in holders.items()
        if len(numbers) <= _RARE
    }
    totals = [0.0] * len(queries)
    for entries in postings.values():
        for number, weight in entries:
            totals[number] += weight
    return postings, totals, queries


def _recognised(words: list[str]) -> Query | None:
    """The built-in query meant: the one most of whose rare words are there."""
    postings, totals, queries = _index()
    scores: dict[int, float] = {}
    for word in set(words):
        for number, weight in postings.get(word, ()):
            scores[number] = scores.get(number, 0.0) + weight
    if not scores:
        return None
    best = max(scores, key=lambda number: (scores[number] / totals[number], -number))
    return queries[best] if scores[best] >= 0.6 * totals[best] else None
