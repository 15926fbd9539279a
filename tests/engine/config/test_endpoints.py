"""Endpoints of any name: declared by a section, known by name, or the user's own for all studies."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.config.test_loading import game
from tidepool.engine.call import FREE
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.config.freezing import freeze, load_frozen, with_overrides
from tidepool.engine.config.loading import FILE_NAME, config_from, declared_model
from tidepool.engine.config.sections import FrozenConfig, Providers, ProviderSettings
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import endpoint_of, open_provider

LAB = {
    "like": "openai",
    "hosts": ["http://gpu1:8000/v1", "http://gpu2:8000/v1"],
    "api_key_env": "LAB_KEY",
    "max_concurrent": 40,
    "prices": {"qwen3:32b": {"input": 0.1, "output": 0.4}},
}


def study(*models: str, **providers: dict[str, Any]) -> dict[str, Any]:
    agents = [{"name": f"A{place}", "model": model, "secret": f"s{place}"} for place, model in enumerate(models)]
    return game(agents=agents, providers=providers)


def frozen(data: dict[str, Any]) -> FrozenConfig:
    return freeze(config_from(data, source="study.toml", folder=Path()), Path("none.db"))


def test_a_study_with_endpoints_of_its_own_is_frozen_and_read_back_as_it_was() -> None:
    config = frozen(study("lab:qwen3:32b", "openrouter:meta-llama/llama-3.3-70b", lab=LAB))
    again = load_frozen(config.to_json())
    assert again.to_json() == config.to_json()
    assert json.loads(config.to_json())["providers"]["lab"] == LAB
    assert again.limits_for("lab").max_concurrent == 40 and again.limits_for("lab").retries == 5
    assert [agent.model for agent in again.agents] == ["lab:qwen3:32b", "openrouter:meta-llama/llama-3.3-70b"]


def test_a_limit_of_an_endpoint_is_changed_by_set() -> None:
    config = frozen(study("lab:a", "lab:b", lab=LAB))
    changed = with_overrides(config, ["providers.lab.max_concurrent=4", "providers.openrouter.retries=1"])
    assert changed.limits_for("lab").max_concurrent == 4 and changed.limits_for("lab").hosts == LAB["hosts"]
    assert changed.limits_for("openrouter").retries == 1


def test_endpoints_are_made_in_code_as_in_a_file() -> None:
    providers = Providers(lab=ProviderSettings(like="openai", base_url="http://gpu1:8000/v1"))
    assert providers.section("lab").base_url == "http://gpu1:8000/v1"
    assert providers.openai == ProviderSettings() and providers.model_copy() == providers


WRONG = [
    (
        "and with the way to declare it",
        study("cluster:x", "lab:y", lab=LAB),
        '[providers.cluster] with like = "openai"',
    ),
    ("a declared one may be the nearest", study("labs:x", "lab:y", lab=LAB), "did you mean lab:x?"),
    ("its key is named", study("lab:x", "labs:y", lab=LAB), "agents[1].model"),
    (
        "a section that is like nothing",
        study("openai:x", lab={"base_url": "http://gpu1"}),
        "unknown key providers.lab. Known keys are anthropic, ollama, openai, simulated. Your own endpoint needs like",
    ),
    ("a misspelt section", study("openai:x", opnai={"retries": 1}), "Did you mean 'openai'?"),
    ("a misspelt key of a preset", study("vllm:x", vllm={"base_ur": "http://gpu1"}), "Did you mean 'base_url'?"),
    ("a key itself", study("lab:x", lab={**LAB, "api_key": "sk-1"}), "environment"),
    ("like something else", study("lab:x", lab={"like": "gemini"}), "providers.lab.like"),
    ("a name that is taken", study("openai:x", openai={"like": "anthropic"}), "openai is a built-in provider"),
    ("a name with a space", study("openai:x", **{"my lab": LAB}), "letters, digits, - and _"),
    ("a price below nothing", study("lab:x", lab={**LAB, "prices": {"x": {"input": -1.0, "output": 0.0}}}), "input"),
    ("half a price", study("lab:x", lab={**LAB, "prices": {"x": {"input": 1.0}}}), "output is missing"),
    ("a variable that is none", study("lab:x", lab={**LAB, "api_key_env": "sk-secret"}), "api_key_env"),
]


@pytest.mark.parametrize(("data", "words"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_mistake_is_told_by_key(data: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as told:
        frozen(data)
    assert words in str(told.value) and "study.toml" in str(told.value)


@pytest.mark.parametrize("name", KNOWN_ENDPOINTS)
def test_a_known_endpoint_needs_no_section(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = KNOWN_ENDPOINTS[name]
    monkeypatch.delenv(known.address_variable or "-", raising=False)
    settings = frozen(study(f"{name}:a", "simulated:b")).limits_for(name)
    endpoint = endpoint_of(name, settings)
    assert (endpoint.like, endpoint.has_batches) == (known.like, known.batch_api)
    if not known.address:
        with pytest.raises(UsageError, match=f"providers.{name}.*base_url"):
            open_provider(name, settings)
        settings = settings.model_copy(update={"base_url": "https://lab.openai.azure.com/openai/v1"})
    provider = open_provider(name, settings)
    assert (provider.name, provider.endpoint.like) == (name, known.like)  # type: ignore[attr-defined]
    assert (provider.batches is not None) is known.batch_api


@pytest.mark.parametrize(
    ("name", "model", "base_url", "known"),
    [
        ("openrouter", "openai/gpt-4o-mini", None, True),
        ("gemini", "gemini-2.5-flash", None, True),
        ("azure", "gpt-4o-mini", "https://lab.openai.azure.com/openai/v1", True),
        ("litellm", "gpt-4o-mini", None, False),
    ],
)
def test_prices_are_looked_up_by_address(name: str, model: str, base_url: str | None, known: bool) -> None:
    tag = open_provider(name, ProviderSettings(base_url=base_url)).price(model)
    assert (tag is not None) is known and (tag is None or tag.input > 0)


def test_declared_prices_are_per_million_and_win() -> None:
    prices = {
        "big": {"input": 2.0, "output": 8.0, "cache_read": 0.5, "batch_factor": 0.5},
        "*": {"input": 0.0, "output": 0.0},
    }
    settings = ProviderSettings.model_validate({"like": "openai", "base_url": "http://gpu1/v1", "prices": prices})
    provider = open_provider("lab", settings)
    big, other = provider.price("big"), provider.price("small")
    assert big and other and other.cost(10**6, 10**6) == 0
    assert big.cost(10**6, 10**6) == pytest.approx(10.0)
    assert big.cost(10**6, 0, cache_read=10**6) == pytest.approx(0.5)
    assert big.cost(10**6, 10**6, batch=True) == pytest.approx(5.0)
    assert open_provider("vllm", ProviderSettings()).price("anything") == FREE


def test_an_address_without_a_scheme_is_told() -> None:
    with pytest.raises(UsageError, match="'gpu1:8000' has no scheme"):
        open_provider("lab", ProviderSettings(like="openai", base_url="gpu1:8000"))


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(tmp_path))
    path = tmp_path / FILE_NAME
    path.write_text(
        '[providers.lab]\nlike = "openai"\nbase_url = "http://gpu1/v1"\napi_key_env = "LAB_KEY"\n[providers.other]\nlike = "ollama"\n'
    )
    return path


def test_the_users_endpoints_are_written_into_the_studies_that_name_them(users: Path) -> None:
    config = frozen(study("lab:a", "lab:b", lab={"like": "openai", "max_concurrent": 3}))
    lab = {"like": "openai", "base_url": "http://gpu1/v1", "api_key_env": "LAB_KEY", "max_concurrent": 3}
    written = json.loads(config.to_json())["providers"]
    assert written["lab"] == lab and "other" not in written
    users.unlink()
    assert load_frozen(config.to_json()).limits_for("lab").base_url == "http://gpu1/v1"


def test_an_endpoint_with_an_address_of_its_own_gets_nothing_of_the_users(users: Path) -> None:
    config = frozen(study("lab:a", "lab:b", lab={"like": "openai", "base_url": "http://elsewhere/v1"}))
    assert config.limits_for("lab").api_key_env is None


def test_a_study_file_of_somebody_gets_nothing_of_the_users(users: Path) -> None:
    stranger = json.loads(frozen(study("openai:a", "openai:b")).to_json())
    for agent in stranger["agents"]:
        agent["model"] = "lab:a"
    with pytest.raises(UsageError, match="has an unknown provider"):
        load_frozen(json.dumps(stranger))


def test_the_users_file_is_checked_by_key(users: Path) -> None:
    assert declared_model("lab:a") == "lab:a"
    with pytest.raises(UsageError, match=FILE_NAME):
        declared_model("lap:a")
    users.write_text("[service]\nretries = 1\n")
    with pytest.raises(UsageError, match=r"providers\.toml.*\[service\]"):
        declared_model("lab:a")
    users.write_text('[providers.lab]\nlike = "openai"\nbase_ur = "x"\n')
    with pytest.raises(UsageError, match=r"providers\.lab\.base_ur.*base_url"):
        frozen(study("lab:a", "lab:b"))


@pytest.mark.parametrize(
    ("case", "refused"),
    [
        ("mode 0664 in a folder of mode 0775", ""),
        ("mode 0644 in a folder of mode 1777", ""),
        ("mode 0646 in a folder of mode 0755", "other users can write to {file}"),
        ("mode 0644 in a folder of mode 0757", "other users can write to {folder}"),
        ("mode 0664 of another group", "other users can write to {file}"),
        ("of another user", "another user owns {file}"),
        ("in a folder of another user", "another user owns {folder}"),
        ("a link of one's own", ""),
        ("a link into a folder of mode 0777", "other users can write to {shared}"),
        ("a link of another user", "another user owns {file}"),
        ("a link to itself", "Too many levels of symbolic links"),
        ("a pipe", "{file} is not a regular file"),
    ],
)
def test_a_providers_file_that_others_may_have_written_is_refused(
    users: Path, monkeypatch: pytest.MonkeyPatch, case: str, refused: str
) -> None:
    folder, shared = users.parent, users.parent / "shared"
    if case == "a link to itself":
        users.unlink()
        users.symlink_to(users)
    elif case.startswith("a link"):
        shared.mkdir()
        users.symlink_to(users.rename(shared / "lab.toml"))
        if "0777" in case:
            shared.chmod(0o777)
    match case.split():
        case ["mode", mode, "in", *_, folder_mode]:
            users.chmod(int(mode, 8))
            folder.chmod(int(folder_mode, 8))
        case ["mode", mode, *_]:
            users.chmod(int(mode, 8))
            monkeypatch.setattr(os, "getegid", lambda: 4711)
        case [*_, "another", "user"]:
            if os.geteuid() == 0:
                os.chown(folder if "folder" in case else users, 65534, 65534, follow_symlinks=False)
            elif "folder" in case:
                pytest.skip("only root can give a folder to another user")
            else:
                monkeypatch.setattr(os, "geteuid", lambda: 4711)
        case ["a", "pipe"]:
            users.unlink()
            os.mkfifo(users, 0o600)
    if not refused:
        assert frozen(study("lab:a", "lab:b")).limits_for("lab").base_url == "http://gpu1/v1"
        return
    for model in ("lab:a", "openai:a"):  # a name that needs no such file must not go to the usual address instead
        with pytest.raises(UsageError) as error:
            frozen(study(model, model))
        why = refused.format(file=users, folder=folder, shared=shared)
        assert f"{users} cannot be used: {why}" in str(error.value) and "TIDEPOOL_CONFIG" in str(error.value)
