"""Did it get better, and can one believe it: champion against best seed prompt, and the way there."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.tui.command.report import number
from tidepool.tui.command.reports.evolution_comparison import print_compared as print_compared
from tidepool.tui.command.reports.evolution_figures import interval, percent
from tidepool.tui.drawing.charts import lines
from tidepool.tui.drawing.terminal import printable
from tidepool.tui.drawing.words import gained

ROLES = {"champion": "champion", "baseline": "best seed prompt", "random_search": "random search"}


def print_statistics(out: Console, statistics: dict[str, Any]) -> None:
    if not statistics["generations"]:
        out.print(Text("no generation is judged yet"))
        return
    _print_finalists(out, statistics)
    _print_models(out, statistics)
    _print_search(out, statistics)
    _print_prompts(out, statistics)
    _print_plots(out, statistics["generations"])


def _print_finalists(out: Console, statistics: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("prompt")
    for name in ("fitness", "training", "held out", "95 %", "missing"):
        table.add_column(name, justify="right")
    for role, title in ROLES.items():
        if row := statistics[role]:
            table.add_row(
                title,
                number(row["fitness"], 3),
                percent(row["accuracy"]),
                percent(row["validation_accuracy"]),
                interval(row["validation_ci95"]),
                percent(row["missing"]),
            )
    out.print(table)
    out.print(Text(verdict(statistics)))
    if rival := statistics["random_search"]:
        out.print(Text(f"against random search of {rival['calls']:,} calls: {_difference(rival)}"))


def verdict(statistics: dict[str, Any]) -> str:
    """What the held-out problems allow to say, and no more."""
    if statistics["p_value"] is None:
        return "not validated yet: the training figures above flatter whoever leads"
    champion, baseline = statistics["champion"], statistics["baseline"]
    if champion["genome_id"] == baseline["genome_id"]:
        return "no prompt was found that does better than the best seed prompt"
    if not statistics["pairs"]:
        return "nothing is known: the held-out problems were not answered"
    return f"on {statistics['pairs']:,} held-out problems: {_difference(statistics)}"


def _difference(compared: dict[str, Any]) -> str:
    points = f"{100 * compared['difference']:+.1f} points, p = {compared['p_value']:.2g}"
    if compared["better"] is None:
        return f"{points}: chance alone explains this"
    return f"{points}: the champion is {'better' if compared['better'] == 'champion' else 'worse'}"


def _print_models(out: Console, statistics: dict[str, Any]) -> None:
    models = statistics["champion"]["models"] or {}
    if len(models) < 2:
        return
    out.print()
    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    for name in ("fitness", "held out", "95 %", "best seed"):
        table.add_column(name, justify="right")
    for model, row in models.items():
        seed = statistics["baseline"]["models"][model]
        table.add_row(
            Text(printable(model)),
            number(row["fitness"], 3),
            percent(row["validation_accuracy"]),
            interval(row["validation_ci95"]),
            percent(seed["validation_accuracy"]),
        )
    out.print(table)


def _print_search(out: Console, statistics: dict[str, Any]) -> None:
    performance, genomes = statistics["performance"], statistics["genomes"]
    saved, generations = statistics["calls_saved_by_racing"], len(statistics["generations"])
    end = f"stopped by {statistics['stopped_by']}" if statistics["stopped_by"] else "not at its end"
    out.print()
    out.print(
        Text(
            f"search   {statistics['strategy']}, {generations:,} generation{'s' if generations > 1 else ''}, "
            f"{genomes['total']:,} genomes, {statistics['search_calls']:,} calls; {end}"
        )
    )
    if statistics["baseline_calls"]:
        out.print(Text(f"seeds    {statistics['baseline_calls']:,} calls more, to find the best seed prompt with care"))
    if saved and saved < 0:
        out.print(
            Text(f"racing   {-saved:,} calls more: too few problems to drop anybody early, and leaders are asked twice")
        )
    elif saved:
        out.print(
            Text(
                f"racing   {saved:,} calls saved, {number(performance['calls_saved_percentage'], 0, ' %')} of what asking "
                "everybody everything would take"
            )
        )
    out.print(
        Text(
            f"speed    {number(performance['problems_per_second'], 0)} problems/s, {performance['cache_hits']:,} cache hits"
            f"{gained(performance['speedup_over_sequential'])}"
        )
    )


def _print_prompts(out: Console, statistics: dict[str, Any]) -> None:
    same = statistics["champion"]["genome_id"] == statistics["baseline"]["genome_id"]
    for role in ("champion",) if same else ("champion", "baseline"):
        row = statistics[role]
        born = f"generation {row['generation']}, {printable(row['operator'])}"
        out.print()
        out.print(Text(f"{ROLES[role]} ({born})", style="bold"))
        out.print(Text(printable(row["prompt"])))


def _print_plots(out: Console, generations: list[dict[str, Any]]) -> None:
    if len(generations) < 2:
        return
    numbers = [told["generation"] for told in generations]
    width = min(out.width, 90)
    plots = (
        ("fitness by generation", {"best": "best", "mean": "mean"}, 14),
        ("diversity by generation", {"mean distance": "diversity"}, 10),
        ("calls by generation", {"calls": "calls"}, 10),
    )
    for title, series, height in plots:
        values = {label: [told[key] for told in generations] for label, key in series.items()}
        out.print()
        out.print(Text.from_ansi(lines(title, numbers, values, width=width, height=height, xlabel="generation")))
