"""The report on hand coding, as blocks for the command, the app and pages."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.coding.statistics import LEAST_OF_AN_AGENT
from tidepool.engine.reports.blocks import Block, Cell, Estimate, Number, Words, listing, table

METHOD = (
    "All values are weighted from the sample to the batch. Shares have Wilson's interval. A corrected rate combines the raw rate "
    "with the shares of correct verdicts (post-stratification), and the MOVER method joins their three intervals into its own."
)
CODES_AS_TRUTH = (
    "Corrected rates assume that the coders' codes are true. If coders are right in 95 % of the cases and the rate is 5 %, the "
    "interval covers it in only 44 % of studies."
)


def coding_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """Returns the blocks on hand coding from a batch's statistics, or no blocks without codes."""
    coded = (statistics.get("coding") or {}).get("sides")
    return list(_blocks(coded)) if coded else []


def _blocks(coded: Mapping[str, Any]) -> Iterator[Block]:
    yield Words(f"coded by hand: {coded['coded']:,} of a sample of {coded['sample']:,} sides", "strong")
    if coded["outdated"]:
        yield Words(
            "The batch has new conversations since the sample was drawn, which these results leave out. "
            "`tidepool code BATCH --redraw` draws a new sample. All codes are kept.",
            "warning",
        )
    left_out = [f"{coded['unclear']:,} of them left out: unclear, or a tie between coders"] if coded["unclear"] else []
    if coded["without_verdict"]:
        left_out.append(f"{coded['without_verdict']:,} sides of the batch cannot be drawn: no verdict")
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
        yield Words("No corrected rate yet: one of the two verdicts has no side with a clear code.", "quiet")
        return
    rates = {"all": coded["corrected"], **coded["agents"]}
    rows = [(name, row["coded"], _share(row, "raw"), _share(row, "corrected")) for name, row in rates.items()]
    yield table("rates, raw and corrected", ("agent", "coded", "raw %", "corrected %"), rows)
    yield Words(CODES_AS_TRUTH, "warning")
    yield Words(f"Agents with at least {LEAST_OF_AN_AGENT} coded sides have their own rates.", "quiet")


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
