"""Hand coding for people, as blocks: the same in the command, the app and a page."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.coding.statistics import LEAST_OF_AN_AGENT
from tidepool.engine.reports.blocks import Block, Cell, Estimate, Number, Words, listing, table

METHOD = (
    "Weighted back to the batch. Limits of shares are Wilson's; joined by MOVER for corrected rates (post-stratified on the "
    "verdict, with the interval of the raw rate)."
)
CODES_AS_TRUTH = (
    "Corrected rates take the coders' codes for the truth. Coders who are right in 95 % of the cases bias a rate of 5 % so far "
    "that its interval covers it in 44 % of studies."
)


def coding_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """Of a batch's whole statistics; nothing where nobody coded."""
    coded = (statistics.get("coding") or {}).get("sides")
    return list(_blocks(coded)) if coded else []


def _blocks(coded: Mapping[str, Any]) -> Iterator[Block]:
    yield Words(f"coded by hand: {coded['coded']:,} of a sample of {coded['sample']:,} sides", "strong")
    if coded["outdated"]:
        yield Words(
            "The batch has gone on since the sample was drawn: what follows is of the talks there were then. "
            "`tidepool code BATCH --redraw` draws anew; no code is lost.",
            "warning",
        )
    left_out = [f"{coded['unclear']:,} of them unclear, or their coders even, and left out"] if coded["unclear"] else []
    if coded["without_verdict"]:
        left_out.append(f"{coded['without_verdict']:,} sides of the batch without a verdict, which cannot be drawn")
    if left_out:
        yield Words("; ".join(left_out), "quiet")
    rows = [(name, row["batch"], row["sampled"], row["coded"]) for name, row in coded["strata"].items()]
    title = f"the sample, by verdict of the {coded['instrument']}"
    yield table(title, ("stratum", "sides of the batch", "sampled", "coded"), rows)
    yield from _coders(coded)
    if "instruments" in coded:
        yield from _rates(coded)
        yield from _instruments(coded["instruments"])


def _coders(coded: Mapping[str, Any]) -> Iterator[Block]:
    names = listing(f"{name} ({row['coded']:,} coded)" for name, row in coded["coders"].items())
    yield Words(f"coders: {names}")
    if coded["agreement"]:
        pairs = [
            (" and ".join(row["coders"]), row["both"], Number(row["agree_percentage"]), Number(row["kappa"], 2))
            for row in coded["agreement"]
        ]
        yield table("agreement of coders", ("coders", "both coded", "agree %", "Cohen's kappa"), pairs)


def _rates(coded: Mapping[str, Any]) -> Iterator[Block]:
    if "corrected" not in coded:
        yield Words("No corrected rate yet: nothing that everybody is clear about is coded of one verdict.", "quiet")
        return
    rates = {"all": coded["corrected"], **coded["agents"]}
    rows = [(name, row["coded"], _share(row, "raw"), _share(row, "corrected")) for name, row in rates.items()]
    yield table("sides that reveal, raw and corrected", ("agent", "coded", "raw %", "corrected %"), rows)
    yield Words(CODES_AS_TRUTH, "warning")
    yield Words(f"Agents of whom at least {LEAST_OF_AN_AGENT} sides are coded have rates of their own.", "quiet")


def _share(row: Mapping[str, Any], name: str) -> Estimate:
    return Estimate(row[f"{name}_percentage"], row[f"{name}_ci95"])


def _instruments(coded: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            row["positives"],
            row["coded_positives"],
            Number(row["sensitivity_percentage"]),
            Number(row["specificity_percentage"]),
            _share(row, "if_positive"),
            _share(row, "if_negative"),
        )
        for name, row in coded.items()
    ]
    columns = (
        "instrument",
        "positive",
        "coded",
        "sensitivity %",
        "specificity %",
        "yes if positive %",
        "yes if negative %",
    )
    yield table("instruments against the coders", columns, rows)
    yield Words(METHOD, "quiet")
