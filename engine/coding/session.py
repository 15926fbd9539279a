"""Coding one after another: what is next, what was said, one step back. Each code is in the file before the next is shown."""

import getpass
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.coding.code_book import CodeBook
from tidepool.engine.coding.drawing import sampled
from tidepool.engine.coding.frame import code_book
from tidepool.engine.coding.sample import Instrument, Place, Sample, Unit
from tidepool.engine.coding.subject import Subject, subject_at
from tidepool.engine.errors import UsageError
from tidepool.storage.batches import find_batch
from tidepool.storage.codes import NewCode, codes, put_codes, remove_code
from tidepool.storage.file import reading
from tidepool.storage.text import one_line

LONGEST_NAME = 100


def coder_name(given: str | None) -> str:
    """Who codes: the name that was given, else that of the login."""
    name = _login() if given is None else given.strip()
    if not name or len(name) > LONGEST_NAME or name != one_line(name):
        raise UsageError(f"A coder's name has 1 to {LONGEST_NAME} letters in one line: --coder NAME.")
    return name


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "coder"


@dataclass(frozen=True, slots=True)
class Progress:
    coded: int
    total: int

    @property
    def words(self) -> str:
        return f"{self.coded:,} of {self.total:,}"


class CodingSession:
    def __init__(
        self,
        path: Path,
        reference: str,
        coder: str,
        unit: Unit = "sides",
        *,
        size: int | None = None,
        instrument: Instrument | None = None,
        redraw: bool = False,
    ) -> None:
        self.path, self.coder = path, coder
        self.sample: Sample = sampled(path, reference, unit, size=size, instrument=instrument, redraw=redraw)
        self.weights = {one.place: one.weight for one in self.sample.chosen}
        with reading(path) as connection:
            self.batch = dict(find_batch(connection, reference))
            said = [one for one in codes(connection, self.batch["number"]) if one.coder == coder]
        self.batch_id: str = self.batch["id"]
        self.book: CodeBook = code_book(self.batch, unit)
        self.given = {one.place: one.code for one in said if one.place in self.weights}
        """what this coder has said, in order"""
        self._open = deque(one.place for one in self.sample.chosen if one.place not in self.given)

    @property
    def progress(self) -> Progress:
        return Progress(len(self.given), len(self.weights))

    @property
    def next(self) -> Place | None:
        """None: this coder has coded all."""
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
        self.given[subject.place] = code

    def skip(self) -> None:
        """To the end: it comes again."""
        self._open.rotate(-1)

    def undo(self) -> bool:
        """Takes the last code back, and shows its side again; False where there is none."""
        if not self.given:
            return False
        place = next(reversed(self.given))
        remove_code(self.path, self.batch_id, self.coder, place)
        del self.given[place]
        self._open.appendleft(place)
        return True
