"""Seals on stored replies of batches that run code.

A reply of a model may be executed (`task = "python"`), or given to the user's own scorer. Replayed from a file it is only
somebody's text, so each reply is stored with a keyed hash of it, made with a secret of this user that no study file holds.
A reply is run when it came from a provider in this process, or when its seal fits.
"""

import hmac
from collections.abc import Iterable

from tidepool.engine.errors import NotTrusted
from tidepool.engine.trust.record import trust_record


class ReplySeals:
    def __init__(self) -> None:
        self._secret = trust_record().secret()
        self._received: set[bytes] = set()

    def received(self, text: str) -> bytes:
        """The seal to store with a reply that a provider gave just now."""
        seal = self._seal(text)
        self._received.add(seal)
        return seal

    def admits(self, text: str, seal: bytes | None) -> bool:
        """Whether a stored reply is one that this user received."""
        fits = isinstance(seal, bytes) and hmac.compare_digest(seal, self._seal(text))
        if fits and seal is not None:
            self._received.add(seal)
        return fits

    def refuse_unknown(self, text: str) -> None:
        """Called before the text is run, or given to a scorer."""
        if self._seal(text) not in self._received:
            raise NotTrusted(
                "A stored reply was changed, or was received on another machine: it was not run as code. If you know where "
                "it comes from, stop the batch, trust it as it is now (tidepool trust add BATCH) and resume it."
            )

    def broken(self, replies: Iterable[tuple[str, bytes | None]]) -> int:
        """How many of these stored replies do not carry this user's seal."""
        return sum(not self.admits(text, seal) for text, seal in replies)

    def _seal(self, text: str) -> bytes:
        return hmac.digest(self._secret, text.encode("utf-8", "surrogatepass"), "sha256")
