"""Endpoints of one's own, several at once: each is spoken to in its way, and gets its own key and nobody else's."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulator import Emulator, Faults
from tests.engine.providers.conftest import Talks
from tests.support import warm
from tests.support.command import ROOT
from tests.support.state import query
from tidepool.engine.config.sections import Providers, ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import endpoint_of, open_provider, scrub_keys
from tidepool.engine.providers.model_list import list_models
from tidepool.storage.text import mask

SECRETS = {
    "OPENAI_API_KEY": "sk-of-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-of-anthropic-0123456789",
    "OLLAMA_API_KEY": "of-ollama-0123456789",
    "OPENROUTER_API_KEY": "sk-or-of-openrouter-0123456789",
    "LAB_KEY": "lab-0123456789-and-more",
    "OPENAI_ORG_ID": "org-of-openai-0123456789",
    "OPENAI_PROJECT_ID": "project-of-openai-0123456789",
    "OPENAI_ADMIN_KEY": "admin-of-openai-0123456789",
    "OPENAI_CUSTOM_HEADERS": "X-Mine: header-of-openai-0123456789",
    "ANTHROPIC_AUTH_TOKEN": "token-of-anthropic-0123456789",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Mine: header-of-anthropic-0123456789",
}
GOES_TO = {
    "lab": "LAB_KEY",
    "lab2": "LAB_KEY",
    "claude": "",
    "box": "",
    "box2": "",
    "openrouter": "OPENROUTER_API_KEY",
    "openai": "OPENAI_API_KEY",
}
"""the servers, and the variable whose key each of them gets"""
STUDY = """
[batch]
kind = "secret_game"
name = "Five endpoints"

[service]
name = "auto"
budget_usd = 1.0

[providers.openai]
base_url = "{openai}"

[providers.lab]
like = "openai"
hosts = ["{lab}", "{lab2}"]
api_key_env = "LAB_KEY"
prices = {{ "gpt-4o-mini" = {{ input = 1.0, output = 2.0 }} }}

[providers.claude]
like = "anthropic"
base_url = "{claude}"
max_concurrent = 3
prices = {{ "*" = {{ input = 0.0, output = 0.0 }} }}

[providers.box]
like = "ollama"
hosts = ["{box}", "{box2}"]

[providers.openrouter]
base_url = "{openrouter}"
prices = {{ "gpt-4o-mini" = {{ input = 1.0, output = 2.0 }} }}

[secret_game]
num_interactions = 30
messages_per_interaction = 2
detection = ["exact"]
"""
MODELS = (
    *("openai:gpt-4o-mini", "lab:gpt-4o-mini", "claude:claude-haiku-5-5", "box:llama3.2:latest"),
    *("openrouter:gpt-4o-mini", "simulated:guarded"),
)


@pytest.fixture
async def servers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Emulator]:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    likes = {"lab": "openai", "lab2": "openai", "claude": "anthropic", "box": "ollama", "box2": "ollama"}
    likes["openrouter"] = "openai"
    async with Emulator(hosts={name: Faults(like=like) for name, like in likes.items()}) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.urls["openai"])
        yield running


async def test_one_study_meets_models_of_five_endpoints_two_of_them_pools_and_each_gets_its_own_key_alone(
    servers: Emulator, tmp_path: Path
) -> None:
    agents = "".join(
        f'[[agents]]\nname = "A{place}"\nmodel = "{model}"\nsecret = "s{place}"\n' for place, model in enumerate(MODELS)
    )
    (tmp_path / "study.toml").write_text(STUDY.format(**servers.urls) + agents)
    command = ["--db", str(tmp_path / "study.db"), "--run", str(tmp_path / "study.toml"), "--json"]
    done = await asyncio.to_thread(warm.run, command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)}, 90.0)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["units"]["completed"] == 30 and summary["cost_usd"] > 0
    asked = {model for (model,) in query(tmp_path / "study.db", "SELECT DISTINCT model FROM messages")}
    assert asked == set(MODELS)
    assert {purchase.provider.removesuffix("2") for purchase in servers.purchases} == {
        name.removesuffix("2") for name in GOES_TO
    }
    assert all(servers.traffic(name) for name in GOES_TO), "every server of a pool is looked at"
    for name, variable in GOES_TO.items():
        seen = str(dict(servers.providers[name].headers))
        leaked = {other for other, value in SECRETS.items() if value.split(": ")[-1] in seen} - {variable}
        own = {"OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS"} if name == "openai" else set()
        assert leaked == own, name
        assert not variable or f"Bearer {SECRETS[variable]}" in servers.providers[name].headers["authorization"]
    kept = (tmp_path / "study.db").read_bytes() + (done.stdout + done.stderr).encode()
    assert not [name for name, value in SECRETS.items() if value.encode() in kept]


async def test_a_server_that_wants_a_key_nobody_named_says_how_to_name_it(servers: Emulator, talks: Talks) -> None:
    servers.set_faults("lab", keys=["another"])
    lab = {"like": "openai", "base_url": servers.urls["lab"]}
    with pytest.raises(UsageError, match=r"\[providers.lab\] with api_key_env"):
        await talks.play("lab:gpt-4o-mini", providers={"lab": lab})


async def test_a_budget_is_refused_where_no_price_is_known_and_kept_by_a_declared_one(
    servers: Emulator, talks: Talks
) -> None:
    lab = {"like": "openai", "base_url": servers.urls["lab"]}
    with pytest.raises(UsageError, match=r"price of lab:gpt-4o-mini is not known.*prices"):
        await talks.play("lab:gpt-4o-mini", providers={"lab": lab}, budget_usd=1.0)
    prices = {"gpt-4o-mini": {"input": 1000.0, "output": 1000.0}}
    summary = await talks.play("lab:gpt-4o-mini", providers={"lab": {**lab, "prices": prices, "budget_usd": 2.0}})
    assert summary["reason"] and 0 < summary["cost_usd"] <= 2.0


async def test_waves_go_live_where_an_endpoint_has_no_batch_api_and_by_it_where_it_says_so(
    servers: Emulator, talks: Talks
) -> None:
    lab = {"like": "openai", "base_url": servers.urls["lab"]}
    common = {"conversations": 6, "name": "auto", "batch_from": 0}
    live = await talks.play("lab:gpt-4o-mini", providers={"lab": lab}, **common)
    assert {wave["transport"] for wave in live["waves"]} == {"live"} and not servers.traffic("lab")["create"]
    batched = await talks.play("lab:gpt-4o-mini", providers={"lab": {**lab, "batch_api": True}}, seed=8, **common)
    assert {wave["transport"] for wave in batched["waves"]} == {"batch"}


async def test_every_endpoint_that_is_declared_is_listed_with_its_models_and_prices(servers: Emulator) -> None:
    prices = {"gpt-4o-mini": {"input": 1.0, "output": 2.0}}
    lab = {"like": "openai", "base_url": servers.urls["lab"], "api_key_env": "LAB_KEY", "prices": prices}
    providers = Providers.model_validate({"lab": lab, "box": {"like": "ollama", "hosts": [servers.urls["box"]]}})
    listed = {one.name: one for one in await list_models(providers, ("lab", "box", "azure"))}
    assert listed["lab"].reached and listed["lab"].key == "set"
    (mini,) = [model for model in listed["lab"].models if model.name == "gpt-4o-mini"]
    assert (mini.input_usd, mini.output_usd) == (1.0, 2.0)
    assert listed["box"].key == "not needed" and listed["box"].hosts[0].models
    assert "base_url" in listed["azure"].note


def test_the_key_of_an_endpoint_is_taken_out_of_words_and_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTER_TOKEN", "a plain but long token")
    monkeypatch.setenv("SHORT_TOKEN", "not-needed")
    for variable in ("CLUSTER_TOKEN", "SHORT_TOKEN"):
        open_provider("lab", ProviderSettings(like="openai", base_url="http://gpu1/v1", api_key_env=variable))
    assert scrub_keys("refused: a plain but long token") == "refused: [key]"
    assert mask("you sent a plain but long token") == "you sent [key]"
    assert mask("that is not-needed") == "that is not-needed"


@pytest.mark.parametrize("name", ["lab", "openrouter", "vllm"])
def test_no_endpoint_takes_the_address_or_the_key_of_another(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    monkeypatch.setenv("OPENAI_API_KEY", SECRETS["OPENAI_API_KEY"])
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    endpoint = endpoint_of(name, ProviderSettings(like="openai"))
    assert "http://elsewhere/v1" not in endpoint.addresses and not endpoint.key
