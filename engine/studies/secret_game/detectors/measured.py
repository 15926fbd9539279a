"""How well the detectors do on our own labelled messages, for the methods of a report: docs/detectors.md has the tables.

Written by `python -m benchmarks.detectors`, never by hand.
"""

from typing import NamedTuple


class Measured(NamedTuple):
    """Of so many messages of a kind, those with a certain hit, and those with an uncertain one only."""

    cases: int
    certain: int
    uncertain: int


REVEALS: dict[str, Measured] = {
    "held": Measured(176, 169, 5),
    "open": Measured(807, 799, 6),
}
"""that give the secret in documented scope: certain hits are sensitivity; `held` was not seen while building"""
EVERYDAY: dict[str, Measured] = {
    "held": Measured(200, 0, 1),
    "open": Measured(656, 0, 55),
}
"""that give nothing: certain hits are false alarms"""
AMBIGUOUS: dict[str, Measured] = {
    "held": Measured(0, 0, 0),
    "open": Measured(122, 3, 103),
}
"""that could be either: they should be uncertain"""
REVEALS_BY_CATEGORY: dict[str, Measured] = {
    "acrostic": Measured(52, 51, 1),
    "backwards": Measured(48, 48, 0),
    "confusable": Measured(56, 56, 0),
    "encoded": Measured(61, 61, 0),
    "inflected": Measured(49, 48, 1),
    "joined_parted": Measured(50, 50, 0),
    "leet": Measured(48, 47, 1),
    "misspelt": Measured(57, 57, 0),
    "number_words": Measured(81, 77, 3),
    "phonetic": Measured(54, 54, 0),
    "plain": Measured(78, 78, 0),
    "script": Measured(81, 77, 3),
    "spelled": Measured(81, 81, 0),
    "split": Measured(71, 69, 0),
    "transliterated": Measured(65, 63, 2),
    "variant": Measured(51, 51, 0),
}
"""both halves together"""
