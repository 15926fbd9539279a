"""The game as a study on a real file: modes, kept secrets, points, the judge, who sat out, and taking it up again."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import count, permutations
from typing import Any

import pytest

from tests.engine.studies.secret_game.table import Table, agents
from tidepool import SecretGame
from tidepool.engine.call import Call
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.providers.protocol import ErrorClass, ProviderError
from tidepool.engine.runtime.session import RunControl
from tidepool.engine.studies.secret_game.config import Scenario
from tidepool.engine.studies.secret_game.detectors.detection import JUDGE_SYSTEM
from tidepool.engine.studies.secret_game.prompts import read_prompt
from tidepool.storage.states import StopCode

OPEN = {"Ada", "Cleo"}
"""those who tell their secret at once"""


def candid(call: Call, seed: int) -> str:
    facts = read_prompt(call.system)
    return f"My word is {facts.secret}." if facts.agent in OPEN else f"I keep mine. <{seed}>"


def stopping_at(moment: int, control: RunControl) -> Callable[[Call, int], str]:
    """The study is stopped while this call, counted from 1, is answered."""
    answered = count(1)

    def speech(call: Call, seed: int) -> str:
        if next(answered) == moment:
            control.stop_for(StopCode.STOPPED)
        return candid(call, seed)

    return speech


def failing(talk: tuple[str, str], *, times: int = 1) -> Callable[[Call, int], str]:
    """The given agent's word to the given partner is lost, so many times."""
    left = times

    def speech(call: Call, seed: int) -> str:
        nonlocal left
        facts = read_prompt(call.system)
        if (facts.agent, facts.partner) == talk and left:
            left -= 1
            raise ProviderError(ErrorClass.CLIENT, "lost for good")
        return candid(call, seed)

    return speech


def held(table: Table) -> dict[tuple[int, int, str], tuple[str, ...] | None]:
    """What each agent was told it holds, by game, round and agent."""
    rows = table.query(
        "SELECT u.game, u.round, c.speaker, p.text FROM unit u JOIN call c ON c.unit_id = u.id "
        "JOIN prompt p ON p.hash = c.prompt WHERE c.turn IS NOT NULL"
    )
    return {(game, number, speaker): read_prompt(system).held for game, number, speaker, system in rows}


async def test_kept_secrets_are_told_in_the_next_round_and_never_in_another_game(table: Table) -> None:
    table.speech = candid
    await table.play(agents(4), mode="diversity", games=2, rounds=5, messages_per_interaction=2)
    secrets = {agent.name: agent.secret for agent in agents(4)}
    obtained: dict[tuple[int, str], list[str]] = {}
    told = held(table)
    rows = table.query("SELECT game, round, participants FROM conversations ORDER BY game, round")
    assert len(told) == 2 * len(rows) == 40
    for game, number, names in rows:
        for agent in json.loads(names):
            mine = obtained.setdefault((game, agent), [])
            assert told[game, number, agent] == tuple(mine)
        for agent, partner in permutations(json.loads(names)):
            if partner in OPEN and secrets[partner] not in obtained[game, agent]:
                obtained[game, agent].append(secrets[partner])
    assert sorted(map(len, obtained.values())) == [1, 1, 1, 1, 2, 2, 2, 2]


POINTS = {
    # Ada and Cleo tell everybody, Bob and Dion nobody: marigold and harbour are held by three agents each
    "retained": {"Ada": 4 / 3, "Bob": 8 / 3, "Cleo": 4 / 3, "Dion": 8 / 3},
    "diversity": {"Ada": 2, "Bob": 4, "Cleo": 2, "Dion": 4},
    "targeted": {"Ada": 1, "Bob": 6, "Cleo": 5, "Dion": 6},
}


@pytest.mark.parametrize("mode", POINTS)
@pytest.mark.parametrize("service", ["live", "default", "auto"])
async def test_points_of_kept_secrets_are_written_at_the_end_of_each_game(
    table: Table, mode: str, service: str
) -> None:
    table.speech = candid
    if service == "auto":
        table.take_orders()
    settings: dict[str, Any] = {"targeted_secret": "Marigold"} if mode == "targeted" else {}
    summary = await table.play(
        agents(4), service=service, mode=mode, games=2, rounds=6, messages_per_interaction=2, **settings
    )
    found = {name: numbers["score"] for name, numbers in summary["statistics"]["agents"].items()}
    assert found == pytest.approx({name: 2 * points for name, points in POINTS[mode].items()})
    assert all(row[6] is not None for row in table.outcomes())


# -- failures and resume ---------------------------------------------------------------------------------


async def test_a_failure_that_a_later_round_has_read_stays_and_one_nobody_read_is_tried_again(table: Table) -> None:
    lost_early = failing(("Ada", "Bob"), times=99)
    table.speech = lost_early
    first = await table.play(agents(2), mode="diversity", rounds=2, messages_per_interaction=2)
    assert first["units"]["failed"] == 2
    table.speech = candid
    second = await table.resume()
    # round 1 was read by round 2 and is sealed; round 2 was read by nobody
    assert second["units"] == {"total": 2, "completed": 1, "failed": 1}
    assert second["statistics"]["agents"]["Bob"]["score"] == 2


async def test_a_game_is_counted_anew_when_a_resume_brings_a_lost_talk_to_its_end(table: Table) -> None:
    """It is one of the last round, so nobody has read its failure."""
    settings: dict[str, Any] = {"mode": "retained", "rounds": 3, "messages_per_interaction": 2, "seed": 0}
    whole = Table(table.database.with_name("whole.db"), table.monkeypatch, candid)
    undisturbed = await whole.play(agents(4), **settings)
    last = json.loads(whole.query("SELECT participants FROM conversations WHERE round = 3")[0][0])
    table.speech = failing((last[0], last[1]))
    lost = await table.play(agents(4), **settings)
    assert lost["status"] == "partial"
    assert lost["statistics"]["agents"] != undisturbed["statistics"]["agents"]
    resumed = await table.resume()
    assert resumed["statistics"] == undisturbed["statistics"]
    assert table.outcomes() == whole.outcomes()


@pytest.mark.parametrize("mode", ["standard", "retained", "diversity", "targeted"])
async def test_a_game_that_was_stopped_at_any_moment_ends_as_if_it_had_not_been(table: Table, mode: str) -> None:
    study = SecretGame(
        agents=agents(4, ("Ada", "Cleo")),
        mode=mode,
        targeted_secret="violet" if mode == "targeted" else None,
        games=2,
        rounds=3,
        messages_per_interaction=3,
        service=Service(name="live"),
    )
    whole = Table(table.database.with_name("whole.db"), table.monkeypatch, candid)
    undisturbed = await whole.run(study)
    for moment in (1, 7, 20, 33):
        stopped = Table(table.database.with_name(f"stopped{moment}.db"), table.monkeypatch)
        control = RunControl()

        stopped.speech = stopping_at(moment, control)
        first = await stopped.run(study, control)
        assert first["status"] == "interrupted"
        summary = await stopped.resume()
        assert summary["status"] == "completed"
        assert summary["calls"]["bought"] == summary["calls"]["total"] == 36
        assert stopped.outcomes() == whole.outcomes()
        assert summary["statistics"] == undisturbed["statistics"]


# -- waves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"mode": "diversity"}, {"long": ("Ada", "Bob", "Cleo", "Dion")}])
async def test_games_that_keep_something_go_round_by_round_and_side_by_side(table: Table, settings: Any) -> None:
    batches = table.take_orders()
    long = settings.pop("long", ())
    await table.play(agents(4, long), service="auto", games=3, rounds=4, messages_per_interaction=3, **settings)
    assert [len(order.calls) for order in batches.taken] == [6] * 12


async def test_only_those_who_remember_wait(table: Table) -> None:
    """Ada alone remembers, so only her three conversations follow one another."""
    batches = table.take_orders()
    await table.play(agents(4, ("Ada",)), service="auto", games=1, rounds=3, messages_per_interaction=2)
    assert [len(order.calls) for order in batches.taken] == [4, 4]
    ada = [asked.call for asked in table.asked if asked.call.speaker == "Ada"]
    assert [len(call.messages) > 2 for call in sorted(ada, key=lambda call: len(call.messages))] == [False, True, True]


# -- the judge -------------------------------------------------------------------------------------------


def judging(verdict: str | Exception) -> Callable[[Call, int], str]:
    def speech(call: Call, seed: int) -> str:
        if call.system != JUDGE_SYSTEM:
            return candid(call, seed)
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    return speech


@pytest.mark.parametrize(
    ("verdict", "stored"),
    [
        ("VERDICT: YES", 1),
        ("VERDICT: NO", 0),
        ("Hard to say.", None),
        (ProviderError(ErrorClass.CLIENT, "no judge today"), None),
    ],
)
async def test_the_judges_verdict_stands_apart_and_its_failure_fails_nothing(
    table: Table, verdict: Any, stored: int | None
) -> None:
    table.speech = judging(verdict)
    summary = await table.play(
        agents(4), num_interactions=4, messages_per_interaction=3, detection=["exact", "judge"], judge="simulated:judge"
    )
    assert summary["status"] == "completed"
    assert {row[0] for row in table.query("SELECT verdict FROM verdicts")} == {stored}
    assert {(row[1], row[4]) for row in table.outcomes()} == {
        (n, int(n in OPEN)) for n in ("Ada", "Bob", "Cleo", "Dion")
    }
    assert [wave["calls"] for wave in summary["waves"]] == [4, 4, 4, 8]
    overall = summary["statistics"]["verdicts"]["overall"]
    assert (overall["sides"], overall["missing"]) == (8, 8 if stored is None else 0)


async def test_a_judge_reads_each_side_once_and_knows_no_names(table: Table) -> None:
    table.speech = judging("VERDICT: NO")
    await table.play(
        agents(2), num_interactions=1, messages_per_interaction=3, detection=["exact", "judge"], judge="simulated:judge"
    )
    asked = {found.call.step: found.call.messages[0].text for found in table.asked if found.call.system == JUDGE_SYSTEM}
    assert set(asked) == {"t3/judge", "t2/judge"}
    assert "marigold" in asked["t3/judge"] and "lantern" in asked["t2/judge"]
    assert not any(name in text for text in asked.values() for name in ("Ada", "Bob"))


# -- who meets whom --------------------------------------------------------------------------------------


async def test_who_sits_out_is_on_record(table: Table) -> None:
    summary = await table.play(agents(3), games=2, rounds=3, messages_per_interaction=1)
    rows = table.query("SELECT game, round, agent FROM sit_outs ORDER BY 1, 2")
    assert [row[:2] for row in rows] == [(game, number) for game in (1, 2) for number in (1, 2, 3)]
    assert Counter(row[2] for row in rows) == {"Ada": 2, "Bob": 2, "Cleo": 2}
    assert summary["statistics"]["sat_out"] == {"Ada": 2, "Bob": 2, "Cleo": 2}


SCENARIOS = [
    {"opener_secret": "marigold", "partner_secret": "lantern"},
    {"opener_secret": "harbour", "partner_secret": "violet", "instructions": "You are at sea."},
]


async def test_a_model_comparison_gives_every_ordered_pair_the_same_scenarios(table: Table) -> None:
    models = [Agent(name=name, model=f"simulated:{name}") for name in ("guarded", "trusting", "curious")]
    await table.play(
        models,
        pairing="ordered",
        rounds=2,
        messages_per_interaction=2,
        scenarios=[Scenario(**scenario) for scenario in SCENARIOS],
    )
    played = Counter()
    for request in table.requests():
        facts = read_prompt(request.call.system)
        played[facts.agent, facts.partner, request.turn, facts.secret, facts.instructions] += 1
    names = [agent.name for agent in models]
    expected = Counter()
    for first in names:
        for second in names:
            for scenario in SCENARIOS:
                told = scenario.get("instructions", "")
                expected[first, second, 1, scenario["opener_secret"], told] += 1
                expected[second, first, 2, scenario["partner_secret"], told] += 1
    assert played == expected
