"""Seals on stored replies of batches that run code.

A reply of a model may be executed (`task = "python"`), or given to the user's own scorer. Replayed from a file it could be
anything, so each reply is stored with a keyed hash of it, made with a secret of this user that no study file holds.
A reply is run when it came from a provider in this process, or when its seal fits.
"""

import hmac
from collections.abc import Iterable
from hashlib import sha256

from tidepool.engine.errors import NotTrusted
from tidepool.engine.trust.record import trust_record


class ReplySeals:
    def __init__(self) -> None:
        self._secret = trust_record().secret()
        self._texts: set[bytes] = set()
        """hashes of replies that may be run"""

    def received(self, key: bytes, text: str) -> bytes:
        """The seal to store with a reply that a provider gave just now to the request of this key."""
        self._texts.add(_hash(text))
        return self._seal(key, text)

    def admits(self, key: bytes, text: str, seal: bytes | None) -> bool:
        """Whether a stored reply is one that this user received, to this very request."""
        fits = isinstance(seal, bytes) and hmac.compare_digest(seal, self._seal(key, text))
        if fits:
            self._texts.add(_hash(text))
        return fits

    def refuse_unknown(self, text: str) -> None:
        """Called before the text is run, or given to a scorer."""
        if _hash(text) not in self._texts:
            raise NotTrusted(
                "A stored reply was changed, or was received on another machine: it was not run as code. If you know where "
                "it comes from, stop the batch, trust it as it is now (tidepool trust add BATCH) and resume it."
            )

    def broken(self, replies: Iterable[tuple[bytes, str, bytes | None]]) -> int:
        """How many of these stored replies (key, text, seal) do not carry this user's seal."""
        return sum(not self.admits(*reply) for reply in replies)

    def _seal(self, key: bytes, text: str) -> bytes:
        return hmac.digest(self._secret, _hash(text) + key, "sha256")


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
