"""What every table of a config is made of."""

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict

from tidepool.engine.config.ceilings import Address
from tidepool.engine.config.constructing import Constructed
from tidepool.engine.config.endpoints import LOCAL

Hosts = Annotated[list[Address], BeforeValidator(lambda said: [LOCAL] if said == LOCAL else said)]


class Section(Constructed):
    """A table of the config: only keys that it knows, with values of their own type."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True, validate_default=True)
