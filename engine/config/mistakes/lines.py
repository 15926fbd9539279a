"""On which line of a file a key stands: parsers tell what was written, and forget where.

It reads no values, so it may be led astray by a text that looks like TOML; then a line is not told, or that of the section.
"""

import re
from collections.abc import Iterable

from tidepool.engine.config.paths import format_key

Location = tuple[int | str, ...]

_WORD = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_PATH = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
HEADER = re.compile(rf"\s*(\[\[?)\s*({_PATH})\s*\]")
KEY = re.compile(rf"\s*({_PATH})\s*=(?P<value>.*)")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')


class Lines:
    """The places of a TOML text, each with the line where it is first written."""

    def __init__(self, text: str, changed: Iterable[str] = ()) -> None:
        self._line_of: dict[Location, int] = {}
        self._changed = {words: path for path in changed if (words := _words(path))}
        """words → path of the keys that `--set` gave: what is wrong with them stands in no line"""
        self._lists: dict[Location, int] = {}
        table: Location = ()
        closing = ""
        for number, line in enumerate(text.splitlines(), 1):
            if closing:
                closing = _still_open(closing, line)
            elif found := HEADER.match(line):
                table = self._entered(_words(found[2]), found[1] == "[[")
                self._note(table, number)
            elif found := KEY.match(line):
                self._note((*table, *_words(found[1])), number)
                closing = _opened(found["value"])

    def of(self, where: Location) -> int | None:
        """The line of this place, else of what it stands in."""
        if self.option(where) or any(words == where[: len(words)] for words in self._changed):
            return None
        for length in range(len(where), 0, -1):
            if where[:length] in self._line_of:
                return self._line_of[where[:length]]
        return None

    def option(self, where: Location) -> str:
        """The path for `--set` of a place that `--set` gave, alone or in a table; empty where the file has it."""
        for words, path in self._changed.items():
            if where and words[:1] == where[:1] and words[-1] == where[-1]:
                return path
            rest = [format_key(part) for part in where[len(words) :] if isinstance(part, str)]
            if words == where[: len(words)] and len(words) + len(rest) == len(where):
                return ".".join((path, *rest))
        return ""

    def has(self, where: Location) -> bool:
        """Whether this very place is written in the file."""
        return where in self._line_of

    def _entered(self, words: Location, in_list: bool) -> Location:
        place: Location = ()
        for count, word in enumerate(words, 1):
            place = (*place, word)
            if count == len(words) and in_list:
                self._line_of.setdefault(place, 0)
                self._lists[place] = self._lists.get(place, -1) + 1
            if place in self._lists:
                place = (*place, self._lists[place])
        return place

    def _note(self, place: Location, number: int) -> None:
        for length in range(1, len(place) + 1):
            if not self._line_of.get(place[:length]):
                self._line_of[place[:length]] = number


def _words(path: str) -> Location:
    return tuple(word.strip("\"'") for word in re.findall(_WORD, path))


def _opened(value: str) -> str:
    """What closes a value that goes on over further lines; empty where it does not."""
    for quotes in ('"""', "'''"):
        if value.count(quotes) % 2:
            return quotes
    return "]" * _depth(value)


def _still_open(closing: str, line: str) -> str:
    if closing in ('"""', "'''"):
        return closing if line.count(closing) % 2 == 0 else ""
    return "]" * max(0, len(closing) + _depth(line))


def _depth(text: str) -> int:
    bare = _STRINGS.sub("", text).split("#")[0]
    return bare.count("[") - bare.count("]")


NO_LINES = Lines("")
"""of what was not written in a file"""
