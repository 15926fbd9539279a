"""Reading what a config is written in: a text file, its TOML, and the values that `--set` puts over it.

A path such as `secret_game.mode`, `agents.Ada.model` or `agents.*.instructions` leads to a key: agents and entities are found by name,
`*` is all of them, and a part with dots in it can be quoted, as in `agents."Dr. Who".model`.
"""

import codecs
import re
import stat
import tomllib
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_text import FORM, find_slip, read_value
from tidepool.engine.errors import Location, UsageError

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
