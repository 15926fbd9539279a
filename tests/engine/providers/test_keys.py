"""Keys appear nowhere: what a provider repeats of them is taken out of its words."""

import pytest

from tests.emulator import Emulator
from tests.support.state import query
from tests.support.studies import game
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.endpoint import display_host, has_credentials, open_provider, scrub_keys

from .conftest import MODELS, Talks

KEY = "sk-proj-Abc123_very-secret-0987"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        "Incorrect API key provided: sk-proj-****0987.",
        f"header Authorization: Bearer {KEY} refused",
    ],
)
def test_what_looks_like_a_key_is_taken_out(text: str) -> None:
    assert "0987" not in scrub_keys(text) and "[key]" in scrub_keys(text)


def test_other_words_stay() -> None:
    text = "The model `gpt-4o-mini` does not exist; task-force and desk-top are words."
    assert scrub_keys(text) == text


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://api.openai.com/v1", False),
        ("127.0.0.1:11434", False),
        ("https://me:pass@proxy.example/v1", True),
        ("me@host:80", True),
    ],
)
def test_an_address_with_a_password_is_seen(url: str, secret: bool) -> None:
    assert has_credentials(url) is secret
    assert "pass" not in display_host(url)


def test_a_config_with_a_password_in_an_address_is_refused_before_it_is_stored() -> None:
    config = config_from(
        {**game().as_config().as_written(), "providers": {"openai": {"base_url": "https://me:pw@proxy.example"}}}
    )
    with pytest.raises(UsageError, match="would be stored with the study"):
        open_provider("openai", config.limits_for("openai"))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_reply_that_repeats_the_key_is_kept_without_it_live_and_by_batch(
    emulator: Emulator, talks: Talks, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    key = "a-key-of-some-length"
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", key)
    emulator.providers[provider].answer = lambda request: f"<think>it is {key}</think>You sent {key}, did you not?"
    for service in ("live", "auto"):
        summary = await talks.play(MODELS[provider], conversations=4, name=service, batch_from=0, seed=len(service))
        assert summary["status"] == "completed"
    told = {row[0] for row in query(talks.database, "SELECT content FROM messages")}
    thought = {row[0] for row in query(talks.database, "SELECT thought FROM messages")}
    assert told == {"You sent [key], did you not?"} and thought == {"it is [key]"}
    assert key.encode() not in talks.database.read_bytes()
