"""Small studies for tests."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tidepool import Entity, Service, Simulation
from tidepool.engine.config.sections import Providers, SimulatedSettings
from tidepool.engine.studies.simulation.measures import SpeechTally
from tidepool.storage.queries.units import SpokenPage

PEOPLE = [
    Entity("Ada", "A miller of few words", {"age": 61, "agreeableness": 2}),
    Entity("Bob", "A baker who needs flour", {"age": 34, "agreeableness": 9}),
    Entity("Cleo", "A carpenter looking for work", {"age": 23, "agreeableness": 7}),
    Entity("Dion", "A fisherman fond of the river", {"age": 52, "agreeableness": 4}),
]


def panel(
    people: list[Entity] = PEOPLE, service: str = "live", simulated: dict[str, Any] | None = None, **settings: Any
) -> Simulation:
    settings.setdefault("context", "A plan for a new water mill")
    providers = Providers(simulated=SimulatedSettings(**(simulated or {})))
    seed = settings.pop("seed", 42)
    return Simulation(
        entities=people, seed=seed, service=Service(name=service, batch_from=0), providers=providers, **settings
    )


def rows(path: Path, query: str, *values: Any) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, values)]


def take_completed(
    tally: SpeechTally,
    kind: str,
    cast: Iterable[str],
    said: Iterable[tuple[str, str]],
    ratings: Iterable[tuple[str, float | None]],
) -> None:
    """One completed simulation: who took part, who said what, and each entity's rating (None: missing)."""
    told, given = list(said), [(0, *one) for one in ratings]
    speakers, texts = [speaker for speaker, _ in told], [text.encode() for _, text in told]
    tally.take(SpokenPage([0], ["completed"], [kind], [list(cast)], ([0] * len(told), speakers, texts), given))


def take_unfinished(tally: SpeechTally, kind: str, status: str) -> None:
    tally.take(SpokenPage([0], [status], [kind], [[]], ((), (), ()), ()))
