"""The running half of a kind of study: what is checked, planned and asked.

A study is made of a frozen config. It says how many calls it will take (`plan`) and plays them (`play`): coroutines that ask
models. Resume, cache, provider batches, budget and limits are the engine's. What came out is told by the other half, `Results`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.config.sections import Config, FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.kinds import load_kind

if TYPE_CHECKING:
    from tidepool.engine.inference.measures import PlannedBatch
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.runtime.plans import Plan
    from tidepool.engine.runtime.stop_rules import StopRule, StopTarget
    from tidepool.engine.studies.branches import BranchKind


class Study(ABC):
    """A kind needs `plan` and `play`; the rest has defaults that fit a small study."""

    branches: "BranchKind | None" = None
    """how its conversations are continued from one turn; None: they cannot be"""

    stoppable = True
    """[stop] may end it early"""

    def __init__(self, config: FrozenConfig) -> None:
        self.config = config

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        """Checks what the types of the config cannot, and takes in every file that it names: resume needs nothing else.

        Relative paths start in the folder. Without one the config comes out of a batch, and naming a file is an error.
        """
        return config

    @abstractmethod
    def plan(self) -> "Plan":
        """Units, waves, calls and tokens, before anything is called."""

    @abstractmethod
    async def play(self, run: "BatchRun") -> None:
        """The study itself."""

    def code(self) -> tuple[str, ...]:
        """What it runs on this machine that is no part of Tidepool or of an installed package, in words: asked about before a
        batch of a stranger's file goes on."""
        return ()

    def find_code(self, folders: Sequence[Path]) -> None:  # noqa: B027
        """Looks for that code in these folders, and raises before anything is bought if it cannot be run. Called only for a
        batch of the user's own."""

    def shape(self) -> list[str]:
        """The arithmetic behind the number of units, in words."""
        return []

    def values_planned(self) -> "PlannedBatch | None":
        """What the batch will have to count; None: how much it will tell cannot be said beforehand."""
        return None

    def stop_target(self) -> "StopTarget":
        """What a stop rule watches. Raises if [stop] cannot be kept."""
        kind = self.config.batch.kind
        message = f"[stop] is for secret_game: a study of kind {kind} ends by rules of its own section."
        raise UsageError(message, ("stop",))

    def stop_rule(self) -> "StopRule | None":
        """The rule of [stop]. Raises if it cannot be kept."""
        if self.config.stop is None or not self.stoppable:
            return None
        from tidepool.engine.runtime.stop_rules import StopRule

        return StopRule(self.config.stop, self.stop_target())


def study_from(config: FrozenConfig) -> Study:
    return load_kind(config.batch.kind).study(config)
