"""A provider tried: one call outside every batch."""

import pytest

from tests.emulator import Emulator
from tidepool.engine.config.sections import OllamaSettings, Providers, ProviderSettings
from tidepool.engine.errors import RunError, UsageError
from tidepool.engine.providers.model_list import list_models
from tidepool.engine.single_call import ask_once, most_cost_of, probe_call


@pytest.mark.parametrize("model", ["gpt4o_mini", "claude_haiku", "ollama:llama3.2", "openai:text-embedding-3-small"])
async def test_a_real_provider_answers_once(emulator: Emulator, model: str) -> None:
    most = await most_cost_of(probe_call(model))
    said = await ask_once(probe_call(model))
    assert not said.simulated and said.seconds > 0
    assert most is not None and most >= (said.cost_usd or 0.0)
    assert len(emulator.purchases) == 1


@pytest.mark.parametrize(
    ("model", "fault", "words"),
    [
        ("openai:gpt-4o-mini", "500", "OpenAI answered 500"),
        ("openai:gpt-4o-mini", "429", "OpenAI answered 429"),
        ("anthropic:claude-haiku-5-5", "401", "ANTHROPIC_API_KEY"),
    ],
)
async def test_a_fault_is_told_at_once_in_the_providers_words(
    emulator: Emulator, model: str, fault: str, words: str
) -> None:
    emulator.set_faults(model.partition(":")[0], rates={"live": {fault: 1.0}})
    with pytest.raises(RunError, match=words):
        await ask_once(probe_call(model))


async def test_what_cannot_be_asked_says_why(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="retired"):
        await ask_once(probe_call("anthropic:claude-3-opus"))
    with pytest.raises(RunError, match="does not know the model"):
        await ask_once(probe_call("openai:gpt-4o-mni"))
    nowhere = Providers(openai=ProviderSettings(base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(RunError, match="No OpenAI server answers"):
        await ask_once(probe_call("gpt4o_mini"), providers=nowhere)
    emulator.set_faults("openai", latency=0.5)
    with pytest.raises(RunError, match="did not answer within"):
        await ask_once(probe_call("gpt4o_mini"), patience=0.2)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(RunError, match="no key for OpenAI"):
        await ask_once(probe_call("gpt4o_mini"))


async def test_each_ollama_server_is_told_apart(emulator: Emulator) -> None:
    hosts = [emulator.urls["ollama"], "http://127.0.0.1:9"]
    (listed,) = await list_models(Providers(ollama=OllamaSettings(hosts=hosts)), ("ollama",))
    up, down = listed.hosts
    assert up.models and not up.silence
    assert not down.models and down.silence == "connection refused"
    assert listed.reached
