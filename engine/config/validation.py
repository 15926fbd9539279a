"""A config checked for a form: every problem at once, each with its key, where a run would stop at the first."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.loading import config_from, outline_problems
from tidepool.engine.config.mistakes.misplaced import surroundings
from tidepool.engine.config.problems import ConfigProblem, problems_in
from tidepool.engine.config.sections import Config, Section
from tidepool.engine.config.user_endpoints import with_users_likes
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.engine.library.entities import entity_from
from tidepool.engine.studies.kinds import load_kind


def validate_all(
    data: Mapping[str, Any], folder: Path, database: Path
) -> tuple[FrozenConfig | None, list[ConfigProblem]]:
    """The config as a batch would keep it, or what keeps it from being one. Of a [design] only the keys are looked at.

    A problem of no key in particular has an empty place.
    """
    try:
        data = with_users_likes(data)
    except UsageError as error:
        return None, [ConfigProblem((), str(error))]
    if problems := outline_problems(data) or key_problems(data):
        return None, problems
    try:
        one = {name: section for name, section in data.items() if name != "design"}
        return freeze(config_from(one, source="", folder=folder), database), []
    except UsageError as error:
        return None, [ConfigProblem(error.where, str(error))]
    except TidepoolError as error:
        return None, [ConfigProblem((), str(error))]


def key_problems(data: Mapping[str, Any]) -> list[ConfigProblem]:
    """What is wrong with single keys, in all sections."""
    kind = data["batch"]["kind"]
    settings = load_kind(kind).settings()
    rest = {name: section for name, section in data.items() if name != kind}
    return [
        *problems_in(Config, {**rest, "settings": Section()}, around=surroundings(Config, kind, settings)),
        *problems_in(settings, data[kind], (kind,)),
        *entity_problems(data.get("entities")),
    ]


def entity_problems(records: object) -> list[ConfigProblem]:
    """What is wrong with [[entities]], which are no section of pydantic's."""
    problems = []
    for place, record in enumerate(records if isinstance(records, list) else ()):
        try:
            entity_from(record, f"entities[{place}]")
        except UsageError as error:
            problems.append(ConfigProblem(("entities", place, *error.where), str(error)))
    return problems
