from collections import Counter
from random import Random

import pytest

from tidepool.engine.call import Message
from tidepool.engine.simulated.rewriter import WANTED, rewrite_prompt
from tidepool.engine.studies.evolution.problems.problem_set import generate
from tidepool.engine.studies.evolution.rewrites import REWRITES, SYSTEM, FailedProblem, read_rewrite, rewrite_request

OLD = "Solve the problem step by step. Stay calm. Write the result down."


def rewrites(
    kind: str, prompt: str = OLD, failures: tuple[FailedProblem, ...] = ()
) -> list[tuple[str | None, str | None]]:
    request = rewrite_request(kind, prompt, failures)
    spoken = [rewrite_prompt("rewriter", SYSTEM, (Message("user", request),), seed) for seed in range(200)]
    return [(read_rewrite(said.text, prompt).text or None, said.truth) for said in spoken]


@pytest.mark.parametrize("kind", REWRITES)
def test_nearly_every_rewrite_is_a_usable_new_prompt(kind: str) -> None:
    usable = [text for text, _ in rewrites(kind) if text]
    assert 180 <= len(usable) < 200
    assert len(set(usable)) >= 3


def test_reflection_proposes_what_helps_with_the_problems_that_failed() -> None:
    problem = generate("arithmetic", 1, Random(1))[0]
    done = Counter(
        truth for _, truth in rewrites("reflect", failures=(FailedProblem(problem.question, problem.answer, "?"),))
    )
    added = {str(truth).removeprefix("added: ") for truth in done} - {"junk", "unhelpful"}
    assert added == set(WANTED) - {"step"}
