"""The results of prompt evolution: statistics, report and methods of a batch, and the comparison of several batches.

Batches with the same seed and problem set have the same held-out problems, so they are compared problem by problem.
Others are two samples. Runs of one config over several seeds are compared seed by seed. In all cases, champions were
chosen on training problems only.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import (
    FEWEST_TESTED,
    SIGNIFICANT,
    TOO_FEW_PAIRS,
    Contrast,
    few_clusters,
    reversible_in_words,
    two_samples,
)
from tidepool.engine.inference.intervals import UNIT, share_interval
from tidepool.engine.inference.measures import PERCENT, BatchValues, Outcome, Sections, number
from tidepool.engine.inference.significance import pairwise, withhold_reversible
from tidepool.engine.reports.blocks import (
    BONETT_PRICE,
    DESCRIBE,
    ONE_FAMILY,
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    KindMethods,
    Number,
    PValue,
    Words,
    counted,
    ends_of,
    line,
    listing,
    sampling,
    section,
    sentence,
    table,
    tested,
    text_of,
)
from tidepool.engine.reports.seeds import BAND, RunRead, Runs, Score, blocks_over_seeds, groups_of, seed_differences
from tidepool.engine.studies.evolution.genome import QUESTION
from tidepool.engine.studies.evolution.records import (
    ACCURACY,
    GENERATION,
    RESULT,
    ROLES,
    VALIDATION,
    HeldOutScores,
    Scores,
    by_problem_contrast,
    compared_scores,
    counted_reasons,
)
from tidepool.engine.studies.evolution.tasks.task import FORM, AnswerTask
from tidepool.engine.studies.results import Batch, Results, Statistics
from tidepool.storage.queries.learning import genome, genome_counts
from tidepool.storage.queries.summary import finding, findings
from tidepool.storage.transfer.tables import ExportContents

CALLS = "calls"
UNCLEAR_REPLIES = "unclear replies"
CHAMPION = "champion"
ONE_SEARCH = "Training values of one search have no intervals, since prompts descend from each other and are selected by this value."
STRATEGIES = {
    "genetic": "by a genetic algorithm",
    "reflective": "by reflection (the mutator saw failed problems with the replies and proposed better instructions)",
    "gepa": "by the package gepa",
    "random": "by random search",
}
HELD_OUT = (
    "The champion is the prompt with the highest fitness on the training problems. It was compared with the best seed prompt on {problems} "
    "held out from the search and not used to select either prompt. Accuracies have Wilson's 95 % intervals (Wilson, 1927; with several "
    "replies per problem, those of a rate over problems), and graded scores have Student's. The difference was computed problem by problem, "
    "with Student's interval and test. It excludes problems without a mark for one of the prompts, so it can deviate from the difference of "
    "the accuracies. Prompts were selected by fitness and accuracy in training, so these values overestimate the best prompts."
)
UNCLEAR = (
    "A reply without a readable answer is unclear. In training it counted as not correct, so that evasive prompts have no advantage. "
    "On held-out problems it was excluded as neither correct nor wrong."
)
ESTIMAND = "these prompts on problems like these"
BOUNDED = "Bounds of the accuracy count all unclear replies as wrong or as correct. Verdicts were given only if the bounds could not reverse them."
ONE_RUN = "One run is little evidence about its search strategy. For this purpose, compare runs over several seeds."


class EvolutionResults(Results):
    contents = ExportContents(
        views=("messages", "genomes"), where_filled=("answers",), beside_units=("genomes",), details=None
    )

    def measures(self, sections: Sections) -> list[Outcome]:
        accuracy = "accuracy of the champion on held-out problems"
        return [
            Outcome(name=ACCURACY, words=accuracy, unit=PERCENT, bounds=UNIT, per_talk=False, also=("accuracy",)),
            Outcome(
                name=UNCLEAR_REPLIES,
                words="unclear replies of the champion on held-out problems",
                unit=PERCENT,
                bounds=UNIT,
                per_talk=False,
                described_only=True,
            ),
            Outcome(name=CALLS, words="requests of the search", per_talk=False, digits=0),
        ]

    def values(self, connection: sqlite3.Connection, batch: Batch, sections: Sections) -> BatchValues:
        """Returns the values of a completed run."""
        stored: Mapping[str, Any] = finding(connection, batch["number"], RESULT) or {}
        champion = stored.get(CHAMPION) or {}
        return BatchValues(
            of_batch={
                ACCURACY: number(champion.get("validation_accuracy")),
                UNCLEAR_REPLIES: number(champion.get("unclear")),
                CALLS: number(stored.get("search_calls")),
            }
        )

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        batch_number, settings = batch["number"], config.sections["evolution"]
        value = findings(connection, batch_number)
        generations = [content for name, content in value.items() if name.startswith(GENERATION)]
        stored = value.get(RESULT) or _so_far(connection, batch_number, generations)
        counts = genome_counts(connection, batch_number)
        judged = f"judge {settings.get('judge')}" if settings.get("task") == "judge" else None
        data = {
            "strategy": settings["strategy"],
            "generations": generations,
            **stored,
            "genomes": dict(zip(("total", "distinct_prompts", "missing"), counts, strict=True)),
            "most_fitness": sum(settings["weights"].values()),
            "marked_by": f"scorer {settings['scorer']}" if settings.get("scorer") else judged,
        }
        for role, names in (("champion", PORTRAIT), ("baseline", PORTRAIT), ("random_search", RANDOM_SEARCH)):
            data[role] = _in_order(data[role], names) if data.get(role) else None
        return _in_order(data, RUN)

    def estimand(self, statistics: Statistics) -> str:
        return ESTIMAND

    def blocks(self, statistics: Statistics) -> list[Block]:
        if not statistics["generations"]:
            return [Words("No generation is complete yet.")]
        finalists = {ROLES[role]: row for role in ROLES if (row := statistics[role])}
        return [
            *_verdicts(statistics),
            *_finalists(statistics, finalists),
            *section("search", table("search", ("", ""), list(_search(statistics)), left=2)),
            *section("prompts", *_prompts(finalists)),
            *section("plots", *_drawn(statistics["generations"])),
        ]

    def headline(self, statistics: Statistics) -> Headline | None:
        generations = statistics["generations"]
        if (held_out := super().headline(statistics)) or not generations:
            return held_out
        best = Number(max(row["best"] for row in generations), 3)
        return Headline("training fitness", best, f"generation {generations[-1]['generation']:,}")

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        data: dict[str, Cell] = {
            "strategy": statistics["strategy"],
            "requests of the search": statistics["search_calls"],
            "generations": len(statistics["generations"]),
        }
        if statistics["champion"] and statistics["baseline"]:
            data["champion, held out"] = _held_out(statistics["champion"])
            data["champion, unclear"] = _share(statistics["champion"]["unclear"])
            data["best seed, held out"] = _held_out(statistics["baseline"])
        p_value = None if _reversible(statistics) else statistics["p_value_holm"]
        return {**data, "p (Holm)": PValue(p_value), "stopped by": statistics["stopped_by"] or "–"}

    def differences(self, connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        """Compares completed batches, or whole runs if a config was run with several seeds."""
        groups = groups_of(connection, batches, RUNS)
        if len(groups) < len(batches):
            return seed_differences(groups, RUNS)
        judged = [finding(connection, batch["number"], VALIDATION) for batch in batches]
        rows = pairwise([batch["id"] for batch in batches], judged, _compared, "held-out accuracy of the champion")
        withhold_reversible(rows)
        return rows

    def compared(self, batches: Sequence[Statistics], differences: Sequence[Statistics]) -> list[Block]:
        return blocks_over_seeds(batches, differences, RUNS)

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        settings = config.sections["evolution"]
        weights = " + ".join(f"{weight:g} × {name}" for name, weight in settings["weights"].items() if weight)
        missing = statistics["genomes"].get("missing")
        fitness = f"Fitness was {weights}, minus a penalty for long prompts. Each part was between 0 and 1."
        measures, extra = (fitness, *_marking(settings)), []
        if settings.get("seed_final"):
            extra.append(
                "After the search, all seed prompts were evaluated on additional training problems to choose the best one reliably."
            )
        if settings.get("random_baseline"):
            extra.append(
                "A random search with the same number of requests was compared with the champion in the same way."
            )
        return KindMethods(
            design=tuple(_design(settings)),
            measures=measures,
            missing=(
                f"{100 * missing:.1f} % of the answers on training problems are missing. Failed requests did not count as "
                "wrong answers.",
            )
            if missing
            else (),
            analysis=(
                f"The search took {counted(len(statistics['generations']), 'generation')} with "
                f"{counted(statistics['genomes']['total'], 'prompt')} in all, and {counted(statistics['search_calls'], 'request')}.",
                HELD_OUT.format(problems=counted(_size(settings, "validation"), "problem")),
                BONETT_PRICE,
                *((BOUNDED,) if UNCLEAR in measures else ()),
                *extra,
                f"{DESCRIBE} {self.estimand(statistics)}.",
                ONE_FAMILY,
                ONE_RUN,
            ),
        )


# -- statistics --------------------------------------------------------------------------------------------------

# Keys in the order of the JSON. Each is present, as null if unknown, except those in `LEFT_OUT`.
PORTRAIT = (
    *("prompt", "fitness", "accuracy", "validation_accuracy", "validation_ci95", "validation_problems"),
    *("validation_missing", "unclear", "accuracy_bounds", "missing", "genome_id", "generation", "operator"),
    *("components", "models", "metrics"),
)
"""a prompt with its results; an unfinished run has no results on held-out problems"""
VERDICT = ("p_value", "p_value_holm", "difference", "difference_ci95", "difference_bounds", "pairs", "better")
RANDOM_SEARCH = (*PORTRAIT, "calls", *VERDICT)
"""the result of a random search with as many requests, and its comparison with the champion"""
RUN = (
    *("strategy", "generations", "baseline_calls", "champion", "baseline", *VERDICT, "stopped_by"),
    *("calls_saved_by_racing", "search_calls", "rewrites", "refused_rewrites", "random_search", "genomes"),
    *("won", "lost", "marked_by", "most_fitness"),
)
LEFT_OUT = frozenset({"components", "metrics", "rewrites", "refused_rewrites", "won", "lost", "marked_by"})


def _in_order(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: data.get(name) for name in names if name not in LEFT_OUT or data.get(name) is not None}


def _so_far(connection: sqlite3.Connection, batch_number: int, generations: list[dict[str, Any]]) -> dict[str, Any]:
    """An unfinished run has a leader, but no final test yet."""
    leaders = [genome(connection, batch_number, item["leader"]) for item in (generations[-1:] + generations[:1])]
    champion, baseline = (dict(row) if row else None for row in leaders or (None, None))
    return {
        "champion": champion,
        "baseline": baseline,
        "pairs": 0,
        "calls_saved_by_racing": None,
        "search_calls": sum(item["calls"] for item in generations),
    }


# -- report ------------------------------------------------------------------------------------------------------


def _share(value: float | None, digits: int = 1) -> Number:
    return Number(None if value is None else 100 * value, digits, " %")


def _held_out(row: Statistics) -> Estimate:
    return Estimate(_share(row["validation_accuracy"]).value, ends_of(row["validation_ci95"], 100), 1, " %")


def _verdicts(statistics: Statistics) -> Iterator[Block]:
    champion, seed, rival = (statistics[role] for role in ROLES)
    validated = statistics["difference"] is not None and statistics["pairs"]
    if champion and seed and validated:
        words = f"{_shared(statistics)}, {_judgement(statistics)}"
        yield Headline("gain over the best seed prompt", _gain(statistics), words, "gain")
    if not validated or (champion and seed and champion["genome_id"] == seed["genome_id"]):
        yield Words(verdict(statistics), "finding")
    if rival:
        gain = f"{text_of(_gain(rival))}, {_shared(rival)}, {_judgement(rival)}"
        yield Words(f"Champion against a random search of {rival['calls']:,} requests: {gain}.", "finding")
    if "won" in statistics and "lost" in statistics:
        won, lost = len(statistics["won"]), len(statistics["lost"])
        yield Words(f"The champion is better on {counted(won, 'problem')} and worse on {lost:,}.")
        yield Words(f"{ONE_FAMILY} {ONE_RUN}", "quiet")


def verdict(statistics: Statistics) -> str:
    """Returns the conclusion from the held-out problems."""
    champion, seed = statistics["champion"], statistics["baseline"]
    if statistics["difference"] is None:
        return "Not validated yet. Training figures overestimate the best prompt."
    if champion and seed and champion["genome_id"] == seed["genome_id"]:
        return "No prompt is better than the best seed prompt."
    if not statistics["pairs"]:
        return "No result: the held-out problems have no answers."
    return f"{sentence(_shared(statistics))}, {_judgement(statistics)}."


def _gain(compared: Statistics) -> Estimate:
    """Returns the gain of the champion over the best seed prompt or a random search."""
    ends = ends_of(compared["difference_ci95"], 100)
    return Estimate(100 * (compared["difference"] or 0), ends, 1, " points", signed=True)


def _shared(compared: Statistics) -> str:
    """Returns the number of problems that both prompts have in common."""
    return f"on {counted(compared['pairs'], 'held-out problem')}"


def _judgement(compared: Statistics) -> str:
    p_value, corrected, better = (compared[name] for name in ("p_value", "p_value_holm", "better"))
    if p_value is None or corrected is None:
        return TOO_FEW_PAIRS
    chance = tested(p_value, corrected)
    if better:
        return f"the champion is {'better' if better == CHAMPION else 'worse'}, {chance}"
    if _reversible(compared) and compared["difference_bounds"]:
        return f"{reversible_in_words(compared['difference_bounds'])}, {chance}"
    return f"the two are not distinguishable, {chance}"


def _reversible(compared: Statistics) -> bool:
    corrected = compared["p_value_holm"]
    return not compared["better"] and corrected is not None and corrected <= SIGNIFICANT


def _finalists(statistics: Statistics, finalists: Mapping[str, Statistics]) -> Iterator[Block]:
    """Yields the results on held-out problems: accuracies, other metrics of a scorer, and results by model."""
    rows: list[tuple[Cell, ...]] = [
        (
            title,
            _share(row["accuracy"]),
            _held_out(row),
            _share(row["unclear"]),
            _share(row["missing"] if row["validation_missing"] is None else row["validation_missing"]),
            len(row["prompt"].split()),
        )
        for title, row in finalists.items()
    ]
    columns: tuple[str, ...] = ("prompt", "training", "held out (95 %)", "unclear", "missing", "words")
    yield table("accuracy on held-out problems, which were never used for selection", columns, rows)
    if bounds := [
        f"{title} {100 * row['accuracy_bounds'][0]:.1f} to {100 * row['accuracy_bounds'][1]:.1f} %"
        for title, row in finalists.items()
        if row["unclear"] and row["accuracy_bounds"]
    ]:
        yield Words(f"If all unclear replies are wrong, or all are right: {', '.join(bounds)}.")
    if "marked_by" in statistics:
        yield Words(f"The columns training and held out are mean scores of the {statistics['marked_by']}.")
    metrics = {title: row["metrics"] for title, row in finalists.items() if row.get("metrics")}
    if names := dict.fromkeys(name for row in metrics.values() for name in row):
        rows = [(name, *(_metric(row.get(name)) for row in metrics.values())) for name in names]
        columns = ("metric", *(f"{title} (95 %)" for title in metrics))
        yield table("metrics of the scorer on held-out problems", columns, rows)
    champion, baseline = ((statistics[role] or {}).get("models") or {} for role in ("champion", "baseline"))
    if len(champion) > 1:
        rows = [
            (model, Number(row["fitness"], 3), _held_out(row), _share(baseline[model]["validation_accuracy"]))
            for model, row in champion.items()
        ]
        yield table("the champion by model", ("model", "fitness", "held out (95 %)", "best seed"), rows)


def _metric(row: Statistics | None) -> Cell:
    return Estimate(row["value"], row["ci95"] and tuple(row["ci95"]), 2) if row else Number(None)


def _search(statistics: Statistics) -> Iterator[tuple[str, str]]:
    saved, calls, stop = (statistics[name] for name in ("calls_saved_by_racing", "search_calls", "stopped_by"))
    end = f"stopped by {stop}" if stop else "not complete"
    generations = counted(len(statistics["generations"]), "generation")
    genomes = counted(statistics["genomes"]["total"], "genome")
    yield "search", f"{statistics['strategy']}, {generations}, {genomes}, {calls:,} requests; {end}"
    if statistics["baseline_calls"]:
        yield "seeds", f"{statistics['baseline_calls']:,} more requests to choose the best seed prompt"
    if rewrites := statistics.get("rewrites"):
        refused = statistics.get("refused_rewrites")
        message = f", {sum(refused.values()):,} refused: {counted_reasons(refused)}" if refused else ", none refused"
        yield "rewrites", f"{rewrites:,}{message}"
    if saved and saved < 0:
        yield (
            "racing",
            f"{-saved:,} more requests: too few problems to drop a prompt early, and the best are evaluated twice",
        )
    elif saved:
        part = 100 * saved / (calls + saved)
        yield "racing", f"{saved:,} requests saved, {part:.0f} % of a full evaluation"


def _prompts(finalists: Mapping[str, Statistics]) -> Iterator[Block]:
    """Yields the prompts of the finalists. A prompt with two roles is shown once."""
    by_genome: dict[str, tuple[str, Statistics]] = {}
    for title, row in finalists.items():
        by_genome.setdefault(row["genome_id"], (title, row))
    for title, row in by_genome.values():
        yield Words(f"{title} (generation {row['generation']}, {row['operator']})", "strong")
        yield Words(row["prompt"], "quoted")


def _drawn(generations: Sequence[Statistics]) -> Iterator[Block]:
    if len(generations) > 1:
        xs = [row["generation"] for row in generations]
        best = line("best", xs, [row["best"] for row in generations], "primary")
        mean = line("mean", xs, [row["mean"] for row in generations], "accent")
        yield Figure("lines", "fitness by generation", (best, mean), xlabel="generation", caption=ONE_SEARCH)


# -- methods -----------------------------------------------------------------------------------------------------


def _design(settings: Mapping[str, Any]) -> Iterator[str]:
    seeds = settings.get("seed_prompts")
    origin = counted(len(seeds), "custom seed prompt") if seeds else "the built-in seed prompts of Tidepool"
    yield (
        f"Prompts were evolved {STRATEGIES.get(settings['strategy'], settings['strategy'])}, from {origin}, in populations of "
        f"{settings['population_size']:,} over at most {counted(settings['max_generations'], 'generation')}."
    )
    if settings["strategy"] == "genetic":
        yield (
            f"Parents were chosen by {settings['selection']} selection and combined by {settings['crossover'].replace('_', '-')} crossover "
            f"(rate {settings['crossover_rate']:g}). Segments were mutated at a rate of {settings['mutation_rate']:g}, in part by rewriting "
            f"with {settings['mutator']}. The best {settings['elite_size']:,} were kept unchanged."
        )
    elif settings["strategy"] != "random":
        yield f"{settings['mutator']} rewrote prompts."
    framed = any(QUESTION in prompt for prompt in seeds or ())
    place = (
        "message around the question (or the system prompt, if it has no place for the question)"
        if framed
        else "system prompt"
    )
    sources = (settings.get("frozen") or {}).get("sources") or {}
    problems = listing(list(sources.values())) if sources else f"the set {settings['problems']}"
    yield (
        f"A prompt was the {place} with which {listing(settings.get('models') or [settings['model']])} answered problems of {problems} "
        f"({counted(_size(settings, 'training'), 'problem')} for training, {counted(settings['samples'], 'reply', 'replies')} each), with "
        f"{sampling(settings, 'a solution')}."
    )
    if settings.get("racing"):
        yield "Problems were used in stages. After each stage, the weaker half of the prompts was dropped (successive halving)."


def _size(settings: Mapping[str, Any], split: str) -> int:
    """Returns the number of problems that were available, which can be less than the requested number."""
    if frozen := settings.get("frozen"):
        return len(frozen[split])
    return int(settings["max_problems" if split == "training" else "validation_problems"])


MEASURED = {
    "line": {
        "number": (120, 109, 108, 7),
        "choice": (35, 34, 33, 1),
        "label": (25, 23, 23, 2),
        "text": (20, 19, 16, 1),
    },
    "any": {"number": (84, 80, 60, 4), "choice": (13, 13, 12, 0), "label": (9, 9, 8, 0), "text": (14, 0, 0, 2)},
}
"""replies of an independent author by form and answer: all, read, read correctly, and without an answer (docs/tasks.md;
`test_replies_of_outside_authors_are_read_as_published` checks the numbers)"""
BEFORE = (107, 114)
"""of another author's replies in the form: read correctly and read, before they led to changes of the rules"""
EXPECTED = {"number": "a number", "choice": "an option", "label": "a label", "text": "free text"}


def _measured(form: str, kind: str) -> str:
    replies, read, correctly, silent = MEASURED[form][kind]
    accuracy = f", {correctly:,} of them correctly ({_with_wilson(correctly, read)})" if read else ""
    unclear = f". {silent:,} of the {replies - read:,} unclear ones give no answer" if replies > read else ""
    return f"Of an independent author's {replies:,} replies with {EXPECTED[kind]} as answer, {read:,} were read{accuracy}{unclear}."


def _with_wilson(successes: int, trials: int) -> str:
    low, high = share_interval(successes, trials)
    return f"{100 * successes / trials:.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"


def _marking(settings: Mapping[str, Any]) -> Iterator[str]:
    task, rubric = settings.get("task"), settings.get("rubric")
    if scorer := settings.get("scorer"):
        digest = settings.get("scorer_sha256")
        yield f"Replies were marked by the scorer {scorer}{f' (sha256 {digest})' if digest else ''}."
        return
    judged = (
        f"rated from 0 to 10 by {settings['judge']}, which saw the question, the expected answer and the reply, but not the prompt"
        f"{f', by the rubric “{rubric}”' if rubric else ''}. Replies rated {10 * settings['pass_mark']:g} or higher counted as correct"
    )
    if task == "judge":
        yield f"Replies were {judged}. Judgements that failed or were unclear are missing."
        return
    if settings.get("answer_form") == "line":
        yield f'Every message ended with a request for this form: "{FORM}…". Only answers in this form were read.'
    form = "line" if settings.get("answer_form") == "line" else "any"
    reader, problems = AnswerTask(task or "auto"), (settings.get("frozen") or {}).get("validation") or [{"answer": "1"}]
    yield from (_measured(form, kind) for kind in sorted({reader.kind(problem["answer"]) for problem in problems}))
    if form == "line":
        yield (
            f"Of another author's {BEFORE[1]} replies that were read, with answers of all kinds, {BEFORE[0]} were read correctly before "
            f"they led to changes of the rules ({_with_wilson(*BEFORE)})."
        )
    if task in ("choice", "label"):
        yield f"A reply was correct if the {'option' if task == 'choice' else 'label'} that it commits to was the expected one."
    else:
        yield (
            "A reply was correct if the answer extracted from it matched that of the problem: numbers to within 0.001 and 1 %, texts after "
            "normalisation."
        )
    if settings.get("unclear") == "judge":
        yield f"Replies without a readable answer were {judged}."
    yield UNCLEAR


# -- several batches ---------------------------------------------------------------------------------------------


def _values(connection: sqlite3.Connection, batch: sqlite3.Row) -> Iterator[tuple[str, Score]]:
    """Yields the scores of a run, without prompts that share no answered problem with the champion."""
    stored: Mapping[str, Any] = finding(connection, batch["number"], RESULT) or {}
    for name in ROLES:
        row = stored.get(name) or {}
        test = {CHAMPION: {}, "baseline": stored}.get(name, row)
        if row.get("validation_accuracy") is not None and test.get("pairs") != 0:
            lead = (test["difference"], *test["difference_bounds"]) if test else None
            yield name, Score(row["validation_accuracy"], row["accuracy_bounds"], lead)


def _judged_by(connection: sqlite3.Connection, batch: sqlite3.Row) -> frozenset[str]:
    judged: Mapping[str, Any] = finding(connection, batch["number"], VALIDATION) or {}
    return frozenset(filter(None, (judged.get("problems"),)))


def _of_run(statistics: Mapping[str, Any]) -> RunRead:
    champion = statistics["champion"]
    accuracy, unclear = (champion["validation_accuracy"], champion["unclear"]) if champion else (None, None)
    curve = {row["generation"]: row["best"] for row in statistics["generations"]}
    return RunRead(accuracy, curve, statistics["most_fitness"] or 1.0, unclear)


RUNS = Runs(
    section="evolution",
    main=CHAMPION,
    measure="held-out accuracy of a run's champion",
    called_by="strategy",
    values=_values,
    held_out=_judged_by,
    read=_of_run,
    title="champions on held-out problems, over seeds",
    unit="held out %",
    noun="problems",
    curves=Figure(
        "lines", "best fitness in training, over seeds", (), xlabel="generation", ylabel="fitness", caption=BAND
    ),
    baselines={"baseline": "the best seed prompt", "random_search": "random search"},
    scale=100,
    digits=1,
    bulky=("seed_prompts",),
    drawn=("frozen",),
)


def _compared(first: dict[str, Any] | None, second: dict[str, Any] | None) -> dict[str, Any] | None:
    if first is None or second is None:
        return None
    ours, theirs = (HeldOutScores(**judged[CHAMPION]) for judged in (first, second))
    paired = first["problems"] == second["problems"]
    contrast = compared_scores(ours, theirs, by_problem_contrast if paired else _two_samples)
    if contrast is None:
        return None
    answered = [len(_answered(one.known)) for one in (ours, theirs)]
    return {
        "paired": paired,
        "problems": contrast.known.clusters if paired else answered,
        **contrast.as_json(),
        "scale": RUNS.scale,
        "estimand": ESTIMAND,
        "note": few_clusters(contrast.known.clusters if paired else min(answered), "problems"),
    }


def _answered(scores: Scores) -> list[float]:
    return [score for score in scores if score is not None]


def _two_samples(*scores: Scores) -> Contrast | None:
    first, second = map(_answered, scores)
    contrast = two_samples(first, second)
    tested = min(len(first), len(second)) >= FEWEST_TESTED
    return contrast if tested or contrast is None else replace(contrast, p_value=None)
