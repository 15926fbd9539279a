"""Each fault, and the error as which it reaches the caller of the SDK."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic import AsyncAnthropic
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from tests.emulator import Emulator, Faults
from tests.emulator.faults import Dice, pick

from .wording import CHAT, SPEAK, chat, input_file, message_requests, speak

Ask = Callable[[], Awaitable[httpx2.Response]]


@pytest.fixture(params=["openai", "anthropic"])
def asked(
    request: pytest.FixtureRequest, openai_client: AsyncOpenAI, anthropic_client: AsyncAnthropic
) -> tuple[str, Ask, Any]:
    """A provider's name, its cheapest live call, and its SDK."""
    brief: Any = {"timeout": 0.3}

    async def ask_openai() -> httpx2.Response:
        return await openai_client.post("/chat/completions", cast_to=httpx2.Response, body=CHAT, options=brief)

    async def ask_anthropic() -> httpx2.Response:
        return await anthropic_client.post("/v1/messages", cast_to=httpx2.Response, body=SPEAK, options=brief)

    if request.param == "openai":
        return request.param, ask_openai, openai
    return request.param, ask_anthropic, anthropic


@pytest.mark.parametrize(
    ("fault", "error", "bought"),
    [
        ("400", "BadRequestError", 0),
        ("401", "AuthenticationError", 0),
        ("403", "PermissionDeniedError", 0),
        ("404", "NotFoundError", 0),
        ("429", "RateLimitError", 0),
        ("spend", "RateLimitError", 0),
        ("500", "InternalServerError", 0),
        ("503", "InternalServerError", 0),
        ("529", "InternalServerError", 0),
        ("drop", "APIConnectionError", 0),
        ("hang", "APITimeoutError", 0),
        ("lost", "APIConnectionError", 1),
        ("lost-hang", "APITimeoutError", 1),
        ("lost-500", "InternalServerError", 1),
        ("cut", "APIConnectionError", 1),
    ],
)
async def test_a_fault_arrives_as_the_sdks_error_and_only_what_happened_is_paid(
    emulator: Emulator, asked: tuple[str, Ask, Any], fault: str, error: str, bought: int
) -> None:
    name, ask, sdk = asked
    emulator.set_faults(name, script={"live": [fault]})
    with pytest.raises(getattr(sdk, error)):
        await ask()
    assert len(emulator.purchases) == bought
    assert (await ask()).status_code == 200, "a script is used up"
    assert emulator.traffic(name)[f"live:{fault}"] == 1


async def test_garbage_is_a_page_of_html_with_status_200(emulator: Emulator, asked: tuple[str, Ask, Any]) -> None:
    name, ask, _ = asked
    emulator.set_faults(name, script={"live": ["garbage"]})
    assert (await ask()).text.startswith("<html>")
    assert emulator.purchases == []


async def test_a_429_tells_when_to_come_back(emulator: Emulator, asked: tuple[str, Ask, Any]) -> None:
    name, ask, sdk = asked
    emulator.set_faults(name, script={"live": ["429", "429"]}, retry_after=7)
    with pytest.raises(sdk.RateLimitError) as told:
        await ask()
    assert told.value.response.headers["retry-after"] == "7"
    emulator.set_faults(name, retry_after=0.05)
    with pytest.raises(sdk.RateLimitError) as told:
        await ask()
    assert told.value.response.headers["retry-after"] == "0.050"


async def test_a_spend_limit_is_told_apart_from_a_rate_limit(
    emulator: Emulator, openai_client: AsyncOpenAI, anthropic_client: AsyncAnthropic
) -> None:
    for name in ("openai", "anthropic"):
        emulator.set_faults(name, spend_limit=1)
    await openai_client.chat.completions.create(**CHAT)
    with pytest.raises(openai.RateLimitError) as spent:
        await openai_client.chat.completions.create(**CHAT)
    assert spent.value.code == "insufficient_quota"
    await anthropic_client.messages.create(**SPEAK)
    with pytest.raises(anthropic.RateLimitError) as told:
        await anthropic_client.messages.create(**SPEAK)
    assert told.value.error_code == "enforced_spend_limit_reached"
    assert "retry-after" not in told.value.response.headers


async def test_a_wrong_key_is_refused_everywhere(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.set_faults("openai", keys=["the right one"])
    for attempt in (openai_client.chat.completions.create(**CHAT), openai_client.batches.retrieve("batch_1")):
        with pytest.raises(openai.AuthenticationError) as refused:
            await attempt
        assert refused.value.code == "invalid_api_key"
    right = openai_client.with_options(api_key="the right one")
    assert (await right.chat.completions.create(**CHAT)).id


async def test_an_unknown_model_is_not_found(openai_client: AsyncOpenAI, anthropic_client: AsyncAnthropic) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        await openai_client.chat.completions.create(**{**CHAT, "model": "gpt-4o-mini-typo"})
    assert missing.value.code == "model_not_found" and "gpt-4o-mini-typo" in missing.value.message
    with pytest.raises(anthropic.NotFoundError, match="claude-typo"):
        await anthropic_client.messages.create(**{**SPEAK, "model": "claude-typo"})


async def test_a_setting_a_model_does_not_take_is_named(emulator: Emulator, openai_client: AsyncOpenAI) -> None:
    emulator.set_faults("openai", refused_settings=["temperature"])
    with pytest.raises(openai.BadRequestError) as refused:
        await openai_client.chat.completions.create(**CHAT, temperature=0.2)
    assert (refused.value.param, refused.value.code) == ("temperature", "unsupported_parameter")


async def test_the_minute_limit_is_enforced_and_told_in_headers(
    emulator: Emulator, asked: tuple[str, Ask, Any]
) -> None:
    name, ask, sdk = asked
    emulator.set_faults(name, requests_per_minute=2)
    left = "x-ratelimit-remaining-requests" if name == "openai" else "anthropic-ratelimit-requests-remaining"
    assert [(await ask()).headers[left] for _ in range(2)] == ["1", "0"]
    with pytest.raises(sdk.RateLimitError) as told:
        await ask()
    assert 55 <= int(told.value.response.headers["retry-after"]) <= 60
    assert told.value.response.headers[left] == "0"
    assert len(emulator.purchases) == 2


async def test_a_limit_opens_again_when_its_minute_is_over(emulator: Emulator, asked: tuple[str, Ask, Any]) -> None:
    name, ask, sdk = asked
    emulator.set_faults(name, requests_per_minute=1, minute=0.1)
    await ask()
    refused = 0
    while len(emulator.purchases) < 2:
        try:
            await ask()
        except sdk.RateLimitError as told:
            assert float(told.response.headers["retry-after"]) <= 0.1
            refused += 1
    assert refused


async def test_latency_is_as_long_as_set(emulator: Emulator, asked: tuple[str, Ask, Any]) -> None:
    name, ask, _ = asked
    emulator.set_faults(name, latency=0.08, jitter=0.5)
    started = asyncio.get_running_loop().time()
    await ask()
    assert asyncio.get_running_loop().time() - started >= 0.04


async def test_rates_do_not_depend_on_who_comes_first(openai_client: AsyncOpenAI) -> None:
    async def struck(order: list[int]) -> set[int]:
        async with Emulator(openai=Faults(seed=5, rates={"live": {"500": 0.3}})) as fresh:
            client = openai_client.with_options(base_url=fresh.urls["openai"])
            calls = [client.chat.completions.create(**chat(f"No. {at}")) for at in order]
            done = await asyncio.gather(*calls, return_exceptions=True)
        return {at for at, one in zip(order, done, strict=True) if isinstance(one, openai.InternalServerError)}

    forwards, backwards = await struck(list(range(30))), await struck(list(range(29, -1, -1)))
    assert forwards == backwards
    assert 2 <= len(forwards) <= 18


async def test_a_batch_can_be_created_though_the_answer_is_lost(
    emulator: Emulator, openai_client: AsyncOpenAI, anthropic_client: AsyncAnthropic
) -> None:
    for name in ("openai", "anthropic"):
        emulator.set_faults(name, script={"create": ["drop", "lost", "lost-500"]})
    file = await openai_client.files.create(file=("wave.jsonl", input_file(2)), purpose="batch")
    for errors, listed in (
        (openai.APIConnectionError, 0),
        (openai.APIConnectionError, 1),
        (openai.InternalServerError, 2),
    ):
        with pytest.raises(errors):
            await openai_client.batches.create(
                input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
            )
        assert len((await openai_client.batches.list()).data) == listed
    for problem, listed in (
        (anthropic.APIConnectionError, 0),
        (anthropic.APIConnectionError, 1),
        (anthropic.InternalServerError, 2),
    ):
        with pytest.raises(problem):
            await anthropic_client.messages.batches.create(requests=message_requests(2))
        assert len((await anthropic_client.messages.batches.list()).data) == listed
    assert len(emulator.purchases) == 8


async def test_polling_may_fail_and_results_may_come_late_or_broken(
    emulator: Emulator, openai_client: AsyncOpenAI
) -> None:
    emulator.set_faults("openai", script={"poll": ["500", "404"], "results": ["404", "cut"]})
    file = await openai_client.files.create(file=("wave.jsonl", input_file(9)), purpose="batch")
    batch = await openai_client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    with pytest.raises(openai.InternalServerError):
        await openai_client.batches.retrieve(batch.id)
    with pytest.raises(openai.NotFoundError):
        await openai_client.batches.retrieve(batch.id)
    output = (await openai_client.batches.retrieve(batch.id)).output_file_id
    assert output
    with pytest.raises(openai.NotFoundError):
        await openai_client.files.content(output)
    with pytest.raises(openai.APIConnectionError):
        await openai_client.files.content(output)
    assert len((await openai_client.files.content(output)).text.splitlines()) == 9


async def test_a_cut_stream_of_results_raises_a_raw_transport_error(
    emulator: Emulator, anthropic_client: AsyncAnthropic
) -> None:
    emulator.set_faults("anthropic", script={"results": ["cut"]})
    batch = await anthropic_client.messages.batches.create(requests=message_requests(50))
    await anthropic_client.messages.batches.retrieve(batch.id)
    rows = []
    with pytest.raises(httpx2.TransportError):
        async for row in await anthropic_client.messages.batches.results(batch.id):
            rows.append(row)
    assert len(rows) < 50
    assert len([row async for row in await anthropic_client.messages.batches.results(batch.id)]) == 50


async def test_a_batch_api_can_refuse(emulator: Emulator, anthropic_client: AsyncAnthropic) -> None:
    emulator.set_faults("anthropic", rates={"create": {"403": 1.0}})
    with pytest.raises(anthropic.PermissionDeniedError):
        await anthropic_client.messages.batches.create(requests=message_requests(2))
    assert (await anthropic_client.messages.create(**speak("Live still works"))).role == "assistant"


@given(
    st.dictionaries(st.sampled_from(["500", "drop", "hang", "cut"]), st.floats(0, 0.25)),
    st.floats(0, 1, exclude_max=True),
)
def test_a_draw_beyond_all_rates_is_health(rates: dict[str, float], draw: float) -> None:
    word = pick(rates, draw)
    assert word in rates or not word
    if draw >= sum(rates.values()) + 1e-9:
        assert word == ""


def test_a_request_that_failed_may_succeed_when_asked_again() -> None:
    dice = Dice(Faults(rates={"item": {"500": 0.5}}))
    assert {dice.roll("item", "the same") for _ in range(20)} == {"", "500"}
