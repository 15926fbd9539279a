"""Reading what a config is written in: a text file, its TOML, and the values that `--set` puts over it."""

import codecs
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.paths import format_key, put_at
from tidepool.engine.errors import Location, UsageError

SQLITE = b"SQLite format 3"
_LONGEST_WORDS = 1_000
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{ceilings.KEY_PARTS}}}")


def check_file(path: Path, most: int = ceilings.FILE_BYTES, where: Location = ()) -> None:
    """Refuses what must not be opened: a device or a pipe may never end, and a file may be larger than the memory."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{path} is a device or a pipe. Save its content as a file first.", where)
    if found.st_size > most:
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
    beside = path.with_name(f"{path.name}.toml") if path.name else path
    if beside.is_file():
        return f"Did you mean {beside}?"
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
    if found := _LONG_KEY.search(text):  # the parser takes the square of its length
        line = text.count("\n", 0, found.start()) + 1
        raise UsageError(f"{source}, line {line}: this key has {ceilings.KEY_PARTS} parts or more. Write it shorter.")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        from tidepool.engine.config.mistakes.not_toml import FORM, slip_in

        line, words = slip_in(text, str(error))
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


def read_value(text: str) -> Any:
    """The text as a TOML value where it is one, else as it stands."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return text


def format_value(value: Any) -> str:
    """The value as TOML writes it; a table stands on one line."""
    if isinstance(value, dict):
        inside = ", ".join(f"{format_key(key)} = {format_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    import tomlkit

    return str(tomlkit.item(value).as_string())
