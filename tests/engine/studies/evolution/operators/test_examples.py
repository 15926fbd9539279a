from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.breeding import Breeding, breed, copied, random_genome
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.variation import NOTHING, Material, Showable, crossed, drawn, varied

FEW = Showable(range(9), 4)
shown = st.lists(st.sampled_from(range(9)), max_size=4, unique=True).map(tuple)


@given(shown, shown, st.integers(0, 999))
def test_examples_are_distinct_showable_and_never_too_many(mother: tuple, father: tuple, seed: int) -> None:
    rng = Random(seed)
    for examples in (varied(mother, FEW, rng)[0], crossed(mother, father, FEW, rng), drawn(FEW, rng)):
        assert len(set(examples)) == len(examples) <= 4 and set(examples) <= set(range(9))


@given(shown, shown, st.integers(0, 999))
def test_a_child_takes_examples_from_both_parents_and_no_others(mother: tuple, father: tuple, seed: int) -> None:
    child = crossed(mother, father, FEW, Random(seed))
    assert set(child) <= {*mother, *father} and len(child) >= min(len(mother), len(father))


def test_every_change_turns_up_and_a_prompt_without_examples_gets_some() -> None:
    names = {varied((1, 2, 3), FEW, Random(seed))[1] for seed in range(200)}
    assert names == {None, "add_example", "drop_example", "swap_examples", "replace_example"}
    assert {varied((), FEW, Random(seed))[1] for seed in range(50)} == {None, "show_examples"}


def test_where_nothing_may_be_shown_nothing_is_and_no_chance_is_spent() -> None:
    rng, untouched = Random(5), Random(5)
    assert varied((), NOTHING, rng) == ((), None) and crossed((), (), NOTHING, rng) == () == drawn(NOTHING, rng)
    assert rng.random() == untouched.random()


def test_genomes_with_other_examples_are_other_genomes_and_not_alike() -> None:
    plain, taught = Genome(("Think.",)), Genome(("Think.",), examples=(3,))
    assert plain.prompt == taught.prompt and len({plain.key, taught.key}) == 2 == len({plain.id, taught.id})
    assert plain.content != taught.content and plain.shape != taught.shape


@pytest.mark.parametrize("maker", ["breed", "copied", "random"])
def test_all_ways_of_breeding_bring_examples(maker: str) -> None:
    rng, material = Random(1), Material(("Think.", "Check it."))
    population = [Genome(("Think.",)), Genome(("Check it.",), examples=(2, 7))]
    match maker:
        case "breed":
            how = Breeding(showable=FEW)
            found = [child.genome for child in breed(population, [0.4, 0.6], 30, 1, how, material, rng)]
        case "copied":
            found = [copied(population[0], 1, FEW, rng) for _ in range(30)]
        case _:
            found = [random_genome(material, 1, rng, FEW) for _ in range(30)]
    assert any(genome.examples for genome in found) and all(len(genome.examples) <= 4 for genome in found)
