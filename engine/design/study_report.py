"""What came out of a study for people, as neutral blocks: hypotheses first, then cells and effects by outcome."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.design.hypotheses import FEWEST_REPLICATES
from tidepool.engine.design.ignored_factors import measured_words
from tidepool.engine.design.outcomes import PERCENT
from tidepool.engine.results.blocks import LONELY, Block, Cell, Estimate, Figure, PValue, Series, Words, table

DIRECTIONS = {"less": "less", "greater": "greater", "two-sided": "either way"}
SHORT_HASH = 12
NO_PROOF = "It is no proof of when they were stated: anyone who can write to the file can change both."


def study_blocks(statistics: Mapping[str, Any]) -> list[Block]:
    """`statistics` are those of `study_statistics`."""
    if not statistics["outcomes"]:
        return [Words("Nothing to compare yet: no batch of this study has an outcome.", "quiet")]
    ignored = statistics.get("ignored_by_simulation", ())
    blocks = [*(Words(measured_words(one), "warning") for one in ignored), *_confirmatory(statistics)]
    for name, outcome in statistics["outcomes"].items():
        blocks += _outcome(name, outcome, statistics)
    return [*blocks, *_method(statistics)]


# -- hypotheses ------------------------------------------------------------------------------------------------


def _confirmatory(statistics: Mapping[str, Any]) -> Iterator[Block]:
    hypotheses = statistics["hypotheses"]
    if trouble := statistics["hypotheses_trouble"]:
        yield Words(f"The hypotheses of this study cannot be read: {trouble}", "warning")
    if not statistics["hypotheses_unchanged"]:
        yield Words(
            "The hash stored in this file differs from that of its hypotheses. Take what follows as exploratory.",
            "warning",
        )
    if not hypotheses:
        return
    outcomes = statistics["outcomes"]
    rows = [
        (
            f"H{place} {one['outcome']}; {_short(one['contrast'], statistics['factors'])}",
            DIRECTIONS[one["direction"]],
            one["verdict"],
            _difference(one, outcomes[one["outcome"]]),
            PValue(one["p_value"]),
            PValue(one["p_value_holm"]),
            _counted(one),
        )
        for place, one in enumerate(hypotheses, 1)
    ]
    columns = ("hypothesis", "expected", "verdict", "difference (95 %)", "p", "p (Holm)", "counted")
    agrees = statistics["hypotheses_unchanged"]
    yield table(f"{'confirmatory' if agrees else 'exploratory'}: hypotheses of the design", columns, rows, left=3)
    if agrees:
        stored = (
            f"sha256 {str(statistics['hypotheses_hash'])[:SHORT_HASH]}…, dated {statistics['frozen_at'] or 'unknown'}"
        )
        yield Words(f"The hash stored in this file agrees with them ({stored}). {NO_PROOF}", "quiet")
    yield from _as_planned(statistics)


def _as_planned(statistics: Mapping[str, Any]) -> Iterator[Block]:
    """What was stated holds for the study that was planned: neither for a part of it, nor for one that grew."""
    if added := statistics["batches_added"]:
        told = f"{added:,} batches were added after that, the last at {statistics['added_at']}"
        yield Words(f"{told}: the error of 5 % is that of a size fixed beforehand, not of one that grew.", "warning")
    if lacking := statistics.get("batches_lacking"):
        told = f"{lacking:,} batches of the study are not at their end, or not in this file"
        yield Words(f"{told}: verdicts are so far those of a part of it.", "warning")


def _difference(one: Mapping[str, Any], outcome: Mapping[str, Any]) -> Estimate:
    return Estimate(one["difference"], _pair(one["difference_ci95"]), outcome["digits"], signed=True)


def _pair(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    return None if bounds is None else (bounds[0], bounds[1])


def _counted(one: Mapping[str, Any]) -> str:
    if not one["units"]:
        return "–"
    told = f"{one['number']:,} {one['units']}"
    return f"{told}, {one['left_out']:,} left out" if one["left_out"] else told


# -- by outcome ------------------------------------------------------------------------------------------------


def _outcome(name: str, outcome: Mapping[str, Any], statistics: Mapping[str, Any]) -> Iterator[Block]:
    yield Words(name, "strong")
    yield _cells(name, outcome, list(statistics["factors"]))
    named = [(f"H{place}", one) for place, one in enumerate(statistics["hypotheses"], 1) if one["outcome"] == name]
    named += [(f"E{place}", one) for place, one in enumerate(outcome["effects"], 1)]
    if known := [(mark, one) for mark, one in named if one["difference"] is not None]:
        yield _forest(f"effects on {name}{_in(outcome)}", known, outcome, statistics["factors"])
    if outcome["effects"]:
        yield _effects(name, outcome, statistics["factors"])


def _forest(
    title: str,
    named: Sequence[tuple[str, Mapping[str, Any]]],
    outcome: Mapping[str, Any],
    factors: Mapping[str, Sequence[str]],
) -> Block:
    """Marks as in the tables: a figure has little room for names."""
    estimates = [_difference(one, outcome) for _, one in named]
    bounds = tuple(one.interval for one in estimates)
    series = Series("difference", tuple(one.value for one in estimates), intervals=bounds)
    labels = tuple(f"{mark} {_short(one['contrast'], factors)}" for mark, one in named)
    told = "H: hypothesis of the design, E: exploratory." if any(mark.startswith("H") for mark, _ in named) else ""
    lacking = LONELY if None in bounds else "With 95 % intervals."
    caption = f"{lacking} {told}".strip()
    return Figure("means", title, (series,), labels=labels, caption=caption, reference=0.0)


def _short(contrast: str, factors: Mapping[str, Sequence[str]]) -> str:
    """Without the names of factors, where their levels say enough."""
    levels = [level for own in factors.values() for level in set(own)]
    if len(levels) == len(set(levels)):
        for factor in sorted(factors, key=len, reverse=True):
            contrast = contrast.replace(f"{factor}: ", "").replace(f"{factor} = ", "")
    providers = {level.partition(":")[0] for level in levels if ":" in level}
    return contrast.replace(f"{providers.pop()}:", "") if len(providers) == 1 else contrast


def _in(outcome: Mapping[str, Any]) -> str:
    return ", percentage points" if outcome["unit"] == PERCENT else ""


def _cells(name: str, outcome: Mapping[str, Any], factors: Sequence[str]) -> Block:
    counted = "talks" if outcome["per_talk"] else "batches"
    unit = f" {outcome['unit']}" if outcome["unit"] else ""
    rows: list[tuple[Cell, ...]] = [
        (
            *(one["levels"][factor] for factor in factors),
            one[counted],
            one["missing"],
            Estimate(one["mean"], _pair(one["ci95"]), outcome["digits"]),
        )
        for one in outcome["cells"]
    ]
    columns = (*factors, counted, "lacking", f"{name}{unit} (95 %)")
    return table(f"{outcome['words']}, by cell", columns, rows, left=len(factors))


def _effects(name: str, outcome: Mapping[str, Any], factors: Mapping[str, Sequence[str]]) -> Block:
    rows = [
        (
            f"E{place} {_short(one['contrast'], factors)}",
            one["note"] or "",
            _difference(one, outcome),
            PValue(one["p_value"]),
            PValue(one["p_value_holm"]),
            _counted(one),
        )
        for place, one in enumerate(outcome["effects"], 1)
    ]
    columns = ("effect", "", f"difference{_in(outcome)} (95 %)", "p", "p (Holm)", "counted")
    return table(f"exploratory: effects on {name}", columns, rows, left=2)


# -- how -------------------------------------------------------------------------------------------------------


def _method(statistics: Mapping[str, Any]) -> Iterator[Block]:
    every = [*statistics["hypotheses"], *(e for one in statistics["outcomes"].values() for e in one["effects"])]
    units = {str(one["units"]) for one in every if one["units"]}
    if not units:
        return
    told = ["Each effect is one contrast of cells, taken within each block and then averaged over blocks."]
    if units - {"replicates"}:
        told.append(
            "A block is the talk of one number in one replicate: cells share their seed, so it is the same meeting in all of them."
        )
    if any("games" in one for one in units):
        told.append("Talks that memory or kept secrets link are counted by game.")
    if any("scenarios" in one for one in units):
        told.append("Scenarios repeat and are counted as what they are: the effect speaks of scenarios like these.")
    if "replicates" in units:
        told.append(
            "Replicates are counted where an outcome is one number a batch, or a level changes who or what is drawn; "
            f"fewer than {FEWEST_REPLICATES} give an interval and no verdict."
        )
    if statistics["mode"] == "paired":
        told.append("The factors went in step, so a step differs in all of them at once: no factor's part can be told.")
    elif any(one.get("kind") == "main" for one in every):
        told.append(
            "Main effects are averaged over the levels of the other factors; an interaction is a difference of differences."
        )
    if any(one.get("kind") for one in every):
        told.append(
            "Exploratory is what is no hypothesis of the design: p is corrected over the effects on that outcome (Holm), and what "
            "looks large is a hypothesis for another study."
        )
    told.append("Intervals at 95 % and p-values come from one estimator; a direction that was stated halves p.")
    yield Words(" ".join(told), "quiet")
