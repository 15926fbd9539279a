"""Power before purchase as neutral blocks: assumptions, margins of error, detectable differences, and what more takes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.inference.measures import PERCENT
from tidepool.engine.reports.blocks import UNKNOWN, Block, Cell, Number, Words, money, sentence, span, table

WORLDS = ("low", "medium", "high")
"""the variance of an outcome"""
SIDES = {"less": "less", "greater": "more", "two-sided": "either way"}
Entry = Mapping[str, Any]


def power_blocks(power: Entry) -> list[Block]:
    """Of the `power` of a plan."""
    if power.get("note"):
        return [Words(power["note"], "quiet")]
    return [*_tables(power), *_needed(power), *_notes(power)]


def _tables(power: Entry) -> Iterator[Block]:
    """Assumptions, and how precise that makes the study."""
    seen = [(entry["what"], entry["outcome"], *_cells(entry["range"])) for entry in power["seen"]]
    assumed = [
        (entry["name"], entry["words"], "stated" if entry["stated"] else "assumed", *_cells(entry["values"]))
        for entry in power["assumptions"]
    ]
    widths = [(entry["of"], _counted(entry), *_cells(entry["half_width"], entry)) for entry in power["half_widths"]]
    smallest = [
        (_between(entry), entry["note"] or _counted(entry), *_cells(entry["smallest"], entry))
        for entry in power["differences"]
    ]
    for title, columns, rows in (
        (f"seen in the pilot {power['pilot']}", ("", "of"), seen),
        ("assumptions: low, medium and high variance (--assume NAME=VALUE)", ("", "", ""), assumed),
        ("expected margin of error (95 % intervals)", ("of", "counted"), widths),
        (f"minimum detectable difference ({100 * power['power']:.0f} % power)", ("between", "counted"), smallest),
    ):
        if rows:
            yield table(title, (*columns, *WORLDS), rows, left=len(columns))


def _cells(values: Sequence[float | None], entry: Entry | None = None) -> list[Cell]:
    unit = " points" if entry and entry["unit"] == PERCENT else ""
    return [Number(value, entry["digits"] if entry else 3, unit) for value in (values or (None,) * 3)]


def _counted(entry: Entry) -> str:
    return f"{entry['number']:,} {entry['units']}"


def _between(entry: Entry) -> str:
    direction = f", {SIDES[entry['direction']]}, stated" if entry["stated"] else ""
    family = f", one of {entry['tests']} tests" if entry["tests"] > 1 else ""
    return f"{entry['outcome']}: {entry['between']}{direction}{family}"


def _needed(power: Entry) -> Iterator[Block]:
    detect = power["detect"] or {"rows": []}
    for entry in detect["rows"]:
        needed = entry["needed"]
        scale, unit = (100, " percentage points") if entry["unit"] == PERCENT else (1, "")
        wanted = f"to detect {scale * detect['difference']:g}{unit} with {100 * power['power']:.0f} % power"
        yield table(f"{wanted}: {_between(entry)}", ("", *WORLDS), list(_rows(entry)))
        if all(required["calls"] is not None for required in needed):
            most = max((required["set"] for required in needed), key=lambda sizes: list(sizes.values()))
            keys = ", ".join(f"{key.rpartition('.')[2]} = {value}" for key, value in most.items())
            yield Words(f"To be on the safe side, set {keys} in every batch.")
        for note in dict.fromkeys(required["note"] for required in needed if required["note"]):
            yield Words(f"{sentence(note)}.".replace("..", "."), "warning")


def _rows(entry: Entry) -> Iterator[tuple[Cell, ...]]:
    needed = entry["needed"]
    yield ("power as planned", *(Number(100 * chance, 0, " %") for chance in entry["power_as_planned"]))
    for key in dict.fromkeys(key for required in needed for key in required["set"] or ()):
        yield (key, *(f"{required['set'][key]:,}" if required["set"] else UNKNOWN for required in needed))
    bought = [required if required["calls"] is not None else None for required in needed]
    yield ("requests", *(f"{plan['calls']:,}" if plan else UNKNOWN for plan in bought))
    yield ("cost", *(money(plan["cost_usd"]) if plan else UNKNOWN for plan in bought))
    times = (plan and (span(plan["seconds_live"]) if plan["seconds_live"] >= 1 else "< 1 s") for plan in bought)
    yield ("time live", *(time or UNKNOWN for time in times))


def _notes(power: Entry) -> Iterator[Block]:
    yield from (Words(note, "warning") for note in power["notes"])
    lines = []
    if any(entry["unit"] == PERCENT for entry in power["differences"]):
        lines.append(
            "Differences of shares are changes from the assumed rate towards 50 %, or in the direction of the hypothesis."
        )
    if any(entry["tests"] > 1 for entry in power["differences"]):
        lines.append("Each allows for the correction over all tests of its family.")
    if power["pilot"]:
        lines.append("Figures from a pilot are ranges that contain the truth in at least four of five pilots.")
    if lines:
        yield Words(" ".join(lines), "quiet")


MOST_LINES = 2
"""of a panel, for half-widths and for differences"""


def power_lines(power: Entry) -> list[tuple[str, str]]:
    """The short form, for a panel: the first half-widths and smallest differences, as ranges."""
    widths = [f"±{text} ({one['of']})" for one in power["half_widths"] if (text := _range(one, one["half_width"]))]
    diffs = [
        f"{text} ({one['outcome']}, {one['between']})"
        for one in power["differences"]
        if (text := _range(one, one["smallest"]))
    ]
    named = (("precision", widths), ("detectable", diffs))
    lines = [(name if not place else "", words) for name, own in named for place, words in enumerate(own[:MOST_LINES])]
    note = "95 % intervals, 80 % power, over all assumptions; details: tidepool plan --power"
    return [*lines, ("", note)] if lines else []


def _range(entry: Entry, values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    unit = " points" if entry["unit"] == PERCENT else ""
    low, high = (f"{value:,.{entry['digits']}f}" for value in (min(known), max(known)))
    text = f"{low}{unit}" if low == high else f"{low}–{high}{unit}"
    return text if len(known) == len(values) else f"{text} or more"
