"""The real engine on a real file, playing a story of a test's own with a provider of a test's own."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest

import tidepool.engine.runtime.accounts
from tests.support.scripted import ScriptedProvider
from tests.support.studies import game
from tidepool.engine.call import Call, Message
from tidepool.engine.events import Listener
from tidepool.engine.kinds import KINDS, SECRET_GAME, Kind
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.studies.results import Results
from tidepool.engine.studies.secret_game.study import SecretGame

Play = Callable[[BatchRun], Awaitable[None]]
Story = Callable[[Unit], Awaitable[Any]]


def question(step: str, wave: int = 1, text: str = "", model: str = "simulated:guarded", **more: Any) -> Call:
    return Call(step, wave, model, (Message("user", text or step),), **more)


def units(count: int, story: Story, *, awaited: bool = False) -> Play:
    """A study of `count` units that all have the same story."""

    async def play(run: BatchRun) -> None:
        run.expect_units(count)
        plans = (UnitPlan(number, story, awaited=awaited) for number in range(1, count + 1))
        await run.units(plans)

    return play


def talk(turns: int) -> Story:
    """A story that asks one question after the other; each depends on the answer before."""

    async def story(unit: Unit) -> str:
        heard = "hello"
        for turn in range(1, turns + 1):
            heard = (await unit.ask(question(f"t{turn}", turn, heard, turn=turn, speaker="Ada"))).text
        return heard

    return story


def _test_kind(story: Play) -> Kind:
    """The secret game's config with another story."""

    class ScriptedGame(SecretGame):
        async def play(self, run: BatchRun) -> None:
            await story(run)

    facts = {field.name: getattr(SECRET_GAME, field.name) for field in fields(SECRET_GAME)}
    return Kind(**{**facts, "study_class": ScriptedGame, "results_class": Results})


class Stage:
    def __init__(self, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.database = database
        self._monkeypatch = monkeypatch
        self.batch_id = ""
        self.provider = ScriptedProvider()

    async def run(
        self,
        play: Play,
        provider: ScriptedProvider | None = None,
        *,
        on_event: Listener | None = None,
        control: RunControl | None = None,
        simulated: dict[str, Any] | None = None,
        **service: Any,
    ) -> dict[str, Any]:
        self._set(play, provider or ScriptedProvider())
        study = game(service={"name": "live", "poll_interval": 0.005, "batch_from": 0, **service}, simulated=simulated)
        return await run_batch(study, self.database, on_event=self._listening(on_event), control=control)

    async def resume(
        self,
        play: Play,
        provider: ScriptedProvider | None = None,
        *,
        overrides: Iterable[str] = (),
        on_event: Listener | None = None,
        control: RunControl | None = None,
    ) -> dict[str, Any]:
        self._set(play, provider or self.provider)
        return await resume_batch(
            self.batch_id or "last",
            self.database,
            overrides=overrides,
            on_event=self._listening(on_event),
            control=control,
        )

    def _set(self, play: Play, provider: ScriptedProvider) -> None:
        self.provider = provider
        self._monkeypatch.setitem(cast(dict[str, Any], KINDS.loaded), "secret_game", _test_kind(play))
        self._monkeypatch.setattr(tidepool.engine.runtime.accounts, "open_provider", lambda *_: provider)

    def _listening(self, on_event: Listener | None) -> Listener:
        def listen(event: Any) -> None:
            self.batch_id = getattr(event, "batch_id", self.batch_id)
            if on_event:
                on_event(event)

        return listen
