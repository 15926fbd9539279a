"""Hands over a cluster of three nodes, against a provider in a process of its own that keeps its own books.

The same study by this process alone, by one hand and by four; then a hand, a node and the process at home are killed (-9)
in turn. What the provider has sold is the witness: of what was in flight with the killed no more is bought again, and
nothing else is.
"""

import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cluster.nodes import Nodes, nodes
from benchmarks.crashes.scene import Scene, bought, emulator, ended
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.catalogue import open_provider

TALKS, MESSAGES = 150, 4
CALLS = TALKS * MESSAGES
AT_ONCE = 60
MODEL = "gpt-4o-mini"
CONTENT = 'SELECT unit_id, step, "key", text, status, input_tokens, output_tokens, cost_usd FROM call ORDER BY 1, 2'
Kill = Callable[["Run"], None]


@dataclass(slots=True)
class Run:
    """The study under way on its cluster."""

    scene: Scene
    cluster: Nodes
    process: "subprocess.Popen[str]"

    def hands(self) -> list[dict[str, Any]]:
        with suppress(sqlite3.Error):
            for (limits,) in self.scene.query("SELECT limits FROM progress"):
                return list(json.loads(limits).get("hands", []))
        return []

    def calls(self) -> int:
        with suppress(sqlite3.Error):
            for (calls,) in self.scene.query("SELECT calls FROM progress"):
                return int(calls)
        return 0

    def busy(self) -> dict[str, Any]:
        return max(self.hands(), key=lambda hand: int(hand["in_flight"]))


@dataclass(frozen=True, slots=True)
class Came:
    content: list[tuple[Any, ...]]
    sold: int
    """by the provider's books"""
    in_flight: int
    """calls that were with whoever was killed, by the ledger"""
    counted: int
    """what the ledger counts as bought"""
    cost: float


def prove() -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        alone = _played(folder / "alone", hands=0)
        for hands in (1, 4):
            came = _played(folder / f"hands{hands}", hands=hands)
            words = f"{hands} hand{'s' if hands > 1 else ''} over three nodes"
            yield at_most(
                f"rows of the ledger that differ from those without hands, {words}", _differ(came, alone), "", 0
            )
            yield at_most(f"calls bought ÷ needed, {words}", came.sold / CALLS, "", 1)
        for kill, words in ((kill_hand, "a hand"), (kill_node, "a node"), (kill_home, "the process at home")):
            came = _played(folder / words.replace(" ", "_"), hands=4, kill=kill)
            yield at_most(f"rows of the ledger that differ after kill -9 of {words}", _differ(came, alone), "", 0)
            again, note = came.sold - CALLS, f"{came.in_flight} were in flight there, of {AT_ONCE} in all"
            yield at_most(
                f"calls bought again beyond those in flight, {words} killed",
                max(0, again - came.in_flight),
                "",
                0,
                f"{again} bought again; {note}",
            )
            yield at_most(
                f"calls sold that the ledger does not count, {words} killed", max(0, came.sold - came.counted), "", 0
            )
        budget = alone.cost / 2
        came = _played(folder / "budget", hands=4, budget=budget, kill=kill_hand)
        share = f"{came.sold} of {CALLS} calls; a hand is killed in the midst of it"
        yield at_most(
            "spent by the provider's books ÷ budget, 4 hands", _price(folder / "budget") / budget, "", 1, share
        )
        yield at_least("share of the budget used", came.cost / budget, "", 0.9)


def kill_hand(run: Run) -> None:
    os.kill(run.busy()["process"], signal.SIGKILL)


def kill_node(run: Run) -> None:
    """One that has hands, and is not the head."""
    parents = [_parent(hand["process"]) for hand in run.hands()]
    place = next(place for place, raylet in enumerate(run.cluster.raylets) if place and raylet in parents)
    run.cluster.kill(place)


def kill_home(run: Run) -> None:
    run.process.kill()


def _played(folder: Path, *, hands: int, kill: Kill | None = None, budget: float = 0.0) -> Came:
    with emulator(folder / "provider", latency=0.4, jitter=0.5) as (leads, books):
        scene = Scene(folder / "scene", leads)
        config = folder / "study.toml"
        config.write_text(_study(budget))
        if not hands:
            said = scene.run("--run", str(config))
            assert said.code == 0, said
            return _came(scene, books)
        with nodes(3, scene.environment) as cluster:
            _run(scene, cluster, config, hands, kill)
        return _came(scene, books)


def _run(scene: Scene, cluster: Nodes, config: Path, hands: int, kill: Kill | None) -> None:
    where = ("--set", f"cluster.ray={cluster.address}", "--set", f"cluster.hands={hands}")
    with scene.start("--run", str(config), *where) as process:
        run = Run(scene, cluster, process)
        if kill is not None:
            _until(lambda: run.calls() > CALLS // 5 and any(hand["in_flight"] for hand in run.hands()), process)
            kill(run)
        said = ended(process)
    if kill is kill_home:
        said = scene.run("--resume", "last", *where)
    assert said.code in (0, 4), said


def _study(budget: float) -> str:
    agents = "".join(
        f'[[agents]]\nname = "{name}"\nmodel = "openai:{MODEL}"\nsecret = "marigold{name}"\n' for name in "ABCD"
    )
    return (
        f'[batch]\nkind = "secret_game"\n[service]\nname = "live"\nmax_concurrent = {AT_ONCE}\nbudget_usd = {budget:.9f}\n'
        f"[secret_game]\nnum_interactions = {TALKS}\nmessages_per_interaction = {MESSAGES}\n"
        f'detection = ["exact"]\n{agents}'
    )


def _came(scene: Scene, books: Path) -> Came:
    ((counted, cost),) = scene.query("SELECT bought, cost_usd FROM progress")
    ((in_flight,),) = scene.query("SELECT count(*) FROM surplus WHERE reason IN ('lost', 'killed')")
    return Came(scene.query(CONTENT), len(bought(books)), in_flight, counted, cost)


def _price(folder: Path) -> float:
    """What the provider has sold, whoever heard of it."""
    tag = open_provider("openai", ProviderSettings()).price(MODEL)
    assert tag is not None
    sold = bought(folder / "provider" / "purchases.jsonl")
    return sum(tag.cost(one.input_tokens, one.output_tokens) for one in sold)


def _differ(one: Came, other: Came) -> int:
    return len(set(one.content) ^ set(other.content))


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _until(there: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not there():
        assert process.poll() is None and time.monotonic() < deadline, "the study was over before anything was killed"
        time.sleep(0.02)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
