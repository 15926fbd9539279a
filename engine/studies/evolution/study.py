"""Prompt evolution: search on training problems, then a final test on held-out ones."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from tidepool.engine.config.sections import Config
from tidepool.engine.inference.measures import PlannedBatch, PlannedRivals, PlannedValues
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan
from tidepool.engine.studies.evolution.breeding import search, search_at_random
from tidepool.engine.studies.evolution.evaluator import Evaluator, Numbering
from tidepool.engine.studies.evolution.final_test import best_seed, by_problem, compare, examine, portrait, scores_of
from tidepool.engine.studies.evolution.gepa import gepa_search, require_extra
from tidepool.engine.studies.evolution.grader import Grader, open_marker
from tidepool.engine.studies.evolution.inputs import problems_of, settings_of, with_problems
from tidepool.engine.studies.evolution.plan import plan
from tidepool.engine.studies.evolution.records import ACCURACY, RESULT, VALIDATION, counted_reasons
from tidepool.engine.studies.evolution.rewrites import ACCEPTED
from tidepool.engine.studies.evolution.tasks.scorer import code_of, find_code, with_code_frozen
from tidepool.engine.studies.evolution.width import with_limits, with_sizes
from tidepool.engine.studies.study import Study
from tidepool.storage import tables


class Evolution(Study):
    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        settings = with_code_frozen(with_sizes(settings_of(config)), folder)
        if settings.strategy == "gepa":
            require_extra()
        settings = with_problems(settings, config.batch.seed, folder)
        return config.model_copy(update={"settings": settings, "service": with_limits(config.service, settings)})

    def plan(self) -> Plan:
        return plan(settings_of(self.config), problems_of(self.config))

    async def play(self, run: BatchRun) -> None:
        settings = settings_of(self.config)
        async with open_marker(run, settings) as mark:
            await self._evolve(run, Grader(run, settings, mark))

    async def _evolve(self, run: BatchRun, grader: Grader) -> None:
        settings, problems = settings_of(self.config), problems_of(self.config)
        for split, group in (("search", problems.training), ("judge", problems.validation)):
            for number, problem in enumerate(group):  # stored once, and answers refer to it
                run.ledger.put(
                    tables.Problem, split=split, number=number, question=problem.question, gold=problem.answer
                )
        evaluator = Evaluator(run, settings, problems.training, grader, Numbering())
        evaluator.units_ahead = self.plan().units
        stopped_by = await (gepa_search if settings.strategy == "gepa" else search)(evaluator)
        evaluator.units_ahead, search_calls = 0, evaluator.calls
        baseline = await best_seed(evaluator)
        baseline_calls = evaluator.calls - search_calls
        rival = evaluator.fork("r") if settings.random_baseline else None
        if rival is not None:
            await search_at_random(rival, search_calls)
        champion, drawn = evaluator.leader(), rival.leader() if rival else None
        marks = await examine(evaluator, [champion, baseline, *([drawn] if drawn else [])], problems.validation)
        champion_marks, baseline_marks = (marks[finalist.genome.prompt] for finalist in (champion, baseline))
        rivals = [by_problem(marks[one.genome.prompt]) for one in (baseline, drawn) if one]
        against_seed, *against_random = compare(by_problem(champion_marks), rivals)
        refused = {reason: count for reason, count in evaluator.rewrites.most_common() if reason != ACCEPTED}
        if refused:
            run.log("info", f"Rewrites refused: {counted_reasons(refused)}.")
        result = {
            "champion": portrait(champion, champion_marks),
            "baseline": portrait(baseline, baseline_marks),
            **against_seed,
            "stopped_by": stopped_by,
            "calls_saved_by_racing": evaluator.calls_saved,
            "search_calls": search_calls,
            "baseline_calls": baseline_calls,
            "rewrites": evaluator.rewrites.total(),
            "refused_rewrites": refused,
            "random_search": None,
        }
        if rival and drawn:
            random_marks = marks[drawn.genome.prompt]
            result["random_search"] = {**portrait(drawn, random_marks), "calls": rival.calls, **against_random[0]}
        # The champion's results on each held-out problem, so that batches can be compared problem by problem, with bounds.
        questions = sha256("\x1f".join(problem.question for problem in problems.validation).encode()).hexdigest()
        scores = scores_of(by_problem(champion_marks))
        run.ledger.put_finding(VALIDATION, {"problems": questions, "champion": scores._asdict()})
        run.ledger.put_finding(RESULT, result)
        run.reason = stopped_by

    def code(self) -> tuple[str, ...]:
        return code_of(settings_of(self.config))

    def find_code(self, folders: Sequence[Path]) -> None:
        find_code(settings_of(self.config), folders)

    def shape(self) -> list[str]:
        """The largest possible number of prompts."""
        size, most = settings_of(self.config).population_size, settings_of(self.config).max_generations
        return [f"{size:,} prompts × at most {most:,} generations = {size * most:,}"]

    def values_planned(self) -> PlannedBatch:
        settings = settings_of(self.config)
        held_out = len(settings.frozen.validation) if settings.frozen else settings.validation_problems
        replies, tests = settings.samples * len(settings.solvers()), 2 if settings.random_baseline else 1
        return PlannedBatch(
            counted="held-out problems",
            outcomes={ACCURACY: PlannedValues(held_out, replies)},
            sizes={"evolution.validation_problems": held_out},
            rivals=(PlannedRivals("the champion and the best seed prompt", ACCURACY, held_out, "matched", tests),),
        )
