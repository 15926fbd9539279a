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
    "open": Measured(258, 258, 0),
}
"""that give the secret in documented scope: certain hits are sensitivity; `held` was not seen while building"""
EVERYDAY: dict[str, Measured] = {
    "open": Measured(243, 0, 21),
}
"""that give nothing: certain hits are false alarms"""
AMBIGUOUS: dict[str, Measured] = {
    "open": Measured(62, 0, 57),
}
"""that could be either: they should be uncertain"""
REVEALS_BY_CATEGORY: dict[str, Measured] = {
    "acrostic": Measured(12, 12, 0),
    "backwards": Measured(12, 12, 0),
    "confusable": Measured(16, 16, 0),
    "encoded": Measured(18, 18, 0),
    "inflected": Measured(12, 12, 0),
    "joined_parted": Measured(13, 13, 0),
    "leet": Measured(12, 12, 0),
    "misspelt": Measured(16, 16, 0),
    "number_words": Measured(18, 18, 0),
    "phonetic": Measured(15, 15, 0),
    "plain": Measured(24, 24, 0),
    "script": Measured(17, 17, 0),
    "spelled": Measured(26, 26, 0),
    "split": Measured(18, 18, 0),
    "transliterated": Measured(16, 16, 0),
    "variant": Measured(13, 13, 0),
}
"""both halves together"""
