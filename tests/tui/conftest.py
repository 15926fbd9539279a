"""A file to look at, and texts of screens to hold them against."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.tui.studies import game, played_now
from tidepool.tui.app import key_order
from tidepool.tui.command.main import main

LONG_AGO = (time.time() // 86_400 - 40) * 86_400
"""at the beginning of a minute: the methods say "between … and …" of a batch that ended in another minute than it began"""
FIXED = f"""
    UPDATE batch SET id = 'abcdef0123' || number, created_at = {LONG_AGO}, finished_at = {LONG_AGO + 12.3};
    UPDATE progress SET seconds = 12.3, call_seconds = 20.0;
    UPDATE wave SET seconds = 0.5;
    UPDATE call SET at = {LONG_AGO} + wave, seconds = 0.25;
    UPDATE log_line SET at = 0;
    DELETE FROM log_line WHERE message LIKE 'Wave %' OR message LIKE 'Performance %';
    UPDATE library_entity SET created_at = {LONG_AGO};
"""
OF_PROVIDERS = [name for name in os.environ if name.startswith(("OPENAI_", "ANTHROPIC_"))]


@pytest.fixture(autouse=True)
def patient_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may hold a key back for longer than people would wait."""
    monkeypatch.setattr(key_order, "PATIENCE_SECONDS", 30.0)


@pytest.fixture
def path(database: Path) -> Path:
    """A study file that is not there yet."""
    return database


@pytest.fixture(scope="session")
def filled_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file whose times and ids are fixed, and surroundings that are the same everywhere."""
    folder = tmp_path_factory.mktemp("pictures")
    path = folder / "study.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEPOOL_SELLER", str(folder / "seller"))
        patch.setenv("TZ", "UTC")
        for name in ("NO_COLOR", "TEXTUAL_THEME", *OF_PROVIDERS):
            patch.delenv(name, raising=False)
        patch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
        time.tzset()
        played_now(path, game(name="The first of two", talks=4, fatal=0.05))
        played_now(path, game(name="Who gives in first?", talks=20, seed=9))
        main(["--db", str(path), "entities", "generate", "--type", "human", "-n", "6", "--seed", "1"])
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(FIXED)
        yield path
    time.tzset()


SNAPSHOTS = Path(__file__).parent / "snapshots"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the texts of the screens anew")


@pytest.fixture
def same_text(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a screen with its stored text, or stores it."""
    update = request.config.getoption("--update-snapshots", default=False)

    def check(name: str, text: str) -> None:
        path, shown = SNAPSHOTS / f"{name}.txt", "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
        if update:
            SNAPSHOTS.mkdir(exist_ok=True)
            path.write_text(shown, encoding="utf-8")
        assert shown == path.read_text(encoding="utf-8"), f"{name}: --update-snapshots stores it, where it is meant"

    return check
