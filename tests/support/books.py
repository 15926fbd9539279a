"""Books of a live call that belongs to no batch."""

from collections.abc import Callable

from tidepool.engine.call import Call
from tidepool.engine.providers.protocol import Answer, ProviderError
from tidepool.engine.runtime.accounts import Account
from tidepool.engine.runtime.recording import CallJournal, LiveCall
from tidepool.engine.runtime.unit import PendingCall


class NoBooks(CallJournal):
    def __init__(self, on_retry: Callable[[str], None] = lambda words: None) -> None:
        self._on_retry = on_retry
        self.unusable_replies: list[Answer] = []
        self.maybe_paid: list[str] = []

    def unusable(self, pending: PendingCall, account: Account, answer: Answer) -> None:
        self.unusable_replies.append(answer)

    def possibly_paid(self, pending: PendingCall, account: Account, reason: str) -> None:
        self.maybe_paid.append(reason)

    def retried(self, pending: PendingCall, error: ProviderError) -> None:
        self._on_retry(str(error))


def live_call(account: Account, call: Call, seed: int = 1, books: NoBooks | None = None) -> LiveCall:
    return LiveCall(account, PendingCall(seed, call, b"", seed, 0.0), books or NoBooks())
