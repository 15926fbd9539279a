import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.genome import (
    SEED_PROMPTS,
    Genome,
    genome_from,
    join_segments,
    seed_genomes,
    segment_pool,
    split_segments,
)


@pytest.mark.parametrize(
    ("prompt", "segments"),
    [
        ("Think. Then answer!", ("Think.", "Then answer!")),
        ("Round 3.5 to 4. Use π = 3.14, e.g. here.", ("Round 3.5 to 4.", "Use π = 3.14, e.g. here.")),
        ("Ask Dr. Smith? He knows.", ("Ask Dr. Smith?", "He knows.")),
        ('Say "Done." Then stop.', ('Say "Done."', "Then stop.")),
        ("Plan:\n1. Read it.\n2. Solve it. Check it.", ("Plan:", "1. Read it.", "2. Solve it.", "Check it.")),
        ("no capital. follows here", ("no capital. follows here",)),
        ("End with it. #### is the mark.", ("End with it.", "#### is the mark.")),
        ("  \n ", ()),
    ],
)
def test_a_prompt_is_cut_into_sentences_and_nothing_is_lost(prompt: str, segments: tuple[str, ...]) -> None:
    assert split_segments(prompt) == segments


def test_items_of_a_list_stay_on_lines_of_their_own() -> None:
    prompt = "Do this:\n- read\n- solve"
    assert join_segments(split_segments(prompt)) == prompt


@given(st.text())
def test_splitting_keeps_every_word_mark_and_number(prompt: str) -> None:
    assert join_segments(split_segments(prompt)).split() == prompt.split()


def test_equal_prompts_share_their_content_but_not_their_history() -> None:
    seed = genome_from("Think. Answer.")
    twin = genome_from("Think. Answer.")
    child = seed.child(seed.segments, "copy", 3)
    assert seed.id == twin.id
    assert child.content == seed.content
    assert child.id != seed.id
    assert (child.parents, child.generation) == ((seed.id,), 3)


def test_a_child_of_twins_names_its_parent_once() -> None:
    seed = Genome(("Think.",))
    assert seed.child(("Think.",), "uniform", 1, Genome(("Think.",))).parents == (seed.id,)


def test_there_are_fifty_different_seeds_in_ten_families() -> None:
    assert len(SEED_PROMPTS) == 10
    assert len({genome.id for genome in seed_genomes()}) == 50


def test_the_first_ten_seeds_are_one_of_each_family() -> None:
    firsts = [family[0] for family in SEED_PROMPTS.values()]
    assert [genome.prompt for genome in seed_genomes()[:10]] == firsts


def test_the_pool_holds_each_segment_of_the_seeds_once() -> None:
    pool = segment_pool()
    assert len(pool) == len(set(pool))
    assert {segment for genome in seed_genomes() for segment in genome.segments} == set(pool)
