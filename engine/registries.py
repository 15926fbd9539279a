"""Every name that a config can choose by and that an installed package can add to, each kind of name in one table.

A table holds places, not things: nothing is imported until somebody asks for a name, and whatever a config may name can be
checked from here without a circle. Who uses a table knows what it holds: `engine/studies/kinds.py`,
`engine/providers/catalogue.py`, the detectors of the secret game, the operators of the mutation, the scorers of the evolution.
"""

from typing import Any

from tidepool.engine.plugins import Registry

_STUDIES = "tidepool.engine.studies"

KINDS: Registry[Any] = Registry(
    "kind of study",
    "tidepool.kinds",
    {
        "secret_game": f"{_STUDIES}.secret_game.study:KIND",
        "simulation": f"{_STUDIES}.simulation.study:KIND",
        "evolution": f"{_STUDIES}.evolution.study:KIND",
        "mutation": f"{_STUDIES}.mutation.study:KIND",
    },
)
"""holds KindSpec"""
