"""The planted task: what mends its mistake is said nowhere, and can be read off the failures."""

from pathlib import Path

import pytest

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.call import Message
from tidepool.engine.providers.simulated.landscape import HABIT, MODEL, REMEDIES, chance, mends
from tidepool.engine.providers.simulated.rewriter import ADVICE, UNHELPFUL
from tidepool.engine.providers.simulated.rewriter import rewrite_prompt as rewrite
from tidepool.engine.providers.simulated.solver import solve
from tidepool.engine.studies.evolution.operators.mutation import Material
from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem, rewrite_request
from tidepool.engine.studies.evolution.problems.problem_set import Problem, problem_set
from tidepool.engine.studies.evolution.seeds import segment_pool
from tidepool.engine.studies.evolution.tasks.task import match

PROMPT = "Solve the problem step by step."


def problems() -> tuple[Problem, ...]:
    return problem_set("arithmetic", 40, 2, seed=5).training


def failures(model: str) -> list[FailedProblem]:
    asked = [(one, solve(model, PROMPT, (Message("user", one.question),), seed)) for seed, one in enumerate(problems())]
    wrong = [(one, reply.text) for one, reply in asked if not match(reply.text, one.answer).correct]
    return [FailedProblem(one.question, one.answer, text) for one, text in wrong]


def test_no_sentence_or_word_that_comes_with_tidepool_mends_it() -> None:
    sentences = (*segment_pool(), *(text for texts in ADVICE.values() for text in texts), *UNHELPFUL)
    assert not any(map(mends, sentences)) and all(map(mends, REMEDIES))
    assert not {"pairs", "single", "individual"} & set(Material(sentences).words)


def test_only_the_remedy_breaks_the_habit_and_the_replies_show_it() -> None:
    before, after = (chance(MODEL, text, "arithmetic", 3)[0] for text in (PROMPT, f"{PROMPT} {REMEDIES[0]}"))
    assert before == pytest.approx((1 - HABIT) * after)
    shown = failures(MODEL)
    assert sum("pairs" in one.reply for one in shown) > len(shown) / 3


@pytest.mark.parametrize(("model", "some"), [(MODEL, True), ("solver", False)])
def test_a_rewriter_proposes_the_remedy_only_where_failures_show_the_habit(model: str, some: bool) -> None:
    request = rewrite_request("reflect", PROMPT, failures(model)[:4])
    said = [rewrite("rewriter", request.system, (Message("user", request.user),), seed).text for seed in range(40)]
    assert any(map(mends, said)) == some and not all(map(mends, said))


@pytest.mark.parametrize("seed", [1, 2])
async def test_reflection_finds_what_no_seed_says(seed: int, database: Path) -> None:
    sizes = {"max_generations": 4, "seed_final": False, "service": "live"}
    config = study(seed=seed, model=f"simulated:{MODEL}", strategy="reflective", **sizes)
    found = (await run(config, database))["statistics"]
    assert mends(found["champion"]["prompt"]) and not mends(found["baseline"]["prompt"])
    assert found["champion"]["validation_accuracy"] > 2 * found["baseline"]["validation_accuracy"]
