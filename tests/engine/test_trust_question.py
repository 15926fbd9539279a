"""Before a stranger's batch asks strange servers: one question, at a terminal or in the app; elsewhere a clear no."""

import asyncio
import os
import pty
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.emulator import Emulator, Faults
from tests.engine.api.conftest import Launcher
from tests.engine.studies.simulation.panels import panel
from tests.engine.test_trusted_endpoints import TREASURE, game, lab
from tests.support.command import ROOT, Tidepool
from tests.support.state import change, query
from tests.tui.persons import batch_status, opened, screen_text, until, until_seen
from tidepool.engine.api.app import PATH, create_app
from tidepool.engine.api.door import Door
from tidepool.engine.config.sections import Providers, ProviderSettings
from tidepool.engine.errors import NotTrusted
from tidepool.engine.run import enlist, resume_batch
from tidepool.engine.trust.adoption import adopt
from tidepool.engine.trust.question import question_about
from tidepool.engine.trust.record import config_hash, trust_record
from tidepool.tui.app.compose_model.draft import Draft, keep_draft
from tidepool.tui.app.dialogs.trust import TrustDialog
from tidepool.tui.app.screens.providers import ProvidersScreen

Move = Callable[[str], None]


@pytest.fixture
async def server() -> AsyncIterator[Emulator]:
    async with Emulator(hosts={"lab": Faults(like="openai")}) as running:
        yield running


@pytest.fixture(autouse=True)
def move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Move:
    def go(name: str) -> None:
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))

    go("here")
    monkeypatch.setenv(TREASURE, "the users own treasure")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return go


@pytest.fixture
def strangers(database: Path, server: Emulator, move: Move) -> str:
    """A batch that was made on another machine, with a server and a key variable of its own; its id."""
    batch_id = enlist(game("lab:gpt-4o-mini", lab=lab(server, api_key_env=TREASURE)), database)
    move("there")
    return batch_id


def at_a_terminal(database: Path, answer: str) -> tuple[int, str]:
    """`--resume last` as a person runs it: exit code, and what stood on the terminal."""
    person, terminal = pty.openpty()
    command = [sys.executable, "-m", "tidepool", "--db", str(database), "--resume", "last", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    with subprocess.Popen(
        command, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, env=environment, cwd=database.parent
    ) as process:
        os.close(terminal)
        seen, answered = b"", False
        while True:
            try:
                seen += (came := os.read(person, 65536))
            except OSError:  # the terminal's other end is closed
                break
            if not came:
                break
            if b"[y/N]" in seen and not answered:
                answered = True
                os.write(person, f"{answer}\n".encode())
        out = process.stdout.read() if process.stdout else b""
        code = process.wait(timeout=60)
    os.close(person)
    assert code or out.startswith(b"{"), "stdout carries the summary and nothing else"
    return code, seen.decode()


async def test_at_a_terminal_one_question_tells_all_and_a_yes_is_remembered(
    strangers: str, database: Path, server: Emulator
) -> None:
    code, seen = await asyncio.to_thread(at_a_terminal, database, "")
    assert code == 2 and "not known here" in seen and not server.traffic("lab"), seen
    for words in (server.urls["lab"], "lab:gpt-4o-mini", TREASURE, "price", "unknown", "trust record"):
        assert words in seen
    assert "treasure" not in seen and seen.count("[y/N]") == 1
    code, seen = await asyncio.to_thread(at_a_terminal, database, "y")
    assert code == 0, seen
    assert server.providers["lab"].headers["authorization"] == {"Bearer the users own treasure"}
    assert [one.id for one in trust_record().batches()] == [strangers]


def test_the_question_believes_the_file_neither_its_prices_nor_what_is_answered(
    database: Path, server: Emulator, move: Move
) -> None:
    free = {"*": {"input": 0.0, "output": 0.0}}
    enlist(game("openai:gpt-4o-mini", openai={"base_url": server.urls["openai"], "prices": free}), database)
    change(database, "UPDATE progress SET calls = 1000000, bought = 1000000")
    move("there")
    question = question_about(database, "last")
    assert question is not None and question.calls == 2
    assert question.most_usd is not None and question.most_usd > 0
    assert question_about(database, "last", [f"providers.openai.base_url={server.urls['openai']}"]) is None


def test_one_question_is_for_the_whole_pool(database: Path, move: Move) -> None:
    hosts = [f"http://gpu{n}.example:8000/v1" for n in range(1, 4)]
    enlist(game("lab:x", lab={"like": "openai", "hosts": hosts, "api_key_env": TREASURE}), database)
    move("there")
    question = question_about(database, "last")
    assert question is not None
    assert [words for what, words in question.rows() if what == "server"] == hosts
    assert [what for what, _ in question.rows()].count("price") == 1


def test_reading_and_simulated_models_ask_nothing(database: Path, move: Move) -> None:
    study = panel(num_simulations=1)
    study.providers = Providers(openai=ProviderSettings(base_url="http://evil.example"))
    enlist(study, database)
    move("there")
    assert question_about(database, "last") is None


async def test_a_config_that_changes_after_the_question_is_not_adopted_and_not_run(
    strangers: str, database: Path, server: Emulator
) -> None:
    question = question_about(database, "last")
    assert question is not None
    change(database, "UPDATE batch SET config = json_set(config, '$.providers.lab.api_key_env', 'OPENAI_API_KEY')")
    with pytest.raises(NotTrusted, match="changed by somebody"):
        adopt(database, strangers, question.config)
    with pytest.raises(NotTrusted, match="not known here"):
        await resume_batch("last", database, trust=question.config_hash)
    assert trust_record().batches() == [] and not server.traffic("lab")


async def test_a_config_that_changes_between_the_check_and_the_run_stops_it(
    strangers: str, database: Path, server: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes while the accounts are opened; what was judged is what runs, or nothing does."""
    monkeypatch.setattr(
        "tidepool.engine.run.OpenAccounts.name_batch",
        lambda accounts, batch_id: change(
            database, "UPDATE batch SET config = json_set(config, '$.batch.name', 'another')"
        ),
    )
    with pytest.raises(NotTrusted, match="changed by somebody"):
        await resume_batch("last", database, trust=True)
    assert server.traffic("lab")["live"] == 0 and query(database, "SELECT status FROM batch") == [("pending",)]


async def test_the_app_asks_and_passes_its_approval_to_the_process_it_starts(
    strangers: str, database: Path, server: Emulator, tmp_path: Path, move: Move
) -> None:
    (tmp_path / "a file").write_text("in the way")
    move("a file/state")  # no record can be written: the approval goes along with the process
    async with opened(database) as (app, pilot):
        await until_seen(pilot, strangers[:6])
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, TrustDialog), "the question")
        shown = re.sub(r"\s+", " ", screen_text(app))
        assert server.urls["lab"] in shown and TREASURE in shown and "lab:gpt-4o-mini" in shown and "unknown" in shown
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, TrustDialog), "a no by default")
        assert not app._launched and not server.traffic("lab")
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, TrustDialog), "the question again")
        await pilot.press("y")
        await until(pilot, lambda: batch_status(database) == "completed", "the end")
        assert any("cannot be used" in one.message for one in app._notifications)
    assert server.providers["lab"].headers["authorization"] == {"Bearer the users own treasure"}


def test_the_api_refuses_with_words_and_starts_nothing(database: Path, move: Move) -> None:
    study = panel(num_simulations=1, model="openai:gpt-4o-mini")
    study.providers = Providers(openai=ProviderSettings(base_url="http://evil.example/v1"))
    batch_id, launcher = enlist(study, database), Launcher()
    change(database, "UPDATE batch SET status = 'interrupted'")
    move("there")
    with TestClient(
        create_app(database, launcher, door=Door(None, here_only=True, what="The API")), base_url="http://localhost"
    ) as client:
        answer = client.post(f"{PATH}/{batch_id}/resume")
        assert answer.status_code == 403
        assert "http://evil.example/v1" in answer.json()["message"] and "trust add" in answer.json()["message"]
        assert launcher.started == [] and query(database, "SELECT status FROM batch") == [("interrupted",)]
        move("here")
        assert client.post(f"{PATH}/{batch_id}/resume").status_code == 202


def test_trust_with_a_hash_is_for_that_config_alone(tidepool: Tidepool, strangers: str, database: Path) -> None:
    ((config,),) = query(database, "SELECT config FROM batch")
    refused = tidepool("--resume", "last", "--trust", config_hash(config + " "))
    assert refused.returncode == 2 and "not known here" in refused.stderr


async def test_what_a_config_says_of_servers_is_named_before_anything_is_sent(
    tidepool: Tidepool, database: Path, server: Emulator, tmp_path: Path
) -> None:
    config = tmp_path / "study.toml"
    config.write_text(
        f"""[batch]
kind = "secret_game"
[secret_game]
num_interactions = 1
messages_per_interaction = 2
detection = ["exact"]
[providers.lab]
like = "openai"
base_url = "{server.urls["lab"]}"
api_key_env = "{TREASURE}"
[[agents]]
name = "Ada"
model = "lab:gpt-4o-mini"
secret = "marigold"
[[agents]]
name = "Bo"
model = "simulated:guarded"
secret = "lantern"
"""
    )
    done = await asyncio.to_thread(tidepool, "--run", str(config), "--json")
    assert done.returncode == 0, done.stderr
    named = f"asks lab:gpt-4o-mini at {server.urls['lab']} (with {TREASURE})"
    assert done.stderr.startswith(named), done.stderr
    assert [row for row in query(database, "SELECT message FROM log") if row[0] == f"A{named[1:]}."]


async def test_looking_at_the_providers_sends_no_key_to_a_server_that_only_the_draft_names(
    database: Path, server: Emulator
) -> None:
    """A stranger's config that was opened in Compose is not run, nor asked anything, by going to another screen."""
    keep_draft(database, Draft(f'[providers.openai]\nbase_url = "{server.urls["openai"]}"\n'))
    async with opened(database) as (app, pilot):
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, ProvidersScreen), "the providers")
        await until(pilot, lambda: "not asked yet" in app.screen._cards["openai"].fault, "the note")  # type: ignore[attr-defined]
        assert server.urls["openai"] in app.screen._cards["openai"].fault  # type: ignore[attr-defined]
        await pilot.press("r")
        await pilot.pause(0.2)
        assert not server.traffic("openai")
        while app.screen.card.name != "openai":  # type: ignore[attr-defined]
            await pilot.press("down")
        await pilot.press("r")
        await until(pilot, lambda: server.traffic("openai")["models"] > 0, "the question that was asked for")
