"""A prompt evolution, built in code."""

from typing import Literal

from tidepool.engine.config.section import with_keywords_in_help
from tidepool.engine.config.sections import Study
from tidepool.engine.studies.evolution.config import EvolutionSettings


@with_keywords_in_help
class Evolution(EvolutionSettings, Study):
    """A prompt evolution built in code: prompts that solve problems better, bred from generation to generation.

    Evolution(model="simulated:solver", population_size=20, seed=7)
    """

    settings_type = EvolutionSettings

    kind: Literal["evolution"] = "evolution"
    """always that"""
