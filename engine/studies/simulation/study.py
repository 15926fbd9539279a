"""Entity simulations: the running half."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.config.sections import Config
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.studies.branches import BranchKind
from tidepool.engine.studies.simulation import casting, plan, story
from tidepool.engine.studies.study import Study

if TYPE_CHECKING:
    from tidepool.engine.inference.measures import PlannedBatch
    from tidepool.engine.studies.simulation.expectations import WatchedSimulations


class Simulation(Study):
    branches: BranchKind | None = story

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        return casting.freeze(config, folder)

    def plan(self) -> Plan:
        return plan.plan(self.config)

    async def play(self, run: BatchRun) -> None:
        await story.play(run)

    def shape(self) -> list[str]:
        return plan.shape(self.config)

    def values_planned(self) -> "PlannedBatch":
        from tidepool.engine.studies.simulation.expectations import planned

        return planned(self.config)

    def stop_target(self) -> "WatchedSimulations":
        from tidepool.engine.studies.simulation.expectations import watch_simulations

        return watch_simulations(self.config)
