"""Reading a judge's verdict. What is no clear rating on the scale is missing, never guessed."""

import re
from collections.abc import Collection

from tidepool.engine.answer_forms import AFTER, fields_of, number_of, text_of

_NUMBER = r"(?P<rating>[-+−]?\d{1,6}(?:[.,]\d{1,6})?)(?![\d%])(?!\s*[-–—]\s*\d)"
_LABELS = ("rating", "score", "verdict", "answer", "note")
_LABELLED = re.compile(
    rf"(?:{'|'.join(_LABELS)})\b[\"'*_]{{0,4}}\s*(?::|=|is)\s*[\"'*_]{{0,4}}\s*{_NUMBER}",
    re.IGNORECASE,
)
_OUT_OF = re.compile(rf"(?<![\d.,]){_NUMBER}\s*(?:/|out of|of)\s*(?P<most>\d{{1,6}})(?!\d)", re.IGNORECASE)
_RANGE = re.compile(
    r"(?<![\d.,])[-+−]?\d{1,6}(?:[.,]\d+)?\s*(?:-|–|—|to|through|and)\s*[-+−]?\d{1,6}(?:[.,]\d+)?(?![\d.,]*\d)",
    re.IGNORECASE,
)
_UNENDED = re.compile(r"(?<![-+−\d.,])[-+−\d.,]++\s*$")
"""a number that the cut may have gone through"""
_ANY = re.compile(rf"(?<![\w.,]){_NUMBER}(?!\w)")


def read_rating(
    reply: str, scale: tuple[float, float], *, cut: bool = False, levels: Collection[float] = ()
) -> float | None:
    """The rating in a judge's reply: labelled, else 'N out of M', else the only number of the reply.

    Where the scale has levels, any other number is no rating.

    A reply that was cut has said its verdict only where it is labelled, and where something follows it."""
    rating = _read(reply, scale, cut)
    return None if levels and rating not in levels else rating


def _read(reply: str, scale: tuple[float, float], cut: bool) -> float | None:
    fields = fields_of(reply)
    if fields is not None:
        found = next((fields[name] for name in (*_LABELS, AFTER) if name in fields), None)
        number = number_of(found)
        return _in_words(text_of(found), scale) if number is None else _single({number}, scale)
    return _labelled(_UNENDED.sub("", reply), scale) if cut else _in_words(reply, scale)


def _in_words(reply: str, scale: tuple[float, float]) -> float | None:
    if _LABELLED.search(reply):
        return _labelled(reply, scale)
    out_of = {_value(f["rating"]) for f in _OUT_OF.finditer(reply) if _value(f["most"]) == scale[1]}
    if out_of:
        return _single(out_of, scale)
    # 'On a scale of 1 to 5' names the scale, not the verdict.
    return _single({_value(found["rating"]) for found in _ANY.finditer(_RANGE.sub(" ", reply))}, scale)


def _labelled(reply: str, scale: tuple[float, float]) -> float | None:
    return _single({_value(found["rating"]) for found in _LABELLED.finditer(reply)}, scale)


def _single(values: set[float], scale: tuple[float, float]) -> float | None:
    low, high = scale
    value = values.pop() if len(values) == 1 else None
    return value if value is not None and low <= value <= high else None


def _value(number: str) -> float:
    return float(number.replace("−", "-").replace(",", "."))
