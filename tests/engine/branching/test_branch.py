"""A branch: what it buys, what it goes on from, how it stops and goes on, and where it cannot be."""

import shutil
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import pytest

from tests.engine.results.test_methods import told as methods_told
from tests.support.state import change, end_state, query, sold_live
from tests.support.studies import CAST, game
from tidepool import Agent, Entity, SecretGame, Simulation, read_summary, resume_batch, run_batch
from tidepool.engine.branching.making import BranchSpec, new_branch
from tidepool.engine.branching.results import blocks
from tidepool.engine.errors import FileError, NotFound, NotTrusted, UsageError
from tidepool.engine.reports.blocks import Table
from tidepool.engine.results.batch_summary import Summary
from tidepool.engine.run import planned_branch, question_about, run_planned
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.studies.secret_game.config import Scenario
from tidepool.storage.batches import delete_batch

SAY = "Let us stop here and talk of the weather."
LIVE = {"name": "live"}
PRICES = {"price_input": 1_000.0, "price_output": 1_000.0}


async def branched(path: Path, at: str, **wish: Any) -> Summary:
    new = new_branch(path, BranchSpec(wish.pop("batch", "last"), at, **wish))
    return cast(Summary, await run_planned(planned_branch(new), path))


def said(path: Path, batch_id: str) -> dict[int, list[tuple[str, str]]]:
    """By unit: model and words of each message."""
    found: dict[int, list[tuple[str, str]]] = {}
    sql = "SELECT conversation_id & 4294967295, model, content FROM messages WHERE batch_id = ? ORDER BY 1, turn"
    for unit, model, content in query(path, sql, batch_id):
        found.setdefault(unit, []).append((model, content))
    return found


async def test_a_hundred_branched_conversations_buy_only_what_follows(database: Path) -> None:
    origin = await run_batch(game(100, 4, service=LIVE), database)
    new = new_branch(database, BranchSpec("last", "t3", say=SAY, times=1))
    planned = new.plan()
    branch = cast(Summary, await run_planned(planned_branch(new), database))
    bought = 100 * (2 + 1)  # t3 and t4 of a control, t4 of an altered one
    assert sold_live(branch.batch_id).total() == bought == branch.calls.bought == branch.calls.total
    assert planned.calls_expected == planned.calls_at_most == bought
    assert branch.units.completed == planned.units == 200
    before, after = said(database, origin.batch_id), said(database, branch.batch_id)
    for redraw in new.branch.origin.redraws():
        assert after[redraw.number][:2] == before[redraw.conversation][:2]
        assert (after[redraw.number][2] == ("assigned", SAY)) == (redraw.arm == "altered")
    methods, outcomes = methods_told(database), branch.statistics["branch"]["outcomes"]
    for words in (
        "A side counted as revealing its secret if a detector found",
        "“Speaker” is the participant who speaks at t3. Measures count only later messages.",
        "Intervals are at 95 % and describe conversations like these.",
        "All comparisons are exploratory and form one family, with Holm's correction (Holm, 1979).",
        *(f"peaker {one['name'][8:-2]}s: {one['left_out']} conversations are left out" for one in outcomes),
        "Wilson EB (1927)",
        "Bonett DG, Price RM (2012)",
    ):
        assert words in methods, words
    titles = [one.title for one in blocks(branch.statistics) if isinstance(one, Table)]
    assert titles == ["exploratory effect, over conversations"]
    again = sum(
        after[one.number][2] == before[one.conversation][2]
        for one in new.branch.origin.redraws()
        if one.arm == "control"
    )
    assert again < 50, "a control is resampled, not copied"
    rows = query(
        database,
        "SELECT unit & 4294967295, value, cluster FROM measures WHERE batch_id = ? AND measure = 'speaker_revealed'",
        branch.batch_id,
    )
    arms: dict[str, list[float]] = {"control": [], "altered": []}
    for unit, value, cluster in rows:
        redraw = new.branch.origin.redraw(unit)
        assert redraw is not None and cluster == f"conversation {redraw.conversation}"
        arms[redraw.arm].append(value)
    told = branch.statistics["branch"]["outcomes"][0]
    assert told["name"] == "speaker_revealed" and told["conversations"] == len(arms["control"])
    for arm, values in arms.items():
        assert told[arm] == pytest.approx(100 * fmean(values))


async def test_a_branch_that_was_stopped_goes_on_without_its_origin(database: Path, tmp_path: Path) -> None:
    origin = await run_batch(game(6, 4, service=LIVE, simulated=PRICES), database)
    undisturbed = tmp_path / "other.db"
    shutil.copy(database, undisturbed)
    whole = await branched(undisturbed, "t2", say=SAY, times=3)
    assert whole.cost_usd
    budget = f"service.budget_usd={whole.cost_usd / 2}"
    stopped = await branched(database, "t2", say=SAY, times=3, overrides=[budget])
    assert stopped.reason == "budget" and 0 < stopped.calls.bought < whole.calls.bought
    delete_batch(database, origin.batch_id)
    stored = query(database, "SELECT origin FROM batch")[0][0]
    change(database, "UPDATE batch SET origin = replace(origin, '\"t2\"', '\"zz\"')")
    with pytest.raises(FileError, match="was changed"):
        await resume_batch(stopped.batch_id, database)
    change(database, "UPDATE batch SET origin = ?", stored)
    resumed = await resume_batch(stopped.batch_id, database, overrides=["service.budget_usd=0"])
    assert resumed.status == "completed" and resumed.calls.bought == whole.calls.bought
    assert set(sold_live(stopped.batch_id).values()) == {1}
    assert end_state(database, resumed.batch_id) == end_state(undisturbed, whole.batch_id)
    assert resumed.statistics == whole.statistics


async def test_what_agents_knew_of_earlier_talks_is_as_it_was(database: Path) -> None:
    agents = [
        Agent(name=name, model=model, secret=secret, memory="long" if name == "Bob" else "short")
        for name, (model, secret) in CAST.items()
    ]
    study = SecretGame(
        agents=agents, mode="retained", games=2, rounds=3, messages_per_interaction=3, detection=["exact"]
    )
    origin = await run_batch(study, database)
    branch = await branched(database, "t2", times=1)
    prompts = "SELECT c.unit_id & 4294967295, c.prompt FROM call c JOIN batch b ON b.number = c.unit_id >> 32 WHERE b.id = ? AND step = 't2' ORDER BY 1"
    assert query(database, prompts, origin.batch_id) == query(database, prompts, branch.batch_id)
    clusters = "SELECT DISTINCT cluster FROM measures WHERE batch_id = ? AND measure = 'speaker_obtained' ORDER BY 1"
    assert query(database, clusters, branch.batch_id) == [("game 1",), ("game 2",)]
    assert len({prompt for _, prompt in query(database, prompts, branch.batch_id)}) > 4, "they hold secrets by now"
    change(database, "UPDATE outcome SET revealed = 1 - revealed WHERE unit_id >> 32 = 1")
    with pytest.raises(UsageError, match="cannot be branched: its request at 't1' would differ"):
        new_branch(database, BranchSpec(origin.batch_id, "t2"))


async def test_a_second_sentence_has_its_controls_from_the_cache_and_no_assigned_word(database: Path) -> None:
    origin = await run_batch(game(2, 3, service=LIVE), database)
    first = await branched(database, "t2", say=SAY, times=2)
    second = await branched(database, "t2", batch=origin.batch_id, say="No.", times=2)
    assert first.calls.cached == 0
    assert second.calls.cached == 2 * 2 * 2 and second.calls.bought == 2 * 2
    only_again = await branched(database, "t2", batch=origin.batch_id, times=4)
    assert SAY not in {words for talk in said(database, only_again.batch_id).values() for _, words in talk}


def people(**more: Any) -> Simulation:
    entities = [Entity(name) for name in ("Ada", "Bob", "Cleo", "Dion")]
    judge = {"model": "simulated:judge", "question": "Does the speaker agree, 1 to 5?", "scale": [1, 5]}
    return Simulation(entities=entities, context="A panel", num_simulations=4, n_turns=2, judge=judge, **more)


async def test_a_simulation_is_branched_at_one_message_and_measured_by_its_judge(database: Path) -> None:
    origin = await run_batch(people(), database)
    branch = await branched(database, "t1.2", say="I disagree with every word.", times=2)
    assert branch.calls.bought == 4 * 2 * (3 + 2 + 2 + 2)
    names = [one["name"] for one in branch.statistics["branch"]["outcomes"]]
    assert names == ["speaker_rating", "others_rating"]
    assert [one["conversations"] for one in branch.statistics["branch"]["outcomes"]] == [4, 4]
    assert "simulated:judge rated every speaker" in methods_told(database)
    assert {one["estimand"] for one in branch.statistics["branch"]["outcomes"]} == {"entities like these"}
    people_met = "SELECT DISTINCT participants FROM conversations WHERE batch_id = ? ORDER BY 1"
    assert query(database, people_met, origin.batch_id) == query(database, people_met, branch.batch_id)


async def test_a_branch_of_repeated_scenarios_is_about_scenarios(database: Path) -> None:
    words = (("lantern", "quarry"), ("thimble", "kestrel"))
    scenarios = [Scenario(opener_secret=one, partner_secret=other) for one, other in words]
    agents = [Agent(name=name, model="simulated:trusting") for name in ("Ada", "Bob", "Cleo")]
    await run_batch(SecretGame(agents=agents, scenarios=scenarios, num_interactions=12), database)
    branch = await branched(database, "t2", say=SAY, times=1)
    for one in branch.statistics["branch"]["outcomes"]:
        assert (one["estimand"], one["p_value"]) == ("scenarios like these", None)
        assert "2 scenarios, a test needs 10" in one["note"]


async def test_a_narrated_scene_has_no_turn_to_branch(database: Path) -> None:
    await run_batch(people(style="narrated"), database)
    with pytest.raises(UsageError, match="is one request"):
        new_branch(database, BranchSpec("last", "t1.1"))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"at": "t9"}, "The messages of this batch are t1, t2, t3"),
    ({"at": "t3", "say": SAY}, "no message follows it"),
    ({"at": "t2", "say": "  "}, "--say needs a text"),
    ({"at": "t2", "times": 0}, "--times 0"),
    ({"at": "t2", "conversations": (9,)}, "Conversation 9 .* does not exist"),
    ({"at": "t2", "overrides": ("secret_game.mode=retained",)}, "only service"),
]


async def test_what_cannot_be_branched_is_refused_in_words(database: Path) -> None:
    await run_batch(game(3, 3, service=LIVE), database)
    for wish, words in REFUSED:
        with pytest.raises((UsageError, NotFound), match=words):
            new_branch(database, BranchSpec("last", **wish))
    assert len(query(database, "SELECT 1 FROM batches")) == 1


async def test_a_branch_tells_its_origin_and_is_not_branched_again(database: Path) -> None:
    origin = await run_batch(game(3, 3, service=LIVE), database)
    branch = await branched(database, "t2", say=SAY, conversations=(2,), times=3)
    told = {"batch_id": origin.batch_id, "conversations": (2,), "at": "t2", "say": SAY, "times": 3}
    assert branch["origin"] == told
    assert branch.statistics["branch"]["outcomes"][0]["estimand"] == "this conversation"
    with pytest.raises(UsageError, match="is itself a branch"):
        new_branch(database, BranchSpec("last", "t2"))


async def test_servers_that_only_the_file_names_are_asked_about_first(database: Path) -> None:
    await run_batch(game(2, 3, service=LIVE), database)
    strange = "http://203.0.113.9/v1"
    change(
        database,
        "UPDATE batch SET config = json_set(config, '$.providers.openai.base_url', ?, '$.agents[0].model', ?)",
        strange,
        "openai:gpt-4o-mini",
    )
    with pytest.raises(NotTrusted, match=strange):
        new_branch(database, BranchSpec("last", "t2"))
    question = question_about(database, "last", plan=Plan(1, ()))
    assert question is not None and [one.where for one in question.admission.servers] == [strange]


async def test_a_branch_whose_origin_was_tampered_with_is_read_and_not_run(database: Path) -> None:
    await run_batch(game(2, 3, service=LIVE), database)
    branch = await branched(database, "t2", times=1)
    change(database, "UPDATE batch SET status = 'interrupted', origin = '{}' WHERE id = ?", branch.batch_id)
    assert read_summary(branch.batch_id, database)["origin"] is None
    with pytest.raises(FileError, match="conversations that this branch continues cannot be read"):
        await resume_batch(branch.batch_id, database)
