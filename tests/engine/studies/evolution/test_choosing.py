"""Problems of their own pick the champion, and the best seed prompt likewise."""

from pathlib import Path

from tests.engine.studies.evolution.running import evolved, run, run_with_interruptions, study
from tests.support.state import query
from tidepool.engine.config.freezing import freeze
from tidepool.engine.studies.evolution.final_test import BEST
from tidepool.engine.studies.kinds import load_kind


async def test_the_fittest_on_the_problems_that_choose_is_the_champion(database: Path) -> None:
    only_right_answers = {"accuracy": 1.0, "consistency": 0.0, "efficiency": 0.0, "diversity": 0.0}
    config = study(choose_problems=30, random_baseline=True, weights=only_right_answers)
    summary = await run(config, database)
    found = summary["statistics"]
    told = found["choosing"]
    assert told["problems"] == 30 and told["calls"] == 30 * told["prompts"] and BEST < told["prompts"] <= 3 * BEST
    met = "SELECT prompt, avg(a.correct) FROM answers a JOIN genomes g USING (batch_id, genome_id) WHERE split = 'choose' GROUP BY prompt"
    accuracy = dict(query(database, met))
    assert found["champion"]["choose_accuracy"] == max(accuracy.values())
    for role in ("champion", "baseline"):
        assert found[role]["choose_accuracy"] == accuracy[found[role]["prompt"]]
    assert found["champion"]["choose_fitness"] >= found["baseline"]["choose_fitness"]
    assert found["random_search"]["choose_accuracy"] is not None
    assert query(database, "SELECT count(*) FROM problem WHERE split = 'choose'") == [(30,)]
    plan = load_kind("evolution").plan(freeze(config, database))
    assert summary["calls"]["total"] <= sum(one.calls for one in plan.calls)


async def test_without_such_problems_the_search_picks_it_and_nothing_else_is_different(tmp_path: Path) -> None:
    plain = (await run(study(), tmp_path / "a.db"))["statistics"]
    chosen = (await run(study(choose_problems=10), tmp_path / "b.db"))["statistics"]
    assert "choosing" not in plain and "choose_fitness" not in plain["champion"]
    assert plain["generations"] == chosen["generations"]


async def test_a_choice_that_was_interrupted_ends_the_same(tmp_path: Path) -> None:
    config = study(choose_problems=12, max_generations=1, seed_final=False)
    whole = await run(config, tmp_path / "a.db")
    parts, stops = await run_with_interruptions(config, tmp_path / "b.db", every=60)
    assert stops > 1 and evolved(parts, tmp_path / "b.db") == evolved(whole, tmp_path / "a.db")
