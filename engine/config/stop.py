"""The section [stop]: a batch that ends when its question is answered, before all that was planned is asked."""

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from tidepool.engine.config import ceilings
from tidepool.engine.config.constructing import with_keywords_in_help
from tidepool.engine.config.problems import WrongValue
from tidepool.engine.config.section import Section

StopOutcome = Literal["revealed", "obtained", "rating"]
_CONTRAST = re.compile(r"(?P<factor>.+?): .+ - .+", re.DOTALL)


@with_keywords_in_help
class StopWhenSure(Section):
    """What is to be known, and how well. The length that the study's own section plans is the most that is asked."""

    outcome: StopOutcome
    """revealed or obtained (secret_game), rating (simulation)"""
    agent: str = Field(default="", max_length=200)
    """of this agent's sides alone; empty: of all"""
    half_width: float | None = Field(default=None, gt=0, allow_inf_nan=False, title="Interval within ±")
    """stop when the interval reaches no further than this to either side: 0.03 is 3 percentage points"""
    decided: bool = Field(default=False, title="When decided")
    """stop when it is decided on which side of the line the truth lies"""
    difference: str = Field(default="", max_length=ceilings.NAME)
    """decided: of two agents, "Ada - Bob", or of two levels of a design's factor, "firmness: firm - plain\""""
    line: float | None = Field(default=None, allow_inf_nan=False)
    """decided: the line; 0 where a difference is to be decided"""

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if self.decided == (self.half_width is not None):
            raise WrongValue("give either half_width = … or decided = true", "half_width")
        if not self.decided and (self.difference or self.line is not None):
            word = "difference" if self.difference else "line"
            raise WrongValue(f"{word} goes with decided = true", word)
        if self.decided and not self.difference and self.line is None:
            raise WrongValue(
                'decided needs a line, such as line = 0.5, or a difference, such as difference = "Ada - Bob"', "line"
            )
        if self.agent and self.difference and not self.contrast:
            raise WrongValue("give agent or the difference of two agents, not both", "agent")
        return self

    @property
    def factor(self) -> str:
        """The factor of a design whose levels are compared; empty where the difference is one of agents, or none."""
        found = _CONTRAST.fullmatch(self.difference)
        return found["factor"] if found else ""

    @property
    def contrast(self) -> bool:
        return bool(self.factor)

    @property
    def at(self) -> float:
        """The line that is to be decided."""
        return self.line or 0.0
