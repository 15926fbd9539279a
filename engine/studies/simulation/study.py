"""Entity simulations as a study: their declaration, and what is taken in before a batch begins."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tidepool.engine.exports.request import Exporter
from tidepool.engine.studies.kinds import KindSpec
from tidepool.storage.transfer.tables import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import FrozenConfig
    from tidepool.engine.design.outcomes import KindOutcomes


def _later(module: str, name: str) -> Callable[..., Any]:
    """Calls a function of this kind, and loads its module only then: listing kinds stays quick."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"{__package__}.{module}"), name)(*arguments)

    return call


def settings() -> "type[Section]":
    from tidepool.engine.studies.simulation.config import SimulationSettings

    return SimulationSettings


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.section import models_named

    return models_named(config.settings)


def formats() -> Mapping[str, Exporter]:
    from tidepool.engine.studies.simulation.exports import FORMATS

    return FORMATS


def outcomes() -> "KindOutcomes":
    from tidepool.engine.studies.simulation.outcomes import OUTCOMES

    return OUTCOMES


KIND = KindSpec(
    name="simulation",
    title="Simulation",
    summary="personas meet in a context, alone, in pairs or in groups",
    units="simulations",
    settings=settings,
    freeze=_later("casting", "taken_in"),
    models=models,
    plan=_later("plan", "plan"),
    play=_later("story", "play"),
    statistics=_later("statistics", "statistics"),
    differences=_later("outcomes", "differences"),
    outcomes=outcomes,
    report=partial(import_module, f"{__package__}.report"),
    glimpse=lambda settings: _later("report", "SimulationGlimpse")(),
    methods=_later("report", "methods"),
    first_requests=_later("plan", "first_requests"),
    formats=formats,
    contents=ExportContents(of_units=("judgements",), details=""),
    branches=partial(import_module, f"{__package__}.story"),
    shape=_later("plan", "shape"),
    stopping=_later("outcomes", "watched"),
    talks=True,
    people="entities",
    roles={"model": "entities", "judge": "judge"},
    files=("context_file", "entity_file"),
    filled_in=("keep_addresses",),
)
