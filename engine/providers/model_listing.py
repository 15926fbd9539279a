"""The models a provider lists, and the check that those of a study are among them, before anything is spent."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tidepool.engine.providers.error_mapping import ProviderComplaint, is_unknown_model, unknown_model
from tidepool.engine.providers.keys import shown_host
from tidepool.engine.providers.protocol import ErrorClass, Notices, ProviderError
from tidepool.engine.providers.sdk_connection import Complained, SdkConnection

T = TypeVar("T")

TRIES = 4
REFUSING = (401, 402, 403)
_NOT_NOW = (*REFUSING, 408, 425, 429)


@dataclass(frozen=True, slots=True)
class ModelCard:
    name: str
    retires: str | None = None
    """the day on which it will be, or was, shut down, as far as announced"""


class Listing(Protocol):
    line: SdkConnection
    backoff: float
    notices: Notices

    async def models(self) -> list[ModelCard]: ...

    async def look_up(self, model_name: str) -> None: ...


async def check_models(provider: Listing, model_names: Sequence[str]) -> None:
    """Raises a systemic ProviderError for a model that the provider says it does not have, and for an address
    where nobody answers. Servers that list nothing, or fail, are given the benefit of the doubt."""
    try:
        cards = await look_again(provider.backoff, provider.models)
    except Complained as complained:
        if _hopeless(provider, complained.complaint):
            raise provider.line.diagnosed(complained.complaint) from None
        return
    listed = [card.name for card in cards]
    for name in model_names:
        if name not in listed:
            await _look_up(provider, name, listed)
    for card in cards:
        if card.name in model_names and card.retires:
            provider.notices(f"{card.name} will be shut down on {card.retires}.")


async def judged(provider: Listing, model_name: str, complaint: ProviderComplaint) -> ProviderError:
    """What a complaint about a live call comes to; an unknown model is named with those that are near."""
    if not is_unknown_model(complaint):
        return provider.line.diagnosed(complaint)
    try:
        known = [card.name for card in await provider.models()]
    except (Complained, ProviderError):
        known = []
    return unknown_model(provider.line.endpoint, model_name, known)


async def _look_up(provider: Listing, name: str, listed: list[str]) -> None:
    """An alias may work without being listed."""
    try:
        await look_again(provider.backoff, lambda: provider.look_up(name))
    except Complained as complained:
        if is_unknown_model(complained.complaint):
            raise unknown_model(provider.line.endpoint, name, listed) from None


async def look_again(backoff: float, look: Callable[[], Awaitable[T]]) -> T:
    """A look at a provider, repeated where it fails in a way that heals. Raises Complained."""
    for attempt in range(TRIES):
        try:
            return await look()
        except Complained as complained:
            healing = complained.complaint.status is None or complained.complaint.status >= 500
            if not healing or attempt == TRIES - 1:
                raise
        except ProviderError as error:
            if attempt == TRIES - 1:
                raise Complained(ProviderComplaint(500, words=str(error))) from None
        await asyncio.sleep(backoff * 2**attempt)
    raise AssertionError


def _hopeless(provider: Listing, complaint: ProviderComplaint) -> bool:
    if complaint.status is None:
        where = shown_host(provider.line.where)
        raise ProviderError(
            ErrorClass.SYSTEMIC,
            f"{where} cannot be reached ({complaint.words}). Check the network, the proxy and base_url, then run again.",
        )
    return complaint.status in REFUSING


def lists_nothing(complaint: ProviderComplaint) -> bool:
    """Whether a server has no list of its models, rather than none for us or none now."""
    return (
        complaint.status is not None and 400 <= complaint.status < 500 and complaint.status not in _NOT_NOW
    ) or complaint.status == 501
