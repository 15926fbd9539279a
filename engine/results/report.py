"""The report of a batch as blocks: facts that all kinds have in common, and the results of its kind."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tidepool.engine.branching.results import results_shown
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.errors import UsageError
from tidepool.engine.kinds import KINDS, load_kind
from tidepool.engine.reports.blocks import (
    Block,
    Estimate,
    Report,
    Words,
    counted,
    in_flight,
    judge_notes,
    money,
    number,
    p_value,
    requests,
    section,
    span,
    table,
    text_of,
)
from tidepool.engine.reports.figures import assign_places
from tidepool.engine.results.methods import ODD, methods_of
from tidepool.engine.results.simulated_roles import simulated_words
from tidepool.engine.runtime.stop_results import stopping_blocks
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.queries.lists import everybody

FEW_LOST = 0.03
"""share of failed requests up to which the report has no warning"""
RESUMABLE = {"interrupted": "resume", "partial": "retry", "failed": "retry"}
"""by status: the effect of a resume"""

Summary = Mapping[str, Any]


def report_of(database: Path, summary: Summary, *, methods: bool = True) -> Report:
    """Returns the report of a batch. It is faster without methods, which count all requests of the batch."""
    results = results_shown(summary)
    with reading(database) as connection:
        batch = find_batch(connection, summary["batch_id"])
        trend = drift(summary["statistics"], results.in_quarters)
        findings = [*results.blocks(summary["statistics"]), *section("drift", *trend)]
        shown_findings = assign_places(findings, everybody(connection, batch["number"]))
        config = StoredConfig(batch["config"])
        paragraphs = methods_or_warning(lambda: methods_of(connection, batch, config, summary)) if methods else ()
    shown = (*shown_findings, *section("stopping", *stopping_blocks(summary["statistics"])))
    head = overview(summary, [simulated_words(summary["roles"])], facts(summary))
    return Report(summary["name"], tuple(head), shown, paragraphs)


def drift(statistics: Mapping[str, Any], measure: str) -> Iterator[Words]:
    """Yields the main measure by quarters of the run, since a served model may change during a run."""
    if not (run := statistics.get("over_the_run")):
        return
    quarters = ", ".join(text_of(Estimate(row["mean"], tuple(row["ci95"]))) for row in run["quarters"])
    about = f" ({run['estimand']})" if "estimand" in run else ""
    text = f"{measure}, by quarters of the run{about}: {quarters}"
    if run["p_value"] < 0.01:
        change = f"It changed during the run (p = {p_value(run['p_value'])}). The intervals of this report assume that it did not."
        yield Words(f"{text}. {change}", "warning")
    else:
        yield Words(f"{text}. No sign of drift (p = {p_value(run['p_value'])}).", "quiet")


def methods_or_warning(make: Callable[[], tuple[Block, ...]]) -> tuple[Block, ...]:
    """Returns the methods, or a warning if the config of an untrusted file is incomplete."""
    try:
        return make()
    except (ArithmeticError, AttributeError, LookupError, TypeError, UsageError, ValueError):
        return (Words("The methods text is missing, because the config of this batch is incomplete.", "warning"),)


def overview(summary: Summary, simulated: Iterable[str], facts: Iterable[tuple[str, str]]) -> Iterator[Block]:
    """Yields the overview of a batch or study. `simulated` is shown if any reply was simulated."""
    calls = summary["calls"]
    if calls["failed"] > FEW_LOST * calls["total"]:
        share = f"{calls['failed']:,} of {calls['total']:,} requests ({100 * calls['failed'] / calls['total']:.1f} %)"
        rest = "The results use the others." if calls["failed"] < calls["total"] else "There are no results."
        yield Words(f"{share} failed. {rest}", "warning")
    if summary["simulated"]:
        yield from (Words(words, "simulated") for words in simulated)
    yield from (
        Words(words, "warning") for words in judge_notes(summary["kind"], (role["model"] for role in summary["roles"]))
    )
    yield table("", ("", ""), list(facts), left=2)


def failure_words(failure: Mapping[str, Any]) -> str:
    """Formats the requests and units that failed for one reason, in a study with the batch of the first."""
    reason = " ".join(str(failure["error"]).split())
    counts = ", ".join(
        f"{failure[name]:,} {noun}{'s' * (failure[name] != 1)}"
        for name, noun in (("calls", "failed request"), ("units", "unit"))
        if failure[name]
    )
    batch = f" of batch {failure['batch_id']}" if "batch_id" in failure else ""
    return f"{counts}: {reason} (first: unit {failure['first']:,}{batch})"


def state_of(summary: Summary) -> str:
    paused = " (paused)" if summary.get("paused") else ""
    reason = f" ({summary['reason']})" if summary["reason"] else ""
    return f"{summary['status'].replace('_', ' ')}{paused}{reason} after {span(summary['seconds'])}"


def unit_name(summary: Summary) -> str:
    """Returns the name of the units of the batch's kind."""
    return load_kind(summary["kind"]).units if summary["kind"] in KINDS else "units"


def facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yields the facts about a batch or a study."""
    units, calls, tokens, design = summary["units"], summary["calls"], summary["tokens"], summary.get("design", {})
    noun = "study" if "study_id" in summary else "batch"
    identity = summary[f"{noun}_id"]
    seed = summary.get("seed", design.get("seed"))
    yield "state", f"{state_of(summary)}, seed {seed}"
    yield "kind", f"{summary['kind'].replace('_', ' ')}, {noun} {identity}"
    if origin := summary.get("origin"):
        yield "origin", f"branch of batch {origin['batch_id']} at message {origin['at']}"
    for factor in design.get("factors", ()):
        yield "factor", f"{factor['name']}: {', '.join(level['level'] for level in factor['levels'])}"
    if noun == "study":
        replicates = counted(design.get("replicates", 1), "replicate")
        yield "cells", f"{len(summary['cells']):,} batches, {replicates} of each combination"
    failed = f", {units['failed']:,} failed" if units["failed"] else ""
    yield unit_name(summary), f"{units['completed']:,} of {units['total']:,} completed{failed}"
    yield "requests", requests(**calls)
    if problems := ", ".join(
        words.format(summary["replies"][name]) for name, words in ODD.items() if summary["replies"][name]
    ):
        yield "replies", problems
    yield from (("failed", failure_words(failure)) for failure in summary["failures"])
    for job in summary.get("provider_batches", ()):
        where = f"{job['provider']} {job['id'] or '(being created)'}"
        yield "waiting", f"for {job['calls']:,} requests at {where}: {job['state']}, {span(job['seconds'])} so far"
    if saved := summary.get("calls_saved"):
        yield "saved", f"{saved:,} requests by early stopping"
    unpriced = " (a price is missing)" if summary["cost_usd"] is None else ""
    yield "cost", f"{money(summary['cost_usd'])}{unpriced}, {tokens['input']:,} tokens in, {tokens['output']:,} out"
    if tokens["reasoning"]:
        yield "reasoning", f"{tokens['reasoning']:,} of the tokens out"
    for served in summary["served_models"][:MOST_SERVED]:
        if served["model"].partition(":")[2] != served["served"]:
            yield "served", f"{served['model']} by {served['served']} ({served['replies']:,} replies)"
    if performance := summary.get("performance"):
        yield "speed", _speed(performance)
    if summary["status"] in RESUMABLE:
        yield RESUMABLE[summary["status"]], f"tidepool resume {identity}"


MOST_SERVED = 20


def _speed(performance: Mapping[str, Any]) -> str:
    """Formats the speed. Latency and concurrency are those of live requests, since provider batches have neither."""
    rate = performance["calls_per_second"]
    text = f"{number(rate, 1 if rate is None or rate >= 1 else 2)} requests/s"
    if performance["mean_latency"] is not None:
        latency, at_once = number(performance["mean_latency"], 3, " s"), performance["peak_concurrency"]
        text += f", mean latency {latency}, peak {at_once:,} requests in flight"
    return text + in_flight(performance["calls_in_flight_mean"])
