"""Entity simulations as a study: their declaration, and what is taken in before a batch begins."""

from tidepool.engine.studies.kinds import KindSpec, LazyModules
from tidepool.storage.transfer.tables import ExportContents

_LAZY = LazyModules(__package__)

KIND = KindSpec(
    name="simulation",
    title="Simulation",
    summary="personas meet in a context, alone, in pairs or in groups",
    units="simulations",
    settings=_LAZY.value("config", "SimulationSettings"),
    freeze=_LAZY.function("casting", "freeze"),
    plan=_LAZY.function("plan", "plan"),
    play=_LAZY.function("story", "play"),
    statistics=_LAZY.function("statistics", "statistics"),
    differences=_LAZY.function("outcomes", "differences"),
    outcomes=_LAZY.value("outcomes", "OUTCOMES"),
    report=_LAZY.module("report"),
    glimpse=_LAZY.function("report", "SimulationGlimpse"),
    methods=_LAZY.function("report", "methods"),
    first_requests=_LAZY.function("plan", "first_requests"),
    formats=_LAZY.value("exports", "FORMATS"),
    contents=ExportContents(of_units=("judgements",), details=""),
    branches=_LAZY.module("story"),
    shape=_LAZY.function("plan", "shape"),
    stopping=_LAZY.function("outcomes", "watch_simulations"),
    talks=True,
    people="entities",
    roles={"model": "entities", "judge": "judge"},
    files=("context_file", "entity_file"),
)
