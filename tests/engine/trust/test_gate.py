"""A batch that was not created here is asked about once, and nothing is sent or run before the answer."""

import asyncio
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.emulator import Emulator
from tests.engine.api.conftest import Launcher
from tests.engine.studies.simulation.panels import panel
from tests.engine.trust.conftest import KEY, TREASURE, Move
from tests.engine.trust.studies import game, lab, openai_at, requests
from tests.support.command import ROOT, Tidepool
from tests.support.state import change, query
from tests.tui.persons import batch_status, opened, screen_text, until, until_seen
from tidepool.engine.api.app import PATH, create_app
from tidepool.engine.api.auth import TokenAuth
from tidepool.engine.api.runs import Runs
from tidepool.engine.config.sections import Providers, ProviderSettings, Service
from tidepool.engine.errors import FileError, NotTrusted
from tidepool.engine.events import Event, ProviderBatchChanged
from tidepool.engine.gate import adopt
from tidepool.engine.publishing.reuse import import_file
from tidepool.engine.run import create_batch, question_about, resume_batch, run_batch
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.trust.record import config_hash, trust_record
from tidepool.storage.batches import delete_batch
from tidepool.storage.states import StopCode
from tidepool.tui.app.compose.draft import Draft, keep_draft
from tidepool.tui.app.dialogs.batch import TrustDialog
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.screens.providers import ProvidersScreen

EVIL = "https://elsewhere.example/v1"


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "section", "words"), [
    ("openai:gpt-4o-mini", {}, r"https://api.openai.com/v1 \(with OPENAI_API_KEY\)"),
    ("openai:gpt-4o-mini", {"base_url": EVIL}, rf"{EVIL} \(with OPENAI_API_KEY\)"),
    ("openai:gpt-4o-mini", {"api_key_env": TREASURE}, rf"\(with {TREASURE}\)"),
    ("openrouter:x", {"api_key_env": TREASURE}, rf"\(with {TREASURE}\)"),
    ("gemini:x", {"hosts": [EVIL, f"{EVIL}2"]}, rf"{EVIL} \(with GEMINI_API_KEY\); gemini:x at {EVIL}2"),
    ("lab:x", {"like": "openai", "base_url": EVIL}, r"\(without a key\)"),
    ("ollama:llama3.2", {}, r"http://127.0.0.1:11434 \(without a key\)"),
    ("vllm:x", {"base_url": "http://127.0.0.1:9/v1"}, r"http://127.0.0.1:9/v1 \(without a key\)"),
])  # fmt: skip
async def test_every_real_server_of_a_foreign_batch_is_named_and_nothing_is_sent(
    database: Path, machine: Move, model: str, section: dict[str, Any], words: str
) -> None:
    create_batch(game(model, **{model.partition(":")[0]: section}), database)
    machine("there")
    for changes in ([], ["service.max_concurrent=3"], [f"providers.{model.partition(':')[0]}.retries=1"]):
        with pytest.raises(
            NotTrusted, match=f"was not created on this machine.*{words}.*tidepool .*trust add"
        ) as refused:
            await resume_batch("last", database, overrides=changes)
        assert KEY not in str(refused.value) and "treasure" not in str(refused.value)


FORGERIES: dict[str, str] = {
    "another server": "UPDATE batch SET config = json_set(config, '$.providers.openai.base_url', 'SERVER')",
    "another key": f"UPDATE batch SET config = json_set(config, '$.providers.openai.api_key_env', '{TREASURE}')",
    "another name": "UPDATE batch SET config = json_set(config, '$.batch.name', 'changed')",
    "another id": "UPDATE batch SET id = 'abcdef123456'",
    "says it is from here": "UPDATE batch SET imported = 0, config = json_set(config, '$.providers.openai.base_url', 'SERVER')",
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
async def test_ones_own_batch_that_was_changed_in_the_file_is_foreign(
    database: Path, server: Emulator, forgery: str
) -> None:
    async with Emulator() as own:
        create_batch(game(**openai_at(own)), database)
        change(database, forgery.replace("SERVER", server.urls["openai"]))
        with pytest.raises(NotTrusted):
            await resume_batch("last", database)
        assert requests(own) == requests(server) == 0


async def test_simulated_models_need_no_trust_and_make_no_address_the_users_own(
    tidepool: Tidepool, database: Path, tmp_path: Path, machine: Move
) -> None:
    study = panel(num_simulations=1)
    study.providers = Providers(openai=ProviderSettings(base_url="http://evil.example"))
    batch_id = create_batch(study, database)
    machine("there")
    assert question_about(database, "last") is None
    assert (await resume_batch(batch_id, database, overrides=["service.retries=3"]))["status"] == "completed"
    assert trust_record().batches() == []
    again = await asyncio.to_thread(tidepool, "--db", str(tmp_path / "again.db"), "--run", f"{database}#last")
    branch = await asyncio.to_thread(tidepool, "branch", batch_id, "--at", "t1.2", "--all", "--times", "1")
    assert again.returncode == 0 and branch.returncode == 0, again.stderr + branch.stderr
    assert len({batch_id for batch_id, _ in trust_record().batches()}) == 2
    stored = [
        *query(database, "SELECT config FROM batch WHERE number > 1"),
        *query(tmp_path / "again.db", "SELECT config FROM batch"),
    ]
    assert len(stored) == 2 and not any("evil.example" in config for (config,) in stored)


async def test_a_provider_batch_that_only_a_file_names_is_not_cancelled(database: Path, machine: Move) -> None:
    batch_id = create_batch(game(), database)
    change(
        database,
        "INSERT INTO provider_batch (id, batch_number, provider, lot, upload_id, remote_id, unsure, state, calls, count, wave, "
        "content_hash, reservation_usd, created_at) VALUES ('o1', 1, 'openai', '', 'f', 'batch_1', 0, 'created', '[]', 1, 1, '', 0, 1)",
    )
    machine("there")
    with pytest.raises(NotTrusted, match=f"trust add {batch_id}"):
        await resume_batch(batch_id, database)
    question = question_about(database, batch_id)
    assert question and ("waits", "for 1 provider batch in your account, which it may cancel") in question.rows()


@pytest.mark.parametrize(
    "remote_id", ["../files/file-1", "x/../../fine_tuning/jobs/ft-1", "a?b", "a#b", "", "a b", "é"]
)
async def test_an_id_at_the_provider_that_would_lead_elsewhere_is_refused(
    database: Path, monkeypatch: pytest.MonkeyPatch, remote_id: str
) -> None:
    """In ones own batch, whose file came back changed."""
    control = RunControl("leave")

    def listen(event: Event) -> None:
        if isinstance(event, ProviderBatchChanged) and event.state != "created":
            control.stop_for(StopCode.STOPPED)

    async with Emulator() as own:
        for name, value in own.env().items():
            monkeypatch.setenv(name, value)
        own.set_faults("openai", batch_seconds=1e6)
        study = game(interactions=3)
        study.service = Service(name="auto", batch_from=0, poll_interval=0.05, retries=0)
        await run_batch(study, database, on_event=listen, control=control)
        change(database, "UPDATE provider_batch SET remote_id = ?", remote_id)
        polled = own.traffic("openai")["poll"]
        with pytest.raises(FileError, match="an invalid id"):
            await resume_batch("last", database)
        assert own.traffic("openai")["poll"] == polled


# -- what is one's own ---------------------------------------------------------------------------------------


async def test_changed_limits_keep_ones_own_batch_ones_own(database: Path, server: Emulator) -> None:
    create_batch(game(**openai_at(server)), database)
    server.set_faults("openai", rates={"live": {"400": 1.0}})
    assert (await resume_batch("last", database, overrides=["service.max_concurrent=3"]))["status"] == "failed"
    server.set_faults("openai", rates={})
    assert (await resume_batch("last", database))["status"] == "completed"
    ((batch_id, config),) = query(database, "SELECT id, config FROM batch")
    assert trust_record().batches() == [(batch_id, config_hash(config))]


def test_an_import_keeps_the_servers_of_ones_own_batch_only(database: Path, tmp_path: Path) -> None:
    batch_id = create_batch(game("lab:x", lab={"like": "openai", "base_url": EVIL, "api_key_env": "LAB_KEY"}), database)
    ((config,),) = query(database, "SELECT config FROM batch")
    here = tmp_path / "here.db"
    import_file(here, database)
    assert query(here, "SELECT config FROM batch") == [(config,)] and trust_record().knows(batch_id, config)
    change(database, "UPDATE batch SET config = json_set(config, '$.providers.lab.api_key_env', ?)", TREASURE)
    delete_batch(here, batch_id)
    import_file(here, database)
    ((kept,),) = query(here, "SELECT config FROM batch")
    assert TREASURE not in kept and EVIL not in kept and not trust_record().knows(batch_id, kept)


# -- the answer ----------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(database: Path, server: Emulator, machine: Move) -> str:
    """A batch from another machine, with a server and a key variable of its own; its id."""
    batch_id = create_batch(game("lab:gpt-4o-mini", **lab(server, api_key_env=TREASURE)), database)
    machine("there")
    return batch_id


def at_a_terminal(database: Path, answer: str, *words: str) -> tuple[int, str]:
    """As a person runs it: exit code, and what the terminal showed."""
    person, terminal = pty.openpty()
    command = [sys.executable, "-m", "tidepool", "--db", str(database), *words, "--json"]
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


async def test_at_a_terminal_one_question_shows_all_and_a_yes_is_remembered(
    foreign: str, database: Path, server: Emulator
) -> None:
    code, seen = await asyncio.to_thread(at_a_terminal, database, "", "--resume", "last")
    assert code == 2 and requests(server) == 0, seen
    for words in (
        "was not created on this machine",
        server.urls["lab"],
        "lab:gpt-4o-mini",
        TREASURE,
        "price",
        "unknown",
    ):
        assert words in seen
    assert "treasure" not in seen and seen.count("[y/N]") == 1
    code, seen = await asyncio.to_thread(at_a_terminal, database, "y", "--resume", "last")
    assert code == 0, seen
    assert server.providers["lab"].headers["authorization"] == {"Bearer the users own treasure"}
    assert [batch_id for batch_id, _ in trust_record().batches()] == [foreign]


async def test_running_a_foreign_study_again_asks_and_makes_only_the_new_batch_ones_own(
    foreign: str, database: Path, tmp_path: Path, server: Emulator
) -> None:
    words = ("--run", f"{database}#last")
    code, seen = await asyncio.to_thread(at_a_terminal, tmp_path / "new.db", "n", *words)
    assert code == 2 and requests(server) == 0 and not (tmp_path / "new.db").exists(), seen
    code, seen = await asyncio.to_thread(at_a_terminal, tmp_path / "new.db", "y", *words)
    assert code == 0, seen
    assert [batch_id for batch_id, _ in trust_record().batches()] != [foreign] and len(trust_record().batches()) == 1


@pytest.mark.parametrize("way", ["resume_batch", "--trust", "trust add"])
async def test_trust_without_a_terminal(
    tidepool: Tidepool, foreign: str, database: Path, server: Emulator, way: str
) -> None:
    if way == "resume_batch":
        assert (await resume_batch("last", database, trust=True))["status"] == "completed"
    elif way == "--trust":
        obeyed = await asyncio.to_thread(tidepool, "--resume", "last", "--trust")
        assert obeyed.returncode == 0, obeyed.stderr
    else:
        added = await asyncio.to_thread(tidepool, "trust", "add", foreign[:6])
        assert added.returncode == 0 and server.urls["lab"] in added.stdout and TREASURE in added.stdout
        assert (await asyncio.to_thread(tidepool, "--resume", "last")).returncode == 0
    assert requests(server) > 0 and [batch_id for batch_id, _ in trust_record().batches()] == [foreign]
    listed = await asyncio.to_thread(tidepool.json, "trust", "list")
    assert [one["id"] for one in listed["batches"]] == [foreign]
    assert (await asyncio.to_thread(tidepool, "trust", "remove", foreign)).returncode == 0
    assert (await asyncio.to_thread(tidepool, "trust", "remove", foreign)).returncode == 2
    assert trust_record().batches() == []


def test_the_question_believes_neither_the_files_prices_nor_its_counts(database: Path, machine: Move) -> None:
    free = {"*": {"input": 0.0, "output": 0.0}}
    create_batch(game(openai={"base_url": EVIL, "prices": free}), database)
    change(database, "UPDATE progress SET calls = 1000000, bought = 1000000")
    machine("there")
    question = question_about(database, "last")
    assert question is not None and question.calls == 2 and question.most_usd
    replaced = question_about(database, "last", ["providers.openai.base_url=https://mine.example"])
    assert replaced and {one.address for one in replaced.admission.servers} == {EVIL, "https://mine.example"}


@pytest.mark.parametrize("when", ["after the question", "after the check"])
async def test_a_config_that_changes_meanwhile_is_neither_adopted_nor_run(
    foreign: str, database: Path, server: Emulator, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def changes(*_: object) -> None:
        change(database, "UPDATE batch SET config = json_set(config, '$.batch.name', 'another')")

    if when == "after the question":
        question = question_about(database, "last")
        assert question is not None
        changes()
        with pytest.raises(NotTrusted, match="changed by another process"):
            adopt(database, foreign, question.admission.frozen)
        assert trust_record().batches() == []
    else:
        monkeypatch.setattr("tidepool.engine.run.OpenAccounts.name_batch", changes)
        with pytest.raises(NotTrusted, match="changed by another process"):
            await resume_batch("last", database, trust=True)
    assert server.traffic("lab")["live"] == 0 and query(database, "SELECT status FROM batch") == [("pending",)]


async def test_the_app_asks_and_no_is_the_default(foreign: str, database: Path, server: Emulator) -> None:
    async with opened(database) as (app, pilot):
        await until_seen(pilot, foreign[:6])
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, TrustDialog), "the question")
        shown = re.sub(r"\s+", " ", screen_text(app))
        assert server.urls["lab"] in shown and TREASURE in shown and "lab:gpt-4o-mini" in shown and "unknown" in shown
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, TrustDialog), "a no by default")
        assert not app._launched and requests(server) == 0
        await pilot.press("c")
        await until(pilot, lambda: app.current_mode == "compose", "the study in Compose")
        assert isinstance(app.screen, ComposeScreen)
        draft = app.screen.history.written()
        assert "lab:gpt-4o-mini" in draft and server.urls["lab"] not in draft and TREASURE not in draft
        await pilot.press("1")
        await until(pilot, lambda: app.current_mode == "batches", "the batches")
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, TrustDialog), "the question again")
        await pilot.press("y")
        await until(pilot, lambda: batch_status(database) == "completed", "the end")
    assert server.providers["lab"].headers["authorization"] == {"Bearer the users own treasure"}


async def test_the_providers_screen_sends_no_key_to_a_server_that_only_the_draft_names(
    database: Path, server: Emulator
) -> None:
    """A config from somebody else that was opened in Compose is not run, and not contacted by visiting another screen."""
    keep_draft(database, Draft(f'[providers.openai]\nbase_url = "{server.urls["openai"]}"\n'))
    async with opened(database) as (app, pilot):
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, ProvidersScreen), "the providers")
        await until(pilot, lambda: "Press r to connect" in app.screen._cards["openai"].fault, "the note")  # type: ignore[attr-defined]
        assert server.urls["openai"] in app.screen._cards["openai"].fault  # type: ignore[attr-defined]
        await pilot.press("r")
        await pilot.pause(0.2)
        assert not server.traffic("openai")
        while app.screen.card.name != "openai":  # type: ignore[attr-defined]
            await pilot.press("down")
        await pilot.press("r")
        await until(pilot, lambda: server.traffic("openai")["models"] > 0, "the request that was asked for")


async def test_what_a_config_says_of_servers_and_code_is_named_before_anything_is_sent(
    tidepool: Tidepool, database: Path, server: Emulator, tmp_path: Path
) -> None:
    (tmp_path / "marks.py").write_text("def mark(reply, answer):\n    return True\n")
    (tmp_path / "study.toml").write_text(
        f"""[batch]
kind = "evolution"
[evolution]
model = "lab:gpt-4o-mini"
mutator = "simulated:rewriter"
scorer = "marks.py:mark"
population_size = 3
max_generations = 1
max_problems = 2
validation_problems = 2
elite_size = 1
[providers.lab]
like = "openai"
base_url = "{server.urls["lab"]}"
api_key_env = "{TREASURE}"
"""
    )
    for words in (["--run", "study.toml", "--dry-run"], ["plan", "study.toml"], ["--run", "study.toml"]):
        done = await asyncio.to_thread(tidepool, *words)
        assert done.returncode == 0, done.stderr
        assert re.search(
            r"Runs code on this machine: the scorer marks.py:mark .*which can read your keys", done.stderr
        ), words
        assert server.traffic("lab")["live"] == 0 or words[-1] == "study.toml"
    assert done.stderr.startswith(f"Server: lab:gpt-4o-mini at {server.urls['lab']} (with {TREASURE})"), done.stderr


# -- the API and its queue -----------------------------------------------------------------------------------


def test_the_api_refuses_and_starts_nothing(database: Path, machine: Move) -> None:
    study = panel(num_simulations=1, model="openai:gpt-4o-mini")
    study.providers = Providers(openai=ProviderSettings(base_url=EVIL))
    batch_id, launcher = create_batch(study, database), Launcher()
    change(database, "UPDATE batch SET status = 'interrupted'")
    machine("there")
    with TestClient(
        create_app(database, launcher, auth=TokenAuth(None, local_only=True, name="The API")),
        base_url="http://localhost",
    ) as client:
        answer = client.post(f"{PATH}/{batch_id}/resume")
        assert answer.status_code == 403
        assert EVIL in answer.json()["message"] and "trust add" in answer.json()["message"]
        assert launcher.started == [] and query(database, "SELECT status FROM batch") == [("interrupted",)]
        machine("here")
        assert client.post(f"{PATH}/{batch_id}/resume").status_code == 202


def test_the_api_does_not_run_what_the_file_calls_queued(database: Path) -> None:
    launcher = Launcher()
    create_batch(panel(num_simulations=1), database)
    change(database, "UPDATE batch SET status = 'pending', reason = 'queued'")
    Runs(database, launcher, 4).look()
    assert launcher.started == []


# -- installed packages --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_installed_provider_acts_on_a_foreign_file_only_after_a_yes(tmp_path: Path, database: Path) -> None:
    """A package may read a server, or a command, from keys of its own."""
    package = tmp_path / "package"
    (package / "strange-1.dist-info").mkdir(parents=True)
    (package / "strange-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1\n")
    (package / "strange-1.dist-info" / "entry_points.txt").write_text(
        "[tidepool.providers]\nshell = strange:PROVIDER\n"
    )
    (package / "strange.py").write_text(
        "from tidepool.engine.extending import *\n"
        "class ShellSettings(ProviderSettings):\n    command: str = 'cat'\n"
        "class ShellProvider(LiveProvider):\n    name = 'shell'\n"
        "    async def complete(self, call, seed, attempt):\n"
        "        open(self.settings.command, 'w').close()\n"
        "        return Answer('hello', 1, 1, cost_usd=0.0)\n"
        "    def price(self, model_name):\n        return FREE\n"
        "PROVIDER = ProviderSpec(ShellSettings, ShellProvider, models=('x',))\n"
    )
    study = tmp_path / "study.toml"
    made = tmp_path / "made by the command"
    study.write_text(
        '[batch]\nkind = "simulation"\n[simulation]\ncontext = "c"\nmodel = "shell:x"\nnum_simulations = 1\n'
        f'[providers.shell]\ncommand = "{made}"\n'
        '[[entities]]\nname = "A"\ndescription = "a"\n[[entities]]\nname = "B"\ndescription = "b"\n'
    )

    def run(*words: str, state: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": f"{package}:{ROOT}", "TIDEPOOL_STATE": str(tmp_path / state)}
        command = [sys.executable, "-m", "tidepool", "--db", str(database), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=120)

    assert run("--run", str(study), state="here").returncode == 0
    made.unlink()
    change(database, "DELETE FROM call")
    change(database, "UPDATE batch SET status = 'interrupted'")
    change(database, "UPDATE unit SET status = 'in_progress'")
    refused = run("--resume", "last", state="there")
    assert refused.returncode == 2 and "shell:x" in refused.stderr, refused.stderr
    assert not made.exists()
    assert run("--resume", "last", "--trust", state="there").returncode == 0
    assert made.exists()
