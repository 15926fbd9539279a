"""Cleans text that enters or leaves a study file. Masks API keys and removes control characters.

A key is the value of an environment variable that a study names as a key variable (`watch`), or whose name ends like that of
a key. The values are read when `watch` is called, at the start of every command and run. `storable` prepares text for the file.

Every output function cleans its text itself, so that no caller can forget it: lines and tables of a command, the app's
screen, HTML, CSV, JSON. Control characters (an escape sequence, a bell) become a visible mark. Invisible characters that can
reorder or hide text (direction overrides, zero-width characters, tags) are removed. Characters that scripts need stay:
letters of every script, marks, emoji, the joiners of Persian and of the scripts of India.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from os.path import commonprefix
from unicodedata import category

HIDDEN = "[key]"
SHORTEST = 12
"""characters; shorter values are placeholders such as "ollama" or "not-needed", which are also ordinary words"""
_HEAD = 16
"""leading characters that identify a key, because a text may be cut in the middle of a key"""
_NAMES_OF_KEYS = re.compile(r"(?:\A|_|API)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE)

_watched: set[str] = set()
_values: tuple[str, ...] = ()


def watch(variables: Iterable[str] = ()) -> None:
    """Masks the values of these variables too, from now on."""
    global _values
    _watched.update(variables)
    found = (value for name, value in os.environ.items() if name in _watched or _NAMES_OF_KEYS.search(name))
    values = {value.strip() for value in found if len(value.strip()) >= SHORTEST}
    escaped = {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}  # as JSON escapes it
    _values = tuple(sorted(values | escaped, key=len, reverse=True))


def mask(text: str) -> str:
    """Replaces every key, and the beginning of a key that was cut off. Must be fast: every reply and every screen line passes it."""
    for value in _values:
        head = value[:_HEAD]
        if head in text:
            first, *rest = text.split(head)
            text = first + "".join(HIDDEN + after[len(commonprefix((after, value[_HEAD:]))) :] for after in rest)  # noqa: RUF071 (text, no paths)
    return text


def variables_in(text: str) -> list[str]:
    """Returns the variables whose keys occur in the text, as they are or escaped as in JSON."""
    keys = {name: value.strip() for name, value in os.environ.items() if value.strip() in _values}
    return [name for name, key in keys.items() if key in text or json.dumps(key, ensure_ascii=False)[1:-1] in text]


watch()


def storable(text: str) -> str:
    """Removes API keys, NUL (at which SQLite's functions stop) and lone surrogates (which are not UTF-8)."""
    text = mask(text)
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


MARK = "\N{REPLACEMENT CHARACTER}"
MOST_MARKS = 8
"""combining marks on one letter; more than any script uses would cover the lines around them"""
LONGEST_IN_REPORT = 4_000_000
"""characters of one text in a report, as many as the longest reply has"""

_JOINERS = "\u200c\u200d"
_JOINING = "\u0600-\u1aff"
"""scripts in which joiners change letters: from Arabic to those of India and South-East Asia"""
_PICTURES = "\u2190-\u2bff\U0001f000-\U0001faff"
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
_NEWER = (range(0x1F000, 0x1FC00), range(0x20000, 0x2FFFE), range(0x30000, 0x3FFFE))
"""emoji and Chinese characters, of which this Python may not know the newest"""
_SEEN_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
"""visible format characters: signs of Arabic numbers and verses"""
_FLAGS = "|".join("".join(chr(0xE0000 + ord(sign)) for sign in name) for name in ("gbeng", "gbsct", "gbwls"))
_TAGS = "\U000e0020-\U000e007f"

# `re` compiles these patterns when they are first needed, because compiling them would slow the start of every command.
_PILED = f"([{_MARKS}]{{{MOST_MARKS}}})[{_MARKS}]+"
_STRAY_ON_A_TERMINAL = f"(?<![{_JOINING}])[{_JOINERS}]"
_STRAY_IN_A_DOCUMENT = (
    f"(\U0001f3f4(?:{_FLAGS})\U000e007f)|[{_TAGS}]"
    f"|(?<![{_JOINING}])(?:\u200c|(?<![{_PICTURES}\ufe0f])\u200d|\u200d(?![{_PICTURES}]))"
)


class Plain(str):
    """Text that this module has cleaned."""

    __slots__ = ()


class _Table(dict[int, str]):
    """A table for `str.translate` that computes the replacement of a character when it first occurs."""

    def __init__(self, replace_character: Callable[[str], str]) -> None:
        self._replace = replace_character

    def __missing__(self, code: int) -> str:
        replacement = self[code] = self._replace(chr(code))
        return replacement


def _shown(character: str) -> str:
    if character == "\n" or character in _JOINERS or character.isprintable():
        return character
    kind = category(character)
    if kind in ("Zl", "Zp"):
        return "\n"
    if kind == "Cf":
        return character if character in _SEEN_FORMATS else ""
    return character if kind == "Cn" and any(ord(character) in block for block in _NEWER) else MARK


def _on_a_terminal(character: str) -> str:
    if character == "\t":
        return "    "
    return " " if category(character) == "Zs" else _shown(character)


def _in_a_document(character: str) -> str:
    is_allowed = character == "\t" or "\U000e0020" <= character <= "\U000e007f" or category(character) == "Zs"
    return character if is_allowed else _shown(character)


def _in_json(character: str) -> str:
    if character == "\n" or character.isprintable() or category(character) == "Zs":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


_TERMINAL, _DOCUMENT, _JSON = _Table(_on_a_terminal), _Table(_in_a_document), _Table(_in_json)


def plain(text: str) -> Plain:
    """Cleans text of one or more lines for a terminal. Splits joined emoji, because terminals disagree about their width."""
    if isinstance(text, Plain):
        return text
    return _by_lines(text, lambda line: re.sub(_STRAY_ON_A_TERMINAL, "", line.translate(_TERMINAL)))


def in_document(text: str) -> Plain:
    """Cleans text for a page or a table of another program, which handles tabs, spaces and joined emoji."""
    return _by_lines(text, lambda line: re.sub(_STRAY_IN_A_DOCUMENT, r"\1", line.translate(_DOCUMENT)))


def in_report(text: str) -> Plain:
    """Cleans text for a page. Returns the beginning of a long text, and how much is left out."""
    more = len(text) - LONGEST_IN_REPORT
    return in_document(text if more <= 0 else f"{text[:LONGEST_IN_REPORT]} … and {more:,} characters more")


def _by_lines(text: str, mended: Callable[[str], str]) -> Plain:
    """Cleans each line by itself. Most lines need no change."""
    text = mask(text)
    if text.isprintable() and text.isascii():
        return Plain(text)
    lines = text.replace("\r\n", "\n").split("\n")
    text = "\n".join(line if line.isprintable() else mended(line) for line in lines)
    piled = not text.isascii() and re.search(_PILED, text)
    return Plain(
        mask(re.sub(_PILED, rf"\1{MARK}", text) if piled else text)
    )  # again, because removed characters may have split a key


def one_line(text: str, most: int = 500) -> Plain:
    """Returns one line for a row, a cell or a title. Cuts it at `most`, because measuring very long text takes seconds."""
    line = " ".join(plain(text[: 4 * most]).split())
    return Plain(line if len(text) <= 4 * most and len(line) <= most else line[:most] + "…")


def shortened(text: str, most: int = 4_000) -> Plain:
    """Returns the beginning of a text for a dialog or a field, and how much is left out."""
    if len(text) <= most:
        return plain(text)
    return Plain(f"{plain(text[:most])} … and {len(text) - most:,} characters more")


def json_text(content: object, indent: int | None = None) -> Plain:
    """Returns JSON that is complete and safe on a terminal. Invisible characters are escaped."""
    text = mask(json.dumps(content, ensure_ascii=False, indent=indent))
    return Plain(text if text.isprintable() else text.translate(_JSON))
