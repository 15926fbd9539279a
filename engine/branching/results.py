"""The results of a branch: statistics, blocks, methods and its table in exports.

The arms are the two cells of a design whose blocks are conversations. The effect on a conversation is the mean over its
altered redraws minus the mean over its control redraws. Shared games, scenarios and entities are treated as in other
designs. With one conversation, the two groups of redraws are compared, and the result describes this conversation only."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import FEWEST_TESTED, few_clusters, two_samples
from tidepool.engine.inference.effects import FIRST, SECOND, cell_mean, difference, difference_as_json, of_two
from tidepool.engine.inference.grouped import numpy, spread_of
from tidepool.engine.inference.intervals import Interval, rates_of, scaled
from tidepool.engine.inference.measures import BatchValues, Outcome, Talk
from tidepool.engine.inference.measures import number as numeric
from tidepool.engine.inference.significance import corrected
from tidepool.engine.kinds import KINDS, Kind, load_kind
from tidepool.engine.reports.blocks import (
    BONETT_PRICE,
    DESCRIBE,
    MOVER,
    ONE_FAMILY,
    RATES,
    Block,
    Cell,
    Estimate,
    KindMethods,
    PValue,
    Words,
    counted,
    ended,
    ends_of,
    listing,
    number,
    quoted,
    sentence,
    table,
)
from tidepool.engine.reports.figures import forest
from tidepool.engine.studies.branches import Arm, Origin, read_origin
from tidepool.engine.studies.results import Batch, Results, Statistics, number_in
from tidepool.storage.queries.conversations import measured_by_unit, talk_rows
from tidepool.storage.states import UnitStatus, unit_id
from tidepool.storage.transfer.tables import ExportTable
from tidepool.storage.views import ColumnType

# -- statistics --------------------------------------------------------------------------------------------------------


Values = Mapping[int, Mapping[Arm, Sequence[float]]]
"""of one measure: by conversation and arm, one value for each redraw"""


class BranchResults(Results):
    """The results of a batch that continues conversations of another batch."""

    def __init__(self, kind: Kind, origin: Origin) -> None:
        self._kind, self._origin = kind, origin
        own = kind.results.contents
        self.contents = replace(own, tables=(*own.tables, lambda _, batch: redraws(batch["number"], origin)))

    def statistics(self, connection: sqlite3.Connection, batch: Batch, config: StoredConfig) -> dict[str, Any]:
        own, origin = self._kind.results, self._origin
        measures = own.branch_measures(config.sections)
        values, shared = _by_measure(connection, batch, measures, origin, sampled=own.shares_participants)
        rows = talk_rows(connection, batch["number"])
        completed = sum(row.status == UnitStatus.COMPLETED and origin.redraw(row.number) is not None for row in rows)
        outcomes = [outcome(measure, values[measure.name], origin, shared) for measure in measures]
        for entry, p_value in zip(outcomes, corrected([entry.get("p_value") for entry in outcomes]), strict=True):
            entry["p_value_holm"] = p_value
        return {
            "branch": {
                "batch_id": origin.batch_id,
                "at": origin.at,
                "say": origin.say,
                "times": origin.times,
                "conversations": len(origin.conversations),
                "redraws": {"planned": origin.units, "completed": completed},
                "outcomes": outcomes,
            }
        }

    def blocks(self, statistics: Statistics) -> list[Block]:
        return blocks(statistics)

    def figures(self, statistics: Statistics) -> dict[str, Cell]:
        """Returns the cells by which branches are compared."""
        cells: dict[str, Cell] = {}
        for entry in statistics["branch"]["outcomes"]:
            if "difference" in entry:
                cells[f"{entry['words']}, difference"] = _estimate(entry, "difference", signed=True)
            cells[f"{entry['words']}, resampled"] = _estimate(entry, "control")
        return cells

    def methods(
        self, batch: Batch, config: StoredConfig, statistics: Statistics, connection: sqlite3.Connection
    ) -> KindMethods:
        own, branch = self._kind.results, statistics["branch"]
        measured = own.methods(batch, config, own.statistics(connection, batch, config), connection)
        return KindMethods(
            _continued(self._origin),
            (*measured.measures, *_speaker(branch)),
            tuple(map(sentence, _left_out(branch))),
            tuple(_analysis(self._origin, branch)),
        )


def results_of(batch: Batch | sqlite3.Row) -> Results:
    """Returns the `Results` for a batch: those of its kind, or `BranchResults` for a branch."""
    kind, origin = load_kind(batch["kind"]), read_origin(batch["origin"])
    return kind.results if origin is None or not kind.talks else BranchResults(kind, origin)


def results_shown(summary: Mapping[str, Any]) -> Results:
    """Returns the `Results` for a summary. If the package of its kind is not installed, they show plain tables."""
    origin = summary.get("origin")
    batch = {"kind": summary["kind"], "origin": json.dumps(origin) if origin else None}
    return results_of(batch) if summary["kind"] in KINDS else Results()


class Shared(NamedTuple):
    """Games, scenarios and participants that conversations share."""

    talks: Mapping[int, Talk]
    """by conversation: its game, scenario and participants"""
    sampled: bool = False

    @property
    def linked(self) -> bool:
        games = [talk.game for talk in self.talks.values() if talk.game]
        return len(set(games)) < len(games)


def _by_measure(
    connection: sqlite3.Connection, batch: Batch, measures: Sequence[Outcome], origin: Origin, *, sampled: bool
) -> tuple[Mapping[str, Values], Shared]:
    """Returns the rows of the view `measures` by measure, conversation and arm. Ignores values off the scale, which only a
    changed file can have. `sampled`: conversations that share a participant are not independent."""
    values: dict[str, Any] = {measure.name: defaultdict(lambda: defaultdict(list)) for measure in measures}
    bounds = {measure.name: measure.bounds for measure in measures}
    talks: dict[int, Talk] = {}
    for unit, participants, _, measure, value, cluster, block in measured_by_unit(connection, batch["id"]):
        if (redraw := origin.redraw(unit)) is None:
            continue
        members = tuple(json.loads(participants)) if sampled else ()
        talk = talks.setdefault(redraw.conversation, Talk(redraw.conversation, members=members))
        if block:
            talks[redraw.conversation] = talk = talk._replace(scenario=number_in(block))
        if measure not in values or (known := numeric(value)) is None:
            continue
        if str(cluster).startswith("game "):
            talks[redraw.conversation] = talk._replace(game=number_in(cluster))
        if bounds[measure][0] <= known <= bounds[measure][1]:
            values[measure][redraw.conversation][redraw.arm].append(known)
    return values, Shared(talks, sampled)


def outcome(measure: Outcome, values: Values, origin: Origin, shared: Shared) -> dict[str, Any]:
    """Returns the results on one measure. Uses conversations with a redraw in every arm, all with the same weight."""
    complete = {number: arms for number, arms in values.items() if all(arms.get(arm) for arm in origin.arms)}
    alone = len(origin.conversations) == 1
    data: dict[str, Any] = {"name": measure.name, "words": measure.words, "unit": measure.unit or "points"}
    data |= {"conversations": len(complete), "left_out": len(origin.conversations) - len(complete)}
    return data | (_of_this_one if alone else _over_conversations)(measure, complete, origin, shared)


FEWEST_BRANCHED = 40
"""number of conversations below which rare large effects are often missed and intervals are too narrow"""


def _over_conversations(measure: Outcome, complete: Values, origin: Origin, shared: Shared) -> dict[str, Any]:
    """Compares the arms as two cells of a design whose blocks are conversations."""
    talks = [shared.talks[number] for number in complete]
    control, altered = (
        BatchValues(
            talks=talks,
            by_talk={measure.name: [fmean(arms[arm]) for arms in complete.values() if arm in arms]},
            linked=shared.linked,
            sampled=shared.sampled,
        )
        for arm in (origin.arms[0], origin.arms[-1])
    )
    table = of_two(measure, altered, control)
    data: dict[str, Any] = {}
    for arm, cell in zip(reversed(origin.arms), (FIRST, SECOND), strict=False):
        mean = cell_mean(table, cell)
        data |= _arm(arm, mean.mean, mean.interval, measure.scale)
    found = difference(table)
    untested = found.units == "talks" and found.number < FEWEST_TESTED
    few = few_clusters(found.number, "conversations", FEWEST_BRANCHED) if found.units == "talks" else found.note
    data |= {"units": CALLED.get(found.units, found.units), "estimand": found.estimand, "note": few or found.note}
    if origin.say is not None:
        data |= difference_as_json(replace(found, p_value=None) if untested else found, measure.scale)
        data["method"] = found.method
    return data


CALLED = {"talks": "conversations"}


def _of_this_one(measure: Outcome, complete: Values, origin: Origin, _: Shared) -> dict[str, Any]:
    """Compares the arms by the redraws of a single conversation, which are independent of each other."""
    (arms,) = complete.values() if complete else (dict.fromkeys(origin.arms, ()),)
    data: dict[str, Any] = {"units": "redraws", "estimand": "this conversation", "note": ""}
    for arm in origin.arms:
        (rate,) = rates_of(spread_of(numpy.array(arms[arm])), measure.bounds) if arms[arm] else (None,)
        data |= _arm(arm, rate.mean if rate else None, rate.interval() if rate else None, measure.scale)
    if origin.say is None:
        return data
    contrast = two_samples(arms["altered"], arms["control"], bounds=measure.bounds)
    return data | difference_as_json(contrast, measure.scale) | {"method": contrast and contrast.method}


def _arm(arm: Arm, mean: float | None, interval: Interval | None, scale: float) -> dict[str, Any]:
    return {arm: None if mean is None else scale * mean, f"{arm}_ci95": scaled(interval, scale)}


# -- blocks ------------------------------------------------------------------------------------------------------------


LEFT_OUT = "Figures by agent or entity are left out, because replays of one conversation are not independent conversations. See the original batch."


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    branch = statistics["branch"]
    shown: list[Block] = [Words(_design(branch), "finding")]
    if branch["say"] is not None:
        shown.append(Words(branch["say"], "quoted"))
    if not branch["outcomes"]:
        shown.append(Words("No measures: the simulation has no judge. You can read the replays.", "quiet"))
    else:
        shown += _outcomes(branch)
    warnings = dict.fromkeys(entry["note"] for entry in branch["outcomes"] if entry.get("note"))
    shown += [Words(note, "warning") for note in warnings]
    return [*shown, *(Words(words, "quiet") for words in _notes(branch)), Words(LEFT_OUT, "quiet")]


def _design(branch: Mapping[str, Any]) -> str:
    count, times = branch["conversations"], branch["times"]
    conversations, each = ("One conversation", "") if count == 1 else (f"{count:,} conversations", " each")
    summary = (
        f"{conversations} of batch {branch['batch_id']}: message {branch['at']} was resampled {times:,} times{each}"
    )
    return f"{summary} and replaced {times:,} times by this text:" if branch["say"] is not None else f"{summary}."


def _outcomes(branch: Mapping[str, Any]) -> Iterator[Block]:
    altered = branch["say"] is not None
    columns = ["measure", "n", "resampled"] + (["reworded", "difference", "p (Holm)"] if altered else [])
    rows: list[list[Cell]] = []
    for entry in branch["outcomes"]:
        row: list[Cell] = [entry["words"], entry["conversations"], _estimate(entry, "control")]
        if altered:
            row += [
                _estimate(entry, "altered"),
                _estimate(entry, "difference", signed=True),
                PValue(entry["p_value_holm"]),
            ]
        rows.append(row)
    of_one = branch["conversations"] == 1
    title = "in this conversation" if of_one else "over conversations"
    yield table(f"{'exploratory effect' if altered else 'replays'}, {title}", columns, rows)
    if altered:
        outcomes = branch["outcomes"]
        shown = [(entry["words"], entry["difference"], ends_of(entry["difference_ci95"])) for entry in outcomes]
        units = ("percentage points" if entry["unit"] == "%" else "points of the scale" for entry in outcomes)
        yield forest(f"reworded − resampled, {title}", shown, " or ".join(dict.fromkeys(units)), caption="")


def _estimate(entry: Mapping[str, Any], name: str, *, signed: bool = False) -> Estimate:
    percent = entry["unit"] == "%"
    unit = " %" if percent and not signed else ""
    return Estimate(entry[name], ends_of(entry[f"{name}_ci95"]), 1 if percent else 2, unit, signed)


def _notes(branch: Mapping[str, Any]) -> Iterator[str]:
    redraws = branch["redraws"]
    if branch["outcomes"] and redraws["completed"] < redraws["planned"]:
        yield f"{redraws['completed']:,} of {redraws['planned']:,} replays are complete."
    if branch["conversations"] == 1:
        yield (
            "The interval is over replays of this conversation and says nothing about others. For a general result, "
            "branch many conversations with five replays each."
        )
    else:
        yield "Each conversation gives one mean in each arm."
    yield from _described(branch)
    if branch["say"] is not None:
        yield from _speaker(branch)
    yield from _left_out(branch)


def _described(branch: Mapping[str, Any]) -> Iterator[str]:
    if about := dict.fromkeys(entry["estimand"] for entry in branch["outcomes"]):
        yield f"{DESCRIBE} {listing(about)}."


def _speaker(branch: Mapping[str, Any]) -> Iterator[str]:
    if branch["outcomes"]:
        judged = all(entry["unit"] != "%" for entry in branch["outcomes"])
        counts = "The judge reads the whole conversation" if judged else "Measures count only later messages"
        yield f"“Speaker” is the participant who speaks at {branch['at']}. {counts}."


def _left_out(branch: Mapping[str, Any]) -> Iterator[str]:
    for entry in branch["outcomes"]:
        if entry["left_out"]:
            count = number(entry["left_out"], 0)
            yield f"{entry['words']}: {count} conversation{' is' if entry['left_out'] == 1 else 's are'} left out, because the outcome was decided earlier or an arm has no value."


# -- methods -----------------------------------------------------------------------------------------------------------


def _continued(origin: Origin) -> list[str]:
    talks = counted(len(origin.conversations), "conversation")
    design = [
        f"This batch continued {talks} of batch {origin.batch_id} from message {origin.at} on. Earlier messages were copied "
        f"verbatim. In {counted(origin.times, 'redraw')} of each conversation, the message was resampled from the same model with new "
        "seeds."
    ]
    if origin.say is not None:
        design.append(
            ended(f"In the same number of redraws, the message was replaced by a fixed text: {quoted(origin.say)}")
        )
    return design


OVER = {
    "conversations": "Student's interval and test over conversations",
    "games": "Student's interval and test over games, since memory or retained secrets link conversations",
    "scenarios": "Student's interval and test over scenarios, since scenarios repeat",
    "games and scenarios": "Student's interval and test over games and scenarios",
    "entities": "the jackknife over entities (Efron and Stein, 1981), which leaves out one entity at a time with all its conversations",
}


def _analysis(origin: Origin, branch: Mapping[str, Any]) -> Iterator[str]:
    methods = {entry.get("method") for entry in branch["outcomes"]}
    if origin.say is None:
        yield "Shares and means are over conversations. The value of a conversation is the mean of its redraws."
    elif len(origin.conversations) == 1:
        yield (
            "The two groups of redraws of this one conversation were compared. The interval is over redraws and describes only "
            "this conversation."
        )
    else:
        yield (
            "The effect is the mean difference, over conversations, between the mean of the altered redraws and the mean of the control "
            f"redraws, with {listing(dict.fromkeys(OVER.get(entry['units'], '') for entry in branch['outcomes']))}."
        )
    if not branch["outcomes"]:
        return
    yield RATES
    yield from (words for name, words in (("MOVER", MOVER), ("Bonett–Price", BONETT_PRICE)) if name in methods)
    yield from _described(branch)
    if origin.say is not None:
        yield ONE_FAMILY


# -- exports -----------------------------------------------------------------------------------------------------------


COLUMNS: dict[str, ColumnType] = {
    "conversation_id": "integer",
    "origin_conversation": "integer",
    "arm": "text",
    "redraw": "integer",
}


def redraws(batch_number: int, origin: Origin) -> ExportTable:
    rows = ((unit_id(batch_number, draw.number), draw.conversation, draw.arm, draw.redraw) for draw in origin.redraws())
    return ExportTable("redraws", COLUMNS, rows)
