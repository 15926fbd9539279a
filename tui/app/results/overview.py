"""The head of any batch: what it was, what it took, what it cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidepool.tui.app.results.blocks import Block, Words, guarded, number, pages_of, table
from tidepool.tui.drawing.plain import one_line
from tidepool.tui.drawing.words import dollars, gained, span


def overview(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = [Words(one_line(summary["name"]), "strong")]
    if summary["simulated"]:
        blocks.append(Words("simulated answers: no model of a provider was asked", "running"))
    blocks.append(table("", ("", ""), _facts(summary), left=2))
    if summary["waves"]:
        blocks.append(_waves(summary["waves"]))
    return blocks


def _facts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    units, calls, tokens = summary["units"], summary["calls"], summary["tokens"]
    performance = summary["performance"]
    reason = f" ({one_line(summary['reason'])})" if summary["reason"] else ""
    extra = "".join(f", {calls[name]:,} {name}" for name in ("cached", "replayed", "retried", "failed") if calls[name])
    return [
        ("state", f"{summary['status']}{reason} after {span(summary['seconds'])}"),
        ("kind", f"{summary['kind'].replace('_', ' ')}, seed {summary['seed']}, id {summary['batch_id']}"),
        ("units", f"{units['completed']:,} of {units['total']:,} completed, {units['failed']:,} failed"),
        ("calls", f"{calls['total']:,}, {calls['bought']:,} bought{extra}"),
        ("tokens", f"{tokens['input']:,} in, {tokens['output']:,} out"),
        ("cost", dollars(summary["cost_usd"]) if summary["cost_usd"] is not None else "unknown: a price is not known"),
        (
            "speed",
            f"{number(performance['calls_per_second'])} calls/s, {number(performance['mean_latency'], 3, ' s')} a call, "
            f"at most {performance['peak_concurrency']:,} at once{gained(performance['speedup_over_sequential'])}",
        ),
    ]


def _waves(waves: Sequence[Mapping[str, Any]]) -> Block:
    rows = [
        (
            f"{wave['index']:,}",
            f"{wave['calls']:,}",
            f"{wave['failed']:,}",
            span(wave["seconds"]),
            "–" if wave["seconds_per_message"] is None else span(wave["seconds_per_message"]),
            wave["transport"],
        )
        for wave in waves
    ]
    return table("waves", ("wave", "calls", "failed", "time", "a message", "transport"), rows, left=0)


def comparison(summaries: Sequence[Mapping[str, Any]]) -> list[Block]:
    """Several batches side by side: a row for each figure they have."""
    heads = [_headline(summary) for summary in summaries]
    names = list(dict.fromkeys(name for head in heads for name in head))
    titles = ["", *(f"{one_line(summary['name'])[:22]} {summary['batch_id'][:4]}" for summary in summaries)]
    rows = [[name, *(head.get(name, "–") for head in heads)] for name in names]
    return [table("side by side", titles, rows)]


def _headline(summary: Mapping[str, Any]) -> dict[str, str]:
    common = {
        "kind": summary["kind"].replace("_", " "),
        "state": summary["status"],
        "seed": f"{summary['seed']}",
        "units": f"{summary['units']['completed']:,} of {summary['units']['total']:,}",
        "calls": f"{summary['calls']['total']:,}",
        "cost": dollars(summary["cost_usd"]),
        "time": span(summary["seconds"]),
    }
    found: dict[str, str] = {}

    def own(statistics: Mapping[str, Any]) -> list[Block]:
        found.update(pages_of(summary["kind"]).headline(statistics))
        return []

    guarded(own, summary["statistics"])
    return {**common, **found}
