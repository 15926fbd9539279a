from random import Random

import pytest

from tidepool.engine.call import Message, seed_of
from tidepool.engine.simulated.evolution.solver import speak, true_accuracy
from tidepool.engine.studies.evolution.genome import seed_genomes
from tidepool.engine.studies.evolution.problems.problem_set import generate
from tidepool.engine.studies.evolution.tasks.task import match

PROMPT = "Solve the problem step by step."


def ask(question: str, seed: int, prompt: str = PROMPT, model: str = "solver") -> tuple[str, str | None]:
    return speak(model, prompt, (Message("user", question),), seed)


@pytest.mark.parametrize("source", ["arithmetic", "logic", "strings"])
def test_what_was_planted_is_what_a_reader_finds(source: str) -> None:
    for place, problem in enumerate(generate(source, 60, Random(1))):
        for genome in seed_genomes()[::3]:
            text, truth = ask(problem.question, seed_of(1, place, genome.id), genome.prompt)
            verdict = match(text, problem.answer)
            assert verdict.correct == (truth == "right")
            assert (verdict.answer is None) == (truth == "silent")


@pytest.mark.parametrize("model", ["solver", "flat-solver"])
def test_the_true_accuracy_is_what_many_replies_come_to(model: str) -> None:
    problems = generate("mixed", 2000, Random(2))
    right = sum(ask(problem.question, seed_of(3, n), model=model)[1] == "right" for n, problem in enumerate(problems))
    exact = true_accuracy(PROMPT, [problem.question for problem in problems], model)
    assert right / len(problems) == pytest.approx(exact, abs=0.035)


def test_the_same_call_gets_the_same_reply_and_another_seed_another() -> None:
    question = generate("arithmetic", 1, Random(3))[0].question
    assert ask(question, 1) == ask(question, 1)
    assert len({ask(question, seed)[0] for seed in range(30)}) > 5


def test_a_prompt_that_asks_for_brevity_gets_it() -> None:
    question = generate("arithmetic", 1, Random(3))[0].question
    brief = sum(len(ask(question, seed, "Be brief.")[0]) for seed in range(40))
    long = sum(len(ask(question, seed, "Work step by step. Check it.")[0]) for seed in range(40))
    assert brief < 0.7 * long


@pytest.mark.parametrize("question", ["What is 17 plus 25.5?", "Is the sky blue?", ""])
def test_a_foreign_question_gets_a_plausible_guess(question: str) -> None:
    text, truth = ask(question, 5)
    assert truth == "guess"
    assert "#### " in text


def test_the_truth_about_a_foreign_question_is_not_made_up() -> None:
    with pytest.raises(ValueError, match="does not know"):
        true_accuracy(PROMPT, ["Is the sky blue?"])
