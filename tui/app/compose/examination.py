"""Checks a draft with the engine. Returns its errors by key, or its plan.

A plan of a million conversations takes seconds, and prices need a large library. A helper process of the app therefore
computes them (`worker.py`).
"""

import asyncio
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.freezing import remarks_on, validate_all
from tidepool.engine.config.loading import config_from, with_users_likes
from tidepool.engine.config.problems import ConfigProblem
from tidepool.engine.config.sections import FrozenConfig, Providers
from tidepool.engine.config.toml_files import Lines, find_slip
from tidepool.engine.errors import TidepoolError, UsageError
from tidepool.engine.kinds import load_kind
from tidepool.engine.providers.endpoint import endpoint_of, is_endpoint
from tidepool.engine.studies.study import study_from
from tidepool.tui.app.background import WorkerFailed, WorkerProcess
from tidepool.tui.app.compose.edits import values_of
from tidepool.tui.app.compose.fields import KeyPath

if TYPE_CHECKING:
    from tidepool.engine.planning.foresight import Forecast


@dataclass(frozen=True, slots=True)
class Examined:
    complaints: tuple[ConfigProblem, ...] = ()
    line: int | None = None
    """the line of a TOML error, from 1"""
    plan: Mapping[str, Any] | None = None
    shape: tuple[str, ...] = ()
    """how the number of units is computed"""
    models: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return self.plan is not None and not self.complaints


def examined(text: str, folder: Path, database: Path) -> Examined:
    try:
        values = values_of(text)
    except tomllib.TOMLDecodeError as error:
        line, explanation = find_slip(text, str(error))
        return Examined((ConfigProblem((), explanation),), line)
    config, faults = validate_all(values, folder, database)
    if config is None:
        return Examined(tuple(faults))
    try:
        plan, models, shape = _priced(values, config, folder, database)
    except UsageError as error:
        return Examined((ConfigProblem(error.where, str(error)),))
    except TidepoolError as error:
        return Examined((ConfigProblem((), str(error)),))
    waves, count = plan["waves"], max((wave["index"] for wave in plan["waves"]), default=0)
    remarks = remarks_on(config_from(with_users_likes(values), source="", lines=Lines(text)))
    data = {
        "unit_name": load_kind(config.batch.kind).units,
        "wave_count": count,
        "waves": waves[:MOST_WAVES],
        "missing_keys": missing_keys(models, config.providers),
        "warnings": [*remarks, *plan["warnings"]],
    }
    return Examined(plan={**plan, **data}, shape=shape, models=models)


def _priced(
    values: Mapping[str, Any], config: FrozenConfig, folder: Path, database: Path
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """Returns price and power, models, and shape. For a config with a [design], covers all cells together."""
    from tidepool.engine.design.cells import plan_study, priced_cells
    from tidepool.engine.planning.foresight import forecast, price_of

    if not values.get("design"):
        plan = {**price_of(config), "power": _power(forecast(config), database)}
        return plan, tuple(sorted(config.models())), tuple(study_from(config).shape())
    study = plan_study(config_from(with_users_likes(values), source="", folder=folder), database)
    plan = {**priced_cells(study), "power": _power(forecast(study), database)}
    return plan, tuple(plan.pop("models")), ()


def missing_keys(models: Iterable[str], providers: Providers) -> list[tuple[str, str]]:
    """Returns the providers without an API key, each with the environment variable for the key."""
    names = sorted({resolve_model(model).partition(":")[0] for model in models})
    sections = {name: providers.section(name) for name in names}
    endpoints = [endpoint_of(name, section) for name, section in sections.items() if is_endpoint(name, section)]
    return [(endpoint.title, endpoint.key_variable) for endpoint in endpoints if endpoint.lacks_key]


def _power(foreseen: "Forecast | None", database: Path) -> list[tuple[str, str]]:
    """Returns the expected precision in a few lines, with default assumptions."""
    from tidepool.engine.planning.foresight import PowerQuery, power_of
    from tidepool.engine.planning.report import MOST_LINES, power_lines

    if foreseen is None:
        return []
    few = replace(foreseen, widths=foreseen.widths[:MOST_LINES], comparisons=foreseen.comparisons[:MOST_LINES])
    return power_lines(power_of(few, PowerQuery(), None, database))


MOST_WAVES = 200
PATIENCE_SECONDS = 1.0
"""how long a newer text waits for the check of an older one"""


class Examiner(WorkerProcess):
    def __init__(self) -> None:
        super().__init__()
        self._turn = asyncio.Lock()

    async def examine(self, text: str, folder: Path, database: Path) -> Examined:
        while True:
            try:
                await asyncio.wait_for(self._turn.acquire(), PATIENCE_SECONDS)
                break
            except TimeoutError:
                self.kill()
        job = asyncio.ensure_future(self.ask(examined, text, folder, database))
        job.add_done_callback(lambda _: self._turn.release())
        try:
            return await asyncio.shield(job)
        except WorkerFailed as error:
            return Examined((ConfigProblem((), f"The plan could not be calculated: {error}."),))


def placed(
    complaints: Iterable[ConfigProblem], fields: Iterable[KeyPath]
) -> tuple[dict[KeyPath, str], list[ConfigProblem]]:
    """Returns errors by field, and the errors that no field can show.

    An error about a part of a field's value, or about a table that a field shows, belongs to the field.
    """
    known = list(fields)
    by_field: dict[KeyPath, str] = {}
    unplaced = []
    for complaint in complaints:
        where = complaint.where
        path = next((where[:length] for length in range(len(where), 0, -1) if where[:length] in known), None)
        if path is None:
            unplaced.append(complaint)
        else:
            by_field[path] = f"{by_field[path]} {complaint.sentence}" if path in by_field else complaint.sentence
    return by_field, unplaced
