"""A simulation's part of an HTML report: who said how much, how it was judged, and with which attributes that goes."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.exports.drawings import means_with_intervals
from tidepool.engine.exports.html import Content, Html, element, section, table

MOST_DRAWN = 24

Row = Mapping[str, Any]


def sections(statistics: Mapping[str, Any]) -> Iterator[Html]:
    judgements = statistics["judgements"]
    measure = "rating" if judgements else "words"
    yield section("Simulations", _kinds(statistics["by_interaction_type"]), *_notes(statistics))
    if judgements:
        yield section(judgements["question"], *_ratings(judgements))
    if statistics["entities"]:
        yield section("Entities", *_entities(statistics["entities"], measure))
    if statistics["by_attribute"]:
        yield section(f"What goes with the {measure}", *_attributes(statistics["by_attribute"], measure))


def _kinds(kinds: Mapping[str, Row]) -> Html:
    columns = ("simulations", "completed", "failed", "messages", "words")
    return table(["", *columns], [[kind, *(f"{row[name]:,}" for name in columns)] for kind, row in kinds.items()])


def _notes(statistics: Mapping[str, Any]) -> Iterator[Html]:
    met, possible = statistics["combinations_run"], statistics["combinations_possible"]
    yield element(
        "p", f"{met:,} of {possible:,} possible combinations have met. Only completed simulations are measured."
    )
    if statistics["unsplit_scenes"]:
        yield element(
            "p", f"{statistics['unsplit_scenes']:,} narrated rounds name no speaker; they are kept as (scene)."
        )


def _ratings(judgements: Row) -> Iterator[Html]:
    low, high = judgements["scale"]
    yield element(
        "p",
        f"{judgements['given']:,} ratings from {low:g} to {high:g}, {judgements['missing']:,} missing"
        + (f"; mean {_measured(judgements)}." if judgements["given"] else "."),
    )
    spread = judgements["distribution"]
    if spread:
        yield table(["rating", *spread], [["times given", *(f"{count:,}" for count in spread.values())]])


def _entities(entities: Mapping[str, Row], measure: str) -> Iterator[Html]:
    ranked = sorted(entities.items(), key=lambda item: -((item[1][measure] or {}).get("mean") or 0.0))
    measures = ("words", "turns", *(("rating",) if measure == "rating" else ()))
    rows: list[list[Content]] = [
        [name, f"{row['simulations']:,}", *(_measured(row[one]) for one in measures)] for name, row in ranked
    ]
    yield table(["entity", "talks", *(f"{name} (95 %)" for name in measures)], rows)
    drawn = [(name, row[measure]["mean"], row[measure]["ci95"]) for name, row in ranked if row[measure]]
    if drawn:
        yield element("p", f"Mean {measure} of an entity in its own simulations, with the bootstrap's interval.")
        yield means_with_intervals(drawn[:MOST_DRAWN])


def _attributes(attributes: Mapping[str, Row], measure: str) -> Iterator[Html]:
    rows: list[list[Content]] = []
    for attribute, entry in attributes.items():
        test = entry["tests"][measure] or {}
        for place, group in enumerate(entry["groups"]):
            told = [_number(test.get("correlation")), _p_value(test.get("p_holm"))] if place == 0 else ["", ""]
            name = attribute if place == 0 else ""
            rows.append([name, group["value"], f"{group['entities']:,}", _measured(group[measure]), *told])
    yield table(["attribute", "value", "entities", f"{measure} (95 %)", "correlation", "p (Holm)"], rows)
    yield element(
        "p", "Compared over entities, not over talks: those of one entity resemble each other.", class_="soft"
    )


def _measured(found: Row | None) -> str:
    if found is None or found["mean"] is None:
        return "–"
    bounds = found["ci95"]
    return f"{found['mean']:,.2f}" + (f" ({bounds[0]:,.2f}–{bounds[1]:,.2f})" if bounds else "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _p_value(value: float | None) -> str:
    return "–" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"
