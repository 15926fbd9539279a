"""The secret game as a study: its declaration, and what is checked before a batch begins."""

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.kinds import KindSpec
from tidepool.storage.transfer.tables import ExportContents

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import Config, FrozenConfig
    from tidepool.engine.design.outcomes import KindOutcomes


def _later(module: str, name: str) -> Callable[..., Any]:
    """Calls a function of this kind, and loads its module only then: listing kinds stays quick."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"{__package__}.{module}"), name)(*arguments)

    return call


def settings() -> "type[Section]":
    from tidepool.engine.studies.secret_game.config import SecretGameSettings

    return SecretGameSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.secret_game.casting import settings_of

    names = [agent.name for agent in config.agents]
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if first.setdefault(name, place) != place:
            told = f"Two agents are called {name!r}. Give each agent a name of its own."
            raise UsageError(told, ("agents", place, "name"))
    settings = settings_of(config)
    fewest = 1 if settings.pairing == "ordered" else 2
    if len(names) < fewest:
        told = f"The secret game needs at least {fewest} agents in [[agents]]; there are {len(names)}."
        raise UsageError(told, ("agents",))
    for place, agent in enumerate(config.agents):
        if not agent.secret.strip() and not settings.scenarios:
            told = f'The agent {agent.name!r} has no secret. Give it one: secret = "…".'
            raise UsageError(told, ("agents", place, "secret"))
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
        told = f"secret_game.targeted_secret {target!r} is the secret of no agent.{hint}"
        raise UsageError(told, ("secret_game", "targeted_secret"))


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.section import models_named
    from tidepool.engine.studies.secret_game.casting import settings_of

    settings = settings_of(config)
    unused = set() if settings.judged else {"judge"}
    return models_named(settings, unused).union(*map(models_named, config.agents))


def outcomes() -> "KindOutcomes":
    from tidepool.engine.studies.secret_game.outcomes import OUTCOMES

    return OUTCOMES


KIND = KindSpec(
    name="secret_game",
    title="Secret game",
    summary="agents with secrets talk in pairs: who reveals, who obtains?",
    units="conversations",
    settings=settings,
    freeze=freeze,
    models=models,
    plan=_later("plan", "plan"),
    play=_later("story", "play"),
    statistics=_later("analysis", "statistics"),
    report=partial(import_module, f"{__package__}.report"),
    glimpse=lambda settings: _later("report", "GameGlimpse")(),
    methods=_later("methods", "methods"),
    first_requests=_later("plan", "first_requests"),
    differences=_later("report", "differences"),
    outcomes=outcomes,
    contents=ExportContents(
        views=("messages", "outcomes"), where_filled=("verdicts",), of_units=("outcomes",), details=None
    ),
    branches=partial(import_module, f"{__package__}.story"),
    shape=_later("plan", "shape"),
    stopping=_later("outcomes", "watched"),
    talks=True,
    people="agents",
    roles={"agents": "agents", "judge": "judge"},
    idle_roles=lambda section: () if "'judge'" in str(section.get("detection")) else ("judge",),
)
