"""Queries with reference answers: the built-in everyday set, a user's JSONL file, and the split kept for the
end.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from tidepool.engine.call import stream
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    reference: str = ""
    """empty: only the keyword reward can grade it"""
    kind: str = ""

    @property
    def fingerprint(self) -> str:
        """Names the query without telling it."""
        return sha256(self.text.casefold().encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Split:
    training: tuple[Query, ...]
    heldout: tuple[Query, ...]


def load_queries(source: str, *, references_needed: bool = True) -> tuple[Query, ...]:
    """The built-in set, or those of a JSONL file."""
    if source == BUILTIN:
        return builtin_queries()
    try:
        check_file(Path(source))
        text = Path(source).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{source}: not UTF-8 text. Save the queries as UTF-8 JSONL.") from None
    except OSError as error:
        raise UsageError(
            f'{source}: cannot read the queries ({error.strerror or error}). mutation.queries is "{BUILTIN}" '
            'or a JSONL file of {"query", "reference"}.'
        ) from None
    return read_queries(text, source, references_needed=references_needed)


@lru_cache(maxsize=1)
def builtin_queries() -> tuple[Query, ...]:
    text = files("tidepool.engine.studies.mutation").joinpath("everyday.jsonl").read_text(encoding="utf-8")
    return read_queries(text, "everyday.jsonl")


def read_queries(text: str, source: str, *, references_needed: bool = True) -> tuple[Query, ...]:
    queries = tuple(
        _query(line, f"{source}, line {number}", references_needed)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )
    check_queries(queries, source)
    return queries


def check_queries(queries: Sequence[Query], source: str) -> None:
    if len(queries) < 2:
        raise UsageError(
            f"{source}: holds {len(queries)} queries; at least two are needed, one to learn and one to test."
        )
    seen: set[str] = set()
    for query in queries:  # one on both sides of the split would be learnt and then tested
        folded = query.text.casefold()
        if folded in seen:
            raise UsageError(f'{source}: the query "{query.text}" appears twice. Remove one of them.')
        seen.add(folded)


def _query(line: str, place: str, references_needed: bool) -> Query:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError(
            f'{place}: not JSON. Each line is an object such as {{"query": "…", "reference": "…"}}.'
        ) from None
    if not isinstance(record, dict):
        raise UsageError(f'{place}: not a JSON object. Each line is {{"query": "…", "reference": "…"}}.')
    reference = _text(record, "reference", place) if references_needed or "reference" in record else ""
    kind = record.get("kind", "")
    return Query(_text(record, "query", place), reference, kind if isinstance(kind, str) else "")


def _text(record: dict[str, Any], key: str, place: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        advice = ' Only reward = "keyword" can do without references.' if key == "reference" else ""
        raise UsageError(f'{place}: "{key}" is missing or not a text.{advice}')
    return value.strip()


def split_queries(queries: Sequence[Query], heldout: float, seed: int) -> Split:
    """A seeded split; where kinds are known, each gives its share to the held-out side. Neither side is ever
    empty.
    """
    if not 0 < heldout < 1:
        message = f"mutation.heldout is {heldout:g}; it is a share between 0 and 1, such as 0.2."
        raise UsageError(message, ("mutation", "heldout"))
    order = list(range(len(queries)))
    stream(seed, "split").shuffle(order)
    size = min(len(queries) - 1, max(1, round(heldout * len(queries))))
    held_out = set(_spread_over_kinds(order, queries)[:size])
    return Split(
        training=tuple(query for index, query in enumerate(queries) if index not in held_out),
        heldout=tuple(query for index, query in enumerate(queries) if index in held_out),
    )


def _spread_over_kinds(order: Sequence[int], queries: Sequence[Query]) -> list[int]:
    """The shuffled order, dealt so that every kind's n-th query stands before any kind's n+1st, in relative
    size.
    """
    sizes = Counter(query.kind for query in queries)
    counts: Counter[str] = Counter()
    ranks: list[tuple[float, int, int]] = []
    for place, index in enumerate(order):
        kind = queries[index].kind
        ranks.append(((counts[kind] + 0.5) / sizes[kind], place, index))
        counts[kind] += 1
    return [index for _, _, index in sorted(ranks)]
