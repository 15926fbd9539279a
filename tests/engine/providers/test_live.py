"""Live calls through the real SDKs: whatever goes wrong on the way, every call is answered once or fails with a word."""

import json
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.support.state import query
from tidepool.engine.call import Call, Message, unpacked_vectors
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.errors import RunError, UsageError
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import Provider, ProviderError

from .conftest import MODELS, Talks


def open_live(name: str) -> Provider:
    return open_provider(name, ProviderSettings(timeout=5.0))


def question(model: str, text: str = "Good morning", **more: Any) -> Call:
    return Call("t1", 1, model, (Message("user", text),), **more)


@pytest.mark.parametrize("provider", MODELS)
async def test_a_study_is_answered_with_usage_and_cost(emulator: Emulator, talks: Talks, provider: str) -> None:
    summary = await talks.play(MODELS[provider], max_concurrent=5)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 40
    assert len(emulator.purchases) == 40
    tokens = {
        "input": sum(p.input_tokens for p in emulator.purchases),
        "output": sum(p.output_tokens for p in emulator.purchases),
        "reasoning": 0,
    }
    assert summary["tokens"] == tokens
    assert (summary["cost_usd"] == 0.0) is (provider == "ollama")
    assert emulator.traffic(provider)["peak"] <= 5
    assert not summary["simulated"]


@pytest.mark.parametrize("provider", MODELS)
async def test_bad_weather_costs_retries_and_loses_nothing(emulator: Emulator, talks: Talks, provider: str) -> None:
    rates = {"500": 0.2, "drop": 0.05, "hang": 0.02, "garbage": 0.05, "429": 0.1, "cut": 0.02}
    emulator.set_faults(provider, rates={"live": rates}, retry_after=0.01)
    if provider == "ollama":
        emulator.set_faults(provider, rates={"live": {**rates, "429": 0.0}}, parallel=8)
    summary = await talks.play(MODELS[provider], conversations=60, max_concurrent=20, retries=12, timeout=1.0)
    assert summary["status"] == "completed" and summary["units"]["completed"] == 60
    assert summary["calls"]["total"] == 120 and summary["calls"]["failed"] == 0
    assert summary["calls"]["retried"] > 20
    traffic = emulator.traffic(provider)
    assert len(emulator.purchases) == 120 + traffic["live:cut"], "only an answer that was cut is bought again"
    unclear = dict(query(talks.database, "SELECT reason, count(*) FROM surplus GROUP BY reason"))
    broken = sum(traffic[f"live:{fault}"] for fault in ("drop", "cut", "garbage"))
    assert unclear.get("broken", 0) == broken and unclear.get("timeout", 0) >= traffic["live:hang"]
    assert summary["calls"]["bought"] == 120 + sum(unclear.values()), "what may have been charged is counted"
    assert query(talks.database, "SELECT count(*), count(DISTINCT unit_id || step) FROM call") == [(120, 120)]


async def test_the_providers_headers_set_the_pace(emulator: Emulator, talks: Talks) -> None:
    emulator.set_faults("openai", requests_per_minute=3_000)
    summary = await talks.play(MODELS["openai"], conversations=40, max_concurrent=40)
    assert summary["status"] == "completed" and not emulator.traffic("openai")["live:limit"]
    limits = json.loads(query(talks.database, "SELECT limits FROM progress")[0][0])
    assert limits["providers"]["openai"]["requests_per_minute"] == 3_000


# -- what stops a batch ----------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_missing_key_is_told_before_anything_is_written(
    emulator: Emulator, talks: Talks, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    variable = f"{provider.upper()}_API_KEY"
    monkeypatch.delenv(variable)
    with pytest.raises(UsageError, match=f"{variable} is not set"):
        await talks.play(MODELS[provider])
    assert not talks.database.exists() and not emulator.traffic(provider)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_wrong_key_is_told_before_anything_is_bought(emulator: Emulator, talks: Talks, provider: str) -> None:
    emulator.set_faults(provider, keys=["another-key"])
    with pytest.raises(UsageError, match=f"Check the key in {provider.upper()}_API_KEY"):
        await talks.play(MODELS[provider])
    assert not emulator.purchases and not talks.database.exists()


@pytest.mark.parametrize(
    ("model", "near"),
    [
        ("openai:gpt-4o-minni", "Did you mean gpt-4o-mini"),
        ("anthropic:claude-haiku-5", "Did you mean claude-haiku-"),
        ("ollama:llama3", "did you mean llama3.2:latest"),
        ("ollama:qwen3", "`ollama pull qwen3`"),
    ],
)
async def test_an_unknown_model_is_told_with_what_is_near(
    emulator: Emulator, talks: Talks, model: str, near: str
) -> None:
    with pytest.raises(UsageError, match=near.replace("?", r"\?")):
        await talks.play(model)
    assert not emulator.purchases and not talks.database.exists()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_spend_limit_stops_the_batch_and_resume_goes_on(
    emulator: Emulator, talks: Talks, provider: str
) -> None:
    emulator.set_faults(provider, spend_limit=10)
    with pytest.raises(RunError, match="Raise the account's spend limit"):
        await talks.play(MODELS[provider], max_concurrent=4)
    assert query(talks.database, "SELECT status FROM batches") == [("interrupted",)]
    emulator.set_faults(provider, spend_limit=0)
    summary = await talks.resume()
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 40
    assert len(emulator.purchases) == 40, "what was answered before the stop was not bought again"


async def test_nobody_at_the_address_is_told_with_what_to_check(talks: Talks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with pytest.raises(UsageError, match=r"No OpenAI server answers \(127\.0\.0\.1:9"):
        await talks.play("openai:gpt-4o-mini", providers={"openai": {"base_url": "http://127.0.0.1:9/v1"}})
    with pytest.raises(UsageError, match="Start one with `ollama serve`"):
        await talks.play("ollama:llama3.2", providers={"ollama": {"hosts": ["http://127.0.0.1:9"]}})


async def test_a_request_that_cannot_be_answered_fails_its_talk_with_the_providers_words(
    emulator: Emulator, talks: Talks
) -> None:
    emulator.set_faults("openai", script={"live": ["400"]})
    summary = await talks.play(MODELS["openai"], conversations=10)
    assert summary["status"] == "partial" and summary["units"] == {"total": 10, "completed": 9, "failed": 1}
    (error,) = query(talks.database, "SELECT error FROM conversations WHERE status = 'failed'")[0]
    assert error == "OpenAI answered 400: We could not parse the JSON body of your request."
    again = await talks.resume()
    assert again["status"] == "completed" and again["calls"]["failed"] == 0


# -- settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["openai:gpt-4o-mini", "anthropic:claude-sonnet-5-5"])
async def test_a_long_prompt_that_calls_share_is_paid_as_cached(emulator: Emulator, talks: Talks, model: str) -> None:
    plain = await talks.play(model, agents={"instructions": "Mind the harbour. " * 50})
    shared = await talks.play(model, agents={"instructions": "Mind the harbour. " * 500}, seed=8, max_concurrent=1)
    uncached = shared["tokens"]["input"] / plain["tokens"]["input"] * plain["cost_usd"]
    assert shared["cost_usd"] < uncached * 0.6


# -- embeddings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["openai:text-embedding-3-small", "ollama:nomic-embed-text"])
async def test_texts_are_embedded_in_their_order(emulator: Emulator, model: str) -> None:
    provider = open_live(model.partition(":")[0])
    texts = ("the harbour at night", "a harbour at night", "seventeen blue apples")
    call = Call("e1", 1, model, tuple(Message("user", text) for text in texts), operation="embed")
    answer = await provider.complete(call, 1, 1)
    vectors = unpacked_vectors(answer.text)
    assert vectors is not None
    first, second, third = vectors
    assert first @ second > first @ third
    assert answer.input_tokens > 0 and answer.output_tokens == 0 and answer.cost_usd is not None
    assert len(emulator.purchases) == 1
    await provider.close()


async def test_anthropic_says_that_it_has_no_embeddings() -> None:
    provider = open_live("anthropic")
    with pytest.raises(ProviderError, match="no embedding models"):
        await provider.complete(question("anthropic:claude-haiku-5-5", operation="embed"), 1, 1)


# -- odd texts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", MODELS)
async def test_any_text_passes_the_border_both_ways(
    emulator: Emulator, talks: Talks, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = 'half a pair \ud83d, a line\u2028separator, "quotes" \\ and 日本語'
    emulator.providers[provider].answer = lambda request: odd
    summary = await talks.play(MODELS[provider], conversations=3, agents={"instructions": "né à \u2029Lyon \U0001f30a"})
    assert summary["status"] == "completed"
    texts = {row[0] for row in query(talks.database, "SELECT content FROM messages")}
    assert texts == {odd.replace("\ud83d", "?")}
