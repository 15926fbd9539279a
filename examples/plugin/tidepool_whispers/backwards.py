"""A detector of the secret game: the secret written backwards."""

from tidepool.engine.extending import Folded


def find_backwards(message: Folded, secret: str, threshold: float) -> tuple[int, int] | None:
    """Where it stands in the message as it was written; None: nowhere."""
    backwards = secret.lower()[::-1]
    start = message.plain.find(backwards)
    return None if start < 0 or not backwards else message.original((start, start + len(backwards)))
