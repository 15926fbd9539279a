"""Prompt evolution: the running half."""

from collections.abc import Sequence
from pathlib import Path

from tidepool.engine.config.sections import Config
from tidepool.engine.inference.measures import PlannedBatch, PlannedRivals, PlannedValues
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.studies.evolution import plan, story
from tidepool.engine.studies.evolution.gepa import require_extra
from tidepool.engine.studies.evolution.inputs import settings_of, with_problems
from tidepool.engine.studies.evolution.records import ACCURACY
from tidepool.engine.studies.evolution.tasks.scorer import code_of, find_code, with_code_frozen
from tidepool.engine.studies.evolution.width import with_limits, with_sizes
from tidepool.engine.studies.study import Study


class Evolution(Study):
    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        settings = with_code_frozen(with_sizes(settings_of(config)), folder)
        if not settings.material:
            settings = settings.model_copy(update={"material": "own" if settings.seed_prompts else "built-in"})
        if settings.strategy == "gepa":
            require_extra()
        settings = with_problems(settings, config.batch.seed, folder)
        return config.model_copy(update={"settings": settings, "service": with_limits(config.service, settings)})

    def plan(self) -> Plan:
        return plan.plan(self.config)

    async def play(self, run: BatchRun) -> None:
        await story.play(run)

    def code(self) -> tuple[str, ...]:
        return code_of(settings_of(self.config))

    def find_code(self, folders: Sequence[Path]) -> None:
        find_code(settings_of(self.config), folders)

    def shape(self) -> list[str]:
        return plan.shape(self.config)

    def values_planned(self) -> PlannedBatch:
        settings = settings_of(self.config)
        held_out = len(settings.frozen.validation) if settings.frozen else settings.validation_problems
        replies = settings.samples * len(settings.solvers())
        return PlannedBatch(
            counted="held-out problems",
            outcomes={ACCURACY: PlannedValues(held_out, replies)},
            sizes={"evolution.validation_problems": held_out},
            rivals=(PlannedRivals("the champion and the best seed prompt", ACCURACY, held_out, "matched"),),
        )
