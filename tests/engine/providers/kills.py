"""kill -9 at every step of a provider batch's life, then --resume, and the emulator's own books say what was bought."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator import Emulator
from tests.support import warm

ROOT = Path(__file__).parent.parent.parent.parent
MODELS = {"openai": "openai:gpt-4o-mini", "anthropic": "anthropic:claude-haiku-5-5"}
CONVERSATIONS, MESSAGES = 12, 2
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class KillPoint:
    step: str
    """for people"""
    inside: str = ""
    """a moment inside the process (tests.support.killed)"""
    at: str = ""
    """a point of the emulator, such as create:after"""
    verdict: str = "go"
    """what becomes of the request that stood there: go on, or drop as if it had never arrived"""
    late: str = ""
    """the request goes on only when the resumed run has come by this point: the provider acts late"""
    providers: tuple[str, ...] = ("openai", "anthropic")


POINTS = (
    KillPoint("before the intent is written", inside="before-intent"),
    KillPoint("after the intent, before anything is sent", inside="after-intent"),
    KillPoint("during the upload", at="upload:before", providers=("openai",)),
    KillPoint("uploaded, its answer on the way", at="upload:after", providers=("openai",)),
    KillPoint("just before the creation is sent", inside="before-create"),
    KillPoint("inside create: it never arrives", at="create:before", verdict="drop"),
    KillPoint("inside create: it arrives after the crash", at="create:before"),
    KillPoint("inside create: it arrives while the resumed run searches", at="create:before", late="list:after"),
    KillPoint(
        "inside create: it arrives after the resumed run has created another",
        at="create:before",
        late="upload:after",
        providers=("openai",),
    ),
    KillPoint("inside create: done, its answer on the way", at="create:after"),
    KillPoint("created and answered, not yet written down", inside="before-book"),
    KillPoint("while polling", at="poll:before"),
    KillPoint("polled, its answer on the way", at="poll:after"),
    KillPoint("while collecting: before the first row", at="results:before"),
    KillPoint("while collecting: half of the rows sent", at="results:middle"),
    KillPoint("while collecting: all rows sent", at="results:after"),
    KillPoint("while the answers are being recorded", inside="while-recording"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    needed: int
    bought: int
    summary: dict[str, Any]

    @property
    def ratio(self) -> float:
        return self.bought / self.needed


async def killed_and_resumed(
    provider: str, point: KillPoint, wave: int = 1, before: Mapping[str, str] | None = None
) -> Verdict:
    """Runs the study, kills it at the point of this wave, resumes it, and counts what the provider sold.

    `before` is the environment of the run that is killed, such as a wrong clock, where it differs."""
    with tempfile.TemporaryDirectory() as folder:
        async with Emulator() as emulator:
            study = _written(Path(folder), provider)
            env = {**os.environ, **emulator.env(), "PYTHONPATH": str(ROOT)}
            command = ["--db", f"{folder}/study.db", "--run", str(study)]
            await _kill(emulator, provider, point, wave, command, {**env, **(before or {})})
            resume = ["--db", f"{folder}/study.db", "--resume", "last", "--json"]
            if point.late:
                emulator.points.arm(f"{provider}:{point.late}")
            resumed = asyncio.create_task(asyncio.to_thread(warm.run, resume, Path(folder), env, SECONDS))
            if point.late:
                await _let_it_arrive(emulator, f"{provider}:{point.at}", f"{provider}:{point.late}")
            done = await resumed
            assert done.returncode == 0, done.stderr
            return Verdict(CONVERSATIONS * MESSAGES, len(emulator.purchases), json.loads(done.stdout))


async def _kill(
    emulator: Emulator, provider: str, point: KillPoint, wave: int, command: list[str], env: dict[str, str]
) -> None:
    if point.inside:
        process = await _started(["-m", "tests.support.killed", point.inside, *command], env)
        await asyncio.wait_for(process.communicate(), SECONDS)
        assert process.returncode == -9
        return
    where = f"{provider}:{point.at}"
    emulator.points.arm(where, skip=wave - 1)
    process = await _started(["-m", "tidepool", *command], env)
    await asyncio.wait_for(emulator.points.reached(where), SECONDS)
    process.kill()
    await process.communicate()
    if not point.late:
        emulator.points.release(where, point.verdict)


async def _let_it_arrive(emulator: Emulator, where: str, late: str) -> None:
    """The request that stood still goes on once the resumed run has come by another step."""
    await asyncio.wait_for(emulator.points.reached(late), SECONDS)
    emulator.points.release(where)
    emulator.points.release(late)


async def _started(arguments: list[str], env: dict[str, str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=ROOT, env=env, stdout=pipe, stderr=pipe)


def _written(folder: Path, provider: str) -> Path:
    agents = "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "{MODELS[provider]}"\nsecret = "{secret}"\n'
        for name, secret in (("Ada", "marigold"), ("Bob", "lantern"))
    )
    path = folder / "study.toml"
    path.write_text(
        '[batch]\nkind = "secret_game"\n'
        f'[service]\nname = "{provider}-conversation"\npoll_interval = 0.2\n'
        f"[secret_game]\nnum_interactions = {CONVERSATIONS}\nmessages_per_interaction = {MESSAGES}\n"
        f'detection = ["exact"]\n{agents}'
    )
    return path
