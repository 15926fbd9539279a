"""Entity simulations as a study: their declaration, and what is taken in before a batch begins."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.exports.request import Exporter
from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec
from tidepool.storage.exporting.contents import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.branching.talks import BranchKind
    from tidepool.engine.call import Call
    from tidepool.engine.config.frozen import FrozenConfig
    from tidepool.engine.config.sections import Config, Section
    from tidepool.engine.config.stored import StoredConfig
    from tidepool.engine.design.outcomes import KindOutcomes
    from tidepool.engine.results.glimpse import Glimpse
    from tidepool.engine.results.method_words import KindMethods
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.stopping.watched import Watched
    from tidepool.engine.studies.plan import Plan


def settings() -> "type[Section]":
    from tidepool.engine.studies.simulation.config import SimulationSettings

    return SimulationSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.simulation.casting import taken_in

    return taken_in(config, folder)


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.model_fields import models_named

    return models_named(config.settings)


def plan(config: "FrozenConfig") -> "Plan":
    from tidepool.engine.studies.simulation.plan import plan

    return plan(config)


def first_requests(config: "FrozenConfig") -> "Iterator[Call]":
    from tidepool.engine.studies.simulation.plan import first_requests

    return first_requests(config)


def shape(config: "FrozenConfig") -> list[str]:
    from tidepool.engine.studies.simulation.plan import shape

    return shape(config)


async def play(run: "BatchRun") -> None:
    from tidepool.engine.studies.simulation.story import play

    await play(run)


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: "StoredConfig") -> dict[str, Any]:
    from tidepool.engine.studies.simulation.statistics import statistics

    return statistics(connection, batch, config)


def formats() -> Mapping[str, Exporter]:
    from tidepool.engine.studies.simulation.exports import FORMATS

    return FORMATS


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    from tidepool.engine.studies.simulation.comparison import differences

    return differences(connection, batches)


def outcomes() -> "KindOutcomes":
    from tidepool.engine.studies.simulation.outcomes import OUTCOMES

    return OUTCOMES


def methods(
    batch: Mapping[str, Any], config: "StoredConfig", statistics: Mapping[str, Any], connection: sqlite3.Connection
) -> "KindMethods":
    from tidepool.engine.studies.simulation.methods import methods

    return methods(batch, config, statistics, connection)


def stopping(config: "FrozenConfig") -> "Watched":
    from tidepool.engine.studies.simulation.stopping import watched

    return watched(config)


def report() -> KindReport:
    from tidepool.engine.studies.simulation import report

    return report


def branches() -> "BranchKind":
    from tidepool.engine.studies.simulation import branches

    return branches


def glimpse(settings: Mapping[str, Any]) -> "Glimpse":
    from tidepool.engine.studies.simulation.glimpse import SimulationGlimpse

    return SimulationGlimpse()


KIND = KindSpec(
    name="simulation",
    title="Simulation",
    summary="personas meet in a context, alone, in pairs or in groups",
    units="simulations",
    settings=settings,
    freeze=freeze,
    models=models,
    plan=plan,
    play=play,
    statistics=statistics,
    differences=differences,
    outcomes=outcomes,
    report=report,
    glimpse=glimpse,
    methods=methods,
    first_requests=first_requests,
    formats=formats,
    contents=ExportContents(of_units=("judgements",), details=""),
    branches=branches,
    shape=shape,
    stopping=stopping,
    talks=True,
    people="entities",
    roles={"model": "entities", "judge": "judge"},
    files=("context_file", "entity_file"),
    filled_in=("keep_addresses",),
)
