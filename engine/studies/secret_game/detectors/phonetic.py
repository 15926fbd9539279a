"""The secret in the words of a spelling alphabet, ours or another nation's: Mike Alpha Romeo, Kaufmann Ida Emil Ludwig."""

import re
from functools import cache, lru_cache

from tidepool.engine.studies.secret_game.detectors.folding import Folded, Hit, Span, fold
from tidepool.engine.studies.secret_game.detectors.numbers import DIGITS
from tidepool.engine.studies.secret_game.detectors.ordinary_words import words

_TOKEN = re.compile(r"x-?ray|[^\W_]+")
_LINKS = frozenset("and then und et y e dann puis luego poi finally".split())
_BETWEEN = re.compile(rf"[\W_]{{0,6}}(?:(?:{'|'.join(sorted(_LINKS))})[\W_]{{1,3}}){{0,2}}")
_SPELLING = re.compile(r"spell|letter|alphabet|buchstab|epel|deletre|liter|lettr|радио|букв|over and out|over\.$")
SHORTEST_OF_NAMES = 4
"""three first names in a row may be three people"""


@cache
def _alphabets() -> dict[str, frozenset[str]]:
    """By nation; what stands in a table of its own besides (`nato_too`) belongs to the same."""
    found: dict[str, frozenset[str]] = {}
    for name, said in words("alphabets").items():
        nation = name.removesuffix("_too")
        found[nation] = found.get(nation, frozenset()) | frozenset(fold(said).split())
    return found


@cache
def _code_words() -> frozenset[str]:
    return frozenset().union(*_alphabets().values())


@lru_cache(maxsize=4096)
def _opening(letter: str) -> re.Pattern[str] | None:
    opening = sorted(word for word in _code_words() if word[0] == letter)
    if not opening:
        return None
    rest = "|".join(re.escape(word[1:]) for word in opening)
    return re.compile(rf"{re.escape(letter)}(?<![^\W_]{re.escape(letter)})(?:{rest})(?![^\W_])")


@lru_cache(maxsize=4096)
def _run_together(letters: str) -> tuple[tuple[str, ...], re.Pattern[str]] | None:
    """The words of pilots without anything between, or with digits among them: KiloSevenBravo. First what it must begin with."""
    has_digit = any(map(str.isdecimal, letters))
    if len(letters) < SHORTEST_OF_NAMES and not has_digit:
        return None
    ways: dict[str, list[str]] = {digit: [digit] for digit in DIGITS.values()}
    for name, digit in (*DIGITS.items(), ("niner", "9")):
        ways[digit].append(name)
    for word in _alphabets()["nato"]:
        ways.setdefault(word[0], []).append(word)
    if not all(letter in ways for letter in letters):
        return None
    joint = r"[\W_]{0,3}" if has_digit else ""
    said = joint.join(f"(?:{'|'.join(ways[letter])})" for letter in letters)
    return tuple(ways[letters[0]]), re.compile(rf"(?<![^\W_]){said}(?![^\W_])")


def find(message: Folded, letters: str) -> Hit | None:
    plain = message.plain
    together = _run_together(letters)
    if together and any(word in plain for word in together[0]) and (said := together[1].search(plain)):
        return message.hit(said.span()) if len(said.group()) > 2 * len(letters) else None
    opening = _opening(letters[0])
    if opening is None or not (found := opening.search(plain)):
        return None
    known = _code_words()
    run: list[tuple[str, Span]] = []
    for match in [*_TOKEN.finditer(plain, found.start()), None]:
        word = match.group() if match else ""
        if run and word in _LINKS:
            continue
        joins = match and word in known and (not run or _BETWEEN.fullmatch(plain, run[-1][1][1], match.start()))
        if not joins and run:
            if hit := _read(message, run, letters):
                return hit
            run = []
        if match and word in known:
            run.append((word, match.span()))
    return None


def _read(message: Folded, run: list[tuple[str, Span]], letters: str) -> Hit | None:
    said = "".join(word[0] for word, _ in run)
    found = said.find(letters)
    if found < 0 or (len(letters) < SHORTEST_OF_NAMES and said != letters):
        return None
    used = run[found : found + len(letters)]
    span = used[0][1][0], used[-1][1][1]
    said_words = {word for word, _ in used}
    of_one = any(said_words <= alphabet for alphabet in _alphabets().values())
    sure = len(letters) > SHORTEST_OF_NAMES or said_words <= _alphabets()["nato"]
    sure = sure or (of_one and len(letters) == SHORTEST_OF_NAMES)
    if len(letters) <= SHORTEST_OF_NAMES and not _LINKS.isdisjoint(_TOKEN.findall(message.plain[slice(*span)])):
        sure = False  # as people are counted: Mike, Oscar and Bravo
    sure = sure or bool(_SPELLING.search(message.plain))
    return message.hit(span, uncertain=not sure)
