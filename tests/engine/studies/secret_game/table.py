"""A whole game on a real file at a provider that records every request: who was told what, in which order.

Every reply is a tag of its own, `<seed>`, unless the test says otherwise. So each word of a request can be traced to the
message it came from.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import tidepool.engine.runtime.accounts
from tests.support.scripted import Asked, ScriptedBatches, ScriptedProvider, TakenOrder
from tests.support.state import query
from tidepool import SecretGame
from tidepool.engine.call import Call
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.providers.protocol import Answer, BatchedCall, ProviderBatchResult
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.runtime.session import RunControl

SECRETS = ("marigold", "lantern", "harbour", "violet", "granite", "copper")
NAMES = ("Ada", "Bob", "Cleo", "Dion", "Eve", "Finn")
TAG = re.compile(r"<\d+>")

Speech = Callable[[Call, int], str]


def tag(call: Call, seed: int) -> str:
    return f"<{seed}>"


def agents(size: int, long: tuple[str, ...] = (), model: str = "simulated:guarded") -> list[Agent]:
    return [
        Agent(name=name, model=model, secret=secret, memory="long" if name in long else "short")
        for name, secret in zip(NAMES[:size], SECRETS, strict=False)
    ]


@dataclass(frozen=True)
class Request:
    """One request with where it came from: its own reply's row."""

    call: Call
    conversation: int
    game: int
    round: int
    turn: int
    speaker: str


@dataclass
class Table:
    database: Path
    monkeypatch: pytest.MonkeyPatch
    speech: Speech = tag
    asked: list[Asked] = field(default_factory=list)
    batches: ScriptedBatches | None = None

    async def play(
        self, players: list[Agent], *, service: str = "live", seed: int = 7, **settings: Any
    ) -> dict[str, Any]:
        study = SecretGame(
            agents=players, seed=seed, service=Service(name=service, poll_interval=0.005, batch_from=0), **settings
        )
        return await self.run(study)

    async def run(self, study: SecretGame, control: RunControl | None = None) -> dict[str, Any]:
        self._open_provider()
        return await run_batch(study, self.database, control=control)

    async def resume(self) -> dict[str, Any]:
        self._open_provider()
        return await resume_batch("last", self.database)

    def _open_provider(self) -> None:
        provider = ScriptedProvider(self._script, self.batches)
        self.monkeypatch.setattr(tidepool.engine.runtime.accounts, "open_provider", lambda *_: provider)

    async def _script(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        return Answer(self.speech(asked.call, asked.seed), 10, 5, 0.0)

    def take_orders(self) -> ScriptedBatches:
        """Gives the provider a batch API that says the same words."""

        def result(order: TakenOrder, ordered: BatchedCall) -> ProviderBatchResult:
            self.asked.append(Asked(ordered.call, ordered.seed, 1))
            return ProviderBatchResult(ordered.custom_id, Answer(self.speech(ordered.call, ordered.seed), 10, 5, 0.0))

        self.batches = ScriptedBatches(result=result)
        return self.batches

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return query(self.database, sql, *values)

    def requests(self) -> list[Request]:
        """Every message asked for, traced by its reply; only with replies that are tags."""
        home = {
            content: (number, game, round_number, turn, speaker)
            for number, game, round_number, turn, speaker, content in self.query(
                "SELECT c.sequence_number, c.game, c.round, m.turn, m.speaker, m.content "
                "FROM messages m JOIN conversations c ON c.id = m.conversation_id"
            )
        }
        return [Request(asked.call, *home[tag(asked.call, asked.seed)]) for asked in self.asked]

    def outcomes(self) -> list[tuple[Any, ...]]:
        return self.query(
            "SELECT c.sequence_number, o.agent, o.opponent, o.opener, o.revealed, o.obtained, o.score "
            "FROM outcomes o JOIN conversations c ON c.id = o.conversation_id ORDER BY 1, 4 DESC"
        )


def tags_in(call: Call) -> list[str]:
    return [found for message in call.messages for found in TAG.findall(message.text)]
