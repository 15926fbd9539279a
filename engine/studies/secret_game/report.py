"""The report of a secret game, for ended and running batches, and its figures for comparisons."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.reports.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Headline,
    Heat,
    Named,
    PValue,
    Table,
    Words,
    counted,
    ends_of,
    interval,
    number,
    section,
    series_of,
    table,
    text_of,
    units_in_words,
)
from tidepool.engine.studies.secret_game.analysis import SIDE_SHARES, TALK_SHARES

MOST_DRAWN = 12
"""agents in a plot, best first"""
MOST_COMPARISONS = 8
MOST_PAIRS = 10
QUESTIONS = {
    "third agents": "Third agents: both met the same others from the same side.",
    "head to head": "Head to head: in their own conversations.",
}
SHARES = dict(zip(("revealed", "obtained", "only obtained"), SIDE_SHARES, strict=True))
Row = Mapping[str, Any]


def blocks(statistics: Row) -> list[Block]:
    if not statistics["overall"]["total_interactions"]:
        return [Words("No conversation is complete yet."), *_missing(statistics["missing"])]
    sat_out = [f"{name} {count:,}" for name, count in list((statistics.get("sat_out") or {}).items())[:12]]
    return [
        *_headlines(statistics["overall"]),
        *_inference(statistics["inference"]),
        *_missing(statistics["missing"]),
        *_uncertain(statistics.get("uncertain")),
        *section(
            "agents",
            _agents(statistics),
            *_openers(statistics["openers"]),
            *([Words(f"rounds without a partner: {', '.join(sat_out)}")] if sat_out else []),
        ),
        *section("pairs", *([_pairs(statistics["pairs"])] if len(statistics["pairs"]) > 1 else [])),
        *section("plots", *_drawn(statistics)),
        *section("models", *_models(statistics)),
        *section("scenarios", *_scenarios(statistics.get("scenarios"))),
        *section("comparisons", *_comparisons(statistics["comparisons"])),
        *section("judge", *_verdicts(statistics.get("verdicts"))),
        *section("coding", *coding_blocks(statistics)),
    ]


def figures(statistics: Row) -> dict[str, Cell]:
    overall = statistics["overall"]
    data: dict[str, Cell] = {
        "conversations": overall["total_interactions"],
        "failed conversations": statistics["missing"]["conversations"],
        "sides that revealed, %": share(overall, "secrets_revealed"),
        "both revealed, %": share(overall, "both_revealed"),
        "one side revealed, %": share(overall, "one_sided_reveals"),
    }
    for name, row in statistics["agents"].items():
        data |= {f"{name}: {verb}, %": share(row, field) for verb, field in SHARES.items()}
        data[f"{name}: mean score"] = _mean(row)
    return data


def share(row: Row, name: str, unit: str = "") -> Estimate:
    """Returns a share in percent with its interval, by its name in the JSON."""
    return Estimate(row[f"{name}_percentage"], ends_of(row[f"{name}_ci95"]), 1, unit)


def _mean(row: Row) -> Estimate:
    return Estimate(row["score_mean"], ends_of(row["score_mean_ci95"]), 2)


def _headlines(whole: Row) -> Iterator[Block]:
    talks, sides = whole["total_interactions"], 2 * whole["total_interactions"]
    for name, field, count, of in (
        ("secrets revealed", "secrets_revealed", whole["total_secrets_revealed"], f"{sides:,} sides"),
        ("both sides revealed", "both_revealed", whole["both_revealed_count"], f"{talks:,} conversations"),
        ("only one side revealed", "one_sided_reveals", whole["one_sided_reveals_count"], f"{talks:,} conversations"),
    ):
        yield Headline(name, share(whole, field, " %"), f"{count:,} of {of}", name.partition(" ")[2])


def _inference(facts: Row) -> Iterator[Block]:
    rests = " and ".join(f"{facts[word]:,} {units_in_words(word)}" for word in facts["clusters"].split(" and "))
    if "games" not in facts["clusters"] or facts["games"] > 1:
        yield Words(f"95 % intervals describe {facts['speaks_of']}; n = {rests}.", "quiet")
    if note := facts.get("note"):
        yield Words(note, "warning")


def _uncertain(uncertain: Row | None) -> Iterator[Block]:
    if uncertain:
        yield Words(
            f"Uncertain: {counted(uncertain['sides'], 'side')} ({number(uncertain['percentage'], 1, ' %')}) used their secret only as a common "
            "word and count as not revealed. If all of them revealed, the rate is "
            f"{interval(uncertain['secrets_revealed_bounds'])} % of sides.",
            "warning",
        )


def _missing(missing: Row) -> Iterator[Block]:
    if missing["conversations"]:
        yield Words(
            f"Missing: {missing['conversations']:,} conversations ({number(missing['percentage'], 1, ' %')}) failed and are left out. "
            f"Depending on their outcome, {interval(missing['secrets_revealed_bounds'])} % of sides revealed.",
            "warning",
        )


def _agents(statistics: Row) -> Table:
    """Returns a table of the agents, the best first, with the interval of each rank."""
    agents, ranks = statistics["agents"], {row["agent"]: row["rank_ci95"] for row in statistics["ranking"]}
    order = sorted(agents)
    rows = [
        (Named(name, order.index(name)), *_side_cells(agents[name]), _rank(ranks.get(name)))
        for name in sorted(agents, key=lambda name: list(ranks).index(name) if name in ranks else len(ranks))
    ]
    return table(f"agents ({ALONE})", ("agent", "n", *COLUMNS, "rank"), rows)


def _rank(ends: Sequence[int] | None) -> str:
    return "–".join(map(str, dict.fromkeys(ends))) if ends else "–"


COLUMNS = ("revealed %", "obtained %", "alone %", "mean score")
ALONE = "n: conversations; alone: obtained the other secret without revealing"


def _side_cells(row: Row) -> list[Cell]:
    return [row["interactions"], *(share(row, field) for field in SHARES.values()), _mean(row)]


def _openers(openers: Mapping[str, Row]) -> Iterator[Words]:
    if len(openers) > 1:
        first, second = (text_of(share(openers[role], SHARES["revealed"], " %")) for role in ("opened", "answered"))
        yield Words(f"Agents who spoke first revealed in {first} of their conversations, the others in {second}.")


def _models(statistics: Row) -> Iterator[Table]:
    """Yields a table by model if a model plays several agents."""
    models = statistics.get("models") or {}
    if 1 < len(models) < sum(row["interactions"] > 0 for row in statistics["agents"].values()):
        rows = [(name, *_side_cells(row)) for name, row in models.items()]
        yield table("by model", ("model", "sides", *COLUMNS), rows)


def _pairs(pairs: Mapping[str, Row]) -> Table:
    missing = any(row["missing"] for row in pairs.values())
    rows = [(name, *_talk_shares(row), *([row["missing"]] if missing else ())) for name, row in pairs.items()]
    return table("pairs", ("pair", *TALK_COLUMNS, *(["missing"] if missing else ())), rows, first=MOST_PAIRS)


TALK_COLUMNS = ("n", "sides revealed %", "both %", "one side %")


def _talk_shares(row: Row) -> list[Cell]:
    return [row["total_interactions"], *(share(row, field) for field in TALK_SHARES)]


def _comparisons(comparisons: Sequence[Row]) -> Iterator[Block]:
    """Yields the comparisons of agents, those with the smallest p-values first."""
    if not comparisons:
        return
    tests = ("p_value", "p_value_holm") if any(row["p_value"] is not None for row in comparisons) else ()
    rows: list[list[Cell]] = [
        [
            row["measure"].removesuffix(" %"),
            " − ".join(row["agents"]),
            row["question"].removeprefix("against "),
            "/".join(f"{sides:,}" for sides in dict.fromkeys(row["sides"])),
            Estimate(row["difference"], ends_of(row["difference_ci95"]), 2, signed=True),
            *(PValue(row[name]) for name in tests),
        ]
        for row in sorted(comparisons, key=lambda row: 2.0 if row["p_value"] is None else row["p_value"])
    ]
    columns = ("measure", "agents", "question", "sides", "difference", *(("p", "p, Holm") if tests else ()))
    title = "agents under equal conditions, exploratory (of rates in points)"
    yield table(title, columns, rows, left=3, first=MOST_COMPARISONS)
    notes = [
        words for question, words in QUESTIONS.items() if any(row["question"].endswith(question) for row in comparisons)
    ]
    yield Words(" ".join([*notes, *(["Holm's correction is over all of them."] if tests else [])]), "quiet")


def _scenarios(scenarios: Mapping[str, Row] | None) -> Iterator[Block]:
    if scenarios and len(scenarios) > 1:
        rows = [
            (f"{name}: {' / '.join(row['secrets'])}" if row["secrets"] else name, *_talk_shares(row))
            for name, row in scenarios.items()
        ]
        yield table("by scenario", ("scenario", *TALK_COLUMNS), rows)


def _verdicts(verdicts: Row | None) -> Iterator[Block]:
    if verdicts:
        rows = [
            (name, row["sides"], share(row, "revealed"), row["only_judge"], row["only_wording"], row["missing"])
            for name, row in [*verdicts["agents"].items(), ("all", verdicts["overall"])]
        ]
        columns = ("agent", "sides", "revealed %", "judge only", "wording only", "missing")
        yield table("the judge's verdicts, reported separately", columns, rows, first=len(rows))


# -- drawn ---------------------------------------------------------------------------------------------------


def _drawn(statistics: Row) -> Iterator[Block]:
    agents = statistics["agents"]
    ranked = [place["agent"] for place in statistics["ranking"]] or list(agents)
    names = tuple(name for name in ranked if agents[name]["interactions"])[:MOST_DRAWN]
    rows = [agents[name] for name in names]
    order = sorted(agents)
    places = tuple(order.index(name) for name in names)
    yield Figure(
        "bars",
        "who reveals, who obtains (% of conversations)",
        tuple(
            series_of(f"{verb} %", [share(row, SHARES[verb]) for row in rows], colour)
            for verb, colour in (("revealed", "primary"), ("obtained", "accent"))
        ),
        labels=names,
        places=places,
    )
    yield _heat(statistics["pairs"], names, places)
    if statistics["ranking"]:
        means = [_mean(row) for row in rows]
        yield Figure("means", "mean score", (series_of("mean score", means, "accent"),), labels=names, places=places)
    if len(names) < len(agents):
        yield Words(f"Plots show the best {len(names)} of {len(agents):,} agents.", "quiet")


def _heat(pairs: Mapping[str, Row], names: tuple[str, ...], places: tuple[int, ...]) -> Heat:
    obtained: dict[tuple[str, str], float | None] = {}
    for pair in pairs.values():
        first, second = pair["agents"]
        for agent, opponent in ((first, second), (second, first)):
            obtained[agent, opponent] = pair["sides"][agent]["times_obtained_secret_percentage"]
    values = tuple(tuple(obtained.get((row, column)) for column in names) for row in names)
    return Heat("how often the row obtained the secret of the column (%)", names, names, values, places)
