from pathlib import Path

import pytest

from tests.engine.studies.secret_game.table import Table


@pytest.fixture
def table(database: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A game table at which every request is recorded."""
    return Table(database, monkeypatch)
