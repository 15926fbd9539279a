"""Whole evolutions that ask for answers in a form: what is asked, and what becomes of replies without a readable answer."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.engine.results.test_methods import told
from tests.engine.studies.evolution.running import evolved, run, run_with_interruptions, study
from tests.support.state import query
from tidepool.engine.call import Call
from tidepool.engine.config.freezing import freeze
from tidepool.engine.errors import UsageError
from tidepool.engine.providers.protocol import Answer
from tidepool.engine.simulated.provider import SimulatedProvider
from tidepool.engine.studies.evolution.tasks.task import FORM
from tidepool.engine.studies.study import study_from

JUDGED = (
    "FROM call j JOIN call c ON j.unit_id = c.unit_id AND j.step = c.step || '/judge' AND j.wave = c.wave + 1 "
    "JOIN answer a ON a.unit_id = c.unit_id AND a.step = c.step"
)
MARKS = "SELECT unit_id, step, extracted, correct, score, details FROM answer ORDER BY 1, 2"
SIZES: dict[str, Any] = {"validation_problems": 100, "max_generations": 3}


@pytest.mark.parametrize(("keys", "form"), [({}, True), ({"answer_form": "any"}, False), ({"task": "judge"}, False)])
async def test_every_message_asks_for_the_form_and_no_prompt_has_it(
    keys: dict[str, Any], form: bool, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = [], SimulatedProvider.answer

    def listen(self: SimulatedProvider, call: Call, seed: int, *, batch: bool = False) -> Answer:
        if call.model == "simulated:solver":
            asked.append(call.messages[-1].text)
        return answer(self, call, seed, batch=batch)

    monkeypatch.setattr(SimulatedProvider, "answer", listen)
    await run(study(**{"max_generations": 2, "judge": "simulated:judge", **keys}), database)
    assert len(asked) > 50 and {FORM in message for message in asked} == {form}
    assert query(database, "SELECT count(*) FROM genome WHERE prompt LIKE '%holds only%'") == [(0,)]
    assert ("Only answers in this form were read" in told(database)) is form


async def test_unclear_replies_are_counted_and_bounded_and_stay_so_on_resume(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    summary = await run(study(**SIZES, service="live"), one)
    champion = summary["statistics"]["champion"]
    marks = query(
        one, "SELECT correct, reply FROM answers WHERE split = 'judge' AND genome_id = ?", champion["genome_id"]
    )
    right, unclear = (sum(correct is wanted for correct, _ in marks) for wanted in (1, None))
    assert unclear and all(reply for _, reply in marks)
    assert champion["unclear"] == unclear / 100 and champion["validation_problems"] == 100 - unclear
    assert champion["validation_accuracy"] == pytest.approx(right / (100 - unclear))
    assert champion["accuracy_bounds"] == pytest.approx([right / 100, (right + unclear) / 100])
    low, high = summary["statistics"]["difference_bounds"]
    assert low < summary["statistics"]["difference"] < high
    stopped, stops = await run_with_interruptions(study(**SIZES, service="live"), two, every=150)
    assert stops > 1 and evolved(summary, one) == evolved(stopped, two)
    assert query(one, MARKS) == query(two, MARKS)


async def test_in_training_an_unclear_reply_is_not_right(database: Path) -> None:
    summary = await run(study(max_problems=40, racing=False, seed_final=False, max_generations=1), database)
    marks = "SELECT correct FROM answers WHERE split = 'search' AND genome_id = ?"
    genomes = query(database, "SELECT genome_id, accuracy, missing FROM genomes")
    replies = {genome: [row[0] for row in query(database, marks, genome)] for genome, _, _ in genomes}
    assert any(None in some for some in replies.values()) and summary["failures"] == []
    for genome, accuracy, missing in genomes:
        assert (missing, accuracy) == (0, pytest.approx(fmean(correct or 0 for correct in replies[genome])))


async def test_a_judge_marks_unclear_replies_and_no_others(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    keys = {**SIZES, "unclear": "judge", "judge": "simulated:judge", "service": "live"}
    summary = await run(study(**keys), one)
    judged = "SELECT count(*) FROM call WHERE step LIKE '%/judge'"
    unclear = "SELECT count(*) FROM answer WHERE details LIKE '%no answer could be read%'"
    assert query(one, judged) == query(one, unclear) and query(one, judged)[0][0] > 10
    marked = query(one, f"SELECT a.correct, c.truth {JUDGED}")
    assert {truth for _, truth in marked} == {"right", "wrong", "silent"}, "some say their answer in another form"
    assert all(correct == (truth == "right") for correct, truth in marked)
    assert len(marked) == query(one, judged)[0][0]
    search = "SELECT count(*) FROM call c JOIN unit u ON u.id = c.unit_id WHERE u.interaction_type = 'genome'"
    rewrites = "SELECT count(*) FROM call WHERE model = 'simulated:rewriter'"
    calls = query(one, search)[0][0] + query(one, rewrites)[0][0]
    assert summary["statistics"]["search_calls"] == calls, "judgements count"
    assert "were rated from 0 to 10 by simulated:judge" in told(one)
    stopped, stops = await run_with_interruptions(study(**keys), two, every=150)
    assert stops > 1 and stopped["calls"]["bought"] == summary["calls"]["bought"]
    assert evolved(summary, one) == evolved(stopped, two) and query(one, MARKS) == query(two, MARKS)


@pytest.mark.parametrize("strategy", ["genetic", "gepa"])
async def test_a_judge_of_unclear_replies_is_in_the_plan_and_keeps_to_max_calls(strategy: str, database: Path) -> None:
    keys = {"unclear": "judge", "judge": "simulated:judge", "random_baseline": True, "max_generations": 9}
    config = study(**keys, strategy=strategy, max_calls=500, target_fitness=2.0, service="live")
    plan = study_from(freeze(config, database)).plan()
    judged = sum(one.calls for one in plan.calls if one.model == "simulated:judge")
    assert 0 < judged < 0.12 * plan.calls_expected
    bound = next(one.calls for one in plan.at_most if one.model == "simulated:judge")
    summary = await run(config, database)
    assert summary["statistics"]["search_calls"] <= 500
    assert 0.75 * plan.calls_expected <= summary["calls"]["total"] <= 1.25 * plan.calls_expected
    assert summary["calls"]["total"] <= (plan.calls_at_most or 0) and bound >= judged


def test_a_judge_of_unclear_replies_must_be_named_beside_real_models(tmp_path: Path) -> None:
    real = {"model": "gpt4o_mini", "mutator": "gpt4o_mini"}
    assert freeze(study(**real), tmp_path / "x.db").models() == {"openai:gpt-4o-mini"}
    with pytest.raises(UsageError, match=r"evolution\.judge is not set"):
        freeze(study(**real, unclear="judge"), tmp_path / "x.db")
