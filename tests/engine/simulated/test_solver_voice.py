from random import Random

import pytest

from tests.support.solver_truth import true_accuracy
from tidepool.engine.call import Message, seed_of
from tidepool.engine.simulated.solver import solve
from tidepool.engine.studies.evolution.genome import seed_genomes
from tidepool.engine.studies.evolution.problems.problem_set import generate
from tidepool.engine.studies.evolution.tasks.task import AnswerTask, match

PROMPT = "Solve the problem step by step."


def ask(question: str, seed: int, prompt: str = PROMPT, model: str = "solver") -> tuple[str, str | None]:
    return solve(model, prompt, (Message("user", question),), seed)


@pytest.mark.parametrize("source", ["arithmetic-easy", "arithmetic-hard"])
def test_what_was_planted_is_what_a_reader_finds(source: str) -> None:
    for place, problem in enumerate(generate(source, 60, Random(1))):
        for genome in seed_genomes()[::3]:
            text, truth = ask(problem.question, seed_of(1, place, genome.id), genome.prompt)
            verdict = match(text, problem.answer)
            assert verdict.correct is {"right": True, "wrong": False, "silent": None}[str(truth)]


def test_it_answers_in_the_form_that_it_is_asked_for_but_for_a_few_replies() -> None:
    task, unread = AnswerTask("auto", line=True), 0
    problems = generate("arithmetic", 2000, Random(2))
    for place, problem in enumerate(problems):
        text, truth = ask(task.message(problem.question, problem), seed_of(4, place))
        verdict = task.mark(text, problem)
        assert verdict.correct in ({"right": True, "wrong": False, "silent": None}[str(truth)], None)
        unread += verdict.correct is None
        free = match(text, problem.answer)
        assert (free.correct is None) == (truth == "silent"), "a reply in another form still says its answer"
    assert 0.02 < unread / len(problems) < 0.04


@pytest.mark.parametrize("model", ["solver", "flat-solver"])
def test_the_true_accuracy_is_what_many_replies_come_to(model: str) -> None:
    problems = generate("arithmetic", 2000, Random(2))
    truths = [ask(problem.question, seed_of(3, n), model=model)[1] for n, problem in enumerate(problems)]
    right = truths.count("right") / (len(truths) - truths.count("silent"))
    exact = true_accuracy(PROMPT, [problem.question for problem in problems], model)
    assert right == pytest.approx(exact, abs=0.035)
