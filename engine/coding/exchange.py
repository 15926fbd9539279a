"""The sample as a table for coders without Tidepool, and their codes back. A file with a mistake in it is taken not at all."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from tidepool.engine.coding.code_book import CodeBook
from tidepool.engine.coding.sample import Place
from tidepool.engine.coding.session import CodingSession
from tidepool.engine.coding.subject import Subject, subject_at
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.storage.codes import NewCode, put_codes, who_is_at
from tidepool.storage.file import reading
from tidepool.storage.text import one_line
from tidepool.storage.transfer.formats import csv_file, write_rows

COLUMNS = ("key", "number", "code", "codes", "question", "about", "secret", "text", "talk")
LARGEST_FILE = 200_000_000
"""characters"""


def key_of(batch_id: str, place: Place) -> str:
    """What names a side in a file, and says nothing about it. Its letter in front keeps spreadsheets from reading 329e19 as a number."""
    return "k" + blake2b(f"{batch_id}/{place}".encode(), digest_size=6).hexdigest()


def refuse_taken(target: Path) -> None:
    """A file that is there may hold hours of somebody's codes: it is never written over."""
    if target.exists():
        raise UsageError(
            f"{target} is there already, and codes in it would be lost. Name another file, or move that one."
        )


def write_sample(session: CodingSession, target: Path) -> int:
    """Every side of the sample in the order of coding, with what this coder has said so far and nobody else."""
    refuse_taken(target)
    with csv_file(target) as stream, reading(session.path) as connection:
        stream.write("\ufeff")  # by which spreadsheets know UTF-8
        subjects = (
            (number, subject_at(connection, session.batch, one.place))
            for number, one in enumerate(session.sample.chosen, 1)
        )
        rows = (_row(session, number, subject) for number, subject in subjects)
        write_rows(stream, COLUMNS, rows)
    return len(session.sample.chosen)


def _row(session: CodingSession, number: int, subject: Subject) -> tuple[str | int | float, ...]:
    said = "\n\n".join(one.text for one in subject.said if one.own)
    talk = "\n\n".join(f"{one.speaker}: {one.text}" for one in subject.said)
    book, code = session.book, session.given.get(subject.place, "")
    key = key_of(session.batch_id, subject.place)
    return key, number, _cell(code), book.words, book.question, subject.about, subject.secret or "", said, talk


def _cell(code: str) -> str | float:
    """A rating is a number."""
    try:
        return float(code)
    except ValueError:
        return code


@dataclass(frozen=True, slots=True)
class Taken:
    new: int
    changed: int
    same: int
    empty: int


def take_codes(session: CodingSession, source: Path) -> Taken:
    """A row without a code says nothing. What the same coder said before is replaced."""
    places = {key_of(session.batch_id, one.place): one.place for one in session.sample.chosen}
    codes, empty = _read(_text(source), source, places, session.book)
    before = session.given
    told = {place: code for place, code in codes.items() if before.get(place) != code}
    with reading(session.path) as connection:
        new = [
            NewCode(place, who_is_at(connection, session.batch["number"], place)[0], code, session.weights[place])
            for place, code in told.items()
        ]
    put_codes(session.path, session.batch_id, session.coder, new)
    changed = sum(place in before for place in told)
    return Taken(len(told) - changed, changed, len(codes) - len(told), empty)


def _text(source: Path) -> str:
    """Whatever a spreadsheet wrote: keys and codes are plain letters in every encoding."""
    try:
        check_file(source, LARGEST_FILE)
        content = source.read_bytes()
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or error}.") from None
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _read(text: str, source: Path, places: Mapping[str, Place], book: CodeBook) -> tuple[dict[Place, str], int]:
    found: dict[Place, str] = {}
    lines: dict[Place, int] = {}
    empty = 0
    for line, key, word in _rows(text, source):
        where = f"{source}, line {line}"
        if (place := places.get(key)) is None:
            raise UsageError(
                f"{where}: {one_line(key, 60)!r} is no key of this sample. Was it exported from another batch, or before --redraw? Nothing was taken."
            )
        if place in lines:
            raise UsageError(f"{where}: the key {key} stood in line {lines[place]} already. Nothing was taken.")
        lines[place] = line
        if not word:
            empty += 1
        elif (code := book.read(word)) is None:
            raise UsageError(f"{where}: {one_line(word, 60)!r} is no code. It is {book.words}. Nothing was taken.")
        else:
            found[place] = code
    return found, empty


def _rows(text: str, source: Path) -> Iterator[tuple[int, str, str]]:
    """(line, key, code) of each; separated by commas, semicolons or tabs, the columns in any order."""
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    usual = csv.field_size_limit(LARGEST_FILE)  # a talk may be long
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        for column in ("key", "code"):
            if names.count(column) != 1:
                raise UsageError(
                    f"{source} has no column {column!r}, or two of them. Its first line must name the columns."
                )
        key, code = names.index("key"), names.index("code")
        for cells in reader:
            if any(cell.strip() for cell in cells):
                cells += [""] * (len(names) - len(cells))
                yield reader.line_num, cells[key].strip().removeprefix("'"), cells[code].strip()
    except csv.Error as error:
        raise UsageError(f"{source}, line {reader.line_num}: this is no CSV ({error}). Nothing was taken.") from None
    finally:
        csv.field_size_limit(usual)
