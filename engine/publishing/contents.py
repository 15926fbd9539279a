"""What is published: batches and tables as the files about them tell of them, read from the copy that goes out."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidepool.engine.publishing.about import About
from tidepool.engine.results.simulated_roles import ALL_SIMULATED, merge_roles, simulated_words
from tidepool.engine.results.summary import summarise
from tidepool.storage.states import BatchStatus
from tidepool.storage.studies import StoredStudy
from tidepool.storage.transfer.tables import WITHOUT_FACTORS, column_of, factor_names, levels_of
from tidepool.storage.views import VIEWS, ViewColumn

FILE = "study.db"
FINISHED = (BatchStatus.COMPLETED, BatchStatus.PARTIAL, BatchStatus.FAILED)


@dataclass(frozen=True, slots=True)
class PublishedBatch:
    id: str
    name: str
    kind: str
    status: str
    seed: int
    version: str
    simulated: bool
    created: str
    finished: str
    """days; empty where there is none"""
    units: int
    completed: int
    models: tuple[str, ...]
    """as they were asked for, and in brackets as they were served"""
    levels: Mapping[str, str]
    roles: tuple[Mapping[str, Any], ...]
    """each model that was asked, with its role, its calls and whether it is simulated"""

    @property
    def unfinished(self) -> bool:
        return self.status not in FINISHED


@dataclass(frozen=True, slots=True)
class PublishedTable:
    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    rows: int

    @property
    def path(self) -> str:
        return f"data/{self.name}.parquet"


@dataclass(frozen=True, slots=True)
class Publication:
    id: str
    about: About
    study: StoredStudy | None
    batches: tuple[PublishedBatch, ...]
    tables: tuple[PublishedTable, ...]
    notes: tuple[str, ...] = ()
    """what readers should know before they use it"""

    @property
    def date(self) -> str:
        """The last day on which something happened in it: the same study makes the same folder on any day."""
        return max(batch.finished or batch.created for batch in self.batches) or "1970-01-01"

    @property
    def simulated(self) -> bool:
        return any(batch.simulated for batch in self.batches)

    @property
    def simulated_words(self) -> str:
        """Empty where every answer came from a language model."""
        if not self.simulated:
            return ""
        words = simulated_words(merge_roles(batch.roles for batch in self.batches))
        if words == ALL_SIMULATED:
            return "Simulated answers: no language model was asked, and nothing here says anything about one."
        return f"{words[:1].upper()}{words[1:]}."

    @property
    def kinds(self) -> list[str]:
        return sorted({batch.kind for batch in self.batches})

    @property
    def keywords(self) -> list[str]:
        kinds = [kind.replace("_", " ") for kind in self.kinds]
        return ["tidepool", "language model agents", *kinds, *(["simulated"] if self.simulated else [])]


def published_batch(copy: Path, connection: sqlite3.Connection, batch: sqlite3.Row) -> PublishedBatch:
    told = summarise(copy, batch["id"], with_statistics=False)
    served = {(one["model"], one["served"]) for one in told["served_models"]}
    asked = [one["model"] for one in told["roles"]]
    return PublishedBatch(
        id=batch["id"],
        name=batch["name"],
        kind=batch["kind"],
        status=told["status"],
        seed=batch["seed"],
        version=batch["version"] or "unknown",
        simulated=told["simulated"],
        created=(told["created_at"] or "")[:10],
        finished=(told["finished_at"] or "")[:10],
        units=told["units"]["total"],
        completed=told["units"]["completed"],
        models=tuple(dict.fromkeys(_served(model, served) for model in asked)),
        levels=levels_of(connection, batch),
        roles=tuple(told["roles"]),
    )


def _served(model: str, served: set[tuple[str, str]]) -> str:
    others = sorted(answered for asked, answered in served if asked == model and answered != model.partition(":")[2])
    return f"{model} ({', '.join(others)})" if others else model


def published_tables(connection: sqlite3.Connection, counts: Mapping[str, int]) -> Iterator[PublishedTable]:
    """`counts`: rows by view, as they were written."""
    factors = factor_names(connection)
    for view in VIEWS.values():
        more = () if view.name in WITHOUT_FACTORS else tuple(map(_factor_column, factors))
        yield PublishedTable(view.name, view.meaning, (*view.columns, *more), counts[view.name])


def _factor_column(factor: str) -> ViewColumn:
    return ViewColumn(column_of(factor), "text", "Level of this factor of the study's design, in the batch of the row.")


def servers_in(config: Mapping[str, Any]) -> list[str]:
    """Addresses that a config names: whoever publishes it should know that they go out."""
    providers = config.get("providers")
    sections = [one for one in providers.values() if isinstance(one, Mapping)] if isinstance(providers, Mapping) else []
    found = [place for one in sections for place in (one.get("base_url"), *(one.get("hosts") or ()))]
    return [str(place) for place in found if place]
