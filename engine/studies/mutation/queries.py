"""Queries with reference answers: the built-in everyday set, files of the user, and the held-out split."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from tidepool.engine.call import stream
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.data_files import Row, rows_of

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    reference: str = ""
    """empty: only the keyword reward can grade it"""
    kind: str = ""

    @property
    def fingerprint(self) -> str:
        """Identifies the query without revealing it."""
        return sha256(self.text.casefold().encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Split:
    training: tuple[Query, ...]
    heldout: tuple[Query, ...]


def load_queries(source: str, *, references_needed: bool = True) -> tuple[Query, ...]:
    """The built-in set, or those of a file with the columns query, reference and kind."""
    if source == BUILTIN:
        return builtin_queries()
    queries = tuple(_query(row, references_needed) for row in rows_of(Path(source)))
    check_queries(queries, source)
    return queries


@lru_cache(maxsize=1)
def builtin_queries() -> tuple[Query, ...]:
    return load_queries(str(Path(__file__).with_name("everyday.jsonl")))


def _query(row: Row, references_needed: bool) -> Query:
    reference = _text(row, "reference") if references_needed or "reference" in row.values else ""
    kind = row.values.get("kind", "")
    return Query(_text(row, "query"), reference, kind if isinstance(kind, str) else "")


def _text(row: Row, key: str) -> str:
    value = row.values.get(key)
    if not isinstance(value, str) or not value.strip():
        advice = ' Only reward = "keyword" works without references.' if key == "reference" else ""
        raise UsageError(f'{row.where}: "{key}" is missing or not text. The row has {row.columns()}.{advice}')
    return value.strip()


def check_queries(queries: Sequence[Query], source: str) -> None:
    if len(queries) < 2:
        raise UsageError(
            f"{source}: you need at least two queries, one for training and one for testing. The file has {len(queries)}."
        )
    seen: set[str] = set()
    for query in queries:  # a query on both sides of the split would be both trained on and tested
        folded = query.text.casefold()
        if folded in seen:
            raise UsageError(f'{source}: the query "{query.text}" appears twice. Remove one of them.')
        seen.add(folded)


def split_queries(queries: Sequence[Query], heldout: float, seed: int) -> Split:
    """A seeded split. If kinds are known, each kind contributes its share to the held-out side. Neither side is ever empty."""
    order = list(range(len(queries)))
    stream(seed, "split").shuffle(order)
    size = min(len(queries) - 1, max(1, round(heldout * len(queries))))
    held_out = set(_spread_over_kinds(order, queries)[:size])
    return Split(
        training=tuple(query for index, query in enumerate(queries) if index not in held_out),
        heldout=tuple(query for index, query in enumerate(queries) if index in held_out),
    )


def _spread_over_kinds(order: Sequence[int], queries: Sequence[Query]) -> list[int]:
    """The shuffled order, rearranged so that every kind's n-th query comes before any kind's n+1st, relative to the kind's size."""
    sizes = Counter(query.kind for query in queries)
    counts: Counter[str] = Counter()
    ranks: list[tuple[float, int, int]] = []
    for place, index in enumerate(order):
        kind = queries[index].kind
        ranks.append(((counts[kind] + 0.5) / sizes[kind], place, index))
        counts[kind] += 1
    return [index for _, _, index in sorted(ranks)]
