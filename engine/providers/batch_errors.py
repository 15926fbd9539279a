"""What the two batch APIs have in common: how looks and refusals at them are judged."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any

from tidepool.engine.providers.error_mapping import SPENT, ProviderComplaint
from tidepool.engine.providers.keys import scrubbed
from tidepool.engine.providers.protocol import BatchRefused, ErrorClass, ProviderBatchGone, ProviderError
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection

UPLOAD_SECONDS = 600.0
CREATE_SECONDS = 300.0
EARLIER = 3600.0
"""how far clocks may differ, and so how far back a list is searched"""


async def seen(line: SdkConnection, path: str, **query: Any) -> Any:
    """What a look at a path shows. Raises OrderGone where there is nothing, else ProviderError."""
    try:
        return await line.get(path, **query)
    except Complained as complained:
        raise _unseen(line, complained.complaint) from None


async def rows_of(
    line: SdkConnection, opening: AbstractAsyncContextManager[Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """The rows of a file of results, as they come."""
    try:
        async for text in line.lines(opening):
            row = line.parsed(text)
            if "custom_id" not in row:
                raise line.garbage("a batch's result")
            yield row
    except Complained as complained:
        raise _unseen(line, complained.complaint) from None


def not_taken(line: SdkConnection, complaint: ProviderComplaint) -> ProviderError | BatchRefused:
    """The provider certainly took nothing: for now, for good, or because nothing goes any more."""
    error = line.diagnosed(complaint)
    hopeless = complaint.code in SPENT or complaint.status in (401, 402)
    if error.fault in (ErrorClass.HEALS, ErrorClass.REFUSED) or hopeless:
        return error
    words = f"{line.endpoint.title} answered {complaint.status}: {scrubbed(complaint.words)}"
    too_large = complaint.status == 413 or any(word in complaint.words.lower() for word in ("too large", "too many"))
    return BatchRefused(words, too_large=too_large)


def _unseen(line: SdkConnection, complaint: ProviderComplaint) -> ProviderError | ProviderBatchGone:
    if complaint.status == 404:
        return ProviderBatchGone(scrubbed(complaint.words))
    return line.diagnosed(complaint)
