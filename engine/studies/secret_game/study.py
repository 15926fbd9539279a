"""The secret game as a study: its declaration, and what is checked before a batch begins."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.kinds import KindSpec, LazyModules
from tidepool.storage.transfer.tables import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.config.sections import Config


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.secret_game.casting import settings_of

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
        from tidepool.engine.studies.secret_game.secrets import refuse_what_cannot_be_measured

        refuse_what_cannot_be_measured(config)
    if settings.mode == "targeted":
        _check_target(settings.targeted_secret or "", [agent.secret for agent in config.agents])
    return config


def _check_target(target: str, secrets: list[str]) -> None:
    from tidepool.engine.studies.secret_game.detectors.normalise import fold

    if fold(target).strip() not in {fold(secret).strip() for secret in secrets}:
        near = get_close_matches(target, secrets, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        message = f"secret_game.targeted_secret {target!r} is the secret of no agent.{hint}"
        raise UsageError(message, ("secret_game", "targeted_secret"))


_LAZY = LazyModules(__package__)

KIND = KindSpec(
    name="secret_game",
    title="Secret game",
    summary="agents with secrets talk in pairs: who reveals, who obtains?",
    units="conversations",
    settings=_LAZY.value("config", "SecretGameSettings"),
    freeze=freeze,
    plan=_LAZY.function("plan", "plan"),
    play=_LAZY.function("story", "play"),
    statistics=_LAZY.function("analysis", "statistics"),
    report=_LAZY.module("report"),
    glimpse=_LAZY.function("report", "GameGlimpse"),
    methods=_LAZY.function("methods", "methods"),
    first_requests=_LAZY.function("plan", "first_requests"),
    differences=_LAZY.function("report", "differences"),
    outcomes=_LAZY.value("outcomes", "OUTCOMES"),
    contents=ExportContents(
        views=("messages", "outcomes"), where_filled=("verdicts",), of_units=("outcomes",), details=None
    ),
    branches=_LAZY.module("story"),
    shape=_LAZY.function("plan", "shape"),
    stopping=_LAZY.function("outcomes", "watch_game"),
    talks=True,
    people="agents",
    roles={"agents": "agents", "judge": "judge"},
    idle_roles=lambda section: () if "'judge'" in str(section.get("detection")) else ("judge",),
)
