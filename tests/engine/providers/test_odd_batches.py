"""Batch files and cards as odd servers write them: every readable answer is kept, the rest is missing and counted."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.emulator.malformed_replies import WORDS
from tests.emulator.malformed_replies.transport import CARDS
from tests.support.state import log_of, query
from tidepool.engine.call import Call, Message
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import BatchApi, BatchedCall, ProviderBatchTicket, ResultsIncomplete
from tidepool.engine.runtime.provider_batch import ResultCollection, custom_id

from .conftest import MODELS, Talks

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
COUNT = 20
ORDER = "0123456789abcdef01234567"
LOST = {
    **dict.fromkeys(("corrupt", "brackets", "id-missing", "body-null", "error-text"), 1),
    "truncated": 2,
    "empty": COUNT,
    "page": COUNT,
}
"""how many of the rows are lost; none by the words that are not named"""


def calls_of(provider: str) -> list[BatchedCall]:
    def call(number: int) -> Call:
        return Call(f"t{number}", 1, MODELS[provider], (Message("user", f"Question {number}"),), max_tokens=50)

    return [BatchedCall(custom_id(ORDER, f"{number:032x}"), call(number), number) for number in range(COUNT)]


async def with_batch(provider: str, act: Callable[[BatchApi, ProviderBatchTicket, str], Awaitable[Any]]) -> Any:
    """Does something with a batch that the emulator has taken."""
    opened = open_provider(provider, ProviderSettings())
    api, calls = opened.batches, calls_of(provider)
    assert api is not None
    ticket = ProviderBatchTicket(ORDER, "content", COUNT, 0.0, "batch", 1, frozenset(one.custom_id for one in calls))
    try:
        remote_id = await api.create(ticket, calls, await api.upload(ticket, calls))
        return await act(api, ticket, remote_id)
    finally:
        await opened.close()


async def collected(api: BatchApi, ticket: ProviderBatchTicket, remote_id: str) -> tuple[ResultCollection, str]:
    found = ResultCollection(ticket)
    try:
        async for result in api.results(remote_id):
            found.add(result)
    except ResultsIncomplete as incomplete:
        return found, str(incomplete)
    return found, ""


@BOTH
async def test_every_line_that_can_be_read_is_kept(emulator: Emulator, provider: str) -> None:
    async def read(api: BatchApi, ticket: ProviderBatchTicket, remote_id: str) -> dict[str, int]:
        assert (await api.poll(remote_id)).ended
        lost = {}
        for word in WORDS["rows"]:
            emulator.set_faults(provider, rates={"results": {f"rows:{word}": 1}})
            found, trouble = await collected(api, ticket, remote_id)
            kept = sum(one.answer is not None and one.answer.usable for one in found.by_key.values())
            noticed = trouble or kept < len(found.by_key) or found.has_strayed
            assert found.is_whole or noticed, f"{word}: what is missing goes unnoticed"
            lost[word] = COUNT - kept
        return lost

    lost = await with_batch(provider, read)
    lost["corrupt"] = 1  # where the line breaks in the middle of a number, it may still be read
    assert lost == {word: LOST.get(word, 0) for word in WORDS["rows"]}


@BOTH
async def test_a_state_that_nobody_knows_is_judged_by_what_the_card_shows_beside_it(
    emulator: Emulator, provider: str
) -> None:
    async def poll(api: BatchApi, ticket: ProviderBatchTicket, remote_id: str) -> list[bool]:
        ended = []
        for word in ("status-missing", "status-unknown", "status-null"):
            emulator.set_faults(provider, batch_seconds=1e9, rates={"poll": {f"card:{word}": 1}})
            state = await api.poll(remote_id)
            assert state.unclear and not state.ended
        for word in (
            word
            for word in CARDS[provider]
            if word.startswith(("status", "counts", "times", "id")) and word != "status-stuck"
        ):
            emulator.set_faults(provider, batch_seconds=0, rates={"poll": {f"card:{word}": 1}})
            ended.append((await api.poll(remote_id)).ended)
        return ended

    ended = await with_batch(provider, poll)
    assert len(ended) > 4 and all(ended)


@BOTH
@pytest.mark.parametrize("word", ["404", "drop", "rows:page", "500"])
async def test_results_that_cannot_be_had_are_counted_and_asked_again_live(
    emulator: Emulator, talks: Talks, provider: str, word: str
) -> None:
    emulator.set_faults(provider, rates={"results": {word: 1}})
    summary = await talks.play(
        MODELS[provider], name=f"{provider}-conversation", conversations=12, messages=1, outage_patience=0.2
    )
    assert summary["status"] == "completed" and len(emulator.purchases) == summary["calls"]["bought"] == 24
    log = log_of(talks.database, summary["batch_id"])
    assert any("are incomplete" in line for line in log) and any("are sent live" in line for line in log)
    assert query(talks.database, "SELECT DISTINCT reason, count(*) FROM surplus") == [("unreadable", 12)]


@pytest.mark.parametrize("word", ["expired-empty", "completed-empty", "file-gone"])
async def test_a_vanished_file_ends_no_run(emulator: Emulator, talks: Talks, word: str) -> None:
    emulator.set_faults("openai", rates={"poll": {f"card:{word}": 1}})
    summary = await talks.play(MODELS["openai"], name="openai-conversation", conversations=12, messages=1)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == len(emulator.purchases) == 24


@BOTH
async def test_invalid_utf_8_in_a_reply_buys_nothing_twice(emulator: Emulator, talks: Talks, provider: str) -> None:
    emulator.set_faults(provider, rates={"results": {"rows:not-utf-8-reply": 1}})
    summary = await talks.play(MODELS[provider], name=f"{provider}-conversation", conversations=12, messages=2)
    assert summary["status"] == "completed" and len(emulator.purchases) == summary["calls"]["bought"] == 24
    texts = [text for (text,) in query(talks.database, "SELECT text FROM call WHERE source = 'batch'")]
    assert len(texts) == 24 and all(text.startswith("\ufffd\ufffd ") for text in texts)


@BOTH
@pytest.mark.parametrize("word", ["reply:empty", "reply:reasoning-only"])
async def test_a_reply_in_a_batch_that_is_no_answer_is_paid_for(
    emulator: Emulator, talks: Talks, provider: str, word: str
) -> None:
    """An empty one is asked once more; one that is all reasoning fails its unit at once."""
    emulator.set_faults(provider, rates={"item": {word: 1}, "live": {word: 1}}, stubborn=True)
    summary = await talks.play(MODELS[provider], name=f"{provider}-conversation", conversations=4, messages=1)
    assert summary["status"] == "failed" and summary["calls"]["failed"] == 4
    assert summary["calls"]["bought"] == len(emulator.purchases) > 0 and summary["cost_usd"] > 0


@BOTH
async def test_a_batch_api_that_answers_5xx_is_searched_waited_for_and_left_for_live_calls(
    emulator: Emulator, talks: Talks, provider: str
) -> None:
    emulator.set_faults(provider, rates={"create": {"503": 1}})
    summary = await talks.play(MODELS[provider], name=f"{provider}-conversation", conversations=12, outage_patience=0.5)
    assert summary["status"] == "completed" and len(emulator.purchases) == 24
    assert emulator.traffic(provider)["create"] > 1 and emulator.traffic(provider)["list"] > 4
    told = [line for line in log_of(talks.database, summary["batch_id"]) if "rejected a provider batch" in line]
    assert len(told) == 1 and "does not list it" in told[0]


@pytest.mark.parametrize("said", ["nothing", "json-text", "brackets"])
async def test_whatever_words_say_that_a_file_is_gone_the_calls_go_live(
    emulator: Emulator, talks: Talks, said: str
) -> None:
    """A creation of which nobody knows is fenced off by deleting its file."""
    emulator.set_faults("openai", rates={"create": {"503": 1}, "cancel": {f"body:{said}": 1}})
    summary = await talks.play(MODELS["openai"], name="openai-conversation", conversations=4, outage_patience=0.3)
    assert summary["status"] == "completed" and len(emulator.purchases) == 8


@BOTH
@pytest.mark.parametrize("status", ["401", "403", "404", "501"])
async def test_a_server_without_batches_or_a_key_without_the_right_to_them_goes_live(
    emulator: Emulator, talks: Talks, provider: str, status: str
) -> None:
    step = "upload" if provider == "openai" and status == "404" else "create"
    emulator.set_faults(provider, rates={step: {status: 1}})
    summary = await talks.play(MODELS[provider], name=f"{provider}-conversation", conversations=4, messages=1)
    assert summary["status"] == "completed" and len(emulator.purchases) == 4
    told = [line for line in log_of(talks.database, summary["batch_id"]) if "rejected a provider batch" in line]
    assert len(told) == 1 and status in told[0]
    assert {purchase.transport for purchase in emulator.purchases} == {"live"}
    assert query(talks.database, "SELECT state FROM provider_batch") == [("refused",)]
