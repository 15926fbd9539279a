"""A file's own words send no key: neither one that goes to a server of the file's, nor one that the file picks."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.emulator import Emulator, Faults
from tests.engine.test_trust import changed
from tests.support.state import query
from tidepool import SecretGame
from tidepool.engine.config.sections import Agent, Providers, Service
from tidepool.engine.errors import UsageError
from tidepool.engine.run import enlist, resume_batch
from tidepool.engine.trust.origins import origin_of
from tidepool.engine.trust.record import TrustedServer, trust_record
from tidepool.engine.trust.servers import without_strange_addresses

TREASURE = "AWS_SECRET_ACCESS_KEY"


@pytest.fixture
async def server() -> AsyncIterator[Emulator]:
    async with Emulator(hosts={"lab": Faults(like="openai")}) as running:
        yield running


@pytest.fixture(autouse=True)
def move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A machine with a treasure in its environment; and the way to another one."""

    def go(name: str) -> None:
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))

    go("here")
    monkeypatch.setenv(TREASURE, "the users own treasure")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-the-users-own")
    return go


def game(model: str, **providers: dict[str, Any]) -> SecretGame:
    return SecretGame(
        agents=[Agent(name=name, model=model, secret=f"{name}moss") for name in ("Ada", "Bo")],
        num_interactions=1,
        messages_per_interaction=2,
        detection=["exact"],
        service=Service(name="live", retries=0),
        providers=Providers.model_validate(providers),
    )


def lab(server: Emulator, **more: str) -> dict[str, Any]:
    return {"like": "openai", "base_url": server.urls["lab"], **more}


async def test_a_key_that_the_file_picks_is_told_with_its_server_and_not_sent(
    database: Path, server: Emulator, move: Callable[[str], None]
) -> None:
    enlist(game("lab:gpt-4o-mini", lab=lab(server, api_key_env=TREASURE)), database)
    move("there")
    with pytest.raises(UsageError) as refused:
        await resume_batch("last", database)
    words = str(refused.value)
    assert server.urls["lab"] in words and TREASURE in words and "treasure" not in words
    assert "--set 'providers.lab.base_url=…' --set 'providers.lab.api_key_env=…'" in words
    with pytest.raises(UsageError, match="not known here"):
        await resume_batch("last", database, overrides=[f"providers.lab.base_url={server.urls['lab']}"])
    assert not server.traffic("lab")
    trust_record().add_server(TrustedServer(origin_of(server.url), TREASURE))  # type: ignore[arg-type]
    assert (await resume_batch("last", database))["status"] == "completed"


async def test_a_server_of_ones_own_with_a_key_of_ones_own_is_ones_word(
    database: Path, server: Emulator, move: Callable[[str], None]
) -> None:
    enlist(game("lab:gpt-4o-mini", lab=lab(server, api_key_env=TREASURE)), database)
    move("there")
    said = [f"providers.lab.base_url={server.urls['lab']}", f"providers.lab.api_key_env={TREASURE}"]
    assert (await resume_batch("last", database, overrides=said))["status"] == "completed"
    assert server.providers["lab"].headers["authorization"] == {"Bearer the users own treasure"}


@pytest.mark.parametrize(
    ("model", "section", "sent"),
    [
        ("openai:gpt-4o-mini", {"api_key_env": TREASURE}, TREASURE),
        ("openrouter:x", {"api_key_env": TREASURE}, TREASURE),
        ("vllm:x", {"api_key_env": TREASURE}, TREASURE),
        ("openrouter:x", {"base_url": "https://elsewhere.example/v1"}, "OPENROUTER_API_KEY"),
        ("gemini:x", {"hosts": ["https://elsewhere.example/v1"]}, "GEMINI_API_KEY"),
        ("lab:x", {"like": "openai", "base_url": "https://elsewhere.example/v1"}, "without a key"),
    ],
)
async def test_neither_a_known_name_nor_a_usual_address_lets_a_key_of_the_files_choice_out(
    database: Path, move: Callable[[str], None], model: str, section: dict[str, Any], sent: str
) -> None:
    enlist(game(model, **{model.partition(":")[0]: section}), database)
    move("there")
    with pytest.raises(UsageError, match=f"not known here.*{sent}"):
        await resume_batch("last", database)


async def test_a_file_that_is_changed_to_pick_a_key_is_a_strangers(database: Path, server: Emulator) -> None:
    enlist(game("lab:gpt-4o-mini", lab=lab(server)), database)
    changed(database, "UPDATE batch SET config = json_set(config, '$.providers.lab.api_key_env', ?)", TREASURE)
    with pytest.raises(UsageError, match=TREASURE):
        await resume_batch("last", database)
    assert not server.traffic("lab")


async def test_a_server_on_this_machine_that_gets_no_key_is_asked(
    database: Path, server: Emulator, move: Callable[[str], None]
) -> None:
    enlist(game("lab:gpt-4o-mini", lab=lab(server)), database)
    move("there")
    assert (await resume_batch("last", database))["status"] == "completed"
    assert server.providers["lab"].headers["authorization"] == {"Bearer none"}


def test_a_strangers_batch_is_copied_without_its_servers_and_keys(
    database: Path, server: Emulator, move: Callable[[str], None]
) -> None:
    enlist(game("lab:gpt-4o-mini", lab=lab(server, api_key_env=TREASURE)), database)
    ((batch_id, config),) = query(database, "SELECT id, config FROM batch")
    move("there")
    assert without_strange_addresses(batch_id, config)["providers"]["lab"] == {"like": "openai"}
