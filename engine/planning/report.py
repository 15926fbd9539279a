"""Power before purchase for people, as neutral blocks: what is taken for true, how sure the study will be, what more takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.design.outcomes import PERCENT
from tidepool.engine.results.blocks import Block, Cell, Number, Words, money, span, table

WORLDS = ("least", "middle", "most")
"""how much an outcome may spread"""
SIDES = {"less": "less", "greater": "more", "two-sided": "either way"}


def power_blocks(power: Mapping[str, Any]) -> list[Block]:
    """Of the `power` of a plan."""
    if power.get("note"):
        return [Words(power["note"], "quiet")]
    return [*_assumed(power), *_precision(power), *_needed(power), *_notes(power)]


# -- what is taken for true ------------------------------------------------------------------------------------


def _assumed(power: Mapping[str, Any]) -> Iterator[Block]:
    if power["seen"]:
        rows = [(entry["what"], entry["outcome"], *_three(entry["range"], 3)) for entry in power["seen"]]
        yield table(f"seen in the pilot {power['pilot']}", ("", "of", *WORLDS), rows, left=2)
    if power["assumptions"]:
        assumed_rows = [
            (entry["name"], entry["words"], "stated" if entry["stated"] else "assumed", *_three(entry["values"], 3))
            for entry in power["assumptions"]
        ]
        title = "taken for true, from the least spread to the most (--assume NAME=VALUE states it)"
        yield table(title, ("", "", "", *WORLDS), assumed_rows, left=3)


def _three(values: Sequence[float | None], digits: int, unit: str = "") -> list[Cell]:
    return [Number(value, digits, unit) for value in (values or (None,) * 3)]


def _points(entry: Mapping[str, Any], values: Sequence[float | None]) -> list[Cell]:
    return _three(values, entry["digits"], " points" if entry["unit"] == PERCENT else "")


def _counted(entry: Mapping[str, Any]) -> str:
    return f"{entry['number']:,} {entry['units']}"


# -- how sure --------------------------------------------------------------------------------------------------


def _precision(power: Mapping[str, Any]) -> Iterator[Block]:
    if power["half_widths"]:
        rows = [(entry["of"], _counted(entry), *_points(entry, entry["half_width"])) for entry in power["half_widths"]]
        yield table("half-width to expect, of intervals at 95 %", ("of", "counted", *WORLDS), rows, left=2)
    if power["differences"]:
        table_rows = [
            (_between(entry), entry["note"] or _counted(entry), *_points(entry, entry["smallest"]))
            for entry in power["differences"]
        ]
        title = f"smallest difference that is found with {100 * power['power']:.0f} % power"
        yield table(title, ("between", "counted", *WORLDS), table_rows, left=2)


def _between(entry: Mapping[str, Any]) -> str:
    stated = f"one of {entry['tests']} stated" if entry["tests"] > 1 else "stated"
    suffix = f", {SIDES[entry['direction']]}, {stated}" if entry["stated"] else ""
    return f"{entry['outcome']}: {entry['between']}{suffix}"


# -- what a difference takes -----------------------------------------------------------------------------------


def _needed(power: Mapping[str, Any]) -> Iterator[Block]:
    detect = power["detect"]
    if not detect:
        return
    for entry in detect["rows"]:
        scale, unit = (100, " percentage points") if entry["unit"] == PERCENT else (1, "")
        yield table(
            f"to find {scale * detect['difference']:g}{unit} with {100 * power['power']:.0f} % power: {_between(entry)}",
            ("", *WORLDS),
            list(_rows(entry)),
        )
        if careful := _largest_size(entry["needed"]):
            yield Words(f"To be careful, write  {careful}")
        for note in dict.fromkeys(required["note"] for required in entry["needed"] if required["note"]):
            yield Words(f"{note[0].upper()}{note[1:]}.".replace("..", "."), "warning")


def _rows(entry: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    needed = entry["needed"]
    yield ("power as planned", *(Number(100 * chance, 0, " %") for chance in entry["power_as_planned"]))
    for key in dict.fromkeys(key for required in needed for key in required["set"] or ()):
        yield (key, *(_size(required, key) for required in needed))
    yield ("calls", *("–" if required["calls"] is None else f"{required['calls']:,}" for required in needed))
    yield ("cost", *("–" if required["calls"] is None else money(required["cost_usd"]) for required in needed))
    yield ("time live", *("–" if required["calls"] is None else _time(required["seconds_live"]) for required in needed))


def _time(seconds: float) -> str:
    return span(seconds) if seconds >= 0.01 else "an instant"


def _size(required: Mapping[str, Any], key: str) -> str:
    return f"{required['set'][key]:,}" if required["set"] else "–"


def _largest_size(needed: Sequence[Mapping[str, Any]]) -> str:
    """The keys as the config has them, for the world that takes most."""
    feasible = [required for required in needed if required["set"] and required["calls"] is not None]
    if len(feasible) < len(needed):
        return ""
    most = max(feasible, key=lambda required: list(required["set"].values()))
    return ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in most["set"].items())


# -- in words --------------------------------------------------------------------------------------------------


def _notes(power: Mapping[str, Any]) -> Iterator[Block]:
    for note in power["notes"]:
        yield Words(note, "warning")
    lines = ["Differences start from the rate that is taken for true and go towards one half, or as a hypothesis says."]
    if any(entry["stated"] and entry["tests"] > 1 for entry in power["differences"]):
        lines.append("Stated hypotheses are counted with the correction for all of them; other effects each by itself.")
    if any(entry["units"] == "replicates" for entry in power["differences"]):
        lines.append("Replicates are counted where an outcome is one number a batch, or a level changes what is drawn.")
    if power["pilot"]:
        lines.append(
            "A pilot's figures are ranges: it is small, and of such pilots at least four of five have the truth within."
        )
    yield Words(" ".join(lines), "quiet")


MOST_LINES = 2
"""of a panel, for half-widths and for differences"""


def power_lines(power: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The short form, for a panel: the first half-widths and smallest differences, as ranges."""
    widths = [(f"±{text}, {one['of']}") for one in power["half_widths"] if (text := _range(one, one["half_width"]))]
    diffs = [f"{text}: {_between(one)}" for one in power["differences"] if (text := _range(one, one["smallest"]))]
    named = (("sure to", widths), ("finds", diffs))
    lines = [(name if not place else "", words) for name, own in named for place, words in enumerate(own[:MOST_LINES])]
    note = "at 95 % and with 80 % power, over what may be assumed: tidepool plan tells more"
    return [*lines, ("", note)] if lines else []


def _range(entry: Mapping[str, Any], values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    unit = " points" if entry["unit"] == PERCENT else ""
    low, high = (f"{value:,.{entry['digits']}f}" for value in (min(known), max(known)))
    text = f"{low}{unit}" if low == high else f"{low}–{high}{unit}"
    return text if len(known) == len(values) else f"{text} or more"
