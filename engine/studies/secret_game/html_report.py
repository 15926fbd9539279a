"""The secret game's part of an HTML report: the same figures as on the terminal, drawn."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.exports.drawings import Bar, grouped_bars, heat_table, means_with_intervals, named_points
from tidepool.engine.exports.html import Content, Html, element, section, table

MOST_DRAWN = 16
SHARES = ("times_revealed_secret", "times_obtained_secret", "optimal_strategy")
HEAD = ("sides", "revealed", "obtained", "only obtained", "score", "mean score")


def sections(statistics: Mapping[str, Any]) -> Iterator[Html]:
    agents = statistics["agents"]
    yield section("Agents", _groups("agent", agents), *_notes(statistics))
    drawn = [place["agent"] for place in statistics["ranking"]][:MOST_DRAWN]
    if drawn:
        yield section("Who reveals, who obtains", _bars(agents, drawn), _scatter(agents, drawn))
        yield section("Ranking by mean score", *_ranking(statistics["ranking"]))
        yield section("How often the agent of the row obtained the secret of the column", _pairs(statistics, drawn))
    for title, name in (("By model", "models"), ("By who opened", "openers"), ("By mode", "modes")):
        if statistics.get(name):
            yield section(title, _groups("", statistics[name]))
    if statistics["comparisons"]:
        yield section("Scores under equal conditions", *_comparisons(statistics["comparisons"]))
    if statistics.get("verdicts"):
        yield section("What the judge says, kept apart", _verdicts(statistics["verdicts"]))
    if statistics.get("agreement"):
        yield section("Detectors against the planted truth", *_agreement(statistics["agreement"]))


def _share(row: Mapping[str, Any], name: str) -> str:
    value, (low, high) = row[f"{name}_percentage"], row[f"{name}_ci95"]
    return "–" if value is None else f"{value:.1f} % ({low:.1f}–{high:.1f})"


def _mean(row: Mapping[str, Any]) -> str:
    value, bounds = row.get("score_mean"), row.get("score_mean_ci95")
    return "–" if value is None or bounds is None else f"{value:.2f} ({bounds[0]:.2f}–{bounds[1]:.2f})"


def _groups(title: str, groups: Mapping[str, Any]) -> Html:
    rows: list[list[Content]] = [
        [name, f"{row['interactions']:,}", *(_share(row, share) for share in SHARES), f"{row['score']:.1f}", _mean(row)]
        for name, row in groups.items()
    ]
    return table([title, *HEAD], rows)


def _notes(statistics: Mapping[str, Any]) -> Iterator[Html]:
    whole, missing = statistics["overall"], statistics["missing"]
    yield element(
        "p",
        f"Of {whole['total_interactions']:,} conversations both revealed in {whole['both_revealed_count']:,} and one side in "
        f"{whole['one_sided_reveals_count']:,}; {whole['total_secrets_revealed']:,} secrets were revealed, "
        f"{_share(whole, 'secrets_revealed')} of sides. Intervals are at 95 %: Wilson's for shares, the bootstrap's for means.",
    )
    if missing["conversations"]:
        low, high = missing["secrets_revealed_bounds"]
        yield element(
            "p",
            f"Missing: {missing['conversations']:,} conversations failed. They are neither reveals nor refusals; whatever they "
            f"would have been, the share of sides that reveal lies between {low:.1f} and {high:.1f} %.",
        )
    if statistics.get("sat_out"):
        sat_out = ", ".join(f"{name} {count:,}" for name, count in statistics["sat_out"].items())
        yield element("p", f"Rounds sat out: {sat_out}.")


def _bars(agents: Mapping[str, Any], names: list[str]) -> Html:
    def series(field: str) -> list[Bar | None]:
        return [Bar(agents[name][f"{field}_percentage"], agents[name][f"{field}_ci95"]) for name in names]

    return grouped_bars(names, {"revealed %": series(SHARES[0]), "obtained %": series(SHARES[1])})


def _scatter(agents: Mapping[str, Any], names: list[str]) -> Html:
    points = {
        name: (agents[name]["times_revealed_secret_percentage"], agents[name]["times_obtained_secret_percentage"])
        for name in names
    }
    return named_points(points, "revealed %", "obtained %")


def _ranking(places: list[Mapping[str, Any]]) -> Iterator[Html]:
    yield means_with_intervals(
        [(place["agent"], place["score_mean"], place["score_mean_ci95"]) for place in places[:MOST_DRAWN]]
    )
    yield table(
        ["agent", "rank", "might be", "mean score", "best with"],
        [
            [
                place["agent"],
                place["rank"],
                "–".join(map(str, dict.fromkeys(place["rank_ci95"]))),
                _mean(place),
                f"{100 * place['best_probability']:.0f} %",
            ]
            for place in places
        ],
    )


def _pairs(statistics: Mapping[str, Any], names: list[str]) -> Html:
    shares: dict[tuple[str, str], float | None] = {}
    for pair in statistics["pairs"].values():
        first, second = pair["agents"]
        for agent, opponent in ((first, second), (second, first)):
            shares[agent, opponent] = pair["sides"][agent]["times_obtained_secret_percentage"]
    return heat_table(names, shares)


def _comparisons(found: list[Mapping[str, Any]]) -> Iterator[Html]:
    yield element("p", "Wilcoxon's signed-rank test of paired scores, p-values with Holm's correction.", class_="soft")
    yield table(
        ["agents", "pairs", "difference", "95 %", "effect", "p", "p, Holm"],
        [
            [
                " − ".join(row["agents"]),
                row["pairs"],
                f"{row['score_difference']:+.2f}",
                f"{row['score_difference_ci95'][0]:+.2f} to {row['score_difference_ci95'][1]:+.2f}",
                "–" if row["effect_size"] is None else f"{row['effect_size']:+.2f}",
                f"{row['p_value']:.3g}",
                f"{row['p_value_holm']:.3g}",
            ]
            for row in found
        ],
    )


def _verdicts(verdicts: Mapping[str, Any]) -> Html:
    rows = [*verdicts["agents"].items(), ("all", verdicts["overall"])]
    return table(
        ["agent", "sides", "revealed", "judge only", "wording only", "missing"],
        [
            [name, row["sides"], _share(row, "revealed"), row["only_judge"], row["only_wording"], row["missing"]]
            for name, row in rows
        ],
    )


def _agreement(agreement: Mapping[str, Any]) -> Iterator[Html]:
    rows = dict(agreement["detectors"])
    if "judge" in agreement:
        rows["judge (whole sides)"] = agreement["judge"]
    yield table(
        ["detector", "planted", "found", "sensitivity", "silent", "false alarms", "specificity"],
        [
            [
                name,
                row["planted"],
                row["found"],
                _share(row, "sensitivity"),
                row["silent"],
                row["false_alarms"],
                _share(row, "specificity"),
            ]
            for name, row in rows.items()
        ],
    )
    sample = "an even sample of " if agreement["sampled"] else ""
    yield element("p", f"On {sample}{agreement['messages']:,} messages of the simulated provider.", class_="soft")
