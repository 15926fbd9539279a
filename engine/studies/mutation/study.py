"""Query mutation: the running half."""

from pathlib import Path

from tidepool.engine.config.sections import Config
from tidepool.engine.inference.measures import PlannedBatch, PlannedRivals, PlannedValues
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.studies.mutation import plan, story
from tidepool.engine.studies.mutation.inputs import settings_of, with_files
from tidepool.engine.studies.mutation.statistics import REWARD
from tidepool.engine.studies.study import Study


class Mutation(Study):
    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        return config.model_copy(update={"settings": with_files(settings_of(config), folder)})

    def plan(self) -> Plan:
        return plan.plan(self.config)

    async def play(self, run: BatchRun) -> None:
        await story.play(run)

    def shape(self) -> list[str]:
        return plan.shape(self.config)

    def values_planned(self) -> PlannedBatch:
        """How many queries are held out is a share of those there are."""
        held_out, repeats = plan.held_out_queries(self.config)
        return PlannedBatch(
            counted="held-out queries",
            outcomes={REWARD: PlannedValues(held_out, repeats)},
            sizes={},
            rivals=(PlannedRivals("the policy and random play", REWARD, held_out, "matched"),),
        )
