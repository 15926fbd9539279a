"""Hand coding for people, as blocks: the same in the command, the app and a page."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.coding.statistics import LEAST_OF_AN_AGENT, Accuracy, CodedUnits, CorrectedRate
from tidepool.engine.results.blocks import Block, Cell, Estimate, Headline, Number, Words, table

ANSWERS = "answers"
METHOD = (
    "Weighted back to the batch by the sample's strata. Limits of shares are Wilson's; joined by MOVER for corrected rates "
    "(post-stratified on the verdict, with the interval of the raw rate) and, as a ratio, for sensitivity and specificity."
)


def coding_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """Of a batch's whole statistics; nothing where nobody coded."""
    found = statistics.get("coding") or {}
    return [block for unit, item in found.items() for block in blocks_of(unit, CodedUnits.from_json(item))]


def blocks_of(unit: str, found: CodedUnits) -> Iterator[Block]:
    unit = ANSWERS if found.instrument == "marks" else unit
    yield Words(f"coded by hand: {found.coded:,} of a sample of {found.sample:,} {unit}", "strong")
    if found.outdated:
        yield Words(
            "The batch has gone on since the sample was drawn: what follows is of the talks there were then. "
            "`tidepool code BATCH --redraw` draws anew; no code is lost.",
            "warning",
        )
    if left_out := _left_out(unit, found):
        yield Words(left_out, "quiet")
    yield from _strata(unit, found)
    yield from _coders(found)
    yield from _rates(unit, found)
    yield from _instruments(unit, found.instruments or {})
    yield from _ratings(found)


def _left_out(unit: str, found: CodedUnits) -> str:
    parts = [f"{found.unclear:,} of them unclear, or their coders even, and left out"] if found.unclear else []
    if found.without_verdict:
        parts.append(f"{found.without_verdict:,} {unit} of the batch without a verdict, which cannot be drawn")
    return "; ".join(parts)


def _strata(unit: str, found: CodedUnits) -> Iterator[Block]:
    by = "rating" if found.ratings or not found.instruments else f"verdict of the {found.instrument}"
    rows = [(name, row.batch, row.sampled, row.coded) for name, row in found.strata.items()]
    yield table(f"the sample, by {by}", ("stratum", f"{unit} of the batch", "sampled", "coded"), rows)


def _coders(found: CodedUnits) -> Iterator[Block]:
    kinds = list(dict.fromkeys(code for row in found.coders.values() for code in sorted(row.codes)))
    rows: list[tuple[Cell, ...]] = [
        (name, row.coded, *(row.codes.get(code, 0) for code in kinds)) for name, row in found.coders.items()
    ]
    yield table("coders", ("coder", "coded", *kinds), rows)
    if not found.agreement.pairs:
        return
    pairs = [
        (" and ".join(row.coders), row.both, Number(row.agree_percentage), Estimate(row.kappa, row.kappa_ci95, 2))
        for row in found.agreement.pairs
    ]
    name = "Cohen's kappa" if found.agreement.level == "nominal" else "kappa, squared weights"
    yield table("agreement of coders", ("coders", "both coded", "agree %", f"{name} (95 %)"), pairs)
    yield Headline("Krippendorff's alpha", Number(found.agreement.alpha, 2), f"{found.agreement.level}, all coders")


def _rates(unit: str, found: CodedUnits) -> Iterator[Block]:
    if found.corrected is None:
        if found.instruments is not None:
            yield Words(
                "No corrected rate yet: nothing that everybody is clear about is coded of one verdict.", "quiet"
            )
        return
    rates = {"all": found.corrected, **(found.agents or {})}
    rows = [(name, row.coded, _share(row, "raw"), _share(row, "corrected")) for name, row in rates.items()]
    whose = {"sides": "agent", ANSWERS: "model"}.get(unit, "")
    what = "are right" if unit == ANSWERS else "reveal"
    yield table(f"{unit} that {what}, raw and corrected", (whose, "coded", "raw %", "corrected %"), rows)
    if unit == "sides":
        yield Words(f"Agents of whom at least {LEAST_OF_AN_AGENT} sides are coded have rates of their own.", "quiet")


def _share(row: Accuracy | CorrectedRate, name: str) -> Estimate:
    return Estimate(getattr(row, f"{name}_percentage"), getattr(row, f"{name}_ci95"))


def _instruments(unit: str, found: Mapping[str, Accuracy]) -> Iterator[Block]:
    if not found:
        return
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            row.positives,
            row.coded_positives,
            *(_share(row, one) for one in ("sensitivity", "specificity", "if_positive")),
            *([Estimate(row.kappa, row.kappa_ci95, 2)] if unit == ANSWERS else []),
        )
        for name, row in found.items()
    ]
    columns = ["instrument", "positive", "coded", "sensitivity %", "specificity %", "right if positive %"]
    if unit == ANSWERS:
        columns.append("Cohen's kappa (95 %)")
    yield table(f"instruments against the coders ({unit})", columns, rows)
    yield Words(METHOD, "quiet")


def _ratings(found: CodedUnits) -> Iterator[Block]:
    row = found.ratings
    if row is None:
        if found.instruments is None:
            yield Words("No corrected mean yet: of some ratings none is coded.", "quiet")
        return
    yield Headline(
        "judge − coders", Estimate(row.difference, row.difference_ci95, 2, signed=True), f"{row.coded:,} coded"
    )
    yield Headline("mean rating, the judge's", Estimate(row.mean, row.mean_ci95, 2))
    yield Headline("mean rating, corrected", Estimate(row.corrected_mean, row.corrected_mean_ci95, 2))
    yield Words(
        "The difference is a stratified mean with Student's interval; the corrected mean is the judge's less the "
        "difference, their limits joined by MOVER.",
        "quiet",
    )
