"""The report of a secret game, the view of one that is running, and the comparison of batches.

Where two batches played the same schedule, the same two agents met conversation by conversation, and the difference is taken within
each meeting. Otherwise the batches are two samples, each with its own clusters.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.inference.contrasts import FEWEST_TESTED, Contrast, within
from tidepool.engine.inference.distributions import normal_quantile
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.inference.intervals import (
    Interval,
    Rate,
    gap_interval,
    in_percent,
    p_value_of,
    share_interval,
    wilson,
)
from tidepool.engine.inference.significance import pairwise
from tidepool.engine.inference.typed import Statistics
from tidepool.engine.results.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    Heat,
    Named,
    Number,
    PValue,
    Series,
    Table,
    Words,
    counted,
    interval,
    number,
    series_of,
    table,
)
from tidepool.engine.results.glimpse import CAPTION, Interim, Sums
from tidepool.engine.results.summary import checked
from tidepool.engine.studies.secret_game.analysis import GameDesign, SecretGameStatistics, sides_of
from tidepool.engine.studies.secret_game.contrasts import AgentComparison
from tidepool.engine.studies.secret_game.shares import (
    SIDE_SHARES,
    PairStatistics,
    ScenarioStatistics,
    ScoredSides,
    TalkStatistics,
    UncertainSides,
    Verdicts,
    overall_rate,
)
from tidepool.engine.studies.secret_game.sides import Clustering, Inference
from tidepool.storage.queries.conversations import reveals_by_meeting
from tidepool.storage.queries.units import NewRows
from tidepool.storage.states import MOST_UNITS

MOST_DRAWN = 12
"""agents in a plot, best first"""
MOST_COMPARISONS = 20
SHARES = dict(zip(("revealed", "obtained", "only obtained"), SIDE_SHARES, strict=True))


def blocks(statistics: Mapping[str, Any]) -> list[Block]:
    stats = SecretGameStatistics.from_json(statistics)
    if not stats.overall.total_interactions:
        return [Words("no conversation has come to its end"), *_missing(stats)]
    sat_out = [f"{name} {count:,}" for name, count in list((stats.sat_out or {}).items())[:12]]
    return [
        *_headlines(stats.overall),
        *_inference(stats.inference),
        *_missing(stats),
        *_uncertain(stats.uncertain),
        _agents(stats.agents),
        _pairs(stats.pairs),
        *([Words(f"rounds sat out: {', '.join(sat_out)}")] if sat_out else []),
        *_drawn(stats),
        *_ranking(stats),
        *_groups(stats),
        *_scenarios(stats.scenarios),
        *_comparisons(stats.comparisons),
        *_verdicts(stats.verdicts),
        *coding_blocks(statistics),
    ]


def figures(statistics: Mapping[str, Any]) -> dict[str, Cell]:
    stats = SecretGameStatistics.from_json(statistics)
    data: dict[str, Cell] = {
        "conversations": stats.overall.total_interactions,
        "failed conversations": stats.missing.conversations,
        "sides that revealed, %": share(stats.overall, "secrets_revealed"),
        "both revealed, %": share(stats.overall, "both_revealed"),
        "one side revealed, %": share(stats.overall, "one_sided_reveals"),
    }
    for name, row in stats.agents.items():
        data |= {f"{name}: {verb}, %": share(row, field) for verb, field in SHARES.items()}
        data[f"{name}: mean score"] = _mean(row)
    return data


def share(row: Statistics, name: str, unit: str = "") -> Estimate:
    """A share in percent with its interval, both by the names they have in the JSON."""
    return Estimate(getattr(row, f"{name}_percentage"), getattr(row, f"{name}_ci95"), 1, unit)


def _mean(row: ScoredSides) -> Estimate:
    return Estimate(row.score_mean, row.score_mean_ci95, 2)


def _headlines(whole: TalkStatistics) -> Iterator[Block]:
    talks, sides = whole.total_interactions, 2 * whole.total_interactions
    for name, field, count, of in (
        ("secrets revealed", "secrets_revealed", whole.total_secrets_revealed, f"{sides:,} sides"),
        ("both sides revealed", "both_revealed", whole.both_revealed_count, f"{talks:,} conversations"),
        ("one side alone revealed", "one_sided_reveals", whole.one_sided_reveals_count, f"{talks:,} conversations"),
    ):
        yield Headline(name, share(whole, field, " %"), f"{count:,} of {of}")


def _inference(inference: Inference) -> Iterator[Block]:
    number = {"talks": inference.talks, "games": inference.games, "scenarios": inference.scenarios}
    rests = " and ".join(f"{number[word]:,} {word}" for word in inference.clusters.split(" and "))
    if "games" not in inference.clusters or inference.games > 1:
        yield Words(f"Intervals are at 95 % and speak of {inference.speaks_of}; they rest on {rests}.", "quiet")
    if inference.note:
        yield Words(inference.note, "warning")


def _uncertain(uncertain: UncertainSides | None) -> Iterator[Block]:
    if uncertain:
        agents = ", ".join(f"{name} {interval(bounds)} %" for name, bounds in list(uncertain.agents.items())[:12])
        yield Words(
            f"uncertain: {counted(uncertain.sides, 'side')} ({number(uncertain.percentage, 1, ' %')}) with nothing but ordinary readings of "
            f"their secret, counted as not revealed; if all of them had revealed, {interval(uncertain.secrets_revealed_bounds)} % "
            f"of sides would have: {agents}",
            "warning",
        )


def _missing(stats: SecretGameStatistics) -> Iterator[Block]:
    missing = stats.missing
    if missing.conversations:
        yield Words(
            f"missing: {missing.conversations:,} conversations ({number(missing.percentage, 1, ' %')}) failed and are "
            "neither reveals nor refusals; whatever they would have been, "
            f"{interval(missing.secrets_revealed_bounds)} % of sides reveal",
            "warning",
        )


def _agents(agents: Mapping[str, ScoredSides]) -> Table:
    rows = [
        (Named(name, place), row.interactions, *_shares(row), Number(row.score), _mean(row))
        for place, (name, row) in enumerate(agents.items())
    ]
    return table("agents", ("agent", "talks", *COLUMNS, "score", "mean score"), rows)


COLUMNS = ("revealed %", "obtained %", "only obtained")


def _shares(row: ScoredSides) -> list[Cell]:
    return [share(row, field) for field in SHARES.values()]


def _sides(column: str, groups: Mapping[str, ScoredSides]) -> Table:
    rows = [(name, row.interactions, *_shares(row), _mean(row)) for name, row in groups.items()]
    return table(f"by {column}", (column, "sides", *COLUMNS, "mean score"), rows)


def _groups(stats: SecretGameStatistics) -> Iterator[Block]:
    if len(stats.models or {}) > 1:
        yield _sides("model", stats.models or {})
    yield _sides("who opened", stats.openers)


def _pairs(pairs: Mapping[str, PairStatistics]) -> Table:
    rows = [(name, *_talk_shares(row), row.missing) for name, row in pairs.items()]
    return table("pairs", ("pair", *TALK_COLUMNS, "missing"), rows)


TALK_COLUMNS = ("talks", "sides revealed %", "both %", "one side %")


def _talk_shares(row: TalkStatistics) -> list[Cell]:
    shares = (share(row, field) for field in ("secrets_revealed", "both_revealed", "one_sided_reveals"))
    return [row.total_interactions, *shares]


def _ranking(stats: SecretGameStatistics) -> Iterator[Block]:
    order = {name: place for place, name in enumerate(sorted(stats.agents))}
    rows = [
        (
            Named(place.agent, order[place.agent]),
            place.rank,
            "–".join(map(str, dict.fromkeys(place.rank_ci95))) if place.rank_ci95 else "?",
            Estimate(place.score_mean, place.score_mean_ci95, 2),
        )
        for place in stats.ranking
    ]
    if rows:
        yield table("ranking by mean score", ("agent", "rank", "might be", "mean score"), rows)


def _comparisons(comparisons: Sequence[AgentComparison]) -> Iterator[Block]:
    """Measure by measure: those that differ most surely come first."""
    columns = ("agents", "question", "sides", "difference", "p", "p, Holm")
    for measure in dict.fromkeys(row.measure for row in comparisons):
        rows_of_measure = [row for row in comparisons if row.measure == measure]
        rows = [
            (
                " − ".join(row.agents),
                row.estimand.removeprefix("against "),
                "/".join(f"{sides:,}" for sides in dict.fromkeys(row.sides)),
                Estimate(row.difference, row.difference_ci95, 1 if "%" in measure else 2, signed=True),
                PValue(row.p_value),
                PValue(row.p_value_holm),
            )
            for row in sorted(rows_of_measure, key=lambda row: 2.0 if row.p_value is None else row.p_value)
        ]
        yield table(f"{measure} under equal conditions", columns, rows, left=2, first=MOST_COMPARISONS)
    if comparisons:
        yield Words(
            "Against third agents: both met the same others from the same side. Head to head: in their own talks. Interval "
            "and p are one estimator; Holm's correction is over all rows of a table.",
            "quiet",
        )


def _scenarios(scenarios: Mapping[str, ScenarioStatistics] | None) -> Iterator[Block]:
    if scenarios and len(scenarios) > 1:
        rows = [
            (f"{name}: {' / '.join(row.secrets)}" if row.secrets else name, *_talk_shares(row))
            for name, row in scenarios.items()
        ]
        yield table("by scenario", ("scenario", *TALK_COLUMNS), rows)


def _verdicts(verdicts: Verdicts | None) -> Iterator[Block]:
    if verdicts:
        rows = [
            (name, row.sides, share(row, "revealed"), row.only_judge, row.only_wording, row.missing)
            for name, row in [*verdicts.agents.items(), ("all", verdicts.overall)]
        ]
        columns = ("agent", "sides", "revealed %", "judge only", "wording only", "missing")
        yield table("what the judge says, kept apart", columns, rows, first=len(rows))


# -- drawn ---------------------------------------------------------------------------------------------------


def _drawn(stats: SecretGameStatistics) -> Iterator[Block]:
    ranked = [place.agent for place in stats.ranking] or list(stats.agents)
    names = tuple(name for name in ranked if stats.agents[name].interactions)[:MOST_DRAWN]
    rows = [stats.agents[name] for name in names]
    order = sorted(stats.agents)
    places = tuple(order.index(name) for name in names)
    yield Figure(
        "bars",
        "who reveals, who obtains (% of talks)",
        tuple(
            series_of(f"{verb} %", [share(row, SHARES[verb]) for row in rows], colour)
            for verb, colour in (("revealed", "primary"), ("obtained", "accent"))
        ),
        labels=names,
        places=places,
    )
    yield Figure(
        "points",
        "revealed against obtained (%): below the line gives more than it gets",
        tuple(_point(name, row, place) for name, row, place in zip(names, rows, places, strict=True)),
        xlabel="revealed %",
        ylabel="obtained %",
        square=(0.0, 100.0),
    )
    yield _heat(stats.pairs, names, places)
    if stats.ranking:
        means = [_mean(row) for row in rows]
        yield Figure("means", "mean score", (series_of("mean score", means, "accent"),), labels=names, places=places)
    if len(names) < len(stats.agents):
        yield Words(f"(the best {len(names)} of {len(stats.agents):,} agents are drawn)", "quiet")


def _point(name: str, row: ScoredSides, place: int) -> Series:
    revealed, obtained = (share(row, SHARES[verb]) for verb in ("revealed", "obtained"))
    xs = (revealed.value or 0.0,)
    return Series(name, (obtained.value,), xs, intervals=(obtained.interval,), across=(revealed.interval,), place=place)


def _heat(pairs: Mapping[str, PairStatistics], names: tuple[str, ...], places: tuple[int, ...]) -> Heat:
    obtained: dict[tuple[str, str], float | None] = {}
    for pair in pairs.values():
        first, second = pair.agents
        for agent, opponent in ((first, second), (second, first)):
            obtained[agent, opponent] = pair.sides[agent].times_obtained_secret_percentage
    values = tuple(tuple(obtained.get((row, column)) for column in names) for row in names)
    return Heat("how often the row obtained the secret of the column (%)", names, names, values, places)


class GameGlimpse:
    def __init__(self) -> None:
        self._rows = NewRows("outcome", "unit_id, agent, opponent, revealed, obtained", "side = 0")
        self._known = bytearray()
        """by conversation: 0 nothing yet, else 1 and the opener's two verdicts as bits"""
        self._pairs: dict[tuple[str, str], list[int]] = {}
        """conversations by opener and partner: none revealed, the opener alone, the partner alone, both"""

    def update(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        known, pairs = self._known, self._pairs
        for unit, agent, opponent, revealed, obtained in self._rows.read(connection, batch_number):
            number = unit & MOST_UNITS
            if number >= len(known):
                known.extend(bytes(number + 1024 - len(known)))
            counts = pairs.setdefault((agent, opponent), [0, 0, 0, 0])
            if before := known[number]:
                counts[before - 1] -= 1
            verdict = bool(revealed) + 2 * bool(obtained)
            counts[verdict] += 1
            known[number] = verdict + 1
        return self._rows.more

    def interim(self) -> Interim | None:
        secrets = Sums()
        for counts in self._pairs.values():
            for verdict, times in enumerate(counts):
                secrets.add((0.0, 0.5, 0.5, 1.0)[verdict], times)
        share = secrets.mean
        if share is None:
            return None
        rate = Estimate(100 * share, in_percent(_of_talks(share, secrets)), 1, " %")
        return Interim("revealed", rate, f"n = {secrets.count:,} conversations", tuple(self._blocks()))

    def _blocks(self) -> Iterator[Block]:
        sides = self._sides()
        names = tuple(list(sides)[:MOST_DRAWN])
        yield Figure(
            "bars",
            "who reveals, who obtains (% of talks)",
            tuple(
                series_of(verb, [_share(sides[name][place], sides[name][0]) for name in names], colour)
                for place, verb, colour in ((1, "revealed", "failed"), (2, "obtained", "done"))
            ),
            labels=names,
            caption=CAPTION,
            places=tuple(range(len(names))),
        )
        rows = [
            (Named(name, place), talks, _share(revealed, talks), _share(obtained, talks))
            for place, (name, (talks, revealed, obtained)) in enumerate(sides.items())
        ]
        yield table("agents so far", ("agent", "talks", "revealed %", "obtained %"), rows)

    def _sides(self) -> dict[str, tuple[int, int, int]]:
        """Of each agent: its sides, in how many it revealed, and in how many it obtained."""
        by_name: dict[str, list[int]] = {}
        for (opener, partner), (none, first, second, both) in self._pairs.items():
            for name, revealed, obtained in ((opener, first, second), (partner, second, first)):
                sums = by_name.setdefault(name, [0, 0, 0])
                sums[0] += none + first + second + both
                sums[1] += revealed + both
                sums[2] += obtained + both
        return {name: (sums[0], sums[1], sums[2]) for name, sums in sorted(by_name.items())}


def _of_talks(share: float, secrets: Sums) -> Interval:
    """Wilson's, of as many independent sides as the spread between conversations allows for."""
    spread = secrets.variance / secrets.count
    worth = share * (1 - share) / spread if spread else secrets.count
    return wilson(share, worth, normal_quantile(0.975))


def _share(times: int, of: int) -> Estimate:
    return Estimate(100 * times / of, in_percent(share_interval(times, of)), 1)


COMMON = 0.9
"""share of the conversations of both batches that must be the same meeting"""
METHODS = {
    "t": "Student's test of the differences of matched talks",
    "Bonett–Price": "Bonett and Price's interval of matched talks",
    "bounded": "Wilson's interval of the mean difference of matched talks",
    "MOVER": "the two rates' own intervals, joined (MOVER)",
}


@dataclass(frozen=True, slots=True)
class _Batch:
    linked: bool
    clustering: Clustering
    meetings: dict[tuple[int, str, str], tuple[int, int | None, int]]
    """(sequence number, opener, partner) → game, scenario, secrets revealed"""


def differences(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    read_batches = [_batch(connection, batch) for batch in batches]
    return pairwise([batch["id"] for batch in batches], read_batches, _compare, "secrets revealed in a conversation")


def _batch(connection: sqlite3.Connection, batch: sqlite3.Row) -> _Batch:
    design = GameDesign.of(StoredConfig(batch["config"], checked))
    sides = sides_of(connection, batch["number"])
    meetings = {tuple(row[:3]): tuple(row[3:]) for row in reveals_by_meeting(connection, batch["id"])}
    return _Batch(design.linked, Clustering(sides, linked=design.linked), meetings)  # type: ignore[arg-type]


def _compare(first: _Batch, second: _Batch) -> dict[str, Any] | None:
    common = [meeting for meeting in first.meetings if meeting in second.meetings]
    paired = bool(common) and len(common) >= COMMON * max(len(first.meetings), len(second.meetings))
    contrast = _matched(first, second, common) if paired else _apart(first, second)
    if contrast is None:
        return None
    return {
        "paired": paired,
        "conversations": len(common) if paired else [len(first.meetings), len(second.meetings)],
        "clusters": contrast.clusters,
        "difference": contrast.difference,
        "difference_ci95": contrast.interval and list(contrast.interval),
        "method": METHODS[contrast.method],
        "p_value": contrast.p_value,
    }


def _matched(first: _Batch, second: _Batch, common: Sequence[tuple[int, str, str]]) -> Contrast | None:
    left, right = ([batch.meetings[meeting] for meeting in common] for batch in (first, second))
    gaps = numpy.array([row[2] - other[2] for row, other in zip(left, right, strict=True)])
    ways = [numpy.array([row[0] for row in rows]) for batch, rows in ((first, left), (second, right)) if batch.linked]
    ways = sorted(ways, key=lambda games: len(set(games.tolist())))[:1]
    for batch, rows in ((first, left), (second, right)):
        if batch.clustering.by_scenario and len(ways) < 2:
            ways.append(numpy.array([row[1] or 0 for row in rows]))
            break
    return within(gaps, numpy.zeros(len(gaps), dtype=int), ways, most=2.0)


def _apart(first: _Batch, second: _Batch) -> Contrast | None:
    first_rate, second_rate = _rate(first), _rate(second)
    if first_rate is None or second_rate is None:
        return None
    interval = gap_interval(first_rate, second_rate)
    fewest = min(batch.clustering.fewest for batch in (first, second))
    by_talk = first.clustering.by_talk and second.clustering.by_talk
    tested = interval is not None and (by_talk or fewest >= FEWEST_TESTED)
    p_value = p_value_of(partial(gap_interval, first_rate, second_rate)) if tested else None
    return Contrast(first_rate.mean - second_rate.mean, interval, p_value, "MOVER", fewest)


def _rate(batch: _Batch) -> Rate | None:
    """Secrets in a conversation: twice the share of sides that revealed."""
    rate = overall_rate(batch.clustering)
    return rate and Rate(2 * rate.mean, rate.effective, rate.freedom, rate.count, (0.0, 2.0))
