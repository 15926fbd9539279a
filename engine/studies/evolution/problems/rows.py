"""The rows of a file of problems, whatever it is written in, each with the place by which an error names it.

A file is somebody else's: nothing in it is run, an unreadable one is an error that says where and what to do, and no row
is passed over in silence.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.problems.arrow_lines import MOST_MEMORY, REFUSED

LINE_BYTES = 16 * 2**20
"""of one line: no problem has so much"""
SHOWN_COLUMNS, SHOWN_LETTERS = 20, 40
"""of the columns that an error names"""
FORMATS = "JSONL, JSON (a list), CSV, TSV, Parquet, Arrow, or a folder that Hugging Face's datasets saved"
_OTHER = {".xlsx", ".xls", ".ods", ".zip", ".gz", ".zst", ".pkl", ".db", ".pdf", ".docx"}


@dataclass(frozen=True, slots=True)
class Row:
    where: str
    """e.g. train.jsonl, line 3"""
    values: Mapping[str, Any]


def rows_of(path: Path, name: str) -> Iterator[Row]:
    """`name` is what an error calls the file."""
    reader = _READERS.get(path.suffix.lower(), _jsonl)
    try:
        if path.suffix.lower() in _OTHER:
            raise UsageError(f"{name} cannot be read: problems come from {FORMATS}. Save it as one of these.")
        check_file(path, ceilings.DATA_BYTES)
        for number, row in enumerate(reader(path, name)):
            if number == ceilings.ROWS:
                raise UsageError(f"{name} has more than {ceilings.ROWS:,} rows: take a part of it.")
            yield row
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from None


def _too_large(name: str, size: int) -> UsageError:
    """Compressed or not."""
    most = ceilings.DATA_BYTES >> 20
    return UsageError(f"{name} has {size >> 20:,} MiB or more, and {most:,} are the most: take a part of it.")


def columns_in_words(values: Mapping[str, Any]) -> str:
    names = [name if len(name) <= SHOWN_LETTERS else f"{name[:SHOWN_LETTERS]}…" for name in values]
    more = f" and {len(names) - SHOWN_COLUMNS:,} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(names[:SHOWN_COLUMNS]) + more if names else "nothing at all"


def _jsonl(path: Path, name: str) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file, name), 1):
            if line.strip():
                where = f"{name}, line {number}"
                yield Row(where, _object(_parsed(line, where, "Each line must be one object."), where))


def _json(path: Path, name: str) -> Iterator[Row]:
    found = _parsed(_decoded(path.read_bytes(), name), name, "It must be a list of objects.")
    if not isinstance(found, list):
        raise UsageError(f"{name} is no list: it must be a list of objects, each with a question and an answer.")
    for number, entry in enumerate(found, 1):
        yield Row(where := f"{name}, entry {number}", _object(entry, where))


def _parsed(text: str, where: str, wanted: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: not JSON. {wanted}") from None


def _object(entry: Any, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: not an object. Each must be one object with a question and an answer.")
    return entry


def _csv(path: Path, name: str) -> Iterator[Row]:
    with path.open("rb") as file:
        lines = _lines(file, name)
        first = next(lines, "")
        delimiter = "\t" if "\t" in first else ";" if ";" in first and "," not in first else ","
        yield from _table(_chained(first, lines), delimiter, name)


def _tsv(path: Path, name: str) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from _table(_lines(file, name), "\t", name)


def _chained(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _table(lines: Iterator[str], delimiter: str, name: str) -> Iterator[Row]:
    """The first row names the columns; a row with more cells than they are is not read as if it had fewer."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        columns = [cell.strip() for cell in next(reader, [])]
        if len(columns) > ceilings.COLUMNS:
            raise UsageError(f"{name} has {len(columns):,} columns, and {ceilings.COLUMNS:,} are the most.")
        if twice := next((column for column in columns if column and columns.count(column) > 1), None):
            raise UsageError(f"{name} has two columns {twice!r}: rename one of them.")
        for cells in reader:
            if not any(cells):
                continue
            where = f"{name}, line {reader.line_num}"
            if len(cells) > len(columns):
                told = f"{len(cells)} cells, but its first line names {len(columns)} columns"
                raise UsageError(f"{where}: {told}. Put a cell that holds the separator into double quotes.")
            yield Row(where, {column: cell for column, cell in zip(columns, cells, strict=False) if column})
    except csv.Error as error:
        raise UsageError(f"{name}, line {reader.line_num}: not readable as a table ({error}).") from None


def _lines(file: IO[bytes], name: str) -> Iterator[str]:
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise UsageError(f"{name}, line {number}: longer than {LINE_BYTES >> 20} MiB. No problem has so much text.")
        yield _decoded(line, f"{name}, line {number}" if number > 1 else name)


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        other = " (it looks like UTF-16)" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        told = f"{where} is not UTF-8 text: {error.reason} at byte {error.start}{other}"
        raise UsageError(f"{told}. Save the file as UTF-8.") from None


def _arrow(path: Path, name: str) -> Iterator[Row]:
    """Read by a process of its own, which a damaged file may end."""
    words = [sys.executable, "-P", "-m", f"{__package__}.arrow_lines", str(path.resolve())]
    words += map(str, (ceilings.ROWS, ceilings.DATA_BYTES))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        try:
            letters = 0
            for number, line in enumerate(_lines(process.stdout, name), 1):
                if (letters := letters + len(line)) > ceilings.DATA_BYTES:
                    raise _too_large(name, letters)
                yield Row(f"{name}, row {number}", _parsed(line, f"{name}, row {number}", "It is damaged."))
            why = process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        finally:
            process.kill()
    if process.returncode == 2:
        raise UsageError(
            f"{name}: Parquet and Arrow need two small packages that are not installed: pip install 'tidepool-lab[parquet]'. "
            "JSONL and CSV need none."
        )
    if process.returncode == REFUSED:
        raise UsageError(f"{name} is not read: {why}.")
    if process.returncode:
        memory = f", or needs more than {MOST_MEMORY >> 30} GiB of memory: take a part of it"
        told = f": {why}" if process.returncode == 1 else memory
        raise UsageError(f"{name} is no {path.suffix[1:].capitalize()} file, or is damaged{told}.")


_READERS: Mapping[str, Callable[[Path, str], Iterator[Row]]] = {
    ".json": _json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".tab": _tsv,
    ".parquet": _arrow,
    ".arrow": _arrow,
}
"""by the end of a file's name; anything else is read as JSONL"""
SUFFIXES = (".parquet", ".arrow", ".jsonl", ".ndjson", ".csv", ".tsv", ".json")
"""of which a folder takes the first that it has files of"""
