"""The section [design]: what is crossed with what, how often, and what is to be tested."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import MaxLen
from pydantic import Field, field_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.problems import WrongValue
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


def _dotted(name: str, within: object) -> str:
    """The key that was meant, where TOML read its dots as tables within tables."""
    while isinstance(within, Mapping) and within:
        inner, within = next(iter(within.items()))
        name = f"{name}.{inner}"
    return name


class Design(Section):
    """The section [design]: each combination of levels is a cell, and each cell is a batch for every replicate."""

    replicates: int = Field(default=1, ge=1, le=ceilings.CELLS)
    """each cell this many times, with seeds derived from batch.seed"""
    mode: Literal["full", "paired"] = Field(default="full", title="Levels crossed")
    """full: every level with every other; paired: lists in step, first with first, second with second"""
    factors: dict[Name, list[Any]] = Field(
        default_factory=dict, examples=[{"agents.*.temperature": [0.2, 1.0]}], max_length=ceilings.FACTORS
    )
    """a key of the config with its values, or any name with levels `{ level = "…", set = { KEY = VALUE } }`"""
    hypotheses: list[Hypothesis] = Field(
        default_factory=list,
        examples=[[{"outcome": "revealed", "contrast": "firmness: firm - plain"}]],
        max_length=ceilings.HYPOTHESES,
    )
    """what is to be tested; all else that is found is exploratory"""

    @field_validator("factors", mode="before")
    @classmethod
    def _keys_in_quotes(cls, factors: Any) -> Any:
        for name, levels in factors.items() if isinstance(factors, Mapping) else ():
            if isinstance(levels, Mapping):
                raise WrongValue(f'a key with dots stands in quotes: "{_dotted(name, levels)}" = [ … ]', name)
        return factors
