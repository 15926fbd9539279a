"""What the two batch APIs have in common: how looks and refusals at them are judged."""

from typing import Any

from tidepool.engine.providers.error_bodies import read_error
from tidepool.engine.providers.error_mapping import SPENT, ProviderComplaint, complaint_about, fault_of
from tidepool.engine.providers.keys import scrubbed
from tidepool.engine.providers.protocol import BatchRefused, ErrorClass, ProviderBatchGone, ProviderError
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection

UPLOAD_SECONDS = 600.0
CREATE_SECONDS = 300.0
EARLIER = 2 * 86_400.0
"""how far back a list is searched, before what was ordered and before its newest: our clock may have been wrong then"""
MOST_PAGES = 1_000
"""pages of a list that are searched: a list may be long, but it has an end"""
ABSENT = (404, 405, 501)
"""answers of a server that has no such thing"""


class ListEnd:
    """How far a list, newest first, is searched for a batch: its provider's clock counts too, ours may have been wrong."""

    def __init__(self, created_at: float) -> None:
        self._ordered = created_at
        self._newest: float | None = None

    def is_behind(self, made: float | None) -> bool:
        """Whether what was made then, and all after it in the list, is too old."""
        if made is None:
            return False
        self._newest = made if self._newest is None else self._newest
        return made < min(self._ordered, self._newest) - EARLIER


async def seen(line: SdkConnection, path: str, **query: Any) -> dict[str, Any]:
    """What a look at a path shows. Raises ProviderBatchGone where there is nothing, else ProviderError."""
    try:
        card: dict[str, Any] = await line.get(path, **query)
    except Complained as complained:
        raise unseen(line, complained.complaint) from None
    if card.get("error") and "id" not in card and (said := read_error(card)).words:
        raise unseen(line, complaint_about(200, said))
    return card


def unseen(line: SdkConnection, complaint: ProviderComplaint) -> ProviderError | ProviderBatchGone:
    """Why a look showed nothing."""
    if complaint.status in ABSENT:
        return ProviderBatchGone(scrubbed(complaint.words))
    return line.diagnosed(complaint)


def not_taken(line: SdkConnection, complaint: ProviderComplaint) -> ProviderError | BatchRefused:
    """The provider certainly took nothing: for now, for good, or because nothing goes any more. A key that has no
    right to batches may have one to live calls, so that alone stops nothing."""
    error = line.diagnosed(complaint)
    absent = complaint.status in ABSENT
    if not absent and (error.fault in (ErrorClass.HEALS, ErrorClass.REFUSED) or _is_hopeless(complaint)):
        return error
    words = f"{line.endpoint.title} answered {complaint.status}: {scrubbed(complaint.words)}"
    too_large = complaint.status == 413 or any(word in complaint.words.lower() for word in ("too large", "too many"))
    return BatchRefused(words, too_large=too_large and not absent)


def _is_hopeless(complaint: ProviderComplaint) -> bool:
    return complaint.code in SPENT or complaint.status == 402


def is_unclear(complaint: ProviderComplaint) -> bool:
    """Whether a creation may have succeeded all the same."""
    return fault_of(complaint) is ErrorClass.HEALS and complaint.status not in ABSENT
