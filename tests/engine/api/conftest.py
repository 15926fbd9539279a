"""An API on a file with a few entities, whose batches are launched by the test."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.engine.studies.simulation.panels import PEOPLE
from tidepool.engine.api.app import create_app
from tidepool.engine.api.auth import TokenAuth
from tidepool.engine.config.library import stored_entity
from tidepool.storage.file import prepare
from tidepool.storage.library import add


@dataclass
class Started:
    """A process that runs as long as the test likes."""

    batch_id: str
    ended: bool = False
    died_of: str | None = None

    def complaint(self) -> str | None:
        return self.died_of


@dataclass
class Launcher:
    started: list[Started] = field(default_factory=list)

    def __call__(self, database: Path, batch_id: str) -> Started:
        self.started.append(Started(batch_id))
        return self.started[-1]


OPEN = TokenAuth(None, local_only=True, name="The API")
"""no token, for names of this machine"""


@pytest.fixture
def launcher() -> Launcher:
    return Launcher()


@pytest.fixture
def library(database: Path) -> list[str]:
    """The ids of four entities in the file's library."""
    prepare(database)
    entities = [stored_entity(entity) for entity in PEOPLE]
    add(database, entities)
    return [entity.id for entity in entities]


@pytest.fixture
def client(database: Path, library: list[str], launcher: Launcher) -> Iterator[TestClient]:
    with TestClient(create_app(database, launcher, auth=OPEN), base_url="http://localhost") as client:
        yield client
