"""The tables of a secret game's report, each from the JSON statistics."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from tidepool.tui.command.report import number
from tidepool.tui.drawing.terminal import printable

MOST_AGENTS = 40
MOST_COMPARISONS = 10


def table_of(*columns: str) -> Table:
    """The first column is a name, all others are numbers; what does not fit goes on below, nothing is cut."""
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index else "left", overflow="fold")
    return table


def interval(bounds: list[float] | None, digits: int = 1) -> str:
    return "–" if bounds is None else f"{bounds[0]:,.{digits}f} to {bounds[1]:,.{digits}f}"


def percent(value: float | None) -> str:
    return number(value, 1, " %")


def share(row: dict[str, Any], name: str) -> str:
    """A share with its interval, narrow enough for several in a line of 80."""
    value, (low, high) = row[f"{name}_percentage"], row[f"{name}_ci95"]
    return "–" if value is None else f"{value:.1f} ({low:.0f}–{high:.0f})"


def mean(row: dict[str, Any]) -> str:
    value, bounds = row.get("score_mean"), row.get("score_mean_ci95")
    return "–" if value is None or bounds is None else f"{value:.2f} ({bounds[0]:.2f}–{bounds[1]:.2f})"


def agents(rows: dict[str, Any]) -> Table:
    table = table_of("agent", "talks", *SHARES)
    for name, row in list(rows.items())[:MOST_AGENTS]:
        table.add_row(Text(printable(name)), f"{row['interactions']:,}", *_shares(row))
    return table


SHARES = ("revealed %", "obtained %", "only obtained", "score", "mean score")
"""each with its interval at 95 % in brackets"""


def _shares(row: dict[str, Any]) -> list[str]:
    return [
        share(row, "times_revealed_secret"),
        share(row, "times_obtained_secret"),
        share(row, "optimal_strategy"),
        number(row["score"], 1),
        mean(row),
    ]


def overall(statistics: dict[str, Any]) -> Iterator[str]:
    whole, missing = statistics["overall"], statistics["missing"]
    if len(statistics["agents"]) > MOST_AGENTS:
        yield f"… and {len(statistics['agents']) - MOST_AGENTS:,} more agents"
    if whole["total_interactions"]:
        yield from _whole(whole)
    else:
        yield "no conversation has come to its end"
    if missing["conversations"]:
        yield (
            f"missing: {missing['conversations']:,} conversations ({percent(missing['percentage'])}) failed; whatever they "
            f"would have been, {interval(missing['secrets_revealed_bounds'])} % of sides reveal"
        )
    if statistics.get("sat_out"):
        sat_out = ", ".join(f"{printable(name)} {count:,}" for name, count in list(statistics["sat_out"].items())[:12])
        yield f"rounds sat out: {sat_out}"


def _whole(whole: dict[str, Any]) -> Iterator[str]:
    yield (
        f"of {whole['total_interactions']:,} conversations both revealed in {whole['both_revealed_count']:,} "
        f"({percent(whole['both_revealed_percentage'])}), one side in {whole['one_sided_reveals_count']:,} "
        f"({percent(whole['one_sided_reveals_percentage'])})"
    )
    yield (
        f"{whole['total_secrets_revealed']:,} secrets revealed: {percent(whole['secrets_revealed_percentage'])} of sides "
        f"({interval(whole['secrets_revealed_ci95'])})"
    )


def further(statistics: dict[str, Any]) -> Iterator[tuple[str, Table]]:
    if statistics["ranking"]:
        yield "ranking by mean score", _ranking(statistics["ranking"])
    if len(statistics.get("models", {})) > 1:
        yield "by model", _groups("model", statistics["models"])
    yield "by who opened", _groups("side", statistics["openers"])
    if len(statistics["modes"]) > 1:
        yield "by mode", _groups("mode", statistics["modes"])
    if statistics["comparisons"]:
        yield "scores under equal conditions (paired test, Holm's correction)", _comparisons(statistics["comparisons"])
    if statistics.get("verdicts"):
        yield "what the judge says, kept apart", _verdicts(statistics["verdicts"])
    if statistics.get("agreement"):
        yield "detectors against the planted truth", _agreement(statistics["agreement"])


def _ranking(places: list[dict[str, Any]]) -> Table:
    table = table_of("agent", "rank", "might be", "mean score", "best with")
    for place in places[:MOST_AGENTS]:
        table.add_row(
            Text(printable(place["agent"])),
            str(place["rank"]),
            "–".join(map(str, dict.fromkeys(place["rank_ci95"]))),
            mean(place),
            f"{100 * place['best_probability']:.0f} %",
        )
    return table


def _groups(title: str, groups: dict[str, Any]) -> Table:
    table = table_of(title, "sides", "revealed %", "obtained %", "only obtained", "mean score")
    for name, row in list(groups.items())[:MOST_AGENTS]:
        shares = _shares(row)
        table.add_row(Text(printable(name)), f"{row['interactions']:,}", *shares[:3], shares[4])
    return table


def _comparisons(found: list[dict[str, Any]]) -> Table:
    table = table_of("agents", "pairs", "difference", "95 %", "effect", "p", "p, Holm")
    for row in sorted(found, key=lambda row: row["p_value"])[:MOST_COMPARISONS]:
        table.add_row(
            Text(printable(" − ".join(row["agents"]))),
            f"{row['pairs']:,}",
            f"{row['score_difference']:+.2f}",
            interval(row["score_difference_ci95"], 2),
            "–" if row["effect_size"] is None else f"{row['effect_size']:+.2f}",
            p_value(row["p_value"]),
            p_value(row["p_value_holm"]),
        )
    return table


def p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _verdicts(verdicts: dict[str, Any]) -> Table:
    table = table_of("agent", "sides", "revealed %", "judge only", "wording only", "missing")
    for name, row in [*list(verdicts["agents"].items())[:MOST_AGENTS], ("all", verdicts["overall"])]:
        table.add_row(
            Text(printable(name)),
            f"{row['sides']:,}",
            share(row, "revealed"),
            f"{row['only_judge']:,}",
            f"{row['only_wording']:,}",
            f"{row['missing']:,}",
        )
    return table


def _agreement(agreement: dict[str, Any]) -> Table:
    table = table_of("detector", "planted", "found", "sensitivity %", "silent", "alarms", "specificity %")
    rows = dict(agreement["detectors"])
    if "judge" in agreement:
        rows["judge (sides)"] = agreement["judge"]
    for name, row in rows.items():
        table.add_row(
            name,
            f"{row['planted']:,}",
            f"{row['found']:,}",
            share(row, "sensitivity"),
            f"{row['silent']:,}",
            f"{row['false_alarms']:,}",
            share(row, "specificity"),
        )
    return table


def closing(statistics: dict[str, Any]) -> Iterator[str]:
    if agreement := statistics.get("agreement"):
        sample = "an even sample of " if agreement["sampled"] else ""
        hints = agreement["ways"].get("hint", {}).get("messages", 0)
        yield f"({sample}{agreement['messages']:,} messages; {hints:,} of them hint, which is for a judge to see)"
    needed = [row["times_revealed_secret"] for row in statistics["precision"]["agents"].values()]
    width = statistics["precision"]["half_width_percentage"]
    if needed:
        yield ""
        yield (
            f"for shares known to ±{width:g} points each agent needs up to {max(needed):,} more conversations"
            if max(needed)
            else f"all shares of revealing agents are known to ±{width:g} points"
        )
