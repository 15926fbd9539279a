from typing import NamedTuple


class SimulatedReply(NamedTuple):
    """What a simulated responder said, and what it knows of it that no story may read."""

    text: str
    truth: str | None = None
