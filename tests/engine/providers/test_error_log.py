"""What the log, `failures` and the headline say of errors, with servers behind the real SDKs."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.engine.studies.evolution.running import study as evolution
from tests.engine.studies.mutation.studies import mutation
from tests.engine.studies.simulation.panels import panel
from tests.support.scripted import Asked, ScriptedProvider, plain
from tests.support.stage import Stage, question, units
from tests.support.state import log_of, query
from tests.support.studies import game
from tidepool import Mutation, run_batch
from tidepool.engine.config.sections import Service
from tidepool.engine.errors import RunError
from tidepool.engine.events import Logged, ProvidersRest
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError
from tidepool.engine.reports.blocks import Words
from tidepool.engine.results.report import report_of
from tidepool.engine.results.summary import summarise
from tidepool.engine.runtime.unit import Unit

from .conftest import MODELS, Talks

MODEL = MODELS["openai"]
LOST = re.compile(r"(\d+) of \d+ requests \([\d.]+ %\) failed\. (.*)")


def count_in(lines: list[str], pattern: str) -> list[int]:
    return [int(found[1].replace(",", "")) for line in lines if (found := re.search(pattern, line))]


@pytest.mark.parametrize(
    ("fault", "kind", "message"),
    [
        ("500", "server error", "OpenAI answered 500"),
        ("429", "rate limit error", "OpenAI answered 429"),
        ("drop", "broken reply", "Server disconnected"),
        ("hang", "timeout", "no answer within"),
        ("error:in-200-text", "server error", "upstream went away"),
    ],
)
async def test_the_log_has_the_first_error_of_a_class_then_counts(
    emulator: Emulator, talks: Talks, fault: str, kind: str, message: str
) -> None:
    emulator.set_faults("openai", rates={"live": {fault: 0.3}}, retry_after=0)
    summary = await talks.play(MODEL, conversations=30, timeout=0.4, max_concurrent=20, retries=20)
    lines = log_of(talks.database, summary["batch_id"])
    (first,) = [line for line in lines if f"First {kind} of {MODEL}: " in line]
    assert message in first and len(lines) < 30
    assert count_in(lines, rf"{MODEL}: (\d+) × {kind} so far")[0] == 10
    (total,) = count_in(lines, rf"{MODEL}: (\d+) × {kind} in this run")
    assert total == summary["calls"]["retried"] > 10
    assert not summary["failures"] and not [line for line in lines if "First lost" in line]


async def test_waves_and_the_end_of_the_run_are_logged(emulator: Emulator, talks: Talks) -> None:
    summary = await talks.play(MODEL, conversations=6, messages=3)
    lines = [line for line in log_of(talks.database, summary["batch_id"]) if "Wave" in line or "the run" in line]
    assert [line for line in lines if "started" in line] == [
        f"Wave {n} started: 6 requests planned." for n in (1, 2, 3)
    ]
    ended = [line for line in lines if "ended" in line]
    assert len(ended) == 3 and all(re.fullmatch(r"Wave \d ended: 6 requests in .* per message\.", one) for one in ended)
    assert "18 requests" in lines[-1] and "0 failed" in lines[-1]


async def test_a_mutation_that_loses_calls_completes_and_says_so(emulator: Emulator, database: Path) -> None:
    """Its steps go on without a lost call, so no unit fails."""
    emulator.set_faults("openai", rates={"live": {"error:text": 0.3}})
    lossy = Mutation(
        target=MODEL,
        mutator=MODEL,
        num_processes=4,
        num_steps=4,
        num_env_steps=32,
        repeats=1,
        heldout=0.05,
        service=Service(name="live"),
    )
    summary = await run_batch(lossy, database)
    lost = summary["calls"]["failed"]
    assert summary["status"] == "completed" and lost > 0.1 * summary["calls"]["total"]
    (failure,) = summary["failures"]
    assert failure == {**failure, "error": "OpenAI answered 400: The prompt is too long.", "calls": lost, "units": 0}
    lines = log_of(database, summary["batch_id"])
    (first,) = [line for line in lines if "First lost request" in line and "(rejected request)" in line]
    assert MODEL in first and "The prompt is too long" in first
    assert count_in(lines, r"(\d+) requests lost in this run") == [lost]


KINDS: dict[str, Any] = {
    "secret_game": lambda lossy: game(30, simulated=lossy),
    "simulation": lambda lossy: panel(num_simulations=30, n_turns=2, simulated=lossy),
    "evolution": lambda lossy: evolution(max_generations=1, simulated=lossy),
    "mutation": lambda lossy: mutation(simulated=lossy),
}


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_tells_what_it_lost(kind: str, rate: float, database: Path) -> None:
    with suppress(RunError):  # a mutation gives up after 200 lost steps
        await run_batch(KINDS[kind]({"fatal_rate": rate, "retries": 0}), database)
    summary = summarise(database, "last")
    lost = summary["calls"]["failed"]
    assert sum(one["calls"] for one in summary["failures"]) == lost and bool(lost) == bool(rate)
    report = report_of(database, summary)
    told = [LOST.match(block.text) for block in report.overview if isinstance(block, Words)]
    rest = "There are no results." if rate == 1.0 else "The results use the others."
    assert [found.groups() for found in told if found] == ([(str(lost), rest)] if lost else [])
    assert [line for line in log_of(database, summary["batch_id"]) if "First lost request of" in line] or not rate


# -- batch APIs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "rates", "reason"),
    [
        ("openai", {"upload": "500"}, "OpenAI answered 500"),
        ("openai", {"upload": "error:in-200-text"}, "upstream went away"),
        ("openai", {"create": "error:in-200-text", "list": "error:in-200-text"}, "upstream went away"),
        ("anthropic", {"create": "error:in-200-anthropic", "list": "error:in-200-anthropic"}, "Overloaded"),
    ],
)
async def test_a_batch_api_that_fails_is_reported_at_once_and_left_within_patience(
    emulator: Emulator, talks: Talks, provider: str, rates: dict[str, str], reason: str
) -> None:
    emulator.set_faults(provider, rates={step: {fault: 1.0} for step, fault in rates.items()})
    patience = 1.5
    summary = await talks.play(
        MODELS[provider], name=provider, conversations=4, outage_patience=patience, poll_interval=0.01
    )
    assert summary["status"] == "completed"
    events = [event for event in talks.events if isinstance(event, Logged | ProvidersRest)]
    first = next(place for place, one in enumerate(events) if isinstance(one, Logged) and "(batch API)" in one.message)
    resting = next(place for place, one in enumerate(events) if isinstance(one, ProvidersRest))
    left = next(place for place, one in enumerate(events) if isinstance(one, Logged) and "are sent live" in one.message)
    assert first < resting < left and reason in events[first].message and MODELS[provider][:6] in events[first].message
    ((seconds,),) = query(
        talks.database,
        "SELECT max(at) - min(at) FROM log_line WHERE message LIKE 'First%(batch API)%' OR message LIKE '%go live%'",
    )
    assert seconds < patience + 5
    assert sum(emulator.traffic(provider)[step] for step in rates) < 30, "pauses grow, however short poll_interval is"


async def test_an_error_in_place_of_a_batch_is_a_fault_and_no_state(emulator: Emulator, talks: Talks) -> None:
    emulator.set_faults("openai", script={"poll": ["error:in-200-text"] * 3})
    summary = await talks.play(MODEL, name="openai", conversations=4)
    lines = log_of(talks.database, summary["batch_id"])
    assert summary["status"] == "completed" and not [line for line in lines if "unknown state" in line]
    assert [line for line in lines if "First server error of openai (batch API): OpenAI answered with an error" in line]


# -- bounds ------------------------------------------------------------------------------------------------


async def test_an_error_of_any_length_is_logged_short_and_without_keys(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-" + "proj-0123456789abcdefABCDEF0123456789"

    async def failing(asked: Asked) -> Answer:
        if asked.call.step == "good":
            return await plain(asked)
        raise ProviderError(ErrorClass.CLIENT, f"{key} [bold]no[/bold]\n" + "x" * 500_000)

    async def story(unit: Unit) -> None:
        await unit.ask(question("good"))
        await unit.ask(question("bad"))

    monkeypatch.setenv("OPENAI_API_KEY", key)
    stage = Stage(database, monkeypatch)
    await stage.run(units(1, story), ScriptedProvider(failing))
    (line,) = [one for one in log_of(database, stage.batch_id) if "First lost request of" in one]
    stored = query(database, "SELECT error FROM call WHERE status = 'failed'")[0][0]
    assert len(line) < 1_000 and len(stored) <= 2_000 and "\n" not in line
    assert key not in line and key not in stored and "[bold]no" in line
