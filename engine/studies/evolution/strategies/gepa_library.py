"""The `gepa` package at work: its own minibatches, acceptance, Pareto front and choice of parents, with our problems
behind it. It runs in a thread and asks questions; nothing here knows of models or of the engine.

GEPA wants a number for every problem. A call that failed is no wrong answer, so it takes the mean of what was
answered with it; where nothing was answered there is nothing to reflect on, and a child that nobody answered is
not accepted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from gepa import EvaluationBatch, optimize

from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem
from tidepool.engine.studies.evolution.strategies.gepa_questions import MINIBATCH, Exam, Reflection, Result, Turn
from tidepool.engine.studies.evolution.strategies.handover import Ask

_PROMPT = "prompt"


def optimise(ask: Ask, start: str, problems: int, seed: int) -> None:
    """From one prompt on, until the answer to a Turn is True. It prints nothing and writes no file."""
    optimize(
        seed_candidate={_PROMPT: start},
        trainset=list(range(problems)),
        adapter=_Adapter(ask),
        reflection_minibatch_size=MINIBATCH,
        stop_callbacks=_stopper(ask),
        logger=_Silence(),
        track_best_outputs=False,
        seed=seed,
    )


class _Adapter:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        results: list[Result] = self._ask(Exam(candidate[_PROMPT], tuple(batch)))
        answered = [one.share for one in results if one.share is not None]
        mean = fmean(answered) if answered else 0.0
        return EvaluationBatch(
            outputs=results,
            scores=[mean if one.share is None else one.share for one in results],
            trajectories=(results if answered else []) if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        return {_PROMPT: [asdict(one.failure) for one in eval_batch.trajectories if one.failure]}

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """Nothing where the reflection is of no use: GEPA then goes on to its next iteration."""
        failures = tuple(FailedProblem(**record) for record in reflective_dataset[_PROMPT])
        text: str | None = self._ask(Reflection(candidate[_PROMPT], failures))
        return {} if text is None else {_PROMPT: text}


class _Silence:
    def log(self, message: str) -> None: ...


def _stopper(ask: Ask) -> Callable[[Any], bool]:
    return lambda state: bool(ask(Turn()))
