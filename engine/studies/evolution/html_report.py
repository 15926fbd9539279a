"""An evolution's part of an HTML report: who won, whether one can believe it, and the way there."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.exports.drawings import Bar, curves, grouped_bars
from tidepool.engine.exports.html import Content, Html, element, section, table

ROLES = {"champion": "champion", "baseline": "best seed prompt", "random_search": "random search"}


def sections(statistics: Mapping[str, Any]) -> Iterator[Html]:
    told = statistics["generations"]
    if not told:
        yield section("Generations", element("p", "No generation is judged yet."))
        return
    found = {title: statistics[role] for role, title in ROLES.items() if statistics.get(role)}
    yield section("On problems never used for selection", *_finalists(found), *_verdict(statistics))
    if len(models := statistics["champion"]["models"] or {}) > 1:
        yield section("The champion by model", _models(models, statistics["baseline"]["models"]))
    for title, row in found.items():
        born = f"Generation {row['generation']}, {row['operator']}"
        yield section(
            title.capitalize(), element("p", born, class_="soft"), element("div", row["prompt"], class_="said")
        )
    yield section("Fitness by generation", curves({name: [row[name] for row in told] for name in ("best", "mean")}))
    yield section("Generations", _generations(told))


def _finalists(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Html]:
    rows: list[list[Content]] = [
        [
            title,
            "–" if row["fitness"] is None else f"{row['fitness']:.3f}",
            _share(row["accuracy"]),
            _share(row["validation_accuracy"], row["validation_ci95"]),
            _share(row["missing"]),
        ]
        for title, row in found.items()
    ]
    yield table(["prompt", "fitness", "training", "held out (95 %)", "missing"], rows)
    bars = {
        "training": [_bar(row["accuracy"]) for row in found.values()],
        "held out": [_bar(row["validation_accuracy"], row["validation_ci95"]) for row in found.values()],
    }
    yield grouped_bars(list(found), bars)


def _verdict(statistics: Mapping[str, Any]) -> Iterator[Html]:
    if statistics["p_value"] is None:
        yield element("p", "Not validated yet: training figures flatter whoever leads.")
        return
    believed = "chance alone explains this" if statistics["better"] is None else f"the {statistics['better']} is better"
    yield element(
        "p",
        f"Champion against best seed prompt on {statistics['pairs']:,} held-out problems, paired: "
        f"{100 * statistics['difference']:+.1f} points, p = {statistics['p_value']:.2g}: {believed}. "
        f"The {statistics['strategy']} search took {statistics['search_calls']:,} calls and was stopped by "
        f"{statistics['stopped_by']}; racing saved {statistics['calls_saved_by_racing'] or 0:,}.",
    )


def _models(champion: Mapping[str, Any], baseline: Mapping[str, Any]) -> Html:
    return table(
        ["model", "champion, held out (95 %)", "best seed"],
        [
            [
                model,
                _share(row["validation_accuracy"], row["validation_ci95"]),
                _share(baseline[model]["validation_accuracy"]),
            ]
            for model, row in champion.items()
        ],
    )


def _generations(told: list[Mapping[str, Any]]) -> Html:
    return table(
        ["generation", "best", "mean", "diversity", "calls"],
        [
            [
                str(row["generation"]),
                *(f"{row[name]:.3f}" for name in ("best", "mean", "diversity")),
                f"{row['calls']:,}",
            ]
            for row in told
        ],
    )


def _share(share: float | None, bounds: list[float] | None = None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.1f} %" + (f" ({100 * bounds[0]:.1f}–{100 * bounds[1]:.1f})" if bounds else "")


def _bar(share: float | None, bounds: list[float] | None = None) -> Bar | None:
    return None if share is None else Bar(100 * share, bounds and [100 * bound for bound in bounds])
