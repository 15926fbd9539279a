"""Hand coding for people, as blocks: the same in the command, the app and a page."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.coding.statistics import LEAST_OF_AN_AGENT, Accuracy, CodedUnits, CorrectedRate
from tidepool.engine.reports.blocks import Block, Cell, Estimate, Headline, Number, Words, table

ANSWERS = "answers"
METHOD = (
    "Weighted back to the batch by the sample's strata. Limits of shares are Wilson's; joined by MOVER for corrected rates "
    "(post-stratified on the verdict, with the interval of the raw rate) and, as a ratio, for sensitivity and specificity."
)


def coding_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """Of a batch's whole statistics; nothing where nobody coded."""
    coding = statistics.get("coding") or {}
    return [block for unit, data in coding.items() for block in blocks_of(unit, CodedUnits.from_json(data))]


def blocks_of(unit: str, coded: CodedUnits) -> Iterator[Block]:
    unit = ANSWERS if coded.instrument == "marks" else unit
    yield Words(f"coded by hand: {coded.coded:,} of a sample of {coded.sample:,} {unit}", "strong")
    if coded.outdated:
        yield Words(
            "The batch has gone on since the sample was drawn: what follows is of the talks there were then. "
            "`tidepool code BATCH --redraw` draws anew; no code is lost.",
            "warning",
        )
    if left_out := _format_left_out(unit, coded):
        yield Words(left_out, "quiet")
    yield from _strata(unit, coded)
    yield from _coders(coded)
    yield from _rates(unit, coded)
    yield from _instruments(unit, coded.instruments or {})
    yield from _ratings(coded)


def _format_left_out(unit: str, coded: CodedUnits) -> str:
    parts = [f"{coded.unclear:,} of them unclear, or their coders even, and left out"] if coded.unclear else []
    if coded.without_verdict:
        parts.append(f"{coded.without_verdict:,} {unit} of the batch without a verdict, which cannot be drawn")
    return "; ".join(parts)


def _strata(unit: str, coded: CodedUnits) -> Iterator[Block]:
    by = "rating" if coded.ratings or not coded.instruments else f"verdict of the {coded.instrument}"
    rows = [(name, row.batch, row.sampled, row.coded) for name, row in coded.strata.items()]
    yield table(f"the sample, by {by}", ("stratum", f"{unit} of the batch", "sampled", "coded"), rows)


def _coders(coded: CodedUnits) -> Iterator[Block]:
    kinds = list(dict.fromkeys(code for row in coded.coders.values() for code in sorted(row.codes)))
    rows: list[tuple[Cell, ...]] = [
        (name, row.coded, *(row.codes.get(code, 0) for code in kinds)) for name, row in coded.coders.items()
    ]
    yield table("coders", ("coder", "coded", *kinds), rows)
    if not coded.agreement.pairs:
        return
    pairs = [
        (" and ".join(row.coders), row.both, Number(row.agree_percentage), Estimate(row.kappa, row.kappa_ci95, 2))
        for row in coded.agreement.pairs
    ]
    name = "Cohen's kappa" if coded.agreement.level == "nominal" else "kappa, squared weights"
    yield table("agreement of coders", ("coders", "both coded", "agree %", f"{name} (95 %)"), pairs)
    yield Headline("Krippendorff's alpha", Number(coded.agreement.alpha, 2), f"{coded.agreement.level}, all coders")


def _rates(unit: str, coded: CodedUnits) -> Iterator[Block]:
    if coded.corrected is None:
        if coded.instruments is not None:
            yield Words(
                "No corrected rate yet: nothing that everybody is clear about is coded of one verdict.", "quiet"
            )
        return
    rates = {"all": coded.corrected, **(coded.agents or {})}
    rows = [(name, row.coded, _share(row, "raw"), _share(row, "corrected")) for name, row in rates.items()]
    owner_column = {"sides": "agent", ANSWERS: "model"}.get(unit, "")
    predicate = "are right" if unit == ANSWERS else "reveal"
    yield table(f"{unit} that {predicate}, raw and corrected", (owner_column, "coded", "raw %", "corrected %"), rows)
    if unit == "sides":
        yield Words(f"Agents of whom at least {LEAST_OF_AN_AGENT} sides are coded have rates of their own.", "quiet")


def _share(row: Accuracy | CorrectedRate, name: str) -> Estimate:
    return Estimate(getattr(row, f"{name}_percentage"), getattr(row, f"{name}_ci95"))


def _instruments(unit: str, coded: Mapping[str, Accuracy]) -> Iterator[Block]:
    if not coded:
        return
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            row.positives,
            row.coded_positives,
            *(_share(row, measure) for measure in ("sensitivity", "specificity", "if_positive")),
            *([Estimate(row.kappa, row.kappa_ci95, 2)] if unit == ANSWERS else []),
        )
        for name, row in coded.items()
    ]
    columns = ["instrument", "positive", "coded", "sensitivity %", "specificity %", "right if positive %"]
    if unit == ANSWERS:
        columns.append("Cohen's kappa (95 %)")
    yield table(f"instruments against the coders ({unit})", columns, rows)
    yield Words(METHOD, "quiet")


def _ratings(coded: CodedUnits) -> Iterator[Block]:
    row = coded.ratings
    if row is None:
        if coded.instruments is None:
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
