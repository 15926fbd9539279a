"""Who reveals, who obtains, who wins: tables with intervals, bars, a ranking, and who gave in to whom."""

from typing import Any

from rich.console import Console
from rich.text import Text

from tidepool.storage.queries import Transcript
from tidepool.tui.command.report import number
from tidepool.tui.command.reports import secret_game_tables as tables
from tidepool.tui.drawing.charts import bars, scatter
from tidepool.tui.drawing.heat_map import heat_map
from tidepool.tui.drawing.terminal import printable

MOST_DRAWN = 12
"""agents in a plot, best first"""


def print_statistics(out: Console, statistics: dict[str, Any]) -> None:
    if statistics["overall"]["total_interactions"]:
        out.print(tables.agents(statistics["agents"]))
    for line in tables.overall(statistics):
        out.print(Text(line))
    if not statistics["overall"]["total_interactions"]:
        return
    _print_plots(out, statistics)
    for title, table in tables.further(statistics):
        out.print()
        out.print(Text(title, style="bold"))
        out.print(table)
    for line in tables.closing(statistics):
        out.print(Text(line))


def drawn_agents(statistics: dict[str, Any]) -> list[str]:
    """The best by score, else by name: as many as a plot can show."""
    ranked = [place["agent"] for place in statistics["ranking"]]
    return [name for name in ranked or statistics["agents"] if statistics["agents"][name]["interactions"]][:MOST_DRAWN]


def _print_plots(out: Console, statistics: dict[str, Any]) -> None:
    names = drawn_agents(statistics)
    rows = [statistics["agents"][name] for name in names]
    revealed = [row["times_revealed_secret_percentage"] for row in rows]
    obtained = [row["times_obtained_secret_percentage"] for row in rows]
    width = min(out.width, 100)
    out.print()
    shares = {"revealed %": revealed, "obtained %": obtained}
    out.print(Text.from_ansi(bars("who reveals, who obtains", names, shares, width=width)))
    out.print()
    points = dict(zip(names, zip(revealed, obtained, strict=True), strict=True))
    out.print(
        Text.from_ansi(
            scatter(
                "revealed against obtained",
                points,
                width=width,
                xlabel="revealed %",
                ylabel="obtained %",
                limits=(0, 100),
            )
        )
    )
    out.print()
    out.print(Text("how often the agent of the row obtained the secret of the column", style="bold"))
    for line in _pairs(statistics, names, width):
        out.print(line)
    if len(names) < len(statistics["agents"]):
        out.print(Text(f"(the best {len(names)} of {len(statistics['agents']):,} agents are drawn)"))


def _pairs(statistics: dict[str, Any], names: list[str], width: int) -> list[Text]:
    obtained: dict[tuple[str, str], float | None] = {}
    for pair in statistics["pairs"].values():
        first, second = pair["agents"]
        for agent, opponent in ((first, second), (second, first)):
            obtained[agent, opponent] = pair["sides"][agent]["times_obtained_secret_percentage"]
    labels = [printable(name) for name in names]
    return heat_map(labels, labels, lambda row, column: obtained.get((names[row], names[column])), width)


COMPARED = {
    "total_interactions": "conversations",
    "secrets_revealed_percentage": "sides that revealed, %",
    "both_revealed_percentage": "both revealed, %",
    "one_sided_reveals_percentage": "one side revealed, %",
    "times_revealed_secret_percentage": "revealed, %",
    "times_obtained_secret_percentage": "obtained, %",
    "optimal_strategy_percentage": "only obtained, %",
    "score_mean": "mean score",
}


def compared(name: str) -> str | None:
    """How a number of the statistics is called in a comparison of batches; None: it is left out."""
    section, _, rest = name.partition(".")
    place, _, field = rest.rpartition(".")
    if section == "overall" and field in COMPARED:
        return COMPARED[field]
    if section == "agents" and field in COMPARED:
        return f"{place}: {COMPARED[field]}"
    return "failed conversations" if name == "missing.conversations" else None


def print_transcript(out: Console, talk: Transcript, *, simulated: bool) -> None:
    label = " (simulated)" if simulated else ""
    names = " and ".join(talk.participants)
    title = f"conversation {talk.sequence_number}, game {talk.game}, round {talk.round}: {names}, {talk.status}{label}"
    out.print(Text(printable(title), style="bold"))
    spans = {outcome["turn"]: outcome for outcome in talk.outcomes if outcome["revealed"]}
    for message in talk.messages:
        out.print()
        out.print(Text(f"{message.turn}. {printable(message.speaker)}", style="bold"))
        content = Text(printable(message.content))
        if found := spans.get(message.turn):
            content.stylize("reverse", found["start"], found["end"])  # type: ignore[arg-type]
        out.print(content)
    out.print()
    if talk.error:
        out.print(Text(f"failed: {printable(talk.error)}", style="red"))
    for outcome in talk.outcomes:
        out.print(Text(_came_to(outcome)))


def _came_to(outcome: dict[str, Any]) -> str:
    name = printable(str(outcome["agent"]))
    how = "kept the secret"
    if outcome["revealed"]:
        how = f"revealed in message {outcome['turn']} ({outcome['detector']})"
    score = "score open until the game ends" if outcome["score"] is None else f"score {number(outcome['score'], 2)}"
    if outcome["verdict_step"] is None:
        return f"{name} {how}, {score}"
    verdict = {None: "no verdict", 0: "kept", 1: "revealed"}[outcome["verdict"]]
    return f"{name} {how}, {score}; judge: {verdict}"
