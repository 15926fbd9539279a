"""Tidepool from Python.

    from tidepool import Agent, SecretGame, run_batch

    study = SecretGame(agents=[Agent(name="Ada", model="gpt4o_mini", secret="marigold"), …], num_interactions=20)
    summary = await run_batch(study, database="study.db")

Names load on first use, so importing is fast. Type checkers and editors follow the imports below. docs/python.md is a
tour.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidepool.engine.config.cluster import Cluster
    from tidepool.engine.config.entities import Entity
    from tidepool.engine.config.loading import load_config
    from tidepool.engine.config.sections import (
        Agent,
        Config,
        Design,
        Hypothesis,
        OllamaSettings,
        Providers,
        ProviderSettings,
        Service,
        SimulatedSettings,
        StopWhenSure,
    )
    from tidepool.engine.design.statistics import read_study
    from tidepool.engine.errors import (
        BatchLocked,
        CallFailed,
        FileError,
        NotFound,
        ReplayMismatch,
        RunError,
        TidepoolError,
        UsageError,
    )
    from tidepool.engine.events import (
        BatchEnded,
        BatchStarted,
        CallAnswered,
        CallLost,
        CallRetried,
        Event,
        Logged,
        ProviderBatchChanged,
        UnitEnded,
        UnitsExpected,
    )
    from tidepool.engine.results.batch_summary import RowTable, Summary, batches
    from tidepool.engine.results.summary import read_summary
    from tidepool.engine.run import resume_batch, resume_study, run_batch, run_study
    from tidepool.engine.runtime.session import RunControl
    from tidepool.engine.scripting import branch, compare, export, plan, publish, run
    from tidepool.engine.studies.custom import Said, Study, Unit, Units, gather, mean, round_robin, share
    from tidepool.engine.studies.evolution.config import Evolution
    from tidepool.engine.studies.mutation.config import Mutation
    from tidepool.engine.studies.secret_game.config import Scenario, Scoring, SecretGame
    from tidepool.engine.studies.simulation.config import Judge, Simulation
    from tidepool.storage.states import BatchStatus

__all__ = [
    "Agent",
    "BatchEnded",
    "BatchLocked",
    "BatchStarted",
    "BatchStatus",
    "CallAnswered",
    "CallFailed",
    "CallLost",
    "CallRetried",
    "Cluster",
    "Config",
    "Design",
    "Entity",
    "Event",
    "Evolution",
    "FileError",
    "Hypothesis",
    "Judge",
    "Logged",
    "Mutation",
    "NotFound",
    "OllamaSettings",
    "ProviderBatchChanged",
    "ProviderSettings",
    "Providers",
    "ReplayMismatch",
    "RowTable",
    "RunControl",
    "RunError",
    "Said",
    "Scenario",
    "Scoring",
    "SecretGame",
    "Service",
    "SimulatedSettings",
    "Simulation",
    "StopWhenSure",
    "Study",
    "Summary",
    "TidepoolError",
    "Unit",
    "UnitEnded",
    "Units",
    "UnitsExpected",
    "UsageError",
    "batches",
    "branch",
    "compare",
    "export",
    "gather",
    "load_config",
    "mean",
    "plan",
    "publish",
    "read_study",
    "read_summary",
    "resume_batch",
    "resume_study",
    "round_robin",
    "run",
    "run_batch",
    "run_study",
    "share",
]

_HOMES = {
    "tidepool.engine.config.cluster": "Cluster",
    "tidepool.engine.config.loading": "load_config",
    "tidepool.engine.config.sections": "Agent Config Design Hypothesis OllamaSettings Providers ProviderSettings Service "
    "SimulatedSettings StopWhenSure",
    "tidepool.engine.studies.custom": "Said Study Unit Units gather mean round_robin share",
    "tidepool.engine.runtime.session": "RunControl",
    "tidepool.engine.design.statistics": "read_study",
    "tidepool.engine.errors": "BatchLocked CallFailed FileError NotFound ReplayMismatch RunError TidepoolError UsageError",
    "tidepool.engine.events": "BatchEnded BatchStarted CallAnswered CallLost CallRetried Event Logged "
    "ProviderBatchChanged UnitEnded UnitsExpected",
    "tidepool.engine.config.entities": "Entity",
    "tidepool.engine.results.batch_summary": "RowTable Summary batches",
    "tidepool.engine.scripting": "branch compare export plan publish run",
    "tidepool.engine.results.summary": "read_summary",
    "tidepool.engine.run": "resume_batch resume_study run_batch run_study",
    "tidepool.engine.studies.evolution.config": "Evolution",
    "tidepool.engine.studies.mutation.config": "Mutation",
    "tidepool.engine.studies.secret_game.config": "Scenario Scoring SecretGame",
    "tidepool.engine.studies.simulation.config": "Judge Simulation",
    "tidepool.storage.states": "BatchStatus",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

if not TYPE_CHECKING:  # with a visible `__getattr__`, a type checker would accept every name

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'tidepool' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
