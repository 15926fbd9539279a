"""A run that is paused sends nothing until it is continued, and then comes to the same end."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.random_studies import KINDS, random_study
from tests.support.state import end_state, query
from tidepool.engine.config.loading import config_from
from tidepool.engine.events import CallAnswered, Event, Logged
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.run import run_batch, run_study
from tidepool.engine.runtime import session
from tidepool.engine.simulated.provider import SimulatedProvider
from tidepool.storage.studies import steer_any

SERVICES: dict[str, Any] = {
    "live": {"name": "live", "max_concurrent": 8},
    "auto": {"name": "auto", "batch_from": 0, "poll_interval": 0.01},
}
SLOW = {"simulated": {"latency": 0.01, "batch_seconds": 0.05}}
DESIGN = {"design": {"factors": {"secret_game.messages_per_interaction": [3, 4]}}}
STUDIES = {**{kind: random_study(kind, 3) for kind in KINDS}, "design": random_study("secret_game", 3) | DESIGN}
STUDIES["simulation"]["simulation"] |= {"num_simulations": 30, "simulation_rounds": 3, "n_turns": 4}
STUDIES["mutation"]["mutation"] |= {"use_batching": True, "episode_length": 2, "baselines": []}
RUNS: dict[str, Callable[..., Awaitable[Any]]] = {"design": run_study}


@pytest.fixture(autouse=True)
def quick_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.005)
    monkeypatch.setattr(session, "HEARTBEAT_SECONDS", 0.0)


class Pauser:
    """Pauses at the first reply and after each continuation, and continues when nothing is in flight."""

    def __init__(self, database: Path, pauses: int) -> None:
        self.database, self.pauses = database, pauses
        self.steering: asyncio.Task[None] | None = None
        self.asked = self.paused = False
        self.sent_while_paused = self.pauses_logged = 0

    def listen(self, event: Event) -> None:
        if isinstance(event, CallAnswered):
            if self.pauses and not self.asked:
                self.asked = True
                self.pauses -= 1
                steer_any(self.database, "last", "pause")
        elif isinstance(event, Logged) and event.message == "Paused.":
            self.pauses_logged += 1
            self.steering = asyncio.ensure_future(self._continue())
        elif isinstance(event, Logged) and event.message == "Continued.":
            self.asked = False

    def counted(self, complete: Callable[..., Awaitable[Answer]]) -> Callable[..., Awaitable[Answer]]:
        async def send(provider: SimulatedProvider, *call: Any) -> Answer:
            self.sent_while_paused += self.paused
            return await complete(provider, *call)

        return send

    async def _continue(self) -> None:
        await self._beats(3)
        while query(self.database, "SELECT 1 FROM progress WHERE in_flight <> '[]'"):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await self._beats(3)
        self.paused = True
        await self._beats(3)
        self.paused = False
        steer_any(self.database, "last", "continue")

    async def _beats(self, count: int) -> None:
        beats = "SELECT max(heartbeat) FROM progress"
        first = query(self.database, beats)[0][0]
        while query(self.database, beats)[0][0] < first + count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("study", STUDIES)
async def test_a_run_is_paused_twice_and_comes_to_the_same_end(
    study: str, service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = SimulatedProvider.complete
    data = STUDIES[study] | {"service": SERVICES[service], "providers": SLOW}
    run = RUNS.get(study, run_batch)
    ends = []
    for pauses in (0, 2):
        database = tmp_path / f"{pauses}.db"
        pauser = Pauser(database, pauses)
        monkeypatch.setattr(SimulatedProvider, "complete", pauser.counted(complete))
        summary = await run(config_from(data, source=""), database, on_event=pauser.listen)
        assert summary["status"] == "completed" and not pauser.pauses
        assert not pauser.asked, "every pause was continued"
        assert not pauser.sent_while_paused and pauser.pauses_logged == pauses, "each command counts once"
        ends.append(
            [end_state(database, batch) for (batch,) in query(database, "SELECT id FROM batch ORDER BY number")]
        )
    assert ends[0] == ends[1]
