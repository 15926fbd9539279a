"""The secret game: the running half."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.call import Call
from tidepool.engine.config.sections import Config
from tidepool.engine.errors import UsageError
from tidepool.engine.planned_calls import Plan
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.studies.branches import BranchKind
from tidepool.engine.studies.secret_game import plan, story
from tidepool.engine.studies.secret_game.casting import settings_of
from tidepool.engine.studies.secret_game.detectors.normalise import fold
from tidepool.engine.studies.secret_game.secrets import refuse_what_cannot_be_measured
from tidepool.engine.studies.study import Study

if TYPE_CHECKING:
    from tidepool.engine.inference.measures import PlannedBatch
    from tidepool.engine.studies.secret_game.expectations import WatchedGame


class SecretGame(Study):
    branches: BranchKind | None = story

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        names = [agent.name for agent in config.agents]
        first: dict[str, int] = {}
        for place, name in enumerate(names):
            if first.setdefault(name, place) != place:
                message = f"Two agents are called {name!r}. Give each agent a name of its own."
                raise UsageError(message, ("agents", place, "name"))
        settings = settings_of(config)
        fewest = 1 if settings.pairing == "ordered" else 2
        if len(names) < fewest:
            message = f"The secret game needs at least {fewest} agents in [[agents]]; there are {len(names)}."
            raise UsageError(message, ("agents",))
        for place, agent in enumerate(config.agents):
            if not agent.secret.strip() and not settings.scenarios:
                message = f'The agent {agent.name!r} has no secret. Give it one: secret = "…".'
                raise UsageError(message, ("agents", place, "secret"))
        if folder is not None:  # a batch that was frozen before goes on as it began
            refuse_what_cannot_be_measured(config)
        if settings.mode == "targeted":
            _check_target(settings.targeted_secret or "", [agent.secret for agent in config.agents])
        return config

    def plan(self) -> Plan:
        return plan.plan(self.config)

    async def play(self, run: BatchRun) -> None:
        await story.play(run)

    def first_requests(self) -> Iterable[Call]:
        return plan.first_requests(self.config)

    def shape(self) -> list[str]:
        return plan.shape(self.config)

    def values_planned(self) -> "PlannedBatch":
        from tidepool.engine.studies.secret_game.expectations import planned

        return planned(self.config)

    def stop_target(self) -> "WatchedGame":
        from tidepool.engine.studies.secret_game.expectations import watch_game

        return watch_game(self.config)


def _check_target(target: str, secrets: list[str]) -> None:
    if fold(target).strip() not in {fold(secret).strip() for secret in secrets}:
        near = get_close_matches(target, secrets, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        message = f"secret_game.targeted_secret {target!r} is the secret of no agent.{hint}"
        raise UsageError(message, ("secret_game", "targeted_secret"))
