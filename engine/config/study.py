"""A study built in code: the keys of a config, as the keywords of one class for each kind."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from tidepool.engine.config.design import Design
from tidepool.engine.config.sections import Batch, Config, Providers, Section, Service
from tidepool.engine.config.stop import StopWhenSure
from tidepool.engine.runtime.cluster_section import Cluster


class Study(Batch):
    """What every study built in code has, whatever its kind. `run_batch` takes it as it takes a config."""

    settings_type: ClassVar[type[Section]]
    """the section of the kind's own keys, which a subclass inherits beside this class"""

    service: Service = Field(default_factory=Service)
    """how the models are asked: at once, by batch API, with which budget"""
    providers: Providers = Field(default_factory=Providers)
    """settings of single providers"""
    design: Design | None = None
    """factors that are crossed: then it is a study of several batches, for `run_study`"""
    cluster: Cluster | None = None
    """who makes the live calls, where this process does not make them itself"""
    stop: StopWhenSure | None = None
    """when it may end before all that is planned is asked; secret games and simulations"""

    def as_config(self) -> Config:
        """The same study as its file would say it."""
        written = {name: getattr(self, name) for name in self.model_fields_set}
        head = {name: written[name] for name in Batch.model_fields if name in written}
        return Config(
            batch=Batch(**{**head, "kind": self.kind, "name": self.name or self.kind}),
            service=self.service,
            providers=self.providers,
            stop=self.stop,
            cluster=self.cluster,
            settings=self.settings_type(**_only(written, self.settings_type)),
            **self.participants(),
            **_only({"design": self.design} if self.design is not None else {}, Config),
        )

    def participants(self) -> dict[str, Any]:
        """Who takes part, under the keys of a config."""
        return {}


def _only(written: Mapping[str, Any], section: type[Section]) -> dict[str, Any]:
    """What was written of the section's own keys; what was left out stays left out, and takes its default there."""
    return {name: value for name, value in written.items() if name in section.model_fields}
