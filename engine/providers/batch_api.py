"""The common part of the batch APIs of OpenAI and Anthropic: create, list and cancel batches, and read results.

Each line of a result file is checked on its own. Corrupt, truncated and foreign lines are left out and counted, and all
others are used. Nothing in a file or a card raises an exception. Unreadable results are missing, and the engine sends
their requests again.
"""

import math
import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any

from tidepool.engine.call import PriceTag
from tidepool.engine.providers.adapter import Adapter
from tidepool.engine.providers.connection import LOOK_SECONDS, Complained, Connection
from tidepool.engine.providers.endpoint import scrub_keys
from tidepool.engine.providers.errors import SPENT, ProviderComplaint, complaint_about, fault_of, read_error
from tidepool.engine.providers.protocol import (
    Answer,
    BatchApi,
    BatchRefused,
    CreationUnclear,
    ErrorClass,
    NoReply,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderError,
    ResultsIncomplete,
)
from tidepool.engine.providers.replies import clean, decode_json, encode_json
from tidepool.storage.states import FinishReason

UPLOAD_SECONDS = 600.0
CREATE_SECONDS = 300.0
EARLIER = 2 * 86_400.0
"""how many seconds before the creation, and before the newest batch, a list is searched, since our clock may have been wrong"""
MOST_PAGES = 1_000
"""pages of a list that are searched at most"""
ABSENT = (404, 405, 501)
"""HTTP statuses of a server without this resource"""


def lookup_error(connection: Connection, complaint: ProviderComplaint) -> ProviderError | ProviderBatchGone:
    """The exception for a failed request to list or read a batch."""
    if complaint.status in ABSENT:
        return ProviderBatchGone(scrub_keys(complaint.words))
    return connection.diagnose(complaint)


def creation_refusal(connection: Connection, complaint: ProviderComplaint) -> ProviderError | BatchRefused:
    """The exception for a batch that the provider did not create: rejected for now, for good, or because no request
    works any more. A key without access to batches may still allow live requests, so that alone does not stop the run."""
    error = connection.diagnose(complaint)
    absent = complaint.status in ABSENT
    spent = complaint.code in SPENT or complaint.status == 402
    if not absent and (error.fault in (ErrorClass.TRANSIENT, ErrorClass.RATE_LIMITED) or spent):
        return error
    text = f"{connection.endpoint.title} answered {complaint.status}: {scrub_keys(complaint.words)}"
    too_large = complaint.status == 413 or any(word in complaint.words.lower() for word in ("too large", "too many"))
    return BatchRefused(text, too_large=too_large and not absent)


ODD = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""exceptions from values with an unexpected type, shape, size or depth"""
MOST_COUNTED = 1_000_000_000
LONGEST_WORD = 60
UNREADABLE_ANSWER = Answer("", finish=FinishReason.ERROR, usage_missing=True)
"""a result that was paid for but is not a reply"""
_ID = re.compile(r"[\w:=+-][\w.:=+/-]{0,510}\Z", re.ASCII)


def as_mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; an empty one if the value is something else."""
    return value if isinstance(value, dict) else {}


def as_string(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def short_word(value: object) -> str:
    """A state in the provider's own word, short enough to show."""
    word = " ".join(scrub_keys(as_string(value)).split())
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def as_number(value: object) -> float | None:
    """The value as a finite number; None if it is not one."""
    return value if isinstance(value, int | float) and math.isfinite(value) and type(value) is not bool else None


def as_count(value: object) -> int | None:
    """The value as a plausible count; None if it is not one."""
    return value if type(value) is int and 0 <= value <= MOST_COUNTED else None


def sum_counts(counts: object, *names: str) -> int | None:
    """The sum of some counts of a card; None if one of them is missing or implausible."""
    parsed = [as_count(as_mapping(counts).get(name)) for name in names]
    return None if None in parsed else sum(filter(None, parsed))


def read_id(connection: Connection, card: object) -> str:
    """The id of the object that a card describes, which becomes part of URLs. Raises ProviderError if it has none."""
    name = as_string(as_mapping(card).get("id"))
    if not _ID.match(name) or ".." in name:
        if as_mapping(card).get("error") and (error_body := read_error(card)).words:
            error = connection.diagnose(ProviderComplaint(200, words=error_body.words))
            raise ProviderError(ErrorClass.TRANSIENT, str(error), no_reply=NoReply.BROKEN)
        raise connection.unreadable("a card with an id")
    return name


def row_complaint(error: object, status: int | None) -> ProviderComplaint:
    """The error of a request in a result line."""
    body = read_error(error)
    valid_status = status if status is not None and 100 <= status < 600 else None
    return complaint_about(valid_status, body if body.words else body._replace(words="no reason given"))


def read_object(value: object) -> Mapping[str, Any]:
    """An object, also if it is written as text, since some servers put JSON within JSON. Raises ValueError."""
    parsed = decode_json(value) if isinstance(value, str) else value
    if not isinstance(parsed, dict) or not parsed:
        raise ValueError("not an object")
    return parsed


def read_row(line: bytes) -> dict[str, Any] | None:
    """A line of results; None if it is not one. Invalid UTF-8 is replaced: the reply is paid for, and the rest is readable."""
    try:
        row = decode_json(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and isinstance(row.get("custom_id"), str) else None


class ResultReading:
    """Reads the result files of a provider batch: yields the readable rows and counts the others."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows = 0
        self._unreadable = 0
        self._troubles: list[str] = []

    async def rows(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """The rows of the file at a path. Raises ProviderError if the provider does not start to send it."""
        begun = self._rows + self._unreadable
        try:
            async for line in self._connection.lines(path):
                row = read_row(line)
                if row is None:
                    self._unreadable += 1
                    continue
                self._rows += 1
                yield row
        except Complained as complained:
            complaint = complained.complaint
            if complaint.status in ABSENT:
                self._troubles.append(f"a result file is missing ({scrub_keys(complaint.words)})")
            elif complaint.status == 200 or self._rows + self._unreadable > begun:
                self._troubles.append(f"the download was interrupted ({scrub_keys(complaint.words)})")
            else:
                raise lookup_error(self._connection, complaint) from None

    def check(self, expected: int | None) -> None:
        """Raises ResultsIncomplete if the files, which are all read by now, are incomplete."""
        troubles = list(self._troubles)
        if self._unreadable:
            troubles.append(f"{self._unreadable:,} of their lines cannot be read")
        if expected is not None and self._rows + self._unreadable < expected:
            troubles.append(f"they have {self._rows + self._unreadable:,} of {expected:,} lines")
        if troubles:
            raise ResultsIncomplete("; ".join(troubles))


class SdkBatches(BatchApi):
    """The common part of the two batch APIs."""

    path: str
    page_size: int
    cursor: str
    """the parameter for the next page of the list"""

    def __init__(self, connection: Connection, adapter: Adapter, price: Callable[[str], PriceTag | None]) -> None:
        self._connection = connection
        self._adapter = adapter
        self._price = price
        self._cards: dict[str, dict[str, Any]] = {}
        """the cards of the last poll, by id"""

    @abstractmethod
    def created_at(self, card: dict[str, Any]) -> float | None:
        """When a batch was created, by the provider's clock."""

    @abstractmethod
    def read_row(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        """Raises one of ODD if a row is not a result."""

    async def post(self, body: dict[str, Any], headers: Mapping[str, str] | None = None) -> str:
        """Creates a batch and returns its id."""
        connection = self._connection
        try:
            response = await connection.post(self.path, encode_json(body), CREATE_SECONDS, headers)
            return read_id(connection, connection.load_object(response.content))
        except Complained as complained:
            complaint = complained.complaint
            if complaint.status == 404 and "input_file_id" in body and "file" in complaint.words.lower():
                text = f"{connection.endpoint.title} does not see the uploaded file yet: {complaint.words}"
                raise ProviderError(ErrorClass.TRANSIENT, text) from None
            if fault_of(complaint) is ErrorClass.TRANSIENT and complaint.status not in ABSENT:
                raise CreationUnclear(str(connection.diagnose(complaint))) from None
            raise creation_refusal(connection, complaint) from None
        except ProviderError as garbage:
            raise CreationUnclear(str(garbage)) from None

    async def fetch(self, remote_id: str) -> dict[str, Any]:
        """The current card of a batch. Raises ProviderBatchGone if it does not exist, else ProviderError."""
        card = self._cards[remote_id] = await self._look(f"{self.path}/{remote_id}")
        return card

    async def _look(self, path: str, **query: Any) -> dict[str, Any]:
        try:
            card: dict[str, Any] = await self._connection.get(path, **query)
        except Complained as complained:
            raise lookup_error(self._connection, complained.complaint) from None
        if card.get("error") and "id" not in card and (error_body := read_error(card)).words:
            raise lookup_error(self._connection, complaint_about(200, error_body))
        return card

    async def cancel(self, remote_id: str) -> None:
        try:
            await self._connection.post(f"{self.path}/{remote_id}/cancel", b"", LOOK_SECONDS)
        except Complained as complained:
            if complained.complaint.status not in (400, 404, 409):
                raise self._connection.diagnose(complained.complaint) from None

    async def list_cards(self, ordered_at: float) -> AsyncIterator[dict[str, Any]]:
        """The cards of the account's batches, newest first, back to the time of `ordered_at`."""
        cursor: dict[str, str] = {}
        newest: float | None = None  # by the provider's clock, since ours may have been wrong
        for _ in range(MOST_PAGES):
            page = await self._look(self.path, limit=self.page_size, **cursor)
            if not isinstance(page.get("data"), list):
                raise self._connection.unreadable("a list of batches")
            cards = [card for card in page["data"] if isinstance(card, dict)]
            for card in cards:
                yield card
                if (created := self.created_at(card)) is not None:
                    newest = created if newest is None else newest
                    if created < min(ordered_at, newest) - EARLIER:
                        return
            last = as_string(cards[-1].get("id")) if cards else as_string(page.get("last_id"))
            if not page.get("has_more") or not last or cursor == {self.cursor: last}:
                return
            cursor = {self.cursor: last}

    def result(self, row: dict[str, Any], model: str) -> ProviderBatchResult:
        """`model` is the requested model; empty if it is not known."""
        try:
            return self.read_row(row, model)
        except ODD:
            return ProviderBatchResult(row["custom_id"], UNREADABLE_ANSWER)
