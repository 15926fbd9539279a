"""Racing, stop rules, and what a search finds that was planted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.call import Message
from tidepool.engine.providers.simulated.landscape import HABIT, MODEL, REMEDIES, chance, mends
from tidepool.engine.providers.simulated.rewriter import ADVICE, UNHELPFUL
from tidepool.engine.providers.simulated.rewriter import rewrite_prompt as rewrite
from tidepool.engine.providers.simulated.solver import solve
from tidepool.engine.studies.evolution.evaluator import (
    LEAST_KEPT,
    Generation,
    Rung,
    StopRules,
    calls_in,
    calls_saved,
    comparable,
    rungs,
    stopped_by,
    survivors,
)
from tidepool.engine.studies.evolution.genome import segment_pool
from tidepool.engine.studies.evolution.problems.problem_set import Problem, problem_set
from tidepool.engine.studies.evolution.rewrites import FailedProblem, rewrite_request
from tidepool.engine.studies.evolution.tasks.task import match
from tidepool.engine.studies.evolution.variation import Material


def test_a_race_halves_the_field_and_doubles_the_problems() -> None:
    assert rungs(problems=100, genomes=45) == (
        Rung(0, 6, 45, 23),
        Rung(6, 12, 23, 12),
        Rung(12, 25, 12, 6),
        Rung(25, 50, 6, 3),
        Rung(50, 100, 3, 2),
        Rung(0, 100, 2, 2, look=1),
    )


@given(st.integers(1, 300), st.integers(1, 200))
def test_rungs_cover_every_problem_once_before_the_second_look(problems: int, genomes: int) -> None:
    *race, second_look = rungs(problems, genomes)
    assert [place for rung in race for place in range(rung.start, rung.end)] == list(range(problems))
    assert (second_look.start, second_look.end, second_look.look) == (0, problems, 1)
    entrants = [rung.entrants for rung in (*race, second_look)]
    assert entrants == sorted(entrants, reverse=True)
    assert entrants[-1] >= min(genomes, LEAST_KEPT)


@pytest.mark.parametrize(("problems", "genomes"), [(100, 50), (100, 45), (80, 30), (200, 50)])
def test_racing_asks_at_least_three_times_less(problems: int, genomes: int) -> None:
    made = calls_in(rungs(problems, genomes))
    assert made * 3 <= problems * genomes
    assert calls_saved(problems, genomes, made) == problems * genomes - made


@pytest.mark.parametrize(
    ("scores", "keep", "who"),
    [
        ({0: 0.2, 1: 0.9, 2: 0.5}, 2, [1, 2]),
        ({0: 0.5, 1: 0.5, 2: 0.5}, 2, [0, 1]),
        ({0: 0.1, 1: None, 2: 0.9, 3: 0.5}, 3, [2, 1, 3]),
        ({0: None, 1: None}, 1, [0]),
    ],
)
def test_the_better_half_goes_on(scores: dict[int, float | None], keep: int, who: list[int]) -> None:
    assert survivors(scores, keep) == who


def test_a_perfect_score_on_few_problems_counts_less_than_a_good_one_on_many() -> None:
    lucky, good, poor, unknown = comparable([1.0, 0.85, 0.2, None], [6, 200, 100, 0])
    assert good > lucky > unknown > poor


RULES = StopRules(target_fitness=0.85, max_generations=6, stagnation=3)


def history(*best: float, diversity: float = 0.5) -> list[Generation]:
    return [Generation(number, value, value / 2, diversity) for number, value in enumerate(best)]


@pytest.mark.parametrize(
    ("past", "reason"),
    [
        ([], None),
        (history(0.5, 0.6), None),
        (history(0.5, 0.85), "target_fitness"),
        (history(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), "max_generations"),
        (history(0.1, 0.2, 0.3, 0.4, 0.5, 0.9), "target_fitness"),
        (history(0.5, 0.5, 0.5, 0.5), "stagnation"),
        (history(0.5, 0.5, 0.5), None),
        (history(0.5, 0.4, 0.5005, 0.4), "stagnation"),
        (history(0.5, 0.5, 0.5, 0.6), None),
        (history(0.5, 0.6, diversity=0.01), "diversity"),
    ],
)
def test_the_rule_that_ends_a_run_is_named(past: list[Generation], reason: str | None) -> None:
    assert stopped_by(past, RULES) == reason


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
