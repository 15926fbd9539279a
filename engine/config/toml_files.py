"""Everything about TOML: reading a text file, its values, the lines of its keys, slips, and the values that `--set` puts over it.

A path such as `secret_game.mode`, `agents.Ada.model` or `agents.*.instructions` leads to a key: agents and entities are found by name,
`*` is all of them, and a part with dots in it can be quoted, as in `agents."Dr. Who".model`.
"""

import codecs
import json
import re
import stat
import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from tidepool.engine.config import ceilings
from tidepool.engine.errors import Location, UsageError

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
_PAIR = re.compile(r"""["']?(?P<key>[\w.-]+)["']?\s*(?P<sign>[=:]?)\s*(?P<value>.*)""")


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
    numbered = ((at, line.strip()) for at, line in enumerate(lines, 1))
    at, first = next(((at, line) for at, line in numbered if line and line[0] != "#"), (1, ""))
    if first.startswith("{"):
        return at, f"this is JSON. {FORM}"
    if first == "---" or re.fullmatch(r"[\w-]+\s*:", first):
        return at, f"this is YAML. {FORM}"
    line = lines[number - 1].strip()
    advice = _repeated(line) if re.search(r"twice|overwrite|mutate|already", complaint) else _slip(line)
    return number, advice or f"this is not valid TOML: {_AT.sub('', complaint).strip()}. {FORM}"


def _repeated(line: str) -> str:
    header = _HEADER.match(line)
    if header and header[2] in LISTS:
        return f"there are several of them, so each is written [[{header[2]}]], not [{header[2]}]."
    name = header[2] if header else line.partition("=")[0].strip()
    return f"{name} is there already. Keep one of the two, or begin another section before it."


def _slip(line: str) -> str:
    """What a line should read that is neither a section nor KEY = VALUE."""
    if line.startswith("["):
        name = re.sub(r"[^\w.]+", "_", line.split("#")[0].strip("[] ")).strip("_")
        double = line.startswith("[[") or name in LISTS
        return f"a section is written {f'[[{name}]]' if double else f'[{name}]'}, on a line of its own."
    match = _PAIR.match(line)
    if match is None or (match["sign"] == "=" and _is_value(match["value"])):
        return ""
    key, value = match["key"], match["value"].split(" #")[0].rstrip(" ,")
    if not value or value[0] == "#":
        return f"{key} has no value. Write {key} = VALUE; a section is written [{key}]."
    if value[0] in "[{":
        return f"{key}: a list ends with ], and a table {{ … }} stands on one line, without a comma before the }}."
    if value[0] in "\"'" and not _is_value(value):
        advice = (
            f'Close it on the same line: {key} = {value}{value[0]}. Text over several lines stands between """ and """.'
        )
        return f"the quote of {key} is left open. {advice}" if value.count(value[0]) % 2 else ""
    if value.lower() in NOTHING:
        return f"TOML has no {value}. Leave {key} out, and its default holds."
    reason = "this is no value of TOML" if match["sign"] == "=" else "between a key and its value stands ="
    return f"{reason}. Write {key} = {_as_toml(value)}"


# -- paths of keys ---------------------------------------------------------------------------------------


_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')
ALL = "*"


def put_at(data: dict[str, Any], path: str, value: Any) -> None:
    """Writes the value wherever the path leads; sections that are missing are made."""
    for container, key in list(_places(data, path, path)):
        container[key] = value


def section_of(path: str) -> str:
    """The section that the path begins with, however it is written."""
    return _first(path, path)[0]


def _places(data: Any, rest: str, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(data, list):
        for item, rest_of_path in _named(data, rest, path):
            yield from _places(item, rest_of_path, path)
        return
    part, rest_of_path = _first(rest, path)
    if not isinstance(data, dict):
        raise UsageError(f"{path} leads nowhere: there is nothing within {part!r}.")
    if not rest_of_path:
        yield data, part
        return
    if part in ("agents", "entities") and not isinstance(data.get(part), list):
        raise UsageError(f"{path} leads nowhere: the config has no [[{part}]].")
    yield from _places(data.setdefault(part, {}), rest_of_path, path)


def _named(items: list[Any], rest: str, path: str) -> Iterator[tuple[Any, str]]:
    """The item whose name stands first, the longest that fits: a name may hold dots."""
    names = [str(item.get("name", "")) for item in items if isinstance(item, dict)]
    if rest == ALL or rest.startswith(f"{ALL}."):
        name, remainder = ALL, rest[2:]
    else:
        matching = [item for item in names if rest == item or rest.startswith(f"{item}.")]
        if matching:
            name = max(matching, key=len)
            remainder = rest[len(name) + 1 :]
        else:
            name, remainder = _first(rest, path)
    if not remainder:
        prefix = path.removesuffix(rest)
        raise UsageError(
            f"{path} names all of {name!r}, not one of its keys."
            if name in (ALL, *names)
            else f"{path} says not whose: write {prefix}{names[0] if names else 'NAME'}.{rest}, or {prefix}*.{rest} for all."
        )
    if name != ALL and name not in names:
        near = get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(names[:10]) or 'none'}."
        raise UsageError(f"{path}: nobody is called {name!r}.{hint}")
    for item in items:
        if isinstance(item, dict) and name in (ALL, item.get("name")):
            yield item, remainder


def _first(rest: str, path: str) -> tuple[str, str]:
    match = _PART.match(rest)
    part = "" if match is None else (re.sub(r"\\(.)", r"\1", match[1]) if match[1] is not None else match[2]).strip()
    remainder = "" if match is None else rest[match.end() :]
    if not part or (remainder and not remainder.startswith(".")) or remainder == ".":
        raise UsageError(f"{path!r} is no path of keys such as service.max_concurrent or agents.Ada.model.")
    return part, remainder[1:]


# -- files -----------------------------------------------------------------------------------------------


SQLITE = b"SQLite format 3"
_LONGEST_WORDS = 1_000
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{ceilings.KEY_PARTS}}}")


def check_file(path: Path, most: int = ceilings.FILE_BYTES, where: Location = ()) -> None:
    """Refuses what must not be opened: a device or a pipe may never end, and a file may be larger than the memory."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{path} is a device or a pipe. Save its content as a file first.", where)
    if status.st_size > most:
        raise UsageError(f"{path} is larger than {most >> 20} MiB: this is no config or data file of a study.", where)


def read_text(path: Path, most: int = ceilings.FILE_BYTES, *, is_config: bool = False) -> str:
    """The text of a config or of a file that one names. Whatever keeps it from being read is told in words."""
    try:
        check_file(path, most)
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                raise UsageError(f"{path} is a study file, no text. What to run of it is told by {path}#last, or #ID.")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        words = f"{path}. {_instead_of(path)}" if is_config else f"{path.absolute()}."
        raise UsageError(f"There is no file {words}") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a file.") from None
    except UnicodeDecodeError as error:
        raise UsageError(_not_utf8(path, error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def _instead_of(path: Path) -> str:
    """What to do where there is no such file: its ending may lack, or it is an example and nobody has it here."""
    with_suffix = path.with_name(f"{path.name}.toml") if path.name else path
    if with_suffix.is_file():
        return f"Did you mean {with_suffix}?"
    if path.parent.name == "examples" and path.suffix == ".toml":
        return f"`tidepool examples {path.stem}` copies it here; then `tidepool run {path.name}`."
    return "Check the path, or start from `tidepool new` or `tidepool examples`."


def _not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    """Which line it is; or that all of it is written otherwise, as some editors of Windows do."""
    if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return f"{path} is written in UTF-16. Save it as UTF-8."
    line = error.object.count(b"\n", 0, error.start) + 1
    return f"{path}, line {line}: this is not text in UTF-8 (byte {error.start}). Save the file as UTF-8."


def named_file(name: str, folder: Path | None, *where: str) -> Path:
    """The file that a key of a config names. Without a folder the config is a batch's own, and no file is read."""
    if folder is None:
        raise UsageError(f"{'.'.join(where)} names a file, as nothing in a frozen config does. It is not read.", where)
    return folder / name


def parse_toml(text: str, source: str, form: str = "") -> dict[str, Any]:
    """The text as nested dictionaries. `source` is what an error calls it, `form` how such a file is written."""
    if (tables := len(_TABLE.findall(text))) > ceilings.TABLES:
        raise UsageError(f"{source} has {tables:,} tables in brackets, and {ceilings.TABLES:,} are the most.")
    if match := _LONG_KEY.search(text):  # the parser takes the square of its length
        line = text.count("\n", 0, match.start()) + 1
        raise UsageError(f"{source}, line {line}: this key has {ceilings.KEY_PARTS} parts or more. Write it shorter.")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        line, words = find_slip(text, str(error))
        words = words[:_LONGEST_WORDS].replace(FORM, form or FORM)
        raise UsageError(f"{source}, line {line}: {words}") from None


def apply_override(data: dict[str, Any], override: str) -> None:
    """Puts `service.max_concurrent=50` over the data. The value is read as TOML, or as text where it is none."""
    path, equals, text = override.partition("=")
    if not equals or not path.strip():
        raise UsageError(
            f"--set {override!r} does not read KEY=VALUE; write for example --set service.max_concurrent=50."
        )
    try:
        put_at(data, path.strip(), read_value(text.strip()))
    except UsageError as error:
        raise UsageError(f"--set {override!r}: {error}") from None


T = TypeVar("T")
Stamp = tuple[Path, int, int]


class FileCache:
    def __init__(self, most: int = 0) -> None:
        self.most = most
        """that are kept: the latest"""
        self._entries: dict[Hashable, object] = {}

    def get(self, files: Sequence[Path], purpose: Hashable, make: Callable[[], T]) -> T:
        """`purpose` says what is made of them; what fails is tried again."""
        if not self.most:
            return make()
        key = (purpose, tuple(map(_stamp, files)))
        value = self._entries.pop(key) if key in self._entries else make()
        self._entries[key] = value
        while len(self._entries) > self.most:
            self._entries.pop(next(iter(self._entries)))
        return cast(T, value)


def _stamp(file: Path) -> Stamp:
    status = file.stat()
    return file, status.st_mtime_ns, status.st_size


FILE_CACHE = FileCache()
