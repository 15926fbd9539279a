"""Simulations, built in code."""

from collections.abc import Sequence
from typing import Any, Literal

from tidepool.engine.config.section import with_keywords_in_help
from tidepool.engine.config.sections import Study
from tidepool.engine.library.entities import Entity
from tidepool.engine.studies.simulation.config import SimulationSettings


@with_keywords_in_help
class Simulation(SimulationSettings, Study):
    """Talks of described people, built in code.

    Simulation(entities=[Entity("Ada"), …], context="A panel on climate policy", num_simulations=20)
    """

    settings_type = SimulationSettings

    kind: Literal["simulation"] = "simulation"
    """always that"""
    entities: Sequence[Entity] = ()
    """who takes part"""

    def participants(self) -> dict[str, Any]:
        return {"entities": [entity.as_record() for entity in self.entities]}
