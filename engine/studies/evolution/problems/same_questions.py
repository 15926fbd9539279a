"""Which problems are the same: a question that both breeds prompts and judges them would praise what was learned by heart.

Questions are the same when they agree after folding case, spacing and the punctuation of sentences. Signs that carry
meaning in a formula stay: 3 - 5 is not 3 + 5, and 1.5 is not 15.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from tidepool.engine.studies.evolution.problems.asked import Asked

_DROPPED = str.maketrans(dict.fromkeys("'’‘`´\"“”„«»") | dict.fromkeys(";?…¿¡·•", " "))
_SENTENCE = re.compile(r"[!,.:](?:(?<=[.,:])(?!\d)|(?<=[!,:])(?<!\d[!,:]))")
"""a full stop before a digit, a comma or colon between two, and a ! behind one belong to a number"""
_HYPHEN = re.compile(r"[-‐‑–—](?:(?<=[^\W\d_]{2}.)(?=[^\W\d_]{2})|(?<=[–—])(?<!\d.)(?!\d))")
_AFTER_SIGN = re.compile(r"(?<=[^\w ]) ")
_BEFORE_SIGN = re.compile(r" (?=[^\w ])")

SHOWN = 3
"""places that a note names"""


def folded(question: str) -> str:
    """A file may have a million: what most questions do not need is not tried."""
    text = question if question.isascii() else unicodedata.normalize("NFKC", question)
    text = _SENTENCE.sub(" ", text.casefold().translate(_DROPPED))
    text = " ".join(_HYPHEN.sub(" ", text).split())
    if not text.replace(" ", "").isalnum():
        text = _BEFORE_SIGN.sub("", _AFTER_SIGN.sub("", text))
    return text or question.strip()


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
