"""Breeding plans children that differ, and a search by it climbs."""

from pathlib import Path
from random import Random

import pytest

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.studies.evolution.breeding import Breeding, Child, breed, make_new
from tidepool.engine.studies.evolution.fitness import Rates
from tidepool.engine.studies.evolution.genome import Genome, seed_genomes, segment_pool
from tidepool.engine.studies.evolution.variation import CROSSOVERS, SELECTIONS, Material

MATERIAL = Material(segment_pool())
POPULATION = seed_genomes()[:20]
SCORES = [index / 20 for index in range(20)]


def children(how: Breeding, count: int = 40, seed: int = 1) -> list[Child]:
    return breed(POPULATION, SCORES, count, 4, how, MATERIAL, Random(seed), known={"Known already."})


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("crossover", CROSSOVERS)
def test_children_know_their_parents_and_their_generation(selection: str, crossover: str) -> None:
    ids = {genome.id for genome in POPULATION}
    for child in children(Breeding(selection, crossover)):
        assert 1 <= len(child.genome.parents) <= 2
        assert set(child.genome.parents) <= ids
        assert child.genome.generation == 4


def test_no_child_repeats_a_prompt_that_is_known_unless_a_model_will_rewrite_it() -> None:
    bred = children(Breeding(rates=Rates(crossover=0.5, mutation=0.1)))
    prompts = [child.genome.prompt for child in bred if child.rewrite is None]
    assert len(set(prompts)) == len(prompts)
    assert not set(prompts) & {"Known already.", *(genome.prompt for genome in POPULATION)}


def test_a_child_whose_rewrite_came_to_nothing_is_changed_without_a_model() -> None:
    mother = Genome(("Think.", "Answer."))
    child = Child(mother.child(mother.segments, "copy", 1))
    new = make_new(child, {mother.prompt}, MATERIAL, Random(1))
    assert new.genome.prompt != mother.prompt
    assert new.genome.parents == (mother.id,)


async def test_the_champion_beats_the_best_seed_and_on_the_flat_landscape_nothing_is_claimed(tmp_path: Path) -> None:
    sizes = {
        "population_size": 24,
        "max_generations": 8,
        "max_problems": 64,
        "validation_problems": 150,
        "elite_size": 4,
    }
    found = {}
    for model in ("solver", "flat-solver"):
        config = study(seed=42, seed_prompts=[], model=f"simulated:{model}", service="live", **sizes)
        found[model] = (await run(config, tmp_path / f"{model}.db"))["statistics"]
    assert found["solver"]["better"] == "champion" and found["solver"]["difference"] > 0.1
    assert found["flat-solver"]["better"] is None
