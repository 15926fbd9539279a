"""The part of a kind of study that runs: checks, plans and sends requests.

A study is made from a frozen config. `plan` returns its number of calls, and `play` runs coroutines that call models. The engine
handles resume, cache, provider batches, budget and limits. The other part, `Results`, reads the results.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, cast

from typing_extensions import TypeVar

from tidepool.engine.config.sections import Config, FrozenConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.kinds import load_kind

if TYPE_CHECKING:
    from tidepool.engine.inference.measures import PlannedBatch
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.runtime.plans import Plan
    from tidepool.engine.runtime.stop_rules import StopRule, StopTarget
    from tidepool.engine.studies.branches import BranchKind

S = TypeVar("S", default=Any)


class Study(ABC, Generic[S]):
    """A kind must implement `plan` and `play`. The other methods have defaults that suit a small study. `S` is the type of its
    settings."""

    branches: "BranchKind | None" = None
    """how its conversations are continued from one turn; None: not possible"""

    stoppable = True
    """[stop] may end it early"""

    independent = False
    """its units do not depend on each other, so [stop] can watch any of its measures"""

    def __init__(self, config: FrozenConfig) -> None:
        self.config = config

    @property
    def settings(self) -> S:
        """The section of the kind."""
        return cast(S, self.config.settings)

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        """Checks what the types of the config cannot, and reads in every file that it names, so that a resume needs no files.

        Relative paths start in the folder. Without a folder, the config comes from a batch, and naming a file is an error.
        """
        return config

    @abstractmethod
    def plan(self) -> "Plan":
        """Units, waves, calls and tokens, before any call."""

    @abstractmethod
    async def play(self, run: "BatchRun") -> None:
        """Runs the study."""

    def code(self) -> tuple[str, ...]:
        """Describes code that it runs on this machine and that is not part of Tidepool or of an installed package. The user
        must agree before a batch from an untrusted file continues."""
        return ()

    def find_code(self, folders: Sequence[Path]) -> None:
        """Looks for that code in these folders, and raises before the first request if it cannot run. Called only for a batch of
        the user's own."""

    def shape(self) -> list[str]:
        """The calculation of the number of units, in words."""
        return []

    def values_planned(self) -> "PlannedBatch | None":
        """The units that the batch will count; None: its precision cannot be computed beforehand."""
        return None

    def stop_target(self) -> "StopTarget":
        """The target of a stop rule. Raises if [stop] cannot be used."""
        kind = self.config.batch.kind
        if not self.independent:
            raise UsageError(
                f"[stop] needs units that do not depend on each other, and {kind} does not promise this. If it has stop rules, they are "
                "in its own section.",
                ("stop",),
            )
        from tidepool.engine.studies.watched import watched_measure

        measures = load_kind(kind).results.measures(self.config.as_written())
        assert self.config.stop is not None
        return watched_measure(self.config.stop, measures, self.plan().units)

    def stop_rule(self) -> "StopRule | None":
        """The rule of [stop]. Raises if it cannot be used."""
        if self.config.stop is None or not self.stoppable:
            return None
        from tidepool.engine.runtime.stop_rules import StopRule

        return StopRule(self.config.stop, self.stop_target())


def study_from(config: FrozenConfig) -> Study:
    return load_kind(config.batch.kind).study(config)
