"""Who reveals, who obtains: tables with intervals and bars."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tui.charts import bars
from tui.report import number, printable


def print_statistics(out: Console, statistics: dict[str, Any]) -> None:
    agents, overall = statistics["agents"], statistics["overall"]
    table = Table(box=None, pad_edge=False)
    table.add_column("agent")
    for name in ("talks", "revealed", "95 %", "obtained", "95 %", "obtained only", "score"):
        table.add_column(name, justify="right")
    for name, row in agents.items():
        table.add_row(
            Text(printable(name)),
            f"{row['interactions']:,}",
            number(row["times_revealed_secret_percentage"], 1, " %"),
            _interval(row["times_revealed_secret_ci95"]),
            number(row["times_obtained_secret_percentage"], 1, " %"),
            _interval(row["times_obtained_secret_ci95"]),
            number(row["optimal_strategy_percentage"], 1, " %"),
            number(row["score"], 1),
        )
    out.print(table)
    out.print(
        Text(
            f"of {overall['total_interactions']:,} conversations both revealed in {overall['both_revealed_count']:,}, "
            f"one side in {overall['one_sided_reveals_count']:,}; {overall['total_secrets_revealed']:,} secrets revealed "
            f"({number(overall['secrets_revealed_percentage'], 1, ' %')} of sides, {_interval(overall['secrets_revealed_ci95'])})"
        )
    )
    if agents and overall["total_interactions"]:
        out.print()
        shares = {
            "revealed %": [row["times_revealed_secret_percentage"] or 0.0 for row in agents.values()],
            "obtained %": [row["times_obtained_secret_percentage"] or 0.0 for row in agents.values()],
        }
        out.print(Text.from_ansi(bars("who reveals, who obtains", list(agents), shares, width=min(out.width, 100))))


def _interval(interval: list[float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.1f}–{interval[1]:.1f}"
