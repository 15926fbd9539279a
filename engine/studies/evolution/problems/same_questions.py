"""Which problems are the same: a question that both breeds prompts and judges them would praise what was learned by heart.

Questions are the same when they agree after folding case, spacing and the punctuation of sentences. Signs that carry
meaning in a formula stay: 3 - 5 is not 3 + 5, and 1.5 is not 15.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from tidepool.engine.studies.evolution.problems.asked import Asked

_QUOTES = re.compile("['’‘`´\"“”„«»]")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*!?|[^\W\d]+|[^\w\s]")
_SENTENCE = frozenset(".,;:!?…¿¡·•")
_DASHES = frozenset("-–—‐‑")

SHOWN = 3
"""places that a note names"""


def folded(question: str) -> str:
    tokens = _TOKEN.findall(_QUOTES.sub("", unicodedata.normalize("NFKC", question).casefold()))
    kept = []
    for place, token in enumerate(tokens):
        if token in _SENTENCE:
            continue
        around = tokens[max(0, place - 1) : place + 2 : 2]
        if token in _DASHES and len(around) == 2 and all(map(str.isalpha, around)):
            continue
        kept.append(token)
    return " ".join(kept) or question.strip()


def key_of(asked: Asked) -> bytes:
    """Small: a file has many. The choices belong to a question, for "Which of these is true?" is many questions."""
    choices = "" if asked.choices is None else f"\x1f{asked.choices}"
    return blake2b(f"{folded(asked.question)}{choices}".encode("utf-8", "replace"), digest_size=16).digest()


def distinct(problems: Sequence[Asked], name: str) -> tuple[dict[bytes, Asked], list[str]]:
    """Each once. A question with two different answers says nothing about a reply: all of it is left out."""
    found: dict[bytes, Asked] = {}
    repeated, contradicted = [], {}
    for asked in problems:
        key = key_of(asked)
        first = found.setdefault(key, asked)
        if first is asked:
            continue
        if folded(first.answer) == folded(asked.answer):
            repeated.append(asked)
        else:
            contradicted[key] = asked
    for key in contradicted:
        del found[key]
    notes = []
    if repeated:
        stand = f"problem of {name} stands" if len(repeated) == 1 else f"problems of {name} stand"
        notes.append(f"{len(repeated):,} {stand} in it before, and count once ({places(repeated)}).")
    if contradicted:
        have = f"question of {name} has" if len(contradicted) == 1 else f"questions of {name} have"
        told = f"{len(contradicted):,} {have} two different answers"
        notes.append(f"{told}: left out ({places(list(contradicted.values()))}).")
    return found, notes


def without(problems: Mapping[bytes, Asked], taken: Mapping[bytes, Asked]) -> dict[bytes, Asked]:
    return {key: asked for key, asked in problems.items() if key not in taken}


def places(problems: Sequence[Asked]) -> str:
    told = [asked.where.rpartition(", ")[2] for asked in problems[:SHOWN]]
    return ", ".join(told) + (" …" if len(problems) > SHOWN else "")
