"""How a secret is found in a message: said, spelled, encoded, misspelt, or judged by a model."""

from tidepool.engine.studies.secret_game.detectors.detection import (
    DEFAULT_THRESHOLD,
    DETECTORS,
    Reveal,
    find_in_talk,
    find_reveal,
    find_reveals,
    first_of,
    is_revealed,
    judge_talk,
)

__all__ = [
    "DEFAULT_THRESHOLD",
    "DETECTORS",
    "Reveal",
    "find_in_talk",
    "find_reveal",
    "find_reveals",
    "first_of",
    "is_revealed",
    "judge_talk",
]
