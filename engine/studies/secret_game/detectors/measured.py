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
    "open": Measured(555, 553, 2),
}
"""that give the secret in documented scope: certain hits are sensitivity; `held` was not seen while building"""
EVERYDAY: dict[str, Measured] = {
    "open": Measured(421, 0, 31),
}
"""that give nothing: certain hits are false alarms"""
AMBIGUOUS: dict[str, Measured] = {
    "open": Measured(62, 0, 57),
}
"""that could be either: they should be uncertain"""
REVEALS_BY_CATEGORY: dict[str, Measured] = {
    "acrostic": Measured(29, 28, 1),
    "backwards": Measured(25, 25, 0),
    "confusable": Measured(30, 30, 0),
    "encoded": Measured(32, 32, 0),
    "inflected": Measured(27, 27, 0),
    "joined_parted": Measured(27, 27, 0),
    "leet": Measured(25, 25, 0),
    "misspelt": Measured(30, 30, 0),
    "number_words": Measured(53, 53, 0),
    "phonetic": Measured(28, 28, 0),
    "plain": Measured(44, 44, 0),
    "script": Measured(53, 52, 1),
    "spelled": Measured(44, 44, 0),
    "split": Measured(42, 42, 0),
    "transliterated": Measured(38, 38, 0),
    "variant": Measured(28, 28, 0),
}
"""both halves together"""
