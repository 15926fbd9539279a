"""Replies that are no answers: missing, paid for, counted, told, and never a finding."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted import Asked, ScriptedProvider, plain
from tests.support.stage import Stage, question, talk, units
from tests.support.state import query
from tidepool.engine.call import PriceTag, most_input, worst_cost
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError
from tidepool.engine.runtime.session import RunControl, Stop
from tidepool.engine.runtime.unit import Unit
from tidepool.storage.states import FinishReason, StopCode

TAG = PriceTag(input=0.001, output=0.002)
PAID = 0.02
NO_ANSWERS = {
    "filtered": Answer("half a wo", 10, 5, PAID, finish=FinishReason.FILTERED),
    "tool": Answer("", 10, 5, PAID, finish=FinishReason.TOOL),
    "reasoning alone": Answer("", 10, 5, PAID, finish=FinishReason.EMPTY, thought="hm", reasoning_tokens=5),
    "refused without words": Answer("", 10, 5, PAID, finish=FinishReason.REFUSED),
    "empty": Answer("", 10, 5, PAID, finish=FinishReason.EMPTY),
    "broken off": Answer("half", 10, 5, PAID, finish=FinishReason.ERROR),
}
ASKED = {"empty": 2, "broken off": 3}
"""how often, with two retries; the others are not asked again"""


def says(answer: Answer, attempts: int = 1_000) -> ScriptedProvider:
    """A provider that replies so to the first call of unit 1, and answers everything else."""

    async def script(asked: Asked) -> Answer:
        odd = asked.call.messages[0].text == "1" and asked.attempt <= attempts
        return answer if odd else (await plain(asked))._replace(cost_usd=0.01)

    return ScriptedProvider(script, tag=TAG)


async def numbered(unit: Unit) -> None:
    await unit.ask(question("t1", 1, str(unit.number), turn=1, speaker="Ada"))


def money(database: Path) -> tuple[int, float]:
    """What the rows say was bought, and what it cost."""
    rows = query(
        database,
        "SELECT cost_usd FROM call WHERE finish_reason IS NOT NULL UNION ALL SELECT cost_usd FROM surplus WHERE reason <> 'under way'",
    )
    return len(rows), sum(cost for (cost,) in rows)


@pytest.mark.parametrize("kind", NO_ANSWERS)
async def test_a_reply_that_is_no_answer_fails_its_unit_and_is_paid(stage: Stage, database: Path, kind: str) -> None:
    provider = says(NO_ANSWERS[kind])
    summary = await stage.run(units(3, numbered), provider, retries=2)
    attempts = ASKED.get(kind, 1)
    assert summary["status"] == "partial" and summary["units"]["failed"] == 1
    assert len(provider.asked) == summary["calls"]["bought"] == 2 + attempts
    assert summary["replies"]["unusable"] == attempts
    assert summary["cost_usd"] == pytest.approx(0.02 + attempts * PAID)
    assert money(database) == (2 + attempts, pytest.approx(summary["cost_usd"]))
    assert query(database, "SELECT count(*) FROM messages") == [(2,)], "it is no message"


@pytest.mark.parametrize("kind", ["empty", "broken off"])
async def test_what_heals_is_an_answer_and_the_first_reply_stays_paid(stage: Stage, database: Path, kind: str) -> None:
    summary = await stage.run(units(3, numbered), says(NO_ANSWERS[kind], attempts=1), retries=2)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 4
    assert money(database) == (4, pytest.approx(0.03 + PAID))
    told = query(database, "SELECT message FROM log WHERE level = 'warning' AND message LIKE '%is unusable (%'")
    assert len(told) == 1


async def test_a_resume_asks_again_and_what_was_paid_stays_paid(stage: Stage, database: Path) -> None:
    await stage.run(units(3, numbered), says(NO_ANSWERS["filtered"]), retries=2)
    summary = await stage.resume(units(3, numbered), says(NO_ANSWERS["filtered"], attempts=0))
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 4
    assert money(database) == (4, pytest.approx(summary["cost_usd"]))
    assert query(database, "SELECT reason FROM surplus") == [("filtered",)]


async def test_a_cut_reply_is_kept_counted_and_told_as_soon_as_it_is_more_than_a_few(
    stage: Stage, database: Path
) -> None:
    told: list[int] = []

    async def cut(asked: Asked) -> Answer:
        if any("length limit" in message for (message,) in query(database, "SELECT message FROM log")):
            told.append(int(asked.call.step[1:]))
        return (await plain(asked))._replace(finish=FinishReason.CUT)

    summary = await stage.run(units(4, talk(4)), ScriptedProvider(cut))
    assert summary["status"] == "completed" and summary["replies"]["cut"] == 16
    assert query(database, "SELECT DISTINCT finish_reason FROM messages") == [("cut",)]
    words = query(database, "SELECT message FROM log WHERE message LIKE '%length limit%'")
    assert len(words) == 1 and "Raise max_tokens" in words[0][0]
    assert 2 in told, "the second wave left after the warning"


async def test_missing_usage_costs_the_worst_case_and_counts_against_the_budget(stage: Stage, database: Path) -> None:
    async def silent(asked: Asked) -> Answer:
        return Answer("words", usage_missing=True, cost_usd=None)

    call = question("t1", 1, "1")
    worst = worst_cost(call, TAG)
    summary = await stage.run(units(20, numbered), ScriptedProvider(silent, tag=TAG), budget_usd=5.5 * worst)
    assert summary["reason"] == "budget" and summary["calls"]["bought"] == 5
    assert summary["cost_usd"] == pytest.approx(5 * worst) and summary["replies"]["usage_missing"] == 5
    tokens = query(database, "SELECT DISTINCT input_tokens, output_tokens, usage_missing FROM call")
    assert tokens == [(most_input(call), call.max_tokens, 1)]


async def test_a_stop_that_cuts_live_calls_off_counts_them_as_bought(
    stage: Stage, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidepool.engine.runtime.session.DRAIN_SECONDS", 0.05)
    control = RunControl()

    async def stuck(asked: Asked) -> Answer:
        control.stop(Stop(StopCode.STOPPED))
        await asyncio.Event().wait()
        raise AssertionError

    provider = ScriptedProvider(stuck, tag=TAG)
    provider.simulated = False
    summary = await stage.run(units(3, numbered), provider, control=control)
    worst = worst_cost(question("t1", 1, "1"), TAG)
    assert summary["calls"]["bought"] == 3 and summary["cost_usd"] == pytest.approx(3 * worst)
    again = ScriptedProvider(plain, tag=TAG)
    again.simulated = False
    summary = await stage.resume(units(3, numbered), again)
    assert summary["status"] == "completed" and summary["calls"]["bought"] == 6
    assert query(database, "SELECT DISTINCT reason FROM surplus") == [("killed",)]


async def test_a_call_that_came_back_with_an_error_is_not_counted_as_under_way(stage: Stage, database: Path) -> None:
    async def down(asked: Asked) -> Answer:
        raise ProviderError(ErrorClass.CLIENT, "no")

    provider = ScriptedProvider(down, tag=TAG)
    provider.simulated = False
    summary = await stage.run(units(3, numbered), provider)
    assert summary["calls"]["bought"] == 0 and summary["cost_usd"] == 0
    assert query(database, "SELECT count(*) FROM surplus") == [(0,)]


async def test_which_model_was_served_is_kept_and_told(stage: Stage, database: Path) -> None:
    async def dated(asked: Asked) -> Answer:
        name = "guarded-2026-11" if asked.call.step == "t1" else "guarded-2026-12"
        return (await plain(asked))._replace(served_model=name, thought="hm", reasoning_tokens=3)

    summary: dict[str, Any] = await stage.run(units(2, talk(2)), ScriptedProvider(dated))
    assert [served["served"] for served in summary["served_models"]] == ["guarded-2026-11", "guarded-2026-12"]
    assert summary["tokens"]["reasoning"] == 12
    rows = query(database, "SELECT DISTINCT served_model, thought, finish_reason FROM messages ORDER BY 1")
    assert rows == [("guarded-2026-11", "hm", "complete"), ("guarded-2026-12", "hm", "complete")]
