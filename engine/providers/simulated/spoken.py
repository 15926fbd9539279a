from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a simulated voice said, and what it knows of it that no story may read."""

    text: str
    truth: str | None = None
