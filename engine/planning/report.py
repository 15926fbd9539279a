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
    return [*_taken(power), *_sure(power), *_needed(power), *_notes(power)]


# -- what is taken for true ------------------------------------------------------------------------------------


def _taken(power: Mapping[str, Any]) -> Iterator[Block]:
    if power["seen"]:
        rows = [(one["what"], one["outcome"], *_three(one["range"], 3)) for one in power["seen"]]
        yield table(f"seen in the pilot {power['pilot']}", ("", "of", *WORLDS), rows, left=2)
    if power["assumptions"]:
        said = [
            (one["name"], one["words"], "stated" if one["stated"] else "assumed", *_three(one["values"], 3))
            for one in power["assumptions"]
        ]
        title = "taken for true, from the least spread to the most (--assume NAME=VALUE states it)"
        yield table(title, ("", "", "", *WORLDS), said, left=3)


def _three(values: Sequence[float | None], digits: int, unit: str = "") -> list[Cell]:
    return [Number(value, digits, unit) for value in (values or (None,) * 3)]


def _points(one: Mapping[str, Any], values: Sequence[float | None]) -> list[Cell]:
    return _three(values, one["digits"], " points" if one["unit"] == PERCENT else "")


def _counted(one: Mapping[str, Any]) -> str:
    return f"{one['number']:,} {one['units']}"


# -- how sure --------------------------------------------------------------------------------------------------


def _sure(power: Mapping[str, Any]) -> Iterator[Block]:
    if power["half_widths"]:
        rows = [(one["of"], _counted(one), *_points(one, one["half_width"])) for one in power["half_widths"]]
        yield table("half-width to expect, of intervals at 95 %", ("of", "counted", *WORLDS), rows, left=2)
    if power["differences"]:
        table_rows = [
            (_between(one), one["note"] or _counted(one), *_points(one, one["smallest"]))
            for one in power["differences"]
        ]
        title = f"smallest difference that is found with {100 * power['power']:.0f} % power"
        yield table(title, ("between", "counted", *WORLDS), table_rows, left=2)


def _between(one: Mapping[str, Any]) -> str:
    stated = f"one of {one['tests']} stated" if one["tests"] > 1 else "stated"
    how = f", {SIDES[one['direction']]}, {stated}" if one["stated"] else ""
    return f"{one['outcome']}: {one['between']}{how}"


# -- what a difference takes -----------------------------------------------------------------------------------


def _needed(power: Mapping[str, Any]) -> Iterator[Block]:
    detect = power["detect"]
    if not detect:
        return
    for one in detect["rows"]:
        scale, unit = (100, " percentage points") if one["unit"] == PERCENT else (1, "")
        yield table(
            f"to find {scale * detect['difference']:g}{unit} with {100 * power['power']:.0f} % power: {_between(one)}",
            ("", *WORLDS),
            list(_rows(one)),
        )
        if careful := _careful(one["needed"]):
            yield Words(f"To be careful, write  {careful}")
        for note in dict.fromkeys(each["note"] for each in one["needed"] if each["note"]):
            yield Words(f"{note[0].upper()}{note[1:]}.".replace("..", "."), "warning")


def _rows(one: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    needed = one["needed"]
    yield ("power as planned", *(Number(100 * chance, 0, " %") for chance in one["power_as_planned"]))
    for key in dict.fromkeys(key for each in needed for key in each["set"] or ()):
        yield (key, *(_size(each, key) for each in needed))
    yield ("calls", *("–" if each["calls"] is None else f"{each['calls']:,}" for each in needed))
    yield ("cost", *("–" if each["calls"] is None else money(each["cost_usd"]) for each in needed))
    yield ("time live", *("–" if each["calls"] is None else _time(each["seconds_live"]) for each in needed))


def _time(seconds: float) -> str:
    return span(seconds) if seconds >= 0.01 else "an instant"


def _size(each: Mapping[str, Any], key: str) -> str:
    return f"{each['set'][key]:,}" if each["set"] else "–"


def _careful(needed: Sequence[Mapping[str, Any]]) -> str:
    """The keys as the config has them, for the world that takes most."""
    able = [each for each in needed if each["set"] and each["calls"] is not None]
    if len(able) < len(needed):
        return ""
    most = max(able, key=lambda each: list(each["set"].values()))
    return ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in most["set"].items())


# -- in words --------------------------------------------------------------------------------------------------


def _notes(power: Mapping[str, Any]) -> Iterator[Block]:
    for note in power["notes"]:
        yield Words(note, "warning")
    parts = ["Differences start from the rate that is taken for true and go towards one half, or as a hypothesis says."]
    if any(one["stated"] and one["tests"] > 1 for one in power["differences"]):
        parts.append("Stated hypotheses are counted with the correction for all of them; other effects each by itself.")
    if any(one["units"] == "replicates" for one in power["differences"]):
        parts.append("Replicates are counted where an outcome is one number a batch, or a level changes what is drawn.")
    if power["pilot"]:
        parts.append(
            "A pilot's figures are ranges: it is small, and of such pilots at least four of five have the truth within."
        )
    yield Words(" ".join(parts), "quiet")


MOST_LINES = 2
"""of a panel, for half-widths and for differences"""


def power_lines(power: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The short form, for a panel: the first half-widths and smallest differences, as ranges."""
    widths = [(f"±{result}, {one['of']}") for one in power["half_widths"] if (result := _range(one, one["half_width"]))]
    found = [f"{result}: {_between(one)}" for one in power["differences"] if (result := _range(one, one["smallest"]))]
    named = (("sure to", widths), ("finds", found))
    lines = [(name if not place else "", words) for name, own in named for place, words in enumerate(own[:MOST_LINES])]
    said = "at 95 % and with 80 % power, over what may be assumed: tidepool plan tells more"
    return [*lines, ("", said)] if lines else []


def _range(one: Mapping[str, Any], values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    unit = " points" if one["unit"] == PERCENT else ""
    low, high = (f"{value:,.{one['digits']}f}" for value in (min(known), max(known)))
    message = f"{low}{unit}" if low == high else f"{low}–{high}{unit}"
    return message if len(known) == len(values) else f"{message} or more"
