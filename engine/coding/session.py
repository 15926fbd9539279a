"""Codes sides one at a time, at the terminal or in a CSV file.

A coder sees what a side said and heard, and its secret. Verdicts, models and other coders' codes are hidden. In a game the
agents' names are hidden too, since they often show which model plays. Each code is stored before the next side is shown.
A CSV file that contains a mistake is rejected as a whole."""

import csv
import getpass
import io
import sqlite3
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tidepool.engine.coding.sample import CodeBook, Sample, code_book, ensure_sample, first_measure
from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.codes import NewCode, Place, codes, put_codes, remove_code, side_at
from tidepool.storage.errors import FileError
from tidepool.storage.file import reading
from tidepool.storage.queries.units import unit_of
from tidepool.storage.text import one_line
from tidepool.storage.transfer.formats import write_csv

# -- what a coder sees -------------------------------------------------------------------------------------------------


OWN, PARTNER = "this side", "partner"


@dataclass(frozen=True, slots=True)
class Quote:
    speaker: str
    text: str
    is_coded: bool
    """whether this message is to be coded; the others are context"""


@dataclass(frozen=True, slots=True)
class Subject:
    place: Place
    agent: str
    """for the file, not for the coder"""
    secret: str | None
    about: str
    """whose side it is, as shown to the coder"""
    quotes: tuple[Quote, ...]


def subject_at(connection: sqlite3.Connection, batch: Mapping[str, Any], place: Place) -> Subject:
    number, side = place
    unit = unit_of(connection, batch["number"], number)
    if unit is None:
        raise FileError("The sample contains a conversation that is not in the batch. The file was changed.")
    if batch["kind"] in ("secret_game", "simulation"):
        agent, secret = side_at(connection, batch["number"], place)
    else:
        agent, secret = "".join(unit.participants[side : side + 1]) if first_measure(batch)[0].about else "", None
    if batch["kind"] != "secret_game":
        quotes = tuple(
            Quote(message.speaker, message.content, not agent or message.speaker == agent) for message in unit.messages
        )
        return Subject(place, agent, None, agent, quotes)
    own = [(message, (message.turn - 1) % 2 == side) for message in unit.messages]
    quotes = tuple(Quote(OWN if is_own else PARTNER, message.content, is_own) for message, is_own in own)
    return Subject(place, agent, secret, OWN, quotes)


# -- one by one --------------------------------------------------------------------------------------------------------


LONGEST_NAME = 100


def coder_name(chosen: str | None) -> str:
    """The coder's name: as given, or else the login name."""
    name = _login() if chosen is None else chosen.strip()
    if not name or len(name) > LONGEST_NAME or name != one_line(name):
        raise UsageError(f"A coder's name must have 1 to {LONGEST_NAME} characters in one line: --coder NAME.")
    return name


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "coder"


class CodingSession:
    def __init__(
        self,
        path: Path,
        reference: str,
        coder: str,
        *,
        size: int | None = None,
        redraw: bool = False,
    ) -> None:
        self.path, self.coder = path, coder
        self.sample: Sample = ensure_sample(path, reference, size=size, redraw=redraw)
        self.weights = {entry.place: entry.weight for entry in self.sample.chosen}
        with reading(path) as connection:
            self.batch = dict(find_batch(connection, reference))
            stored_codes = [entry for entry in codes(connection, self.batch["number"]) if entry.coder == coder]
        self.batch_id: str = self.batch["id"]
        self.codebook: CodeBook = code_book(self.batch)
        self.own_codes = {entry.place: entry.code for entry in stored_codes if entry.place in self.weights}
        """this coder's codes, in order"""
        self._open = deque(entry.place for entry in self.sample.chosen if entry.place not in self.own_codes)

    @property
    def progress(self) -> str:
        return f"{len(self.own_codes):,} of {len(self.weights):,}"

    @property
    def next(self) -> Place | None:
        """The next side to code; None if this coder has coded all."""
        return self._open[0] if self._open else None

    def subject(self) -> Subject | None:
        if self.next is None:
            return None
        with reading(self.path) as connection:
            return subject_at(connection, self.batch, self.next)

    def code(self, subject: Subject, code: str) -> None:
        new = NewCode(subject.place, subject.agent, code, self.weights[subject.place])
        put_codes(self.path, self.batch_id, self.coder, [new])
        self._open.remove(subject.place)
        self.own_codes[subject.place] = code

    def skip(self) -> None:
        """Moves the side to the end of the queue."""
        self._open.rotate(-1)

    def undo(self) -> bool:
        """Removes the last code and shows its side again; False if there is no code."""
        if not self.own_codes:
            return False
        place = next(reversed(self.own_codes))
        remove_code(self.path, self.batch_id, self.coder, place)
        del self.own_codes[place]
        self._open.appendleft(place)
        return True


# -- as CSV ------------------------------------------------------------------------------------------------------------


COLUMNS = ("key", "number", "code", "codes", "question", "about", "secret", "text", "talk")
LARGEST_FILE = 200_000_000
"""characters"""


def key_of(batch_id: str, place: Place) -> str:
    """The key of a side in a CSV file, which reveals nothing about the side. It starts with a letter, since spreadsheets would
    read 329e19 as a number."""
    return "k" + blake2b(f"{batch_id}/{place}".encode(), digest_size=6).hexdigest()


def check_absent(target: Path) -> None:
    """Never overwrites an existing file, since it may contain hours of coding."""
    if target.exists():
        raise UsageError(
            f"{target} already exists, and its codes would be lost. Choose another file name, or move that file."
        )


def write_sample(session: CodingSession, target: Path) -> int:
    """Writes every side of the sample in the order of coding, with this coder's codes only."""
    check_absent(target)
    with reading(session.path) as connection:
        rows = (
            _row(session, number, subject_at(connection, session.batch, sampled.place))
            for number, sampled in enumerate(session.sample.chosen, 1)
        )
        write_csv(target, COLUMNS, rows, bom=True)
    return len(session.sample.chosen)


def _row(session: CodingSession, number: int, subject: Subject) -> tuple[str | int | float, ...]:
    text = "\n\n".join(quote.text for quote in subject.quotes if quote.is_coded)
    talk = "\n\n".join(f"{quote.speaker}: {quote.text}" for quote in subject.quotes)
    codebook, code = session.codebook, session.own_codes.get(subject.place, "")
    key = key_of(session.batch_id, subject.place)
    return key, number, _cell(code), codebook.words, codebook.question, subject.about, subject.secret or "", text, talk


def _cell(code: str) -> str | float:
    """Writes a rating as a number."""
    try:
        return float(code)
    except ValueError:
        return code


def read_codes(session: CodingSession, source: Path) -> dict[str, int]:
    """Skips rows without a code. Replaces earlier codes of the same coder. Returns how many codes are new, changed and the same,
    and how many rows are empty."""
    places = {key_of(session.batch_id, sampled.place): sampled.place for sampled in session.sample.chosen}
    codes, empty = _read(source, places, session.codebook)
    own_codes = session.own_codes
    new_codes = {place: code for place, code in codes.items() if own_codes.get(place) != code}
    with reading(session.path) as connection:
        new = [
            NewCode(place, subject_at(connection, session.batch, place).agent, code, session.weights[place])
            for place, code in new_codes.items()
        ]
    put_codes(session.path, session.batch_id, session.coder, new)
    changed = sum(place in own_codes for place in new_codes)
    same = len(codes) - len(new_codes)
    return {"new": len(new_codes) - changed, "changed": changed, "same": same, "empty": empty}


def _read(source: Path, places: Mapping[str, Place], codebook: CodeBook) -> tuple[dict[Place, str], int]:
    """The codes, and how many rows have none. Columns may come in any order, separated by commas, semicolons or tabs. Keys and
    codes are ASCII in the usual encodings of spreadsheets; other columns are ignored."""
    try:
        check_file(source, LARGEST_FILE)
        text = source.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror or error}.") from None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=text.partition("\n")[0].count))
    usual_limit = csv.field_size_limit(LARGEST_FILE)  # a conversation may be long
    codes: dict[Place, str] = {}
    lines: dict[Place, int] = {}
    try:
        names = [name.strip().casefold() for name in next(reader, [])]
        if names.count("key") != 1 or names.count("code") != 1:
            raise UsageError(
                f"{source} needs exactly one column 'key' and one column 'code'. The first line must name the columns."
            )
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            row = dict(zip(names, cells, strict=False))
            key, word = row.get("key", "").strip().removeprefix("'"), row.get("code", "").strip()
            if (place := places.get(key)) is None:
                raise UsageError(
                    f"{source}, line {reader.line_num}: {one_line(key, 60)!r} is not a key of this sample. Was it exported from "
                    "another batch, or before --redraw? No code was imported."
                )
            if place in lines:
                raise UsageError(
                    f"{source}, line {reader.line_num}: the key {key} is already in line {lines[place]}. No code was imported."
                )
            lines[place] = reader.line_num
            if not word:
                continue
            if (code := codebook.read(word)) is None:
                raise UsageError(
                    f"{source}, line {reader.line_num}: {one_line(word, 60)!r} is not a code. Use {codebook.words}. No code was imported."
                )
            codes[place] = code
    except csv.Error as error:
        raise UsageError(
            f"{source}, line {reader.line_num}: cannot be read as CSV ({error}). No code was imported."
        ) from None
    finally:
        csv.field_size_limit(usual_limit)
    return codes, len(lines) - len(codes)
