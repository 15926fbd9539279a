"""The section [design]: what is crossed with what, how often, and what is to be tested."""

from typing import Annotated, Any, Literal

from annotated_types import MaxLen
from pydantic import Field

from tidepool.engine.config import ceilings
from tidepool.engine.config.section import Section

Name = Annotated[str, MaxLen(ceilings.NAME)]


class Hypothesis(Section):
    """One of [[design.hypotheses]]: frozen before the first call."""

    outcome: Name
    """what is measured: revealed, obtained, score; rating; accuracy, calls; reward"""
    contrast: Name
    """`FACTOR: LEVEL - LEVEL`, over all other factors"""
    direction: Literal["less", "greater", "two-sided"] = "two-sided"
    """which way the difference is expected to go"""


class Design(Section):
    """The section [design]: each combination of levels is a cell, and each cell is a batch for every replicate."""

    replicates: int = Field(default=1, ge=1, le=ceilings.CELLS)
    """each cell this many times, with seeds derived from batch.seed"""
    mode: Literal["full", "paired"] = "full"
    """full: every level with every other; paired: lists in step, first with first, second with second"""
    factors: dict[Name, list[Any]] = Field(default_factory=dict, max_length=ceilings.FACTORS)
    """a key of the config with its values, or any name with levels `{ level = "…", set = { KEY = VALUE } }`"""
    hypotheses: list[Hypothesis] = Field(default_factory=list, max_length=ceilings.HYPOTHESES)
    """what is to be tested; all else that is found is exploratory"""
