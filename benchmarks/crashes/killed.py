"""kill -9 at random moments of every command that writes, at every step of a provider batch, and in whole runs."""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.crashes.acts import ACTS, Act, Materials, materials
from benchmarks.crashes.scene import Scene, bought, emulator
from tests.engine.providers.kills import POINTS, killed_and_resumed
from tests.support.killing import CALLS, Killed, kill_and_resume, undisturbed
from tests.support.state import committed_seeds
from tidepool.engine.bench import Measurement, at_least, at_most

MOMENTS = int(os.environ.get("CRASH_MOMENTS", "20"))
"""in each act; a busy machine may try fewer, and the figure says how many"""


@dataclass(slots=True)
class Verdict:
    moments: int = 0
    broken_off: int = 0
    """of them: before the act was done"""
    seconds: float = 0.0
    """of the undisturbed act"""
    faults: list[str] = field(default_factory=list)

    def note(self, moment: float, *words: str) -> None:
        self.faults += [f"at {moment:.2f} s: {one}" for one in words if one]


def prove_commands() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        made = materials(Path(name))
        for act in ACTS:
            verdict = killed(act, made, MOMENTS)
            for fault in verdict.faults:
                print(f"      {act.name}: {fault}", flush=True)
            note = f"{verdict.moments} moments over {verdict.seconds:.1f} s, {verdict.broken_off} before its end"
            yield at_most(
                f"{act.name}: lost, incomplete, bought twice or left behind", len(verdict.faults), "", 0, note
            )


def killed(act: Act, made: Materials, moments: int) -> Verdict:
    rng = Random(f"{act.name}/crashes")
    folder = made.folder / act.name.replace(" ", "-").replace(":", "")
    began, seconds, expected = _undisturbed(act, made, folder / "undisturbed")
    verdict = Verdict(seconds=seconds)
    for number in range(moments):
        moment = began + (seconds * 1.02 - began) * (number + rng.random()) / moments
        _at(moment, act, made, folder / f"moment-{number}", expected, verdict)
    return verdict


def _undisturbed(act: Act, made: Materials, folder: Path) -> tuple[float, float, frozenset[str]]:
    """When an act begins in earnest (its program is loaded by then), how long it takes, and what it leaves."""
    with scene_of(act, folder) as (scene, _):
        act.lay(scene, made)
        started = time.monotonic()
        scene.run("--help")
        began = time.monotonic() - started
        started = time.monotonic()
        said = scene.run(*act.arguments(scene, made))
        seconds = time.monotonic() - started
        assert said.code == 0, said
        assert not act.done(scene, made), act.done(scene, made)
        names = scene.names()
    scene.leave()
    return began, seconds, names


def _at(moment: float, act: Act, made: Materials, folder: Path, expected: frozenset[str], verdict: Verdict) -> None:
    with scene_of(act, folder) as (scene, books):
        act.lay(scene, made)
        allowed = scene.names() | expected
        said = scene.killed(moment, *act.arguments(scene, made))
        verdict.moments += 1
        verdict.broken_off += said.code == -9
        before = _committed(scene, act)
        looked = scene.run("list", "--json")
        if looked.code not in ((0,) if scene.database.exists() else (1, 2)):
            verdict.note(moment, f"list ends with {looked.code}: {looked.err.strip()}")
        if scene.database.exists():
            verdict.note(moment, scene.sound(), act.kept(scene, made))
        verdict.note(moment, *debris(scene, allowed, "after a look at it"))
        again = scene.run(*(act.again or act.arguments)(scene, made))
        if again.code or again.traceback:
            verdict.note(moment, f"again: ends with {again.code}: {again.err.strip()[-300:]}")
        verdict.note(moment, scene.sound(), act.done(scene, made), bought_twice(scene, act, books, before))
        verdict.note(moment, *debris(scene, allowed | expected, "after it was done again"))
    scene.leave()


def debris(scene: Scene, allowed: frozenset[str], when: str) -> list[str]:
    left = sorted(name for name in scene.names() - allowed)
    return [f"left over {when}: {', '.join(left)}"] if left else []


def _committed(scene: Scene, act: Act) -> set[int]:
    batches = scene.batches("id") if act.name == "live run" else []
    return committed_seeds(scene.database, batches[-1][0]) if batches else set()


def bought_twice(scene: Scene, act: Act, books: Path | None, committed: set[int]) -> str:
    """In a provider batch nothing ever; live only what was asked and not yet committed."""
    if books is not None:
        purchases = [purchase.content for purchase in bought(books)]
        needed = scene.query("SELECT count(*) FROM call")[0][0]
        return "" if len(purchases) == needed else f"bought {len(purchases)} of {needed}"
    if act.name == "live run":
        sold = scene.sold(scene.query("SELECT id FROM batch")[-1][0])
        again = {seed for seed, times in sold.items() if times > 1}
        return f"{len(again & committed)} kept answers were bought again" if again & committed else ""
    return ""


@contextmanager
def scene_of(act: Act, folder: Path) -> Iterator[tuple[Scene, Path | None]]:
    if not act.emulated:
        yield Scene(folder), None
        return
    with emulator(folder.with_name(f"{folder.name}-books")) as (more, books):
        yield Scene(folder, more), books


def prove_runs() -> Iterator[Measurement]:
    for service, words in (("live", "live"), ("auto", "provider batches")):
        killed = kills(service)
        same = sum(kill.same_end for kill in killed)
        yield at_least(
            f"kills after which the results equal those of an uninterrupted run, {words}",
            same,
            f"of {MOMENTS}",
            MOMENTS,
        )
        yield at_most(f"stored replies bought again, {words}", _sum(killed, "needless"), "", 0)
        ordered = _sum(killed, "ordered_again") + (0 if service == "live" else _sum(killed, "live_again"))
        if service == "auto":
            yield at_most(
                "requests bought ÷ needed under kill -9, provider batches", 1 + ordered / (CALLS * MOMENTS), "", 1
            )
        else:
            most = max(kill.most_of_one_talk for kill in killed)
            note = f"at most {max(kill.live_again for kill in killed)} of {CALLS} requests after one kill"
            yield at_most("requests of one conversation in flight at a kill and bought again, live", most, "", 1, note)


def kills(service: str) -> list[Killed]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TIDEPOOL_SELLER"] = os.environ["TIDEPOOL_STATE"] = str(folder / "seller")
        expected = undisturbed(folder, service)
        rng = Random(f"{service}/prove")
        return [kill_and_resume(folder, service, expected, rng) for _ in range(MOMENTS)]


def _sum(killed: list[Killed], name: str) -> int:
    return sum(getattr(kill, name) for kill in killed)


WAVES = (1, 2)


def prove_provider_batches() -> Iterator[Measurement]:
    for point in POINTS:
        for provider in point.providers:
            for wave in WAVES if point.at else WAVES[:1]:
                verdict = asyncio.run(killed_and_resumed(provider, point, wave))
                complete = verdict.summary["status"] == "completed"
                ratio = verdict.ratio if complete and verdict.ratio >= 1 else float("inf")
                name = f"{provider}, wave {wave}: {point.step}"
                yield at_most(name, ratio, "bought ÷ needed", 1.0)
