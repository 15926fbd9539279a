"""Prompts as segments, placeholders and seeds."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.studies.evolution.running import run, study
from tests.support.state import query
from tidepool.engine.studies.evolution.breeding import Breeding, breed, random_genome
from tidepool.engine.studies.evolution.genome import (
    Frame,
    Genome,
    fill_template,
    genome_from,
    join_segments,
    parts,
    split_frame,
    split_segments,
)
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.rewrites import Guard
from tidepool.engine.studies.evolution.variation import Material


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


@given(st.text())
def test_splitting_keeps_every_word_mark_and_number(prompt: str) -> None:
    assert join_segments(split_segments(prompt)).split() == prompt.split()


def test_equal_prompts_share_their_content_but_not_their_history() -> None:
    seed = genome_from("Think. Answer.")
    twin = genome_from("Think. Answer.")
    child = seed.child(seed.segments, "copy", 3)
    assert seed.id == twin.id
    assert child.prompt == seed.prompt
    assert child.id != seed.id
    assert (child.parents, child.generation) == ((seed.id,), 3)


FRAMED = "Be careful. Think.\n---\nContext: {context}\n{question}\nAnswer with a number."
PROBLEM = Problem(
    "How many {apples}?", "3", {"context": "A {question} of fruit", "answer": "3", "choices": ["pear", "fig"]}
)


@pytest.mark.parametrize(
    ("prompt", "system", "user"),
    [
        ("Think.", "Think.", "{question}"),
        ("Solve this: {question}", "", "Solve this: {question}"),
        (FRAMED, "Be careful. Think.", "Context: {context}\n{question}\nAnswer with a number."),
        ("One.\n---\nTwo.", "One.\n---\nTwo.", "{question}"),
        ("Use {context}.", "Use {context}.", "{question}"),
        ("A\n---\nB\n---\n{question}", "A\n---\nB", "{question}"),
    ],
)
def test_a_prompt_with_the_question_in_it_is_the_message(prompt: str, system: str, user: str) -> None:
    assert parts(prompt) == (system, user)


def test_columns_are_filled_in_once_and_never_the_answer() -> None:
    assert fill_template("{context} / {question}", PROBLEM) == "A {question} of fruit / How many {apples}?"
    assert fill_template("{choices}", PROBLEM) == "A) pear\nB) fig"
    told = Problem("Who?", "B", {"answerKey": "B", "test": "assert f() == 1"})
    assert fill_template("{answerKey} {test}", told) == "{answerKey} {test}"
    plain = '{answer} {nothing} {"answer": 1} \\boxed{number} {{question}} ${context}'
    assert fill_template(plain, PROBLEM) == plain


def _frame(genome: Genome) -> list[str]:
    return [segment for segment, _ in split_frame(genome.segments)[1]]


def test_no_operator_loses_or_moves_a_placeholder_to_another_prompt() -> None:
    population = [genome_from(FRAMED), genome_from("Solve: {question}"), genome_from("Think. Check it.")]
    material = Material(("Go slowly.", "Check it."))
    children = breed(population, [0.5, 0.4, 0.6], 200, 1, Breeding("roulette", rewrite_share=0), material, Random(3))
    frames = {genome.id: _frame(genome) for genome in population}
    assert {tuple(_frame(child.genome)) for child in children} == {tuple(frame) for frame in frames.values()}
    assert all(_frame(child.genome) == frames[child.genome.parents[0]] for child in children)
    around: Frame = split_frame(split_segments(FRAMED))[1]
    assert all(
        _frame(random_genome(Material(("A.", "B."), (around,)), 1, Random(n))) == _frame(population[0])
        for n in range(9)
    )


@pytest.mark.parametrize(
    ("rewrite", "refused"),
    [
        ("Be slow and careful.\n---\nContext: {context}\nQuestion: {question}\nGive a number.", None),
        ("Be careful.\n---\n{question}", "placeholder"),
        ("Be careful. {context} {question}", "placeholder"),
        (f"{FRAMED} Again: {{question}}", "placeholder"),
        (f"{FRAMED} Write it as {{number}}.", None),
    ],
)
def test_a_rewrite_keeps_the_placeholders(rewrite: str, refused: str | None) -> None:
    assert Guard((PROBLEM,)).refuses(rewrite, FRAMED) == refused


async def test_prompts_around_the_question_evolve(database: Path) -> None:
    seeds = [{"system": "You are careful.", "user": "{question}\nAnswer with a number."}, "Solve this: {question}"]
    found = (await run(study(seed_prompts=seeds, max_generations=3, service="live"), database))["statistics"]
    prompts = [row[0] for row in query(database, "SELECT prompt FROM genomes")]
    assert all(prompt.count("{question}") == 1 for prompt in prompts) and len(set(prompts)) > 8
    assert found["champion"]["accuracy"] > 0.3, "the solver finds the question, and reads what stands around it"


@pytest.mark.parametrize("strategy", ["genetic", "random"])
async def test_one_short_seed_of_ones_own_is_enough_and_ends_in_no_loop(strategy: str, database: Path) -> None:
    config = study(strategy=strategy, seed_prompts=["Go."], max_generations=3, service="live", random_baseline=True)
    summary = await run(config, database)
    assert summary["status"] == "completed"
    prompts = [row[0] for row in query(database, "SELECT prompt FROM genomes")]
    assert len(set(prompts)) >= (8 if strategy == "genetic" else 4)
