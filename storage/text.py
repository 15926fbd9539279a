"""Text on its way into a study file and out of it: API keys are masked, and foreign text is shown, never obeyed.

A key is the value of an environment variable that a study names as one (`watch`), or whose name ends as those of keys do. The
values are read when `watch` is called, at the start of every command and run. `storable` prepares what is written.

Every way out makes text plain itself, so that no caller can forget it: lines and tables of a command, the app's screen, HTML,
CSV, JSON. Control characters (an escape sequence, a bell) become a visible mark. Characters that nobody sees and that could
reorder or hide what stands beside them (direction overrides, zero-width signs, tags) go. What writing needs stays: letters of
every script, marks, emoji, the joiners of Persian and of the scripts of India.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from os.path import commonprefix
from unicodedata import category

HIDDEN = "[key]"
SHORTEST = 12
"""characters: shorter values are placeholders such as "ollama" or "not-needed", which are also words of a text"""
_HEAD = 16
"""characters by which a key is recognised: an error or a name may be cut in the middle of one"""
_NAMES_OF_KEYS = re.compile(r"(?:\A|_|API)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\Z", re.IGNORECASE)

_watched: set[str] = set()
_values: tuple[str, ...] = ()


def watch(variables: Iterable[str] = ()) -> None:
    """From now on the values of these variables are keys too."""
    global _values
    _watched.update(variables)
    found = (value for name, value in os.environ.items() if name in _watched or _NAMES_OF_KEYS.search(name))
    values = {value.strip() for value in found if len(value.strip()) >= SHORTEST}
    escaped = {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}  # as JSON has it
    _values = tuple(sorted(values | escaped, key=len, reverse=True))


def mask(text: str) -> str:
    """The text without any key, nor the beginning of one that was cut off. Cheap: every reply and every line on a screen
    passes here."""
    for value in _values:
        head = value[:_HEAD]
        if head in text:
            first, *rest = text.split(head)
            text = first + "".join(HIDDEN + after[len(commonprefix((after, value[_HEAD:]))) :] for after in rest)  # noqa: RUF071 (text, no paths)
    return text


def variables_in(text: str) -> list[str]:
    """The variables whose keys the text, or JSON, holds."""
    keys = {name: value.strip() for name, value in os.environ.items() if value.strip() in _values}
    return [name for name, key in keys.items() if key in text or json.dumps(key, ensure_ascii=False)[1:-1] in text]


watch()


def storable(text: str) -> str:
    """Without API keys, without NUL, at which SQLite's functions stop, and without lone surrogates, which are not UTF-8."""
    text = mask(text)
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


MARK = "\N{REPLACEMENT CHARACTER}"
MOST_MARKS = 8
"""accents on one letter: more of them than any script has would climb over the lines around them"""
LONGEST_IN_REPORT = 4_000_000
"""characters of one text of a report: as many as the longest reply has"""

_JOINERS = "\u200c\u200d"
_JOINING = "\u0600-\u1aff"
"""scripts in which a joiner changes letters: Arabic to those of India and South-East Asia"""
_PICTURES = "\u2190-\u2bff\U0001f000-\U0001faff"
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
_NEWER = (range(0x1F000, 0x1FC00), range(0x20000, 0x2FFFE), range(0x30000, 0x3FFFE))
"""emoji and Chinese signs, of which this Python may not know the newest"""
_SEEN_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
"""formats that are seen: signs of Arabic numbers and verses"""
_FLAGS = "|".join("".join(chr(0xE0000 + ord(sign)) for sign in name) for name in ("gbeng", "gbsct", "gbwls"))
_TAGS = "\U000e0020-\U000e007f"

# Patterns stay texts, which `re` compiles when they are first needed: that takes as long as much of a command's start.
_PILED = f"([{_MARKS}]{{{MOST_MARKS}}})[{_MARKS}]+"
_STRAY_ON_A_TERMINAL = f"(?<![{_JOINING}])[{_JOINERS}]"
_STRAY_IN_A_DOCUMENT = (
    f"(\U0001f3f4(?:{_FLAGS})\U000e007f)|[{_TAGS}]"
    f"|(?<![{_JOINING}])(?:\u200c|(?<![{_PICTURES}\ufe0f])\u200d|\u200d(?![{_PICTURES}]))"
)


class Plain(str):
    """Text that was made plain here."""

    __slots__ = ()


class _Table(dict[int, str]):
    """For `str.translate`: what each character becomes, decided when it is first met."""

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
    """Text of one or more lines for a terminal. Emoji that are joined stand one beside the other: terminals do not agree
    on the width of a joined one."""
    if isinstance(text, Plain):
        return text
    return _by_lines(text, lambda line: re.sub(_STRAY_ON_A_TERMINAL, "", line.translate(_TERMINAL)))


def in_document(text: str) -> Plain:
    """Text for a page or a table of another program, which knows tabs, spaces and joined emoji."""
    return _by_lines(text, lambda line: re.sub(_STRAY_IN_A_DOCUMENT, r"\1", line.translate(_DOCUMENT)))


def in_report(text: str) -> Plain:
    """Text for a page that people read: the beginning, and how much there is beyond it."""
    more = len(text) - LONGEST_IN_REPORT
    return in_document(text if more <= 0 else f"{text[:LONGEST_IN_REPORT]} … and {more:,} characters more")


def _by_lines(text: str, mended: Callable[[str], str]) -> Plain:
    """Most lines need no mending, and none depends on another."""
    text = mask(text)
    if text.isprintable() and text.isascii():
        return Plain(text)
    lines = text.replace("\r\n", "\n").split("\n")
    text = "\n".join(line if line.isprintable() else mended(line) for line in lines)
    piled = not text.isascii() and re.search(_PILED, text)
    return Plain(
        mask(re.sub(_PILED, rf"\1{MARK}", text) if piled else text)
    )  # again: a key may have been split by what is gone


def one_line(text: str, most: int = 500) -> Plain:
    """For a row, a cell, a title: no terminal is wider, and measuring what nobody sees takes seconds."""
    line = " ".join(plain(text[: 4 * most]).split())
    return Plain(line if len(text) <= 4 * most and len(line) <= most else line[:most] + "…")


def shortened(text: str, most: int = 4_000) -> Plain:
    """For a dialog or a sentence beside a field: the beginning, and how much there is beyond it."""
    if len(text) <= most:
        return plain(text)
    return Plain(f"{plain(text[:most])} … and {len(text) - most:,} characters more")


def json_text(content: object, indent: int | None = None) -> Plain:
    """JSON that says all, and in which whatever is not seen is written as an escape, so that a terminal can show it."""
    text = mask(json.dumps(content, ensure_ascii=False, indent=indent))
    return Plain(text if text.isprintable() else text.translate(_JSON))
