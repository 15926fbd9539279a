"""What a batch keeps of its config: all it needs, so that it can be gone on with anywhere.

A frozen config holds full model names, what its files and the library held, and every default. It has a type of its
own, so that nothing that plays, plans or counts a batch is ever handed one that still has to be completed.
"""

import json
from typing import Any

from pydantic import ConfigDict

from tidepool.engine.config.sections import Config, ConfigSections


class FrozenConfig(ConfigSections):
    """The config of a batch. It comes from `freezing.freeze` or `freezing.load_frozen`, and from nowhere else."""

    model_config = ConfigDict(frozen=True)

    def __init__(self, **_: Any) -> None:
        raise TypeError("A frozen config comes from freeze() or load_frozen() alone.")

    def to_json(self) -> str:
        """As the file keeps it."""
        return json.dumps(self.as_written(), ensure_ascii=False)


def sealed(config: Config) -> FrozenConfig:
    """The config under its other type: for `freezing` alone, which has checked that nothing is left to take in."""
    return FrozenConfig.model_construct(**{name: getattr(config, name) for name in ConfigSections.model_fields})
