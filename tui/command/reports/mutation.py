"""What was learnt: the comparison on held-out queries, the learning curve with its spread, the operators; and
episodes to read.
"""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidepool.storage.queries import Transcript
from tidepool.tui.command.report import number
from tidepool.tui.drawing.charts import lines
from tidepool.tui.drawing.terminal import printable

WIDEST = 100


def print_statistics(out: Console, statistics: dict[str, Any]) -> None:
    if statistics["heldout"]:
        _print_heldout(out, statistics)
    else:
        out.print(Text("not yet compared on held-out queries"))
    _print_losses(out, statistics)
    if statistics["updates"]:
        out.print()
        _print_curve(out, statistics)
    if any(row["uses"] for row in statistics["operators"].values()):
        out.print()
        _print_operators(out, statistics)


def _print_heldout(out: Console, statistics: dict[str, Any]) -> None:
    heldout = statistics["heldout"]
    missing = f", {heldout['missing']} left out because answers are missing" if heldout["missing"] else ""
    out.print(Text(f"on {heldout['queries']} held-out queries{missing} (reward {statistics['reward']}):"))
    table = Table(box=None, pad_edge=False)
    table.add_column("who")
    for name in ("mean reward", "95 %", "policy gains", "95 %"):
        table.add_column(name, justify="right")
    table.add_row(f"policy ({statistics['learner']})", *_estimate(heldout["policy"]), "", "", style="bold")
    table.add_row("random", *_estimate(heldout["random"]), *_estimate(heldout["policy_over_random"], "difference"))
    constant = f"always {heldout['best_constant']['operator']} (the best)"
    gain = _estimate(heldout["policy_over_best_constant"], "difference")
    table.add_row(constant, *_estimate(heldout["best_constant"]), *gain)
    for name in statistics["baselines"]:
        if name in heldout["others"]:
            table.add_row(name, *_estimate(heldout["others"][name]), "", "")
    out.print(table)


def _estimate(found: dict[str, Any], name: str = "mean_reward") -> tuple[str, str]:
    if found[name] is None:
        return "–", "–"
    low, high = found["ci95"]
    sign = "+" if name == "difference" else ""
    return f"{found[name]:{sign}.3f}", f"{low:{sign}.3f} to {high:{sign}.3f}"


def _print_losses(out: Console, statistics: dict[str, Any]) -> None:
    out.print(
        Text(
            f"{statistics['masked_steps']:,} steps masked (their answers were lost), "
            f"{statistics['fallback_rewrites']:,} rewrites fell back to the query as it was"
        )
    )


def _print_curve(out: Console, statistics: dict[str, Any]) -> None:
    updates = statistics["updates"]
    spread = [update["quartiles"] for update in updates]
    series = {
        statistics["learner"]: [update["smoothed"] for update in updates],
        "middle half from": [low for low, _ in spread],
        "to": [high for _, high in spread],
    }
    for name, baseline in statistics["baselines"].items():
        series[name] = [update["smoothed"] for update in baseline["updates"]]
    steps = [update["env_steps"] for update in updates]
    width = min(out.width, WIDEST)
    title = "reward while learning, smoothed"
    out.print(Text.from_ansi(lines(title, steps, series, width=width, xlabel="answered steps", ylabel="reward")))
    last = updates[-1]
    out.print(
        Text(
            f"update {last['update']}: mean reward {last['mean_reward']:.3f}, "
            f"{100 * last['success_rate']:.0f} % of its episodes ended well"
        )
    )


def _print_operators(out: Console, statistics: dict[str, Any]) -> None:
    """How often each operator was played, at first and in the end, and what it brought."""
    operators, updates = statistics["operators"], statistics["updates"]
    table = Table(box=None, pad_edge=False)
    table.add_column("operator")
    for name in ("uses", "share", "at first", "at last", "mean reward"):
        table.add_column(name, justify="right")
    table.add_column("")
    total = sum(row["uses"] for row in operators.values())
    for name, row in operators.items():
        ends = [_share(update["uses"], name) for update in (updates[0], updates[-1])] if updates else ["", ""]
        table.add_row(
            name,
            f"{row['uses']:,}",
            _percent(row["uses"], total),
            *ends,
            number(row["mean_reward"], 3),
            _bar(row["mean_reward"]),
        )
    out.print(table)


def _bar(reward: float | None) -> str:
    return "█" * round(20 * (reward or 0.0))


def _share(uses: dict[str, int], name: str) -> str:
    return _percent(uses.get(name, 0), sum(uses.values()))


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %" if total else "–"


COMPARED = {
    "heldout.policy.mean_reward": "policy on held-out queries",
    "heldout.random.mean_reward": "random on held-out queries",
    "heldout.best_constant.mean_reward": "best constant operator there",
    "heldout.policy_over_random.difference": "policy over random",
    "heldout.policy_over_best_constant.difference": "policy over best constant",
    "heldout.queries": "held-out queries",
    "masked_steps": "steps masked",
    "fallback_rewrites": "rewrites that fell back",
}


def compared(name: str) -> str | None:
    """How a number of the statistics is called in a comparison of batches; None: it is left out."""
    section, _, rest = name.partition(".")
    if section == "operators":
        operator, _, field = rest.partition(".")
        return f"{operator}: {'uses' if field == 'uses' else 'mean reward'}"
    return COMPARED.get(name)


ENDINGS = {
    "success": "ended well",
    "length": "its length was used up",
    "lost": "the last step was lost and does not count",
    "budget": "the budget was used up",
}


def print_transcript(out: Console, episode: Transcript, *, simulated: bool) -> None:
    details = episode.details
    label = " (simulated)" if simulated else ""
    who = " and ".join(episode.participants)
    phase = details.get("phase", "training")
    out.print(
        Text(printable(f"episode {episode.sequence_number}, {phase}, {who}, {episode.status}{label}"), style="bold")
    )
    if not details:
        out.print(Text("under way: rewards are told when it has ended"))
    else:
        kind = f" ({details['kind']})" if details["kind"] else ""
        out.print(Text(printable(f"query{kind}: {details['query']}")))
        if details["reference"]:
            out.print(Text(printable(f"reference: {details['reference']}"), style="dim"))
    said = {message.turn: message for message in episode.messages}
    steps = details.get("steps") or [{} for _ in range((max(said, default=0) + 1) // 2)]
    for index, step in enumerate(steps):
        _print_step(out, index, step, said)
    if details:
        score = number(details["mean_reward"], 3)
        out.print(Text(f"\n{ENDINGS[details['ended']]}; mean reward {score}"))


def _print_step(out: Console, index: int, step: dict[str, Any], said: dict[int, Any]) -> None:
    rewrite, answer = said.get(2 * index + 1), said.get(2 * index + 2)
    operator = step.get("operator") or (rewrite.speaker if rewrite else "step")
    fell_back = " (fell back: no usable rewrite)" if step.get("fell_back") else ""
    out.print()
    out.print(Text(f"{index + 1}. {operator}{fell_back}", style="bold"))
    if rewrite:
        out.print(Text(printable(rewrite.content)))
    if answer:
        out.print(Text("target: ", style="bold") + Text(printable(answer.content), style="not bold"))
    if step:
        lost = "lost: masked" if step["reward"] is None else f"reward {step['reward']:.3f}"
        out.print(Text(lost, style="dim"))
