"""Studies with real providers through the command, in a process of its own, against the emulator."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.support import warm
from tests.support.command import ROOT

MODELS = {"openai": "gpt4o_mini", "anthropic": "claude_haiku"}
KEY = "sk-emulated-0123456789-never-to-be-seen"


@dataclass
class Shell:
    """The command with the emulator's environment; every word it says is kept."""

    folder: Path
    emulator: Emulator

    def __post_init__(self) -> None:
        places = self.emulator.env()
        keys = {name: KEY for name in places if name.endswith("_KEY")}
        self.env = {**os.environ, **places, **keys, "PYTHONPATH": str(ROOT)}
        self.said: list[str] = []

    def start(self, *arguments: str, database: str = "study.db") -> "asyncio.Future[asyncio.subprocess.Process]":
        command = (sys.executable, "-m", "tidepool", "--db", str(self.folder / database), *arguments)
        pipe = asyncio.subprocess.PIPE
        return asyncio.ensure_future(
            asyncio.create_subprocess_exec(*command, cwd=self.folder, env=self.env, stdout=pipe, stderr=pipe)
        )

    async def ended(self, process: asyncio.subprocess.Process) -> tuple[int, str, str]:
        out, err = await asyncio.wait_for(process.communicate(), 90)
        self.said += [out.decode(), err.decode()]
        return process.returncode or 0, out.decode(), err.decode()

    async def __call__(self, *arguments: str, database: str = "study.db") -> tuple[int, str, str]:
        command = ["--db", str(self.folder / database), *arguments]
        done = await asyncio.to_thread(warm.run, command, self.folder, self.env, 90.0)
        self.said += [done.stdout, done.stderr]
        return done.returncode, done.stdout, done.stderr

    async def json(self, *arguments: str, database: str = "study.db") -> Any:
        code, out, err = await self(*arguments, "--json", database=database)
        assert code == 0, err
        return json.loads(out)

    def study(self, provider: str, service: str, conversations: int = 100, messages: int = 4, more: str = "") -> str:
        agents = "".join(
            f'[[agents]]\nname = "{name}"\nmodel = "{MODELS[provider]}"\nsecret = "{secret}"\n'
            for name, secret in (("Ada", "harbour"), ("Bob", "little"))
        )
        path = self.folder / f"{provider}-{service}.toml"
        path.write_text(
            f'[batch]\nkind = "secret_game"\n[service]\nname = "{service}"\npoll_interval = 0.2\ncache = false\n{more}\n'
            f"[secret_game]\nnum_interactions = {conversations}\nmessages_per_interaction = {messages}\n{agents}"
        )
        return str(path)

    def everything(self) -> dict[str, bytes]:
        """Every file that was written, and every word that was said."""
        files = {str(path): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        return {**files, "what the command said": "\n".join(self.said).encode()}


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    async with Emulator() as emulator:
        yield Shell(tmp_path, emulator)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "on_stop", "stop", "code"),
    [("openai", "leave", signal.SIGINT, 130), ("anthropic", "cancel", signal.SIGTERM, 143)],
)
async def test_a_batch_that_was_left_or_cancelled_is_taken_up_on_another_machine_with_a_copy_of_the_file(
    shell: Shell, provider: str, on_stop: str, stop: signal.Signals, code: int
) -> None:
    shell.emulator.set_faults(provider, batch_seconds=1e9)
    study = shell.study(provider, f"{provider}-conversation", 30, 1)
    process = await shell.start("--run", study, "--on-stop", on_stop)
    await _taken(shell, provider, process)
    process.send_signal(stop)
    ended, _, err = await shell.ended(process)
    assert ended == code and "interrupted" in err and (on_stop == "leave" or not shell.emulator.purchases)
    assert shell.emulator.traffic(provider)["cancel"] == (on_stop == "cancel")
    shutil.move(shell.folder / "study.db", shell.folder / "elsewhere.db")
    shell.emulator.set_faults(provider, batch_seconds=0)
    summary = await shell.json("--resume", "last", database="elsewhere.db")
    assert summary["status"] == "completed" and summary["calls"]["bought"] == len(shell.emulator.purchases) == 30
    assert shell.emulator.traffic(provider)["create"] == (1 if on_stop == "leave" else 2)


async def _taken(shell: Shell, provider: str, process: asyncio.subprocess.Process) -> None:
    """Returns when the command has said, after a look at it, that it waits for the provider's batch."""
    shell.emulator.points.arm(f"{provider}:poll:before", skip=1)
    await asyncio.wait_for(shell.emulator.points.reached(f"{provider}:poll:before"), 60)
    shell.emulator.points.release(f"{provider}:poll:before")


async def test_no_key_is_found_in_any_file_output_or_process_list(shell: Shell) -> None:
    """Wrong keys, refusals that repeat the key, a crash, a debug run, an export: none of them gives it away."""
    wrong = f"Incorrect API key provided: {KEY}. You can find your API key at the provider."
    shell.emulator.openai.error_body = lambda status, *_: {"error": {"message": wrong, "code": None, "type": "x"}}  # type: ignore[method-assign]
    shell.emulator.set_faults("openai", rates={"live": {"500": 0.2, "400": 0.2}}, script={"create": ["400"]})
    study = shell.study("openai", "openai-conversation", 20, 2, "retries = 1")
    process = await shell.start("--run", study, "--debug")
    listed = await asyncio.to_thread(subprocess.run, ["ps", "-eo", "args"], capture_output=True)
    assert KEY.encode() not in listed.stdout
    code, _, _ = await shell.ended(process)
    assert code in (1, 3)
    shell.emulator.set_faults("openai", keys=["another"])
    code, _, err = await shell("--run", study)
    assert code == 2 and "Check the key in OPENAI_API_KEY" in err
    for words in (["show", "last", "--json"], ["log", "last"], ["export", "last", "--format", "json", "-o", "out"]):
        await shell(*words)
    assert any(b"[key]" in content for content in shell.everything().values()), (
        "the provider's words are kept without it"
    )
    for where, content in shell.everything().items():
        assert KEY.encode() not in content, where


# -- models ----------------------------------------------------------------------------------------------


async def test_models_are_listed_with_prices_ends_and_keys(shell: Shell) -> None:
    listed = await shell.json("models")
    providers = {one["name"]: one for one in listed["providers"]}
    keys = {"simulated": "not needed", "openai": "set", "anthropic": "set", "ollama": "not needed"}
    assert keys.items() <= {name: one["key"] for name, one in providers.items()}.items()
    mini = next(model for model in providers["openai"]["models"] if model["name"] == "gpt-4o-mini")
    assert (mini["input_usd"], mini["output_usd"], mini["batch_input_usd"]) == (0.15, 0.6, 0.075)
    assert mini["retires"] == "2027-01-31" and mini["presets"] == ["gpt4o_mini"]
    assert {model["name"] for model in providers["ollama"]["models"]} >= {"llama3.2:latest"}
    assert listed["presets"]["gpt35"]["model"] == "openai:gpt-5.4-mini"
    code, out, _ = await shell("models", "anthropic")
    assert code == 0 and "claude-opus-5-5" in out and "gpt-4o-mini" not in out.split("preset")[0]


async def test_models_without_a_key_or_server_are_listed_as_far_as_known(shell: Shell) -> None:
    del shell.env["OPENAI_API_KEY"]
    shell.env["OLLAMA_HOST"] = "http://127.0.0.1:9"
    shell.emulator.set_faults("anthropic", rates={"models": {"500": 1}})
    providers = {one["name"]: one for one in (await shell.json("models"))["providers"]}
    assert providers["openai"]["key"] == "missing" and "OPENAI_API_KEY" in providers["openai"]["note"]
    assert len(providers["openai"]["models"]) > 4 and len(providers["anthropic"]["models"]) == 4
    assert "could not be reached" in providers["anthropic"]["note"] and "ollama serve" in providers["ollama"]["note"]


async def test_a_local_model_is_fetched_with_progress(shell: Shell) -> None:
    code, out, err = await shell("models", "--pull", "qwen3")
    assert code == 0 and "qwen3 is ready" in out
    assert "100% of 2 MB" in err and "success" in err
    listed = await shell.json("models", "ollama")
    assert "qwen3:latest" in {model["name"] for model in listed["providers"][0]["models"]}
    code, _, err = await shell("models", "--pull", "nonsense")
    assert code == 1 and "could not be downloaded" in err and "file does not exist" in err
