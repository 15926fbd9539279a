"""Whatever a server writes into cards and result files, nothing raises out of the reader, and good lines are kept.

The server is a real one and the SDKs are the real ones: what hypothesis makes up goes over the line.
"""

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import open_provider
from tidepool.engine.providers.protocol import (
    BatchApi,
    ProviderBatchGone,
    ProviderBatchResult,
    ProviderBatchTicket,
    ProviderError,
    ResultsIncomplete,
)

EXAMPLES = settings(max_examples=25, suppress_health_check=list(HealthCheck))
MOST_ODD = 5
"""odd lines in one file"""
KNOWN = (ProviderError, ProviderBatchGone)
TICKET = ProviderBatchTicket("order", "content", 3, 1_800_000_000.0)

numbers = st.one_of(st.integers(), st.floats(), st.sampled_from([10**400, -1, 1e300, 2**63, 200, 404, 500]))
leaves = st.one_of(
    st.none(), st.booleans(), numbers, st.text(max_size=8), st.sampled_from(["200", "completed", "{}", "\ud800"])
)
odd = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


class Server:
    """Answers every look with the same bytes: `card` where a batch is shown, `rows` where its results are."""

    def __init__(self) -> None:
        self.card: Any = {}
        self.rows = b""
        self._runner = asyncio.Runner()
        self.run = self._runner.run
        self.apis: dict[str, BatchApi] = {}
        self._opened: list[Any] = []
        self._app: web.AppRunner | None = None

    async def start(self) -> str:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._app = web.AppRunner(app, access_log=None)
        await self._app.setup()
        site = web.TCPSite(self._app, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._app.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.Response:
        if request.path.endswith(("/results", "/content")):
            return web.Response(body=self.rows)
        return web.Response(body=written(self.card), content_type="application/json")

    def open(self, url: str) -> None:
        for name in ("openai", "anthropic"):
            provider = open_provider(name, ProviderSettings(base_url=url))
            assert provider.batches is not None
            self._opened.append(provider)
            self.apis[name] = provider.batches

    async def _closed(self) -> None:
        for provider in self._opened:
            await provider.close()
        assert self._app is not None
        await self._app.cleanup()

    def close(self) -> None:
        self.run(self._closed())
        self._runner.close()

    async def results(self, provider: str, card: dict[str, Any]) -> list[ProviderBatchResult]:
        found: list[ProviderBatchResult] = []
        self.card = card
        api = self.apis[provider]
        await api.poll("batch_1")
        try:
            async for result in api.results("batch_1"):
                found.append(result)
        except ResultsIncomplete:
            pass
        return found


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            patch.setenv(name, "any")
        one = Server()
        one.open(one.run(one.start()))
        yield one
        one.close()


def good_row(provider: str, name: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "input_tokens": 3, "output_tokens": 2}
    if provider == "anthropic":
        message = {"model": "claude-haiku-5-5", "content": [{"type": "text", "text": "yes"}], "usage": usage}
        return {"custom_id": name, "result": {"type": "succeeded", "message": {**message, "stop_reason": "end_turn"}}}
    choice = {"message": {"content": "yes"}, "finish_reason": "stop"}
    body = {"model": "gpt-4o-mini", "choices": [choice], "usage": usage}
    return {"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


def ended_card(provider: str) -> dict[str, Any]:
    if provider == "anthropic":
        return {"id": "batch_1", "processing_status": "ended", "request_counts": {"succeeded": 3}}
    return {"id": "batch_1", "status": "completed", "output_file_id": "file_1", "request_counts": {"completed": 3}}


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with something odd at one place of it."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(odd)
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    changed = dict(value) if isinstance(value, dict) else list(value)
    if isinstance(changed, dict) and draw(st.integers(0, 4)) == 0:
        del changed[key]
    else:
        changed[key] = draw(spoiled(value[key]))
    return changed


BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])


@BOTH
@EXAMPLES
@given(data=st.data())
def test_an_odd_line_costs_no_other_line(server: Server, provider: str, data: st.DataObject) -> None:
    rows = [good_row(provider, f"good_{number}") for number in range(3)]
    lines = [written(row) for row in rows]
    for _ in range(data.draw(st.integers(1, MOST_ODD))):
        strange = data.draw(st.one_of(st.binary(max_size=40), spoiled(good_row(provider, "odd")).map(written)))
        lines.insert(data.draw(st.integers(0, len(lines))), strange.replace(b"\n", b" "))
    server.rows = b"\n".join(lines)
    found = server.run(server.results(provider, ended_card(provider)))
    kept = {one.custom_id for one in found if one.answer is not None and one.answer.text == "yes"}
    assert kept >= {"good_0", "good_1", "good_2"}
    for answer in (one.answer for one in found if one.answer is not None):
        assert 0 <= answer.input_tokens < 10**8 and 0 <= answer.output_tokens < 10**8
        assert answer.cost_usd is None or math.isfinite(answer.cost_usd)
        answer.text.encode()


@BOTH
@EXAMPLES
@given(data=st.data())
def test_an_odd_card_is_a_state_or_a_fault_that_is_known(server: Server, provider: str, data: st.DataObject) -> None:
    server.card, server.rows = data.draw(spoiled(ended_card(provider))), b""
    api = server.apis[provider]
    try:
        state = server.run(api.poll("batch_1"))
        assert len(state.label) < 100 and state.label.encode()
    except KNOWN:
        return
    with suppress(*KNOWN):
        server.run(server.results(provider, server.card))


def test_half_a_character_for_the_id_of_a_file_costs_the_results_and_nothing_else(server: Server) -> None:
    server.card, server.rows = {**ended_card("openai"), "output_file_id": "\ud800"}, b""
    assert server.run(server.results("openai", server.card)) == []


@BOTH
@EXAMPLES
@given(data=st.data())
def test_an_odd_list_gives_an_id_nothing_or_a_fault_that_is_known(
    server: Server, provider: str, data: st.DataObject
) -> None:
    card = {**ended_card(provider), "created_at": 1_800_000_100, "metadata": {"tidepool_order": "order"}}
    page = {"data": [card, card], "has_more": data.draw(st.booleans()), "last_id": "batch_1"}
    server.card, server.rows = data.draw(spoiled(page)), b""
    try:
        found = server.run(server.apis[provider].find(TICKET, ()))
    except KNOWN:
        return
    assert found is None or found.isascii()


@BOTH
def test_a_line_beyond_all_measure_is_one_line_lost(
    server: Server, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidepool.engine.providers.connection.LONGEST_LINE", 1 << 20)
    huge = b'{"custom_id": "' + b"x" * (5 << 20) + b'"}'
    deep = b'{"custom_id": "odd", "response": ' + b"[" * 200_000
    server.rows = b"\n".join([written(good_row(provider, "good_0")), huge, deep, written(good_row(provider, "good_1"))])
    found = server.run(server.results(provider, ended_card(provider)))
    assert [one.custom_id for one in found] == ["good_0", "good_1"]
