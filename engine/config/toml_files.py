"""TOML: reads text files and values, finds the lines of keys, explains syntax errors, and applies `--set` values.

A path such as `secret_game.mode`, `agents.Ada.model` or `agents.*.instructions` leads to a key. Agents and entities are
found by name, and `*` selects all of them. Quote a part that contains dots, as in `agents."Dr. Who".model`.
"""

import json
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.errors import Location, UsageError

FORM = 'A config is TOML, with sections such as [batch] and keys such as kind = "secret_game" below them.'
LISTS = ("agents", "entities")
"""sections that can appear several times"""

_WORD = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_PATH = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_PATH})\s*\]")
_KEY = re.compile(rf"\s*({_PATH})\s*=")
_AT = re.compile(r"\(at (?:line (\d+), column \d+|end of document)\)")
_PAIR = re.compile(r"""["']?(?P<key>[A-Za-z_][\w.-]*)["']?(?:\s*[=:]\s*|\s+)(?P<value>[^\s=:\[{#].*)""")


# -- values ----------------------------------------------------------------------------------------------


def format_key(key: str) -> str:
    """The key in TOML syntax. A key of an untrusted file may contain any character."""
    import tomlkit

    return tomlkit.key(key).as_string()


def format_value(value: Any) -> str:
    """The value in TOML syntax; a table is written on one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{format_key(key)} = {format_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    import tomlkit

    return str(tomlkit.item(value).as_string())


def read_value(text: str) -> Any:
    """The text as a TOML value, or as plain text if it is not one."""
    try:
        values = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return values["value"] if len(values) == 1 else text


# -- lines -----------------------------------------------------------------------------------------------


class Lines:
    """The places of a TOML text, each with the line where it first appears, since parsers do not keep lines.

    It reads no values, so a text over several lines that looks like TOML can mislead it.
    """

    def __init__(self, text: str, changed: Iterable[str] = ()) -> None:
        self._line_of: dict[Location, int] = {}
        self._changed = [words for path in changed if (words := _words(path))]
        """keys that `--set` changes; their problems belong to no line"""
        self._lists: dict[Location, int] = {}
        table: Location = ()
        for number, line in enumerate(text.splitlines(), 1):
            if match := _HEADER.match(line):
                table = self._enter(_words(match[2]), match[1] == "[[")
                self._note(table, number)
            elif match := _KEY.match(line):
                self._note((*table, *_words(match[1])), number)

    def of(self, where: Location) -> int | None:
        """The line of this place, or of the section that contains it."""
        for words in self._changed if where else ():
            if words == where[: len(words)] or (words[0], words[-1]) == (where[0], where[-1]):
                return None
        places = (where[:length] for length in range(len(where), 0, -1))
        return next((self._line_of[place] for place in places if place in self._line_of), None)

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


NO_LINES = Lines("")
"""for a config that was not read from a file"""


# -- syntax errors -----------------------------------------------------------------------------------------------


def _is_toml(line: str) -> bool:
    try:
        tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return False
    return True


def find_slip(text: str, complaint: str) -> tuple[int, str]:
    """The line, and a sentence that says how to fix a text that is not valid TOML. `complaint` is the parser's message."""
    lines = text.splitlines() or [""]
    at = _AT.search(complaint)
    number = min(int(at[1]) if at and at[1] else len(lines), len(lines))
    line = lines[number - 1].strip()
    pair = _PAIR.match(line)
    if re.search(r"twice|overwrite|mutate|already", complaint):
        header = _HEADER.match(line)
        name = header[2] if header else line.partition("=")[0].strip()
        advice = f"Write [[{name}]] for each of several." if name in LISTS else "Remove one of the two."
        return number, f"{name} appears twice. {advice}"
    if pair is not None and not line.startswith("["):
        if _is_toml(line):
            return number, "this line is valid, so a list, table or text above it is not closed."
        value = pair["value"].split(" #")[0].strip(" ,\"'“”„‘’«»")
        word = value.lower() if value.lower() in ("true", "false") else value
        written = word if not isinstance(read_value(word), str) else json.dumps(word, ensure_ascii=False)
        curly = " with straight quotes" if set(pair["value"]) & {*"“”„‘’«»"} else ""
        return number, f"this is not a valid KEY = VALUE of TOML. Write {pair['key']} = {written}{curly}"
    return number, f"this is not valid TOML: {_AT.sub('', complaint).strip()}. {FORM}"


# -- paths of keys ---------------------------------------------------------------------------------------


_PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)')
ALL = "*"


def put_at(data: dict[str, Any], path: str, value: Any) -> None:
    """Writes the value wherever the path leads. Creates missing sections."""
    for container, key in list(_places(data, path, path)):
        container[key] = value


def section_of(path: str) -> str:
    """The section at the start of the path, with or without quotes."""
    return _first(path, path)[0]


def _places(data: Any, rest: str, path: str) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(data, list):
        for item, rest_of_path in _named(data, rest, path):
            yield from _places(item, rest_of_path, path)
        return
    part, rest_of_path = _first(rest, path)
    if not isinstance(data, dict):
        raise UsageError(f"{path} does not exist, because {part!r} is not in a section.")
    if not rest_of_path:
        yield data, part
        return
    if part in ("agents", "entities") and not isinstance(data.get(part), list):
        raise UsageError(f"{path} does not exist, because the config has no [[{part}]].")
    yield from _places(data.setdefault(part, {}), rest_of_path, path)


def _named(items: list[Any], rest: str, path: str) -> Iterator[tuple[Any, str]]:
    """The items with this name, or all. A name with dots is quoted."""
    name, remainder = _first(rest, path)
    names = [str(item.get("name", "")) for item in items if isinstance(item, dict)]
    if name not in (ALL, *names):
        near = get_close_matches(name, names, n=1)
        hint = (
            f" Did you mean {near[0]!r}?"
            if near
            else f" Known names are {', '.join(names[:10]) or 'none'}, and * for all."
        )
        raise UsageError(f"{path}: there is no {name!r}.{hint}")
    if not remainder:
        raise UsageError(f"{path} names all of {name!r}. Name one of its keys.")
    for item in items:
        if isinstance(item, dict) and name in (ALL, item.get("name")):
            yield item, remainder


def _first(rest: str, path: str) -> tuple[str, str]:
    match = _PART.match(rest)
    part = "" if match is None else (re.sub(r"\\(.)", r"\1", match[1]) if match[1] is not None else match[2]).strip()
    remainder = "" if match is None else rest[match.end() :]
    if not part or (remainder and not remainder.startswith(".")) or remainder == ".":
        raise UsageError(
            f"{path!r} is not a valid key. Write a key such as service.max_concurrent or agents.Ada.model."
        )
    return part, remainder[1:]


# -- files -----------------------------------------------------------------------------------------------


SQLITE = b"SQLite format 3"
_LONGEST_WORDS = 1_000
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{ceilings.KEY_PARTS}}}")


def check_file(path: Path, most: int = ceilings.FILE_BYTES, where: Location = ()) -> None:
    """Rejects files that must not be opened: a device or pipe may never end, and a large file may not fit into memory."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{path} is a device or a pipe. Save its content as a file first.", where)
    if status.st_size > most:
        raise UsageError(
            f"{path} is larger than {most >> 20} MiB, which is too large for a config or data file.", where
        )


def read_text(path: Path, most: int = ceilings.FILE_BYTES, *, is_config: bool = False) -> str:
    """The text of a config, or of a file that a config names. Every read error becomes a message."""
    try:
        check_file(path, most)
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                raise UsageError(
                    f"{path} is a study file, not a config. To run one of its batches again, name it as {path}#last or {path}#ID."
                )
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        advice = " Check the path, or start from `tidepool new` or `tidepool examples`." if is_config else ""
        raise UsageError(f"There is no file {path if is_config else path.absolute()}.{advice}") from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a file.") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: this is not UTF-8 text. Save the file as UTF-8.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def named_file(name: str, folder: Path | None, *where: str) -> Path:
    """The file that a key of a config names. Without a folder, the config belongs to a stored batch, and no file is read."""
    if folder is None:
        raise UsageError(
            f"{'.'.join(where)} names a file. The study file was changed, and the named file is not read.", where
        )
    return folder / name


def parse_toml(text: str, source: str, form: str = "") -> dict[str, Any]:
    """The text as nested dictionaries. `source` names it in errors, and `form` explains the format of such a file."""
    if (tables := len(_TABLE.findall(text))) > ceilings.TABLES:
        raise UsageError(f"{source} has {tables:,} tables in brackets. The maximum is {ceilings.TABLES:,}.")
    if match := _LONG_KEY.search(text):  # the parser needs quadratic time
        line = text.count("\n", 0, match.start()) + 1
        raise UsageError(f"{source}, line {line}: this key has {ceilings.KEY_PARTS} parts or more. Shorten it.")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        line, words = find_slip(text, str(error))
        words = words[:_LONGEST_WORDS].replace(FORM, form or FORM)
        raise UsageError(f"{source}, line {line}: {words}") from None


def apply_override(data: dict[str, Any], override: str) -> None:
    """Applies an override such as `service.max_concurrent=50`. The value is read as TOML, else as text."""
    path, equals, text = override.partition("=")
    if not equals or not path.strip():
        raise UsageError(f"--set {override!r} is not KEY=VALUE. Write, for example, --set service.max_concurrent=50.")
    try:
        put_at(data, path.strip(), read_value(text.strip()))
    except UsageError as error:
        raise UsageError(f"--set {override!r}: {error}") from None
