"""What every table of a config is made of, and where a config was written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict

from tidepool.engine.config.ceilings import Address
from tidepool.engine.config.constructing import Constructed
from tidepool.engine.config.endpoints import LOCAL
from tidepool.engine.config.mistakes.lines import NO_LINES, Lines

Hosts = Annotated[list[Address], BeforeValidator(lambda said: [LOCAL] if said == LOCAL else said)]


class Section(Constructed):
    """A table of the config: only keys that it knows, with values of their own type."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True, validate_default=True)


@dataclass(frozen=True, slots=True)
class ConfigOrigin:
    """Where a config was written."""

    source: str
    """what errors call it: the path of its file, say"""
    folder: Path | None
    """where relative paths start; None: in the working folder"""
    lines: Lines = NO_LINES
    """where its keys are written"""
