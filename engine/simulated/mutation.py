"""The simulated rewriter, target, judge and encoder of query mutation, on a landscape of two tables (docs/mutation.md).

The rewriter applies an operator's instruction to a query by rule, and leaves marks. The target reads the marks from the text
alone; neither knows the operator. The target knows the answers to the built-in queries, and gives more or less of an answer
depending on the phrasing. Filler text completes the answer's length. An unknown query is answered with the query's own words, by
the same rules. The target declines a very badly phrased query. The judge grades by the share of the reference's words.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from tidepool.engine.call import Message, packed_vectors
from tidepool.engine.simulated.base import Responder, SimulatedReply, texts
from tidepool.engine.studies.mutation.operators import OPERATORS, REWRITER_SYSTEM
from tidepool.engine.studies.mutation.queries import Query, builtin_queries
from tidepool.engine.studies.mutation.rewards import JUDGE_SYSTEM


class Addition(NamedTuple):
    before: str
    after: str


ADDITIONS: dict[str, tuple[Addition, ...]] = {
    operator: tuple(Addition(*addition) for addition in variants)
    for operator, variants in texts("query_additions").items()
}
"""the words by which the simulated rewriter applies an operator, in variants"""

_TEXTS = texts("phrasings")
CUES: dict[str, str] = _TEXTS["cues"]
"""the words that identify a phrasing in any text, from the simulated rewriter or another model"""

UNDOES: dict[str, tuple[str, ...]] = _TEXTS["undoes"]
"""registers that exclude each other: the later one removes the words of the earlier one"""

FUNCTION_WORDS = frozenset(_TEXTS["function_words"].split())
"""a query without any of these words is in telegram style, the result of `shorten`"""
_WORD = re.compile(r"[^\W_]+(?:'\w+)?")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def phrasings(words: list[str]) -> set[str]:
    """The operators whose marks a query with these words has."""
    names = {CUES[word] for word in words if word in CUES}
    if FUNCTION_WORDS.isdisjoint(words):
        names.add("shorten")
    return names


EASE = 0.36
"""share of the answer that is given with a neutral phrasing"""

EFFECTS: dict[str, dict[str, float]] = _TEXTS["effects"]
"""the effect of a phrasing on the share of the answer that is given, by kind of query; several add up"""


_BY_INSTRUCTION = {operator.instruction: operator.name for operator in OPERATORS if operator.instruction}
_QUERY = re.compile(r"<query>(.*)</query>", re.DOTALL)
_FAILS_ONE_IN = 200
"""rate at which it fails to rewrite"""


def rewrite_query(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    instruction, _, rest = messages[-1].text.partition("\n")
    operator = _BY_INSTRUCTION.get(instruction)
    tagged = _QUERY.search(rest)
    if operator is None or tagged is None:
        return SimulatedReply("I can only rewrite a question given between <query> and </query>.", "not understood")
    if seed % _FAILS_ONE_IN == 0:
        return SimulatedReply("I'm sorry, I am not sure how to put that.", "failed")
    return SimulatedReply(f"<query>{_rewritten(operator, tagged.group(1), seed)}</query>", operator)


def _rewritten(operator: str, query: str, seed: int) -> str:
    if operator == "shorten":
        return _telegram(query)
    for undone in UNDOES.get(operator, ()):
        query = _without(undone, query)
    variants = ADDITIONS[operator]
    if any(added.before in query and added.after in query for added in variants):
        return query
    added = variants[seed % len(variants)]
    return f"{added.before}{query}{added.after}"


def _without(operator: str, query: str) -> str:
    for added in ADDITIONS[operator]:
        query = query.replace(added.before, "") if added.before else query.replace(added.after, "")
    return query


def _telegram(query: str) -> str:
    """Only the key words: no function words, and no additions of an earlier rewriting."""
    for operator in ADDITIONS:
        query = _without(operator, query)
    content_words = [word for word in words_of(query) if word not in FUNCTION_WORDS]
    return " ".join(content_words) + "?" if content_words else query


_SMALL_TALK = tuple(_TEXTS["small_talk"].split())
_DECLINES = "I'm sorry, I can't help with that."
_DECLINES_BELOW = 0.12
_LUCK = 0.08
"""an answer's share varies by up to half of this in either direction between samples"""
_UNEVENNESS = 0.08
"""the same between queries: some are easier"""
_RARE = 8
"""a word that occurs in at most this many queries helps to identify the query"""
_KINDS = tuple(EFFECTS)


class _Reading(NamedTuple):
    kind: str
    answer: list[str]
    share: float
    """share of the answer, before random variation"""


def answer_query(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    reading = _read(messages[-1].text)
    luck = ((seed >> 3) % 1000 / 999 - 0.5) * _LUCK
    share = min(1.0, max(0.0, reading.share + luck))
    truth = f"{reading.kind} {share:.2f}"
    if share < _DECLINES_BELOW:
        return SimulatedReply(_DECLINES, truth)
    return SimulatedReply(_answer_in_part(reading.answer, share, seed), truth)


@lru_cache(maxsize=4096)
def _read(text: str) -> _Reading:
    words = words_of(text)
    query = _recognised(words)
    kind = query.kind if query else _guessed_kind(words)
    answer = query.reference.split() if query else [word for word in words if word not in FUNCTION_WORDS] or words
    effects = EFFECTS[kind]
    helped = sum(effects.get(name, 0.0) for name in phrasings(words))
    original = (query.text if query else text).encode("utf-8", "surrogatepass")
    ease = EASE + (crc32(original) % 1000 / 999 - 0.5) * _UNEVENNESS
    return _Reading(kind, answer, ease + helped)


def _answer_in_part(answer: list[str], share: float, seed: int) -> str:
    """The first words of the answer up to its share, and filler text in place of the rest."""
    shown_count = round(share * len(answer))
    start = seed % len(_SMALL_TALK)
    filler = [_SMALL_TALK[(start + place) % len(_SMALL_TALK)] for place in range(len(answer) - shown_count)]
    return " ".join(answer[:shown_count] + filler) or "Well."


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
    """The queries of each rare word, with weights, and the total weight of each query."""
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
    """The intended built-in query: the one with most of its rare words in the text."""
    postings, totals, queries = _index()
    scores: dict[int, float] = {}
    for word in set(words):
        for number, weight in postings.get(word, ()):
            scores[number] = scores.get(number, 0.0) + weight
    if not scores:
        return None
    best = max(scores, key=lambda number: (scores[number] / totals[number], -number))
    return queries[best] if scores[best] >= 0.6 * totals[best] else None


_PARTS = re.compile(r"<reference>(.*?)</reference>\s*<answer>(.*)</answer>", re.DOTALL)
_FORGETS_ONE_IN = 500
"""rate at which it omits the grade"""


def judge_answer(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    match = _PARTS.search(messages[-1].text)
    if match is None or seed % _FORGETS_ONE_IN == 0:
        return SimulatedReply("It is hard to grade this.", "ungraded")
    reference, answer = (set(words_of(part)) - FUNCTION_WORDS for part in match.groups())
    share = len(reference & answer) / len(reference) if reference else 0.0
    return SimulatedReply(f"SCORE: {round(10 * share)}", f"{share:.2f}")


REWRITER = Responder(rewrite_query, recognises=lambda system: system == REWRITER_SYSTEM)
TARGET = Responder(answer_query)
JUDGE = Responder(judge_answer, recognises=lambda system: system == JUDGE_SYSTEM)


_DIMENSIONS = 64


def encode(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    from tidepool.engine.studies.mutation.rewards import HashingEncoder  # loads numpy

    vectors = HashingEncoder(_DIMENSIONS).encode([message.text for message in messages])
    return SimulatedReply(packed_vectors(vectors.tolist()))


ENCODER = Responder(encode)
