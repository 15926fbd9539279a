"""Reads what batch APIs tell of provider batches, whatever it looks like: each line of a result file is judged by itself.

A line that is corrupt, cut or foreign is left out and counted; every other one is kept. Nothing that stands in a file
or in a card raises out of here: what cannot be understood is missing, and the engine asks for it again.
"""

import math
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from tidepool.engine.providers.batch_errors import ABSENT, unseen
from tidepool.engine.providers.error_bodies import read_error
from tidepool.engine.providers.error_mapping import ProviderComplaint, complaint_about
from tidepool.engine.providers.keys import scrubbed
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, ResultsIncomplete, Silence
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection
from tidepool.engine.providers.texts import unpacked
from tidepool.storage.states import FinishReason

ODD = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""what values of another type, shape, size or depth than they should have can raise"""
MOST_COUNTED = 1_000_000_000
LONGEST_WORD = 60
ODD_LOOKS = 12
"""how often a state must mean nothing before a provider batch that has results counts as ended"""
NO_REPLY = Answer("", finish=FinishReason.ERROR, usage_missing=True)
"""what came, and was paid for, where something else than a reply came"""
_ID = re.compile(r"[\w:=+-][\w.:=+/-]{0,510}\Z", re.ASCII)


def mapping_of(value: object) -> Mapping[str, Any]:
    """An object of JSON; an empty one where it is something else."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def word_of(value: object) -> str:
    """A state in the provider's own word, short enough to be shown."""
    word = " ".join(scrubbed(text_of(value)).split())
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def number_of(value: object) -> float | None:
    """A number, also where it is written as a text; None where it is none that anything could be counted by."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ODD:
        return None
    return number if math.isfinite(number) else None


def count_of(value: object) -> int | None:
    """A believable count."""
    number = number_of(value)
    if number is None or not 0 <= number <= MOST_COUNTED or number != int(number):
        return None
    return int(number)


def total_of(counts: object, *names: str) -> int | None:
    """The sum of some counts of a card; None where one of them is missing or cannot be believed."""
    found = [count_of(mapping_of(counts).get(name)) for name in names]
    return None if None in found else sum(count for count in found if count is not None)


def id_in(line: SdkConnection, card: object) -> str:
    """The id of what a card is about: it becomes a part of addresses. Raises ProviderError where it has none."""
    name = text_of(mapping_of(card).get("id"))
    if not _ID.match(name) or ".." in name:
        if mapping_of(card).get("error") and (said := read_error(card)).words:
            words = line.diagnosed(ProviderComplaint(200, words=said.words))
            raise ProviderError(ErrorClass.HEALS, str(words), silence=Silence.BROKEN)
        raise line.garbage("a card with an id")
    return name


def cards_in(line: SdkConnection, page: dict[str, Any]) -> list[dict[str, Any]]:
    """The cards of a page of a list. Raises ProviderError where it is none: nothing is known of what it should show."""
    listed = page.get("data")
    if not isinstance(listed, list):
        raise line.garbage("a list of batches")
    return [card for card in listed if isinstance(card, dict)]


def complaint_in(error: object, status: int | None) -> ProviderComplaint:
    """What a line says went wrong with its call."""
    said = read_error(error)
    known = status if status is not None and 100 <= status < 600 else None
    return complaint_about(known, said if said.words else said._replace(words="no reason given"))


def json_in(text: str | bytes) -> Any:
    """What a text says, or None where it is no JSON."""
    try:
        return unpacked(text)
    except (ValueError, RecursionError):
        return None


def object_in(value: object) -> Mapping[str, Any]:
    """An object, also where it is written as a text: some servers put JSON within JSON. Raises ValueError."""
    found = json_in(value) if isinstance(value, str) else value
    if not isinstance(found, dict) or not found:
        raise ValueError("this is no object")
    return found


def row_in(line: bytes) -> dict[str, Any] | None:
    """A line of results; None where it is none. Invalid UTF-8 is replaced: the reply is paid for, and the rest readable."""
    row = json_in(line) or json_in(line.decode("utf-8", "replace"))
    return row if isinstance(row, dict) and isinstance(row.get("custom_id"), str) else None


class ResultReading:
    """One reading of a provider batch's result files: gives the rows that can be read, and counts what cannot."""

    def __init__(self, line: SdkConnection) -> None:
        self._line = line
        self._rows = 0
        self._unreadable = 0
        self._troubles: list[str] = []

    async def rows(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """Those of the file at a path. Raises ProviderError where the provider does not even begin to send it."""
        begun = self._rows + self._unreadable
        try:
            async for line in self._line.lines(path):
                row = row_in(line)
                if row is None:
                    self._unreadable += 1
                    continue
                self._rows += 1
                yield row
        except Complained as complained:
            complaint = complained.complaint
            if complaint.status in ABSENT:
                self._troubles.append(f"a file of them is not there ({scrubbed(complaint.words)})")
            elif complaint.status == 200 or self._rows + self._unreadable > begun:
                self._troubles.append(f"the download was cut ({scrubbed(complaint.words)})")
            else:
                raise unseen(self._line, complaint) from None

    def check(self, expected: int | None) -> None:
        """Raises ResultsIncomplete where the files, all read by now, are not whole."""
        troubles = list(self._troubles)
        if self._unreadable:
            troubles.append(f"{self._unreadable:,} of their lines cannot be read")
        if expected is not None and self._rows + self._unreadable < expected:
            troubles.append(f"they hold {self._rows + self._unreadable:,} of {expected:,} lines")
        if troubles:
            raise ResultsIncomplete("; ".join(troubles))
