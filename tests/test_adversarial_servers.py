"""The most telling hostile servers; `make prove ONLY=adversarial_servers` runs the whole table."""

import asyncio

from tests.adversarial_servers.case import played
from tests.adversarial_servers.cases import CASES, TITLES

TELLING = (
    "replies: openai, filtered",
    "replies: openai, empty however often",
    "replies: anthropic, reasoning-only",
    "reasoning: openai, think-unopened",
    "reasoning: ollama, thinking",
    "usage: openai, missing under a budget",
    "usage: openai, nan",
    "refusals: openai, detail-list",
    "batch, replies: openai, filtered",
    "batch, files: openai, body-text",
)


async def test_a_reply_that_is_not_an_answer_is_missing_and_paid_and_no_odd_value_ends_a_run() -> None:
    """All at once: they wait more than they work."""
    seen = await asyncio.gather(*(played(TITLES[title]) for title in TELLING))
    assert {title: one.wrongs for title, one in zip(TELLING, seen, strict=True) if one.wrongs} == {}


def test_every_title_names_one_case() -> None:
    assert len(TITLES) == len(CASES)
