"""A user's machine with keys in its environment and a trust record, and the way to another machine."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.emulator import Emulator, Faults
from tidepool.storage.text import watch

KEY = "sk-the-users-own-key"
TREASURE = "AWS_SECRET_ACCESS_KEY"

Move = Callable[[str], None]


@pytest.fixture
async def server() -> AsyncIterator[Emulator]:
    """A server on loopback, which anybody may run."""
    async with Emulator(hosts={"lab": Faults(like="openai")}) as running:
        yield running


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Move:
    def move(name: str) -> None:
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))

    move("here")
    for name, value in (("OPENAI_API_KEY", KEY), (TREASURE, "the users own treasure")):
        monkeypatch.setenv(name, value)
    for name in ("OPENAI_BASE_URL", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    watch()
    return move
