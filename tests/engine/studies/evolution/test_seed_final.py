"""The best seed prompt is looked for with care, so that the champion's gain is not overstated."""

from pathlib import Path
from random import Random

import pytest

from tests.engine.studies.evolution.running import run, study
from tests.support.solver_truth import true_accuracy
from tests.support.state import query
from tidepool.engine.studies.evolution.evaluation.racing import calls_in
from tidepool.engine.studies.evolution.final_test.seed_final import seed_rungs
from tidepool.engine.studies.evolution.problems.problem_set import generate
from tidepool.engine.studies.evolution.seeds import seed_genomes

SEEDS = [genome.prompt for genome in seed_genomes()]
WEAK, STRONG = "Be brief. Answer quickly.", "Work step by step. Write out each line. Check the result. Verify it."


@pytest.mark.parametrize(("problems", "seeds"), [(100, 50), (80, 30), (12, 10), (3, 2)])
def test_no_seed_is_dropped_before_it_met_a_quarter_of_the_problems(problems: int, seeds: int) -> None:
    first, *_, last = seed_rungs(problems, seeds, racing=True)
    assert first.entrants == seeds and first.end >= problems / 4
    assert (last.end, last.look) == (problems, 1)
    assert calls_in(seed_rungs(problems, seeds, racing=False)) == problems * seeds


async def test_seeds_without_room_in_the_population_are_considered_too(database: Path) -> None:
    config = study(seed_prompts=[WEAK, *SEEDS[:8], STRONG], population_size=4, max_problems=30, max_generations=2)
    summary = await run(config, database)
    baseline = summary["statistics"]["baseline"]
    assert baseline["prompt"] == STRONG and baseline["operator"] == "seed"
    assert query(database, "SELECT generation FROM genomes WHERE genome_id = ?", baseline["genome_id"]) == [(0,)]
    assert summary["statistics"]["baseline_calls"] > 0
    rated = query(database, "SELECT count(*) FROM genomes WHERE operator = 'seed' AND fitness IS NOT NULL")
    assert rated == [(10,)]


async def test_what_a_seed_was_answered_before_is_not_asked_again(database: Path) -> None:
    summary = await run(study(racing=False, population_size=10, max_generations=2), database)
    assert summary["statistics"]["baseline_calls"] == 0
    (asked,) = query(database, "SELECT max(n) FROM (SELECT count(*) AS n FROM call GROUP BY unit_id)")
    assert asked == (20,), "the held-out problems, not the training ones again"


async def test_it_can_be_done_without(database: Path) -> None:
    found = (await run(study(seed_final=False), database))["statistics"]
    assert found["baseline_calls"] == 0
    assert found["baseline"]["operator"] == "seed"


async def test_the_seed_named_best_is_nearly_the_truly_best(tmp_path: Path) -> None:
    questions = [problem.question for problem in generate("arithmetic", 300, Random(5))]
    best = max(true_accuracy(prompt, questions) for prompt in SEEDS)
    found = []
    for seed in range(2):
        config = study(seed=seed, seed_prompts=SEEDS, population_size=10, max_generations=1, max_problems=60)
        summary = await run(config, tmp_path / f"{seed}.db")
        found.append(true_accuracy(summary["statistics"]["baseline"]["prompt"], questions))
    assert sum(found) / len(found) > best - 0.06
