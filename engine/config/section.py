"""What every table of a config is made of."""

from pydantic import ConfigDict

from tidepool.engine.config.constructing import Constructed


class Section(Constructed):
    """A table of the config: only keys that it knows, with values of their own type."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True, validate_default=True)
