"""A branch for people: where it came from, what the sentence changed, and what that can be said of."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.results.blocks import Block, Cell, Estimate, Figure, PValue, Series, Words, table
from tidepool.engine.results.wording import number

LEFT_OUT = (
    "Figures by agent or entity are left out: redraws of one conversation are no independent talks. They stand in the batch that "
    "was branched."
)


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    branch = statistics["branch"]
    told: list[Block] = [Words("branch", "strong"), Words(_design(branch))]
    if branch["say"] is not None:
        told.append(Words(branch["say"], "quoted"))
    if not branch["outcomes"]:
        told.append(Words("Nothing is measured: the simulation has no judge. The redraws can be read.", "quiet"))
    else:
        told += _outcomes(branch)
    return [*told, *(Words(words, "quiet") for words in _notes(branch)), Words(LEFT_OUT, "quiet")]


def _design(branch: Mapping[str, Any]) -> str:
    count, times = branch["conversations"], branch["times"]
    talks, each = ("One conversation", "") if count == 1 else (f"{count:,} conversations", " each")
    again = f"{talks} of batch {branch['batch_id']}: {branch['at']} was drawn again {times:,} times{each}"
    return f"{again}, and as often this was said there instead:" if branch["say"] is not None else f"{again}."


def _outcomes(branch: Mapping[str, Any]) -> Iterator[Block]:
    altered = branch["say"] is not None
    columns = ["outcome", "talks", "drawn again"] + (["said otherwise", "difference", "p"] if altered else [])
    rows: list[list[Cell]] = []
    for one in branch["outcomes"]:
        row: list[Cell] = [one["words"], one["conversations"], _estimate(one, "control")]
        if altered:
            row += [_estimate(one, "altered"), _estimate(one, "difference", signed=True), PValue(one["p_value"])]
        rows.append(row)
    of_one = branch["conversations"] == 1
    title = "of this conversation" if of_one else "over conversations"
    yield table(f"{'effect' if altered else 'redraws'}, {title}", columns, rows)
    if altered:
        yield _figure(branch, title)


def _figure(branch: Mapping[str, Any], title: str) -> Figure:
    found = branch["outcomes"]
    bounds = tuple(None if one["difference_ci95"] is None else tuple(one["difference_ci95"]) for one in found)
    series = Series("difference", tuple(one["difference"] for one in found), intervals=bounds)
    units = " or ".join(dict.fromkeys(_unit(one) for one in found))
    return Figure(
        "means",
        f"said otherwise less drawn again, {title}",
        (series,),
        tuple(one["words"] for one in found),
        xlabel=units,
        reference=0.0,
    )


def _unit(one: Mapping[str, Any]) -> str:
    return "percentage points" if one["unit"] == "%" else "points of the scale"


def _estimate(one: Mapping[str, Any], name: str, *, signed: bool = False) -> Estimate:
    percent, bounds = one["unit"] == "%", one[f"{name}_ci95"]
    unit = " %" if percent and not signed else ""
    return Estimate(one[name], None if bounds is None else tuple(bounds), 1 if percent else 2, unit, signed)


def _notes(branch: Mapping[str, Any]) -> Iterator[str]:
    redraws = branch["redraws"]
    if branch["outcomes"] and redraws["completed"] < redraws["planned"]:
        yield f"{redraws['completed']:,} of {redraws['planned']:,} redraws have come to their end."
    if branch["conversations"] == 1:
        yield (
            "The interval is over redraws: it tells how this conversation would go on, and claims nothing of others. For that, "
            "branch many conversations, with five redraws of each."
        )
    else:
        yield "The unit is the conversation: each gives one mean an arm, and the interval is over conversations."
    if branch["outcomes"] and branch["say"] is not None:
        judged = all(one["unit"] != "%" for one in branch["outcomes"])
        counts = "the judge hears the whole talk" if judged else "what counts is what follows it"
        yield f"The speaker is who speaks at {branch['at']}; {counts}."
    for one in branch["outcomes"]:
        if one["left_out"]:
            count = number(one["left_out"], 0)
            yield f"{one['words']}: {count} conversation{' is' if one['left_out'] == 1 else 's are'} left out, in which it was decided before, or nothing came of an arm."


def figures(statistics: Mapping[str, Any]) -> dict[str, Cell]:
    """By which branches are compared."""
    found: dict[str, Cell] = {}
    for one in statistics["branch"]["outcomes"]:
        if "difference" in one:
            found[f"{one['words']}, difference"] = _estimate(one, "difference", signed=True)
        found[f"{one['words']}, drawn again"] = _estimate(one, "control")
    return found
