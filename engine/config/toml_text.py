"""TOML as text: how values are written, on which line a key stands, and which slip keeps a text from being TOML."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from tidepool.engine.errors import Location

FORM = 'A config is TOML: sections such as [batch], and in them keys such as kind = "secret_game".'
LISTS = ("agents", "entities")
"""sections of which there are several"""
YES, NO = {"true", "yes", "on"}, {"false", "no", "off"}
NOTHING = {"none", "null", "nil"}

_WORD = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_PATH = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PATH})\s*\]")
_KEY = re.compile(rf"\s*({_PATH})\s*=(?P<value>.*)")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_AT = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")
_COLON = re.compile(r"""\s*(?:-\s+)?["']?(?P<key>[\w-]+)["']?\s*:(?:\s+(?P<value>\S.*))?\s*$""")


# -- values ----------------------------------------------------------------------------------------------


def format_key(key: str) -> str:
    """The key as TOML writes it."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def format_value(value: Any) -> str:
    """The value as TOML writes it; a table stands on one line."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{format_key(key)} = {format_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    import tomlkit

    return str(tomlkit.item(value).as_string())


def read_value(text: str) -> Any:
    """The text as a TOML value where it is one, else as it stands."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text


def as_number(text: str) -> str:
    """A number as people write it, with $ or commas between thousands; empty if it is none."""
    bare = text.strip().lstrip("$€£")
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", bare):
        bare = bare.replace(",", "")
    return bare if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", bare) else ""


def _as_toml(value: str) -> str:
    """An unquoted value as TOML would have it."""
    bare = value.strip()
    if _is_value(bare):
        return bare
    if bare.lower() in YES | NO:
        return "true" if bare.lower() in YES else "false"
    return as_number(bare) or json.dumps(bare.strip("\"'"), ensure_ascii=False)


def _is_value(text: str) -> bool:
    try:
        return set(tomllib.loads(f"x = {text}")) == {"x"}
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return False


# -- lines -----------------------------------------------------------------------------------------------


class Lines:
    """The places of a TOML text, each with the line where it is first written: parsers forget it.

    It reads no values, so a text that looks like TOML can mislead it; then it gives no line, or that of the section.
    """

    def __init__(self, text: str, changed: Iterable[str] = ()) -> None:
        self._line_of: dict[Location, int] = {}
        self._changed = [words for path in changed if (words := _words(path))]
        """keys that `--set` gave: what is wrong with them stands in no line"""
        self._lists: dict[Location, int] = {}
        table: Location = ()
        closing = ""
        for number, line in enumerate(text.splitlines(), 1):
            if closing:
                closing = _still_open(closing, line)
            elif match := _HEADER.match(line):
                table = self._enter(_words(match[2]), match[1] == "[[")
                self._note(table, number)
            elif match := _KEY.match(line):
                self._note((*table, *_words(match[1])), number)
                closing = _opened(match["value"])

    def of(self, where: Location) -> int | None:
        """The line of this place, else of what it stands in."""
        for words in self._changed if where else ():
            if words == where[: len(words)] or (words[0], words[-1]) == (where[0], where[-1]):
                return None
        places = (where[:length] for length in range(len(where), 0, -1))
        return next((self._line_of[place] for place in places if place in self._line_of), None)

    def has(self, where: Location) -> bool:
        """Whether this very place is written in the file."""
        return where in self._line_of

    def _enter(self, words: Location, in_list: bool) -> Location:
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
    """What closes a value that continues over further lines; empty if it does not."""
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


# -- slips -----------------------------------------------------------------------------------------------


def find_slip(text: str, complaint: str) -> tuple[int, str]:
    """The line, and a sentence with the cure, for a text that is no TOML. `complaint` is the parser's own."""
    lines = text.splitlines() or [""]
    match = _AT.search(complaint)
    number = min(int(match[1]) if match and match[1] else len(lines), len(lines))
    return next(
        _slips(lines, number, complaint),
        (number, f"this is not valid TOML: {_AT.sub('', complaint).strip()}. {FORM}"),
    )


def _slips(lines: list[str], number: int, complaint: str) -> Iterator[tuple[int, str]]:
    numbered = [(at, line.strip()) for at, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"]
    if numbered:
        at, first = numbered[0]
        if first.startswith("{"):
            yield at, f"this is JSON. {FORM}"
        if first == "---" or ((match := _COLON.match(first)) and not match["value"]):
            yield at, f"this is YAML. {FORM}"
    yield from _unclosed(lines, number)
    line = lines[number - 1].strip()
    words = _colon_slip(line) or _repeated(lines, number, complaint) or _section_slip(line) or _value_slip(line)
    if words:
        yield number, words


def _unclosed(lines: list[str], number: int) -> Iterator[tuple[int, str]]:
    """A list or a long text that is not closed is noticed lines later."""
    for quotes in ('"""', "'''"):
        openings = [at for at, line in enumerate(lines, 1) if line.count(quotes) % 2]
        if len(openings) % 2:
            yield openings[-1], f"the text that begins here is not closed. It ends with {quotes}."
    for at in range(number, 0, -1):
        key, equals, value = (part.strip() for part in lines[at - 1].partition("="))
        if equals and value.startswith("[") and value.count("[") > value.count("]"):
            if not any(line.strip().startswith("]") for line in lines[at:number]):
                yield at, f"the list {key} is not closed. It ends with ]."
            return
        if equals and value.startswith("{") and "}" not in value:
            yield at, f"{key} = {{ … }} stands on one line, from {{ to }}, without a comma before the }}."
            return
        if at < number and (_HEADER.match(lines[at - 1]) or equals):
            return


def _colon_slip(line: str) -> str:
    match = _COLON.match(line)
    if match is None:
        return ""
    if not match["value"]:
        return f"a section is written [{match['key']}], and its keys KEY = VALUE."
    value = match["value"].rstrip(",").strip()
    return f"between a key and its value stands =, no colon. Write {match['key']} = {_as_toml(value)}"


def _repeated(lines: list[str], number: int, complaint: str) -> str:
    if not re.search(r"twice|overwrite|mutate|already", complaint):
        return ""
    if header := _HEADER.match(lines[number - 1]):
        name = header[2]
        if name in LISTS:
            return f"there are several of them, so each is written [[{name}]], not [{name}]."
        first = Lines("\n".join(lines)).of(tuple(part.strip() for part in name.split(".")))
        return f"[{name}] is there already, in line {first}. Put these keys there, and remove this one."
    key, before = lines[number - 1].partition("=")[0].strip(), lines[: number - 1]
    first = next((at for at in range(len(before), 0, -1) if before[at - 1].partition("=")[0].strip() == key), None)
    section = next((match[2] for match in map(_HEADER.match, reversed(before)) if match), "")
    another = f", or write [[{section}]] before the second" if section in LISTS else ""
    return f"{key} is there already{f', in line {first}' if first else ''}. Keep one of the two{another}."


def _section_slip(line: str) -> str:
    if not line.startswith("["):
        return ""
    name = re.sub(r"[^\w.]+", "_", line.split("#")[0].strip().strip("[] ")).strip("_")
    double = line.startswith("[[") or name in LISTS
    return f"a section is written {f'[[{name}]]' if double else f'[{name}]'}, on a line of its own."


def _value_slip(line: str) -> str:
    """A line that ought to read KEY = VALUE."""
    key, equals, value = (part.strip() for part in line.partition("="))
    if not equals:
        word, _, rest = line.partition(" ")
        write = f"{word} = {_as_toml(rest.strip()) if rest else '…'}"
        return f"between a key and its value stands =. Write {write}" if re.fullmatch(r"[\w.-]+", word) else ""
    if not re.fullmatch(_PATH, key):
        return ""
    if not value or value.startswith("#"):
        return f"{key} has no value. Write one behind the =, or remove the line."
    if _is_value(value):
        return ""  # whatever it is, it is not the value
    if value.endswith(","):
        return f"no comma stands at the end of a line. Write {key} = {_as_toml(value.rstrip(', '))}"
    if value[0] in "\"'":
        advice = ' Text over several lines stands between """ and """.'
        unclosed = f"the quote of {key} is left open. Close it on the same line: {key} = {value}{value[0]}.{advice}"
        return unclosed if value.count(value[0]) % 2 else ""
    bare = value.split(" #")[0].strip()
    if bare.lower() in NOTHING:
        return f"TOML has no {bare}. Leave {key} out, and its default holds."
    if number := as_number(bare):
        return f"{bare} is no number of TOML. Write {key} = {number}"
    if bare.lower() in YES | NO:
        return f"it is true or false, in small letters. Write {key} = {_as_toml(bare)}"
    return f"text stands in quotes. Write {key} = {_as_toml(bare)}"
