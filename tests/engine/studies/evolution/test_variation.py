"""Selection, crossover, mutation and examples: what each operator keeps, changes and draws."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.studies.evolution.running import run, study
from tidepool.engine.studies.evolution.breeding import Breeding, Child, breed, make_new
from tidepool.engine.studies.evolution.fitness import Rates
from tidepool.engine.studies.evolution.genome import Genome, seed_genomes, segment_pool
from tidepool.engine.studies.evolution.variation import CROSSOVERS, MOST_SEGMENTS, MUTATIONS, SELECTIONS, Material

SCORES = [0.1, 0.9, 0.5, 0.7, 0.3, 0.2, 0.8, 0.4]


@pytest.mark.parametrize("name", SELECTIONS)
@given(scores=st.lists(st.floats(-1, 1), min_size=1, max_size=30), count=st.integers(0, 40), seed=st.integers())
def test_every_way_picks_as_many_as_asked_from_the_population(
    name: str, scores: list[float], count: int, seed: int
) -> None:
    picked = SELECTIONS[name](scores, count, Random(seed))
    assert len(picked) == count
    assert all(0 <= index < len(scores) for index in picked)


@pytest.mark.parametrize("name", SELECTIONS)
def test_every_way_prefers_the_fitter(name: str) -> None:
    picked = Counter(SELECTIONS[name](SCORES, 4000, Random(1)))
    assert picked[1] > 1.5 * picked[7] >= 0
    assert picked[1] > 3 * picked[0]


MOTHER = ("M1.", "M2.", "M3.", "M4.")
FATHER = ("F1.", "F2.", "F3.", "F4.", "F5.")
segments = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=8)


@pytest.mark.parametrize("name", CROSSOVERS)
@given(mother=segments, father=segments, seed=st.integers())
def test_a_child_is_made_of_its_parents_segments_and_says_nothing_twice(
    name: str, mother: list[str], father: list[str], seed: int
) -> None:
    child = CROSSOVERS[name](mother, father, Random(seed))
    assert child
    assert set(child) <= {*mother, *father}
    assert len(child) == len(set(child)) or child == tuple(mother)


@pytest.mark.parametrize("name", CROSSOVERS)
def test_parents_mix_and_keep_their_order(name: str) -> None:
    children = [CROSSOVERS[name](MOTHER, FATHER, Random(seed)) for seed in range(60)]
    mixed = [child for child in children if {"M", "F"} <= {segment[0] for segment in child}]
    assert len(mixed) > 20
    for child in children:
        for parent in ("M", "F"):
            own = [segment for segment in child if segment[0] == parent]
            assert own == sorted(own)


MATERIAL = Material(segment_pool())
PROMPT = ("Read it: twice!", "Round 3.5 to 4, then add 12 units.", "Stop.")


def applied(name: str, segments: tuple[str, ...] = PROMPT, times: int = 40) -> list[tuple[str, ...]]:
    return [MUTATIONS[name](segments, Random(seed), MATERIAL) for seed in range(times)]


@pytest.mark.parametrize("name", MUTATIONS)
@given(
    segments=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=MOST_SEGMENTS).map(tuple),
    seed=st.integers(),
)
def test_no_operator_empties_or_bloats_a_prompt(name: str, segments: tuple[str, ...], seed: int) -> None:
    after = MUTATIONS[name](segments, Random(seed), MATERIAL)
    assert 1 <= len(after) <= MOST_SEGMENTS


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name.startswith("word_")])
def test_word_operators_keep_numbers_and_punctuation(name: str) -> None:
    marks = [re.findall(r"[\d.,:!]", text) for text in PROMPT]
    for after in applied(name):
        assert [re.findall(r"[\d.,:!]", text) for text in after] == marks


# -- breeding -----------------------------------------------------------------------------------------


POPULATION = seed_genomes()[:20]
RANKED = [index / 20 for index in range(20)]


def children(how: Breeding, count: int = 40, seed: int = 1) -> list[Child]:
    return breed(POPULATION, RANKED, count, 4, how, MATERIAL, Random(seed), known={"Known already."})


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
