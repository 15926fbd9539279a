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
from gepa.proposer.reflective_mutation.reflection_lm import ReflectionProposal
from gepa.strategies.proposal_sampling import IndependentSampling

from tidepool.engine.studies.evolution.operators.rewrites import FailedProblem
from tidepool.engine.studies.evolution.strategies.gepa_questions import MINIBATCH, Exam, Reflection, Result, Turn
from tidepool.engine.studies.evolution.strategies.handover import Ask

_PROMPT = "prompt"
_Dataset = Mapping[str, Sequence[Mapping[str, Any]]]


def optimise(ask: Ask, start: str, problems: int, seed: int) -> None:
    """From one prompt on, until the answer to a Turn is True. It prints nothing and writes no file."""
    sampling = IndependentSampling(1)
    optimize(
        seed_candidate={_PROMPT: start},
        trainset=list(range(problems)),
        adapter=_Adapter(ask),
        reflection_strategy=_Reflector(ask),
        sampling_strategy=sampling,
        reflection_minibatch_size=MINIBATCH,
        stop_callbacks=_stopper(ask, sampling),
        logger=_Silence(),
        track_best_outputs=False,
        seed=seed,
    )


class _Adapter:
    propose_new_texts = None

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        return self.batch_evaluate([(candidate, batch)], capture_traces)[0]

    def batch_evaluate(self, items: list[tuple[dict[str, str], list[int]]], capture_traces: bool = True) -> list[Any]:
        """All of them are one question, and so one wave."""
        exams = tuple(Exam(candidate[_PROMPT], tuple(batch)) for candidate, batch in items)
        return [self._judged(results, capture_traces) for results in self._ask(exams)]

    def _judged(self, results: list[Result], capture_traces: bool) -> Any:
        answered = [one.share for one in results if one.share is not None]
        mean = fmean(answered) if answered else 0.0
        return EvaluationBatch(
            outputs=results,
            scores=[mean if one.share is None else one.share for one in results],
            trajectories=(results if answered else []) if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> _Dataset:
        return {_PROMPT: [asdict(one.failure) for one in eval_batch.trajectories if one.failure]}


class _Reflector:
    """GEPA's reflections, those of an iteration together. Where one is of no use there is no text, and no child."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def reflect(self, candidate: dict[str, str], dataset: _Dataset, components: list[str]) -> tuple[Any, "_Reflector"]:
        return self.reflect_many([(candidate, dataset, components)])[0]

    def reflect_many(self, jobs: list[tuple[dict[str, str], _Dataset, list[str]]]) -> list[tuple[Any, "_Reflector"]]:
        reflections = tuple(
            Reflection(candidate[_PROMPT], tuple(FailedProblem(**record) for record in dataset[_PROMPT]))
            for candidate, dataset, _ in jobs
        )
        texts: list[str | None] = self._ask(reflections)
        return [(ReflectionProposal({} if text is None else {_PROMPT: text}), self) for text in texts]


class _Silence:
    def log(self, message: str) -> None: ...


def _stopper(ask: Ask, sampling: Any) -> Callable[[Any], bool]:
    """Before each iteration: how many proposals it is to make."""

    def stopped(state: Any) -> bool:
        sampling.n = ask(Turn())
        return not sampling.n

    return stopped
