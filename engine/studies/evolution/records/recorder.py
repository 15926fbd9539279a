"""What a run leaves in the file: a row for each genome, a finding for each generation, and the result."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.waves import PerformanceLog
from tidepool.engine.studies.evolution.evaluation.candidate import Candidate
from tidepool.engine.studies.evolution.genome import Genome
from tidepool.engine.studies.evolution.inputs import settings_of
from tidepool.engine.studies.evolution.problems.problem_set import Problem, Split
from tidepool.engine.studies.evolution.records.finding_names import GENERATION, RESULT, VALIDATION
from tidepool.engine.studies.evolution.stopping import Generation


class Recorder:
    def __init__(self, run: BatchRun) -> None:
        self._run = run
        self._performance = (
            PerformanceLog(run.context) if settings_of(run.config).detailed_performance_logging else None
        )

    def tell_problems(self, split: Split, problems: Sequence[Problem]) -> None:
        """Kept once, for the answers to name them."""
        for number, problem in enumerate(problems):
            self._run.ledger.put_problem(split=split, number=number, question=problem.question, gold=problem.answer)

    def tell_genome(self, genome: Genome, judged: Candidate) -> None:
        """`judged` is the candidate with the same prompt: a prompt that came about twice is asked once."""
        self._run.ledger.put_genome(
            generation=genome.generation,
            genome_id=genome.id,
            parents=json.dumps(genome.parents),
            operator=genome.operator,
            prompt=genome.prompt,
            fitness=judged.total,
            accuracy=judged.fitness.accuracy if judged.fitness else None,
            missing=judged.missing,
            details=json.dumps(judged.details(), ensure_ascii=False),
        )

    def tell_generation(self, told: Generation, leader: Candidate, missing: float, *, new: bool) -> None:
        content = {**asdict(told), "leader": leader.genome.id, "missing": missing}
        self._run.ledger.put_finding(f"{GENERATION}{told.generation:06}", content)
        if new:
            self._run.log(
                "info",
                f"Generation {told.generation}: best {told.best:.3f}, mean {told.mean:.3f}, "
                f"diversity {told.diversity:.2f}, {told.calls:,} calls.",
            )
        if new and self._performance:
            self._performance.tell(f"generation {told.generation}")

    def tell_validation(self, problems: Sequence[Problem], champion: Sequence[float | None]) -> None:
        """How the champion did on each held-out problem, so that batches can be compared problem by problem."""
        questions = sha256("\x1f".join(problem.question for problem in problems).encode()).hexdigest()
        self._run.ledger.put_finding(VALIDATION, {"problems": questions, "champion": list(champion)})

    def tell_result(self, result: dict[str, Any]) -> None:
        self._run.ledger.put_finding(RESULT, result)
        if self._performance:
            self._performance.tell("what followed the search")
