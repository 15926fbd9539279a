"""The most telling of the hostile cases; `make prove ONLY=hostile` runs all of them."""

import asyncio

from tests.hostile.cases import TITLES
from tests.hostile.stage import played

TELLING = (
    "why it ended: openai, filtered",
    "why it ended: openai, empty however often",
    "why it ended: anthropic, reasoning-only",
    "reasoning: openai, think-nested",
    "reasoning: ollama, thinking",
    "usage: openai, missing under a budget",
    "usage: openai, nan",
    "refusals: detail-list",
    "batch, replies: openai, filtered",
    "batch, files: body-text",
)


async def test_a_reply_that_is_no_answer_is_missing_and_paid_and_no_odd_value_ends_a_run() -> None:
    """All at once: they wait more than they work."""
    seen = await asyncio.gather(*(played(TITLES[title]) for title in TELLING))
    assert {title: one.wrongs for title, one in zip(TELLING, seen, strict=True) if one.wrongs} == {}
