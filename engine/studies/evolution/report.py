"""The report of an evolution, and what a running one shows so far."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.inference.contrasts import TOO_FEW_PAIRS
from tidepool.engine.inference.intervals import Interval
from tidepool.engine.reports.blocks import (
    COUNTS,
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    Number,
    PValue,
    Series,
    Table,
    Words,
    in_flight,
    line,
    number,
    table,
    text_of,
)
from tidepool.engine.studies.evolution.records import counted_reasons
from tidepool.engine.studies.evolution.statistics import (
    ByModel,
    EvolutionStatistics,
    GenerationStatistics,
    Portrait,
    ProblemStatistics,
    RandomSearch,
)
from tidepool.storage.text import one_line

__all__ = ["blocks", "figures"]

MOST_GENERATIONS = 12
SELECTED = "Held out: with 95 % intervals. What was found in training decided who won: an interval of it would mislead."
BAND = "The band is Student's 95 % interval of the mean over the generation's prompts."
BEST = "The best is one prompt, picked by this very figure: without an interval."


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    if not statistics["generations"]:
        return [Words("no generation is judged yet")]
    stats = EvolutionStatistics.from_json(statistics)
    return [
        *_headline(stats),
        Words(verdict(stats), "strong"),
        *_against_chance(stats.random_search),
        _finalists(stats),
        *(
            [Words(f"Training and held out are mean scores, which the {stats.marked_by} gave.")]
            if stats.marked_by
            else []
        ),
        *_metrics(stats),
        *_models(stats),
        *_problems(stats.problems),
        table("the search", ("", ""), list(_search(stats)), left=2),
        *_prompts(stats),
        *_drawn(stats),
        generations_table(stats.generations),
    ]


def _headline(stats: EvolutionStatistics) -> Iterator[Block]:
    champion, seed = stats.champion, stats.baseline
    if champion and seed and champion.validation_accuracy is not None:
        before = text_of(held_out(seed))
        yield Headline("champion on held-out problems", held_out(champion), f"best seed prompt {before}", "held out")


def figures(statistics: Mapping[str, Any]) -> dict[str, Cell]:
    stats = EvolutionStatistics.from_json(statistics)
    data: dict[str, Cell] = {
        "strategy": stats.strategy,
        "calls of the search": stats.search_calls,
        "generations": len(stats.generations),
    }
    if stats.champion and stats.baseline:
        data["champion, held out"] = held_out(stats.champion)
        data["best seed, held out"] = held_out(stats.baseline)
    return {**data, "p": PValue(stats.p_value), "stopped by": stats.stopped_by or "–"}


def _finalist_rows(stats: EvolutionStatistics) -> dict[str, Portrait]:
    roles = {"champion": stats.champion, "best seed prompt": stats.baseline, "random search": stats.random_search}
    return {title: row for title, row in roles.items() if row}


def _share(value: float | None, digits: int = 1) -> Number:
    return Number(None if value is None else 100 * value, digits, " %")


def held_out(row: Portrait | ByModel) -> Estimate:
    bounds = row.validation_ci95
    percent = None if bounds is None else (100 * bounds[0], 100 * bounds[1])
    return Estimate(_share(row.validation_accuracy).value, percent, 1, " %")


def verdict(stats: EvolutionStatistics) -> str:
    """What the held-out problems allow to say, and no more."""
    if stats.difference is None:
        return "not validated yet: training figures flatter whoever leads"
    if stats.champion and stats.baseline and stats.champion.genome_id == stats.baseline.genome_id:
        return "no prompt was found that does better than the best seed prompt"
    if not stats.pairs:
        return "nothing is known: the held-out problems were not answered"
    outcome = difference(stats.difference, stats.difference_ci95, stats.p_value, stats.better)
    return f"champion against best seed prompt on {stats.pairs:,} held-out problems: {outcome}"


def difference(gap: float, interval: Interval | None, p: float | None, better: str | None) -> str:
    points = f"{100 * gap:+.1f} points"
    if interval:
        points += f" ({100 * interval[0]:+.1f} to {100 * interval[1]:+.1f})"
    if p is None:
        return f"{points}: {TOO_FEW_PAIRS}"
    if better is None:
        return f"{points}: not distinguishable (p = {p:.2g})"
    return f"{points}, p = {p:.2g}: the champion is {'better' if better == 'champion' else 'worse'}"


def _against_chance(rival: RandomSearch | None) -> Iterator[Block]:
    if rival:
        outcome = difference(rival.difference, rival.difference_ci95, rival.p_value, rival.better)
        yield Words(f"champion against random search of {rival.calls:,} calls: {outcome}")


def _finalists(stats: EvolutionStatistics) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            title,
            Number(row.fitness, 3),
            _share(row.accuracy),
            held_out(row),
            _share(row.missing if row.validation_missing is None else row.validation_missing),
            row.length.words if row.length else len(row.prompt.split()),
        )
        for title, row in _finalist_rows(stats).items()
    ]
    columns = ("prompt", "fitness", "training", "held out (95 %)", "missing", "words")
    return table("on problems never used for selection", columns, rows)


def _metrics(stats: EvolutionStatistics) -> Iterator[Block]:
    """What a scorer measured beside its score."""
    data = {title: row.metrics for title, row in _finalist_rows(stats).items() if row.metrics}
    names = dict.fromkeys(name for metrics in data.values() for name in metrics)
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            *(Estimate(one.value, one.ci95, 2) if (one := row.get(name)) else Number(None) for row in data.values()),
        )
        for name in names
    ]
    if rows:
        columns = ("metric", *(f"{title} (95 %)" for title in data))
        yield table("what the scorer measured on held-out problems", columns, rows)


def _models(stats: EvolutionStatistics) -> Iterator[Block]:
    champion, baseline = ((row.models if row else None) or {} for row in (stats.champion, stats.baseline))
    if len(champion) > 1:
        rows: list[tuple[Cell, ...]] = [
            (model, Number(row.fitness, 3), held_out(row), _share(baseline[model].validation_accuracy))
            for model, row in champion.items()
        ]
        yield table("the champion by model", ("model", "fitness", "held out (95 %)", "best seed"), rows)


def _problems(stats: ProblemStatistics | None) -> Iterator[Block]:
    if stats is None or not stats.compared:
        return
    won, lost = len(stats.won), len(stats.lost)
    does = "solves and the best seed prompt does not" if stats.binary else "does better on than the best seed prompt"
    yield Words(f"{won:,} problem{'' if won == 1 else 's'} that the champion {does}, {lost:,} the other way")
    rows: list[tuple[Cell, ...]] = [
        (
            f"{problem.problem}",
            one_line(problem.question, 33),
            one_line(problem.gold, 12),
            *(_share(share, 0) for share in (problem.champion, problem.baseline)),
        )
        for problem in stats.hardest
    ]
    columns = ("problem", "question", "gold", "champion", "best seed")
    if rows:
        yield table("the hardest held-out problems", columns, rows, left=3)


def _search(stats: EvolutionStatistics) -> Iterator[tuple[str, str]]:
    performance, saved, generations = stats.performance, stats.calls_saved_by_racing, len(stats.generations)
    end = f"stopped by {stats.stopped_by}" if stats.stopped_by else "not at its end"
    yield (
        "search",
        f"{stats.strategy}, {generations:,} generation{'s' if generations > 1 else ''}, {stats.genomes.total:,} genomes, "
        f"{stats.search_calls:,} calls; {end}",
    )
    if stats.baseline_calls:
        yield "seeds", f"{stats.baseline_calls:,} calls more, to find the best seed prompt with care"
    if stats.rewrites:
        refused = stats.refused_rewrites or {}
        message = f", {sum(refused.values()):,} refused: {counted_reasons(refused)}" if refused else ", none refused"
        yield "rewrites", f"{stats.rewrites:,}{message}"
    if saved and saved < 0:
        yield "racing", f"{-saved:,} calls more: too few problems to drop anybody early, and leaders are asked twice"
    elif saved:
        part = number(performance.calls_saved_percentage, 0, " %")
        yield "racing", f"{saved:,} calls saved, {part} of what asking everybody everything would take"
    yield (
        "speed",
        f"{number(performance.problems_per_second, 0)} calls/s, {performance.cache_hits:,} cache hits"
        f"{in_flight(performance.calls_in_flight_mean)}",
    )


def _prompts(stats: EvolutionStatistics) -> Iterator[Block]:
    shown_ids: set[str] = set()
    for title, row in _finalist_rows(stats).items():
        if row.genome_id not in shown_ids:
            shown_ids.add(row.genome_id)
            shown = row.examples or ()
            with_examples = f", with {len(shown)} example{'s' if len(shown) > 1 else ''}" if shown else ""
            yield Words(f"{title} (generation {row.generation}, {row.operator}){with_examples}", "strong")
            yield Words(row.prompt, "quoted")
            for example in shown:
                yield Words(f"{example.question} → {example.answer}", "quoted")


def _drawn(stats: EvolutionStatistics) -> Iterator[Block]:
    rows = _finalist_rows(stats)
    trained = Series("training", tuple(_share(row.accuracy).value for row in rows.values()), colour="accent")
    estimates = [held_out(row) for row in rows.values()]
    validated = Series(
        "held out",
        tuple(estimate.value for estimate in estimates),
        colour="primary",
        intervals=tuple(estimate.interval for estimate in estimates),
    )
    title = "mean score (%)" if stats.marked_by else "right answers (%)"
    yield Figure("bars", title, (trained, validated), labels=tuple(rows), caption=SELECTED)
    yield from generation_figures(stats.generations)


def generation_figures(generations: Sequence[GenerationStatistics]) -> Iterator[Figure]:
    if len(generations) < 2:
        return
    xs = [row.generation for row in generations]
    best = line("best", xs, [row.best for row in generations], "primary")
    mean = line("mean", xs, [row.mean for row in generations], "accent", [row.mean_ci95 for row in generations])
    diversity = line("diversity", xs, [row.diversity for row in generations], "accent")
    calls = line("calls", xs, [row.calls for row in generations], "primary")
    for title, series, caption in (
        ("fitness by generation", (best, mean), f"{BAND} {BEST}"),
        ("diversity by generation", (diversity,), "One figure of each generation: without an interval."),
        ("calls by generation", (calls,), COUNTS),
    ):
        yield Figure("lines", title, series, xlabel="generation", caption=caption)


def generations_table(generations: Sequence[GenerationStatistics]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (f"{row.generation}", *(Number(value, 3) for value in (row.best, row.mean, row.diversity)), row.calls)
        for row in generations
    ]
    columns = ("generation", "best", "mean", "diversity", "calls")
    return table("generations", columns, rows, left=0, first=MOST_GENERATIONS)


# -- several evolutions ----------------------------------------------------------------------------------------
