"""Reads files of problems: the rows of a file, and which columns are question, answer and choices.

A file is somebody else's: nothing in it is run, an unreadable one is an error that says where and what to do, and no row is passed
over in silence. Layouts are not guessed: the columns are `question` and `answer`, or those that `fields` names.
"""

import csv
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any

from tidepool.engine.config import ceilings
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.replies import clean
from tidepool.engine.studies.evolution.problems.parquet_lines import MOST_MEMORY, REFUSED
from tidepool.engine.studies.evolution.tasks.task import choices_of, letter_of

LINE_BYTES = 16 * 2**20
"""of one line: no problem has so much"""
SHOWN_COLUMNS, SHOWN_LETTERS = 20, 40
"""of the columns that an error names"""
FORMATS = "JSONL, CSV or Parquet files"
_OTHER = frozenset(".json .tsv .tab .arrow .feather .xlsx .xls .ods .zip .gz .zst .pkl .db .pdf .docx".split())


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


def columns_in_words(values: Mapping[str, Any]) -> str:
    names = [name if len(name) <= SHOWN_LETTERS else f"{name[:SHOWN_LETTERS]}…" for name in values]
    more = f" and {len(names) - SHOWN_COLUMNS:,} more" if len(names) > SHOWN_COLUMNS else ""
    return ", ".join(names[:SHOWN_COLUMNS]) + more if names else "nothing at all"


def _jsonl(path: Path, name: str) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file, name), 1):
            if line.strip():
                where = f"{name}, line {number}"
                entry = _parse_json(line, where, "Each line must be one object.")
                if not isinstance(entry, dict):
                    raise UsageError(f"{where}: not an object. Each must be one object with a question and an answer.")
                yield Row(where, entry)


def _parse_json(text: str, where: str, wanted: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: not JSON. {wanted}") from None


def _csv(path: Path, name: str) -> Iterator[Row]:
    """The first row names the columns; a row with more cells than they are is not read as if it had fewer."""
    with path.open("rb") as file:
        reader = csv.reader(_lines(file, name), strict=True)
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
                    message = f"{len(cells)} cells, but its first line names {len(columns)} columns"
                    raise UsageError(f"{where}: {message}. Put a cell that holds the separator into double quotes.")
                yield Row(where, {column: cell for column, cell in zip(columns, cells, strict=False) if column})
        except csv.Error as error:
            raise UsageError(f"{name}, line {reader.line_num}: not readable as a table ({error}).") from None


def _lines(file: IO[bytes], name: str) -> Iterator[str]:
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise UsageError(f"{name}, line {number}: longer than {LINE_BYTES >> 20} MiB. No problem has so much text.")
        try:
            yield line.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            where = f"{name}, line {number}" if number > 1 else name
            other = " (it looks like UTF-16)" if line[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
            message = f"{where} is not UTF-8 text: {error.reason} at byte {error.start}{other}"
            raise UsageError(f"{message}. Save the file as UTF-8.") from None


def _parquet(path: Path, name: str) -> Iterator[Row]:
    """Read by a process of its own, which a damaged file may end."""
    words = [sys.executable, "-P", "-m", f"{__package__}.parquet_lines", str(path.resolve())]
    words += map(str, (ceilings.ROWS, ceilings.DATA_BYTES))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        try:
            letters = 0
            for number, line in enumerate(_lines(process.stdout, name), 1):
                if (letters := letters + len(line)) > ceilings.DATA_BYTES:
                    most = ceilings.DATA_BYTES >> 20
                    message = f"{name} has {letters >> 20:,} MiB or more, and {most:,} are the most"
                    raise UsageError(f"{message}: take a part of it.")
                yield Row(f"{name}, row {number}", _parse_json(line, f"{name}, row {number}", "It is damaged."))
            why = process.stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        finally:
            process.kill()
    if process.returncode == 2:
        raise UsageError(
            f"{name}: Parquet needs two small packages that are not installed: pip install 'tidepool-lab[parquet]'. "
            "JSONL and CSV need none."
        )
    if process.returncode == REFUSED:
        raise UsageError(f"{name} is not read: {why}.")
    if process.returncode:
        memory = f", or needs more than {MOST_MEMORY >> 30} GiB of memory: take a part of it"
        message = f": {why}" if process.returncode == 1 else memory
        raise UsageError(f"{name} is no Parquet file, or is damaged{message}.")


_READERS: Mapping[str, Callable[[Path, str], Iterator[Row]]] = {".csv": _csv, ".parquet": _parquet}
"""by the end of a file's name; anything else is read as JSONL"""


FIELD_LETTERS, ALL_FIELDS_LETTERS = 20_000, 60_000
"""of what a problem keeps of its other columns, as JSON: of one, and of all of them"""
_DEEPEST = 30
_NOTHING = object()
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}\n]+)\}")


@dataclass(frozen=True, slots=True)
class RawProblem:
    """A row, read: what is shown and what is expected, before the rest is kept."""

    where: str
    question: str
    answer: str
    choices: Any
    """as the row has them, or by letter; None: it has none"""
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """What a config says about the columns of its files."""

    fields: Mapping[str, str] = field(default_factory=dict)
    template: str = ""
    answered: bool = True
    """every problem must have an answer"""
    worked: bool = True
    """an answer may be a worked one, as GSM8K's: what follows #### is the answer"""
    lettered: bool = False
    """choices are shown with the question, and the expected answer is the letter of one"""

    @property
    def key(self) -> Hashable:
        """Columns with the same read the same of a file."""
        return tuple(sorted(self.fields.items())), self.template, self.answered, self.worked, self.lettered

    @property
    def _others(self) -> dict[str, str]:
        return {name: path for name, path in self.fields.items() if name not in ("question", "answer", "choices")}

    def read(self, row: Row) -> RawProblem:
        question = self._templated(row) if self.template else self._text(row, "question")
        choices = row.values.get("choices", row.values.get("options"))
        if path := self.fields.get("choices"):
            choices = _column(row, "choices", path)
        for name, path in self._others.items():
            _column(row, name, path)
        raw = RawProblem(row.where, _fitting(question, "question", row), self._answer(row), choices, row.values)
        return _with_letters(raw) if self.lettered else raw

    def rest(self, raw: RawProblem) -> tuple[dict[str, Any], list[str]]:
        """The other columns, as far as they can be kept, and the names of those that cannot."""
        paths = [self.fields.get(name, name) for name in ("question", "answer", "choices", "options")]
        used = {*paths, *(path.partition(".")[0] for path in paths)}
        wanted = {} if raw.choices is None else {"choices": raw.choices}
        wanted |= {name: value for name, value in raw.values.items() if name not in used}
        wanted |= {name: _at(raw.values, path) for name, path in self._others.items()}
        whole = _at(raw.values, paths[1])
        if self.worked and isinstance(whole, str) and (working := whole.rpartition("####")[0].strip()):
            wanted.setdefault("solution", working)
        fields: dict[str, Any] = {}
        left_out, allowance = [], ALL_FIELDS_LETTERS
        for name, value in wanted.items():
            plain = _plain(value)
            size = len(json.dumps(plain, ensure_ascii=False)) if plain is not _NOTHING else allowance + 1
            if size > min(allowance, FIELD_LETTERS) or len(name) > ceilings.WORD:
                left_out.append(name)
            elif plain is not None:
                fields[clean(name)] = plain
                allowance -= size
        return fields, left_out

    def _templated(self, row: Row) -> str:
        def filled(match: re.Match[str]) -> str:
            if match[1] is None:
                return match[0][0]
            value = _at(row.values, match[1].strip())
            if value is _NOTHING:
                message = f"{row.where}: evolution.question_template names {{{match[1]}}}, but there is no such column"
                raise UsageError(f"{message}. It has {columns_in_words(row.values)}.", ("question_template",))
            return _written(value)

        return _PLACEHOLDER.sub(filled, self.template)

    def _answer(self, row: Row) -> str:
        if not self.answered and "answer" not in self.fields and "answer" not in row.values:
            return ""
        text = _fitting(self._text(row, "answer"), "answer", row)
        final = text.rpartition("####")[2].strip() if self.worked else text
        if not final:
            raise UsageError(f"{row.where}: nothing follows the #### in the answer.")
        return final

    def _text(self, row: Row, name: str) -> str:
        path = self.fields.get(name, name)
        value = _column(row, name, path)
        if isinstance(value, list | Mapping):
            kind, place = ("table", next(iter(value), "text")) if isinstance(value, Mapping) else ("list", "0")
            message = f'{row.where}: "{path}" must be text or a number, and is a {kind}. Name one place in it'
            raise UsageError(f'{message}, e.g. fields = {{ {name} = "{path}.{place}" }}.', ("fields",))
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f'{row.where}: "{path}" must be text or a number.')
        if not (text := _written(value).strip()):
            raise UsageError(f'{row.where}: "{path}" is empty{" (null)" if value is None else ""}.')
        return text


def _column(row: Row, name: str, path: str) -> Any:
    value = _at(row.values, path)
    if value is _NOTHING:
        message = f'{row.where}: no "{path}". It has {columns_in_words(row.values)}.'
        if name == path:
            message += (
                f' Say which column it is: fields = {{ {name} = "…" }}; the first line of a table names its columns.'
            )
        raise UsageError(message, ("fields",) if name != path else ())
    return value


def _at(values: Mapping[str, Any], path: str) -> Any:
    """A column by its name, or a place inside one: answers.text.0."""
    if path in values:
        return values[path]
    value: Any = values
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else None
        else:
            return _NOTHING
    return value


def _written(value: Any) -> str:
    """As it stands in a question: text as it is, the rest as JSON would have it."""
    plain = "" if value is None else _plain(value)
    return plain if isinstance(plain, str) else "" if plain is _NOTHING else json.dumps(plain, ensure_ascii=False)


def _fitting(text: str, name: str, row: Row) -> str:
    if len(text) > ceilings.TEXT:
        raise UsageError(f"{row.where}: its {name} has {len(text):,} letters, and {ceilings.TEXT:,} are the most.")
    if not text.strip():
        raise UsageError(f"{row.where}: its {name} is empty.")
    return clean(text)


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as a batch's config keeps it; _NOTHING where it is nested too deeply."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, list | Mapping):
        return value
    if depth == _DEEPEST:
        return _NOTHING
    if isinstance(value, Mapping):
        inner = {clean(str(name)): _plain(item, depth + 1) for name, item in value.items()}
        return _NOTHING if _NOTHING in inner.values() else inner
    plain_items = [_plain(item, depth + 1) for item in value]
    return _NOTHING if any(item is _NOTHING for item in plain_items) else plain_items


def _with_letters(raw: RawProblem) -> RawProblem:
    """With its choices in the question, one a line, unless it shows them already; and the letter of the expected one."""
    texts = _choices(raw)
    if texts is None:
        return raw
    question = raw.question
    if not all(re.search(rf"(?<!\w)\(?{letter}[).:\]]", question) for letter in texts):
        question = "\n".join((question, "", *(f"{letter}) {text}" for letter, text in texts.items())))
    answer = letter_of(raw.answer, texts) or raw.answer
    return replace(raw, question=question, answer=answer, choices=texts)


def _choices(raw: RawProblem) -> dict[str, str] | None:
    """By letter, from a list, or an object by letter; in a table, as JSON in a cell."""
    choices = raw.choices
    if isinstance(choices, str):
        try:
            choices = json.loads(choices)
        except (ValueError, RecursionError):
            return None
    if not isinstance(choices, list | Mapping):
        return None
    by_letter = choices_of({"choices": choices})
    texts = {letter: clean(text.strip()) for letter, text in by_letter.items() if text.strip()}
    if not 2 <= len(texts) <= len(ascii_uppercase) or not all(letter in ascii_uppercase for letter in texts):
        message = (
            f"{raw.where}: {len(choices)} choices that cannot be told apart. Write them as a list, or by letter as"
        )
        raise UsageError(f'{message} {{"A": …, "B": …}}: 2 to {len(ascii_uppercase)} of them.')
    return texts
