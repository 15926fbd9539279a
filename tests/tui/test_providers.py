"""The providers, looked at as a person looks at them: keys told and never shown, servers up and down, a test call."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulator import Emulator
from tests.tui.persons import opened, press, rows_text, screen_text, until, until_on
from tidepool.engine.config.sections import OllamaSettings, Providers, ProviderSettings
from tidepool.engine.errors import RunError
from tidepool.engine.providers.model_list import ListedModel, ListedProvider, list_models
from tidepool.engine.registries import PROVIDERS
from tidepool.tui.app.app import TidepoolApp
from tidepool.tui.app.background import run_in_thread
from tidepool.tui.app.compose.draft import Draft, keep_draft
from tidepool.tui.app.dialogs.basic import Confirm
from tidepool.tui.app.provider_view import Card, price_words, rules_in, state_of, usual_model
from tidepool.tui.app.screens.providers import ModelTable, ProviderList, ProvidersScreen
from tidepool.tui.app.widgets.rows import ReadingPane

KEY = "sk-proj-never-to-be-seen-0123456789"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
async def emulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Emulator]:
    async with Emulator() as running:
        for name, value in running.env().items():
            monkeypatch.setenv(name, KEY if name.endswith("_KEY") else value)
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield running


def states(app: TidepoolApp) -> dict[str, str]:
    return {card.name: state_of(card)[0] for card in app.screen.query_one(ProviderList).items}


def told(app: TidepoolApp) -> str:
    """Everything the screen could show, in view or not."""
    texts = [passage.text for passage in app.screen.query_one(ReadingPane).passages]
    rows = [rows_text(app.screen.query_one(kind)) for kind in (ProviderList, ModelTable)]
    return "\n".join([screen_text(app), *texts, *rows[0], *rows[1]])


async def test_keys_servers_models_and_a_test_call(path: Path, emulator: Emulator) -> None:
    hosts = json.dumps([emulator.urls["ollama"], NOWHERE])
    draft = f'[batch]\nkind = "evolution"\n[service]\nretries = 2\n[providers.ollama]\nhosts = {hosts}\n'
    keep_draft(path, Draft(draft))
    seen = []
    async with opened(path, size=(80, 24)) as (app, pilot):
        await pilot.press("6")
        await until_on(pilot, ProvidersScreen, lambda screen: states(app).get("openai") == "ready")
        assert list(states(app)) == list(PROVIDERS) and states(app)["simulated"] == "ready"
        assert states(app)["anthropic"] == "no key"
        await pilot.press("t")
        await until(pilot, lambda: states(app)["simulated"].startswith("answered in"), "the simulated answer")
        assert "(simulated)" in told(app)

        await press(pilot, "down", until="OPENAI_API_KEY")
        assert "present" in screen_text(app)
        seen.append(told(app))
        assert "gpt-4o-mini" in told(app) and "2027-01" in told(app)
        await press(pilot, "t", until=Confirm)
        assert not emulator.purchases
        await pilot.press("y")
        await until_on(pilot, ProvidersScreen, lambda screen: "answered" in states(app)["openai"])
        assert len(emulator.purchases) == 1
        emulator.set_faults("openai", keys=["another"])
        await press(pilot, "t", until=Confirm)
        await pilot.press("y")
        await until_on(pilot, ProvidersScreen, lambda screen: "failed" in states(app)["openai"])
        assert "Check the key in OPENAI_API_KEY" in told(app)
        seen.append(told(app))

        await pilot.press("slash", *"5.4", "enter")
        models = app.screen.query_one(ModelTable)
        await until(pilot, lambda: [one.name for one in models.items] == ["gpt-5.4-mini"], "one model")
        await pilot.press("escape", "down", "down")
        await until(pilot, lambda: "connection refused" in told(app), "the silent server")
        assert "■ online: llama3.2:latest" in told(app)
        seen.append(told(app))
    assert not any(KEY[:12] in text or KEY[-10:] in text for text in seen)


async def test_endpoints_of_ones_own_are_listed_and_tried(
    tmp_path: Path, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(tmp_path))
    monkeypatch.setenv("LAB_KEY", "a key of the lab alone")
    (tmp_path / "providers.toml").write_text(
        f'[providers.lab]\nlike = "openai"\nbase_url = "{emulator.urls["openai"]}"\napi_key_env = "LAB_KEY"\n'
        'prices = { "*" = { input = 0.0, output = 0.0 } }\n'
    )
    async with opened(tmp_path / "study.db", size=(120, 40)) as (app, pilot):
        await pilot.press("6")
        await until_on(pilot, ProvidersScreen, lambda screen: states(app).get("lab") == "ready")
        await press(pilot, *["down"] * list(states(app)).index("lab"), until="LAB_KEY")
        assert "no, live calls only" in told(app)
        await pilot.press("t")
        await until(pilot, lambda: states(app)["lab"].startswith("answered in"), "its answer, without a question")
    assert "Bearer a key of the lab alone" in emulator.providers["openai"].headers["authorization"]


async def test_an_address_that_is_none_is_told_in_words_and_giving_up_ends_the_errand() -> None:
    nonsense = Providers(ollama=OllamaSettings(hosts=["http://[bad"]))
    with pytest.raises(RunError, match="request to the provider failed"):
        await run_in_thread(lambda: list_models(nonsense, ("ollama",)))
    ended = threading.Event()

    async def patient() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await run_in_thread(patient)
    assert await asyncio.to_thread(ended.wait, 10)


def test_the_usual_model_of_a_test_is_the_cheapest_that_talks() -> None:
    prices = {"text-embedding-3": 0.01, "large": 9.0, "small": 0.5, "odd": None}
    models = tuple(ListedModel(name, *[price] * 4, None) for name, price in prices.items())
    listed = ListedProvider("openai", "set", "somewhere", models)
    assert usual_model(Card("openai", listed)) == "openai:small"
    assert usual_model(Card("openai")) is None
    assert usual_model(Card("simulated")) == "simulated:guarded"
    assert [price_words(price) for price in (None, 0.0, 0.15, 0.075)] == ["unknown", "free", "0.15", "0.075"]


def test_a_draft_that_cannot_be_read_leaves_the_defaults() -> None:
    assert rules_in("[service").fault and rules_in("[service]\nretries = 'x'").fault
    assert rules_in("service = 3").providers.openai == ProviderSettings()
