"""Everything that is told of hand coding, worked out again from an export alone, by other code."""

import json
from collections import Counter
from math import hypot
from pathlib import Path
from typing import Any

import numpy
import pytest
from scipy.stats import t

from tests.engine.coding.coded import code_all, played_game, played_simulation
from tidepool.engine.exports.export import export_batch


def exported(path: Path, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    results, analysis = export_batch(path, "last", "json", folder)
    return json.loads(results.read_text()), json.loads(analysis.read_text())


def wilson(share: float, trials: float) -> tuple[float, float]:
    """scipy's, on the line between the nearest whole numbers where the trials are none."""
    z = 1.959963984540054
    ends = numpy.roots([1 + z * z / trials, -(2 * share + z * z / trials), share * share])
    return float(min(ends.real)), float(max(ends.real))


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("game")
    path = played_game(folder / "study.db")
    for coder, most in (("ann", 100), ("bob", 60), ("cy", 40)):
        code_all(path, coder, most, size=70)
    return exported(path, folder)


class Side:
    def __init__(self, outcome: dict[str, Any], codes: list[dict[str, Any]]) -> None:
        self.agent, self.positive, self.detector = outcome["agent"], bool(outcome["revealed"]), outcome["detector"]
        self.stratum = "positive" if self.positive else "uncertain" if outcome["uncertain"] else "negative"
        mine = [code for code in codes if code["side"] == (0 if outcome["opener"] else 1) and code["turn"] is None]
        self.codes = {code["coder"]: code["code"] for code in mine}
        self.weight = mine[0]["weight"] if mine else None
        counts = Counter(self.codes.values()).most_common()
        even = len(counts) > 1 and counts[0][1] == counts[1][1]
        self.code = None if not counts else "unclear" if even else counts[0][0]


@pytest.fixture(scope="module")
def sides(game: tuple[dict[str, Any], dict[str, Any]]) -> list[Side]:
    return [Side(outcome, unit["codes"]) for unit in game[0]["units"] for outcome in unit["outcomes"]]


def share(sides: list[Side], group: list[Side]) -> tuple[float, float, float]:
    """The share coded yes of a group of sides, by strata; with its distances below and above."""
    parts = []
    for stratum in {side.stratum for side in group}:
        size = sum(side.stratum == stratum for side in group) / len(group)
        clear = [side.code == "yes" for side in group if side.stratum == stratum and side.code in ("yes", "no")]
        mean = numpy.mean(clear)
        low, high = wilson(mean, len(clear))
        parts.append((size, mean, max(0.0, mean - low), min(1.0, high) - mean))
    value = sum(size * mean for size, mean, *_ in parts)
    below, above = (hypot(*(part[0] * part[side] for part in parts)) for side in (2, 3))
    return value, min(value, below), min(1 - value, above)


def test_the_sample_has_the_strata_of_the_outcomes_and_one_side_a_talk(
    game: tuple[dict[str, Any], dict[str, Any]], sides: list[Side]
) -> None:
    results, analysis = game
    found = analysis["coding"]["sides"]
    assert {name: row["batch"] for name, row in found["strata"].items()} == Counter(side.stratum for side in sides)
    assert found["strata"] == {
        name: {**row, "sampled": sum(one[3] == name for one in results["findings"]["coding.sides"]["chosen"])}
        for name, row in found["strata"].items()
    }
    assert all(len({code["side"] for code in unit["codes"]}) <= 1 for unit in results["units"])
    coded = [side for side in sides if side.codes]
    assert found["coded"] == len(coded) == 70 and found["unclear"] == sum(side.code == "unclear" for side in coded)
    assert {name: row["coded"] for name, row in found["coders"].items()} == {"ann": 70, "bob": 60, "cy": 40}
    for stratum in ("positive", "negative", "uncertain"):
        weights = [side.weight for side in coded if side.stratum == stratum]
        assert sum(weights) == pytest.approx(sum(side.stratum == stratum for side in sides))


def test_the_corrected_rates(game: tuple[dict[str, Any], dict[str, Any]], sides: list[Side]) -> None:
    analysis = game[1]
    groups = {"": (sides, analysis["overall"]["secrets_revealed_ci95"], analysis["coding"]["sides"]["corrected"])}
    for agent, told in analysis["coding"]["sides"]["agents"].items():
        own = [side for side in sides if side.agent == agent]
        groups[agent] = own, analysis["agents"][agent]["times_revealed_secret_ci95"], told
    assert len(groups) > 1
    for own, raw, told in groups.values():
        positive, negative = ([side for side in own if side.positive is sign] for sign in (True, False))
        yes, no = share(own, positive), share(own, negative)
        q = len(positive) / len(own)
        rate = q * yes[0] + (1 - q) * no[0]
        seen = max(0.2, q * yes[0] / rate + (1 - q) * (1 - no[0]) / (1 - rate) - 1)
        ends = []
        for end in (0, 1):
            alone, together = abs(wilson(q, len(own))[end] - q), abs(raw[end] / 100 - q)
            added = max(0.0, together**2 - alone**2) / seen**2
            ends.append(
                (q * yes[end + 1]) ** 2 + ((1 - q) * no[end + 1]) ** 2 + ((yes[0] - no[0]) * alone) ** 2 + added
            )
        limits = 100 * max(0, rate - ends[0] ** 0.5), 100 * min(1, rate + ends[1] ** 0.5)
        assert told["raw_percentage"] == pytest.approx(100 * q) and told["corrected_percentage"] == pytest.approx(
            100 * rate
        )
        assert told["corrected_ci95"] == pytest.approx(limits)


def test_a_simulation_s_ratings(tmp_path: Path) -> None:
    path = played_simulation(tmp_path / "study.db")
    for coder in ("ann", "bob"):
        code_all(path, coder, size=40, choices=("4", "2", "3"))
    results, analysis = exported(path, tmp_path)
    told = analysis["coding"]["sides"]["ratings"]
    sample = results["findings"]["coding.sides"]
    ratings = {(u["sequence_number"], j["place"] - 1): j["rating"] for u in results["units"] for j in u["judgements"]}
    strata = Counter(f"{rating:g}" for rating in ratings.values() if rating is not None)
    assert sample["strata"] == strata
    coded: dict[str, list[tuple[float, float]]] = {name: [] for name in strata}
    for number, side, _, stratum, weight in sample["chosen"]:
        unit = next(unit for unit in results["units"] if unit["sequence_number"] == number)
        given = [float(code["code"]) for code in unit["codes"]]
        coded[stratum].append((weight, ratings[number, side] - numpy.mean(given)))
    total = sum(strata.values())
    mean = variance = freedom = 0.0
    for name, rows in coded.items():
        weights, gaps = numpy.array(rows).T
        middle = float(numpy.average(gaps, weights=weights))
        mean += strata[name] / total * middle
        spread = ((gaps - middle) ** 2).sum() / (len(gaps) - 1)
        variance += (strata[name] / total) ** 2 * spread * (weights**2).sum() / weights.sum() ** 2
        freedom += len(gaps) - 1
    reach = t.ppf(0.975, freedom) * variance**0.5
    assert told["difference"] == pytest.approx(mean) and told["difference_ci95"] == pytest.approx(
        (mean - reach, mean + reach)
    )
    judged = analysis["judgements"]
    given = [rating for rating in ratings.values() if rating is not None]
    assert told["mean"] == pytest.approx(numpy.mean(given)) == pytest.approx(judged["mean"])
    low = told["mean"] - mean - hypot(told["mean"] - judged["ci95"][0], reach)
    high = told["mean"] - mean + hypot(judged["ci95"][1] - told["mean"], reach)
    assert told["corrected_mean"] == pytest.approx(told["mean"] - mean)
    assert told["corrected_mean_ci95"] == pytest.approx((max(1, low), min(5, high)))
    assert analysis["coding"]["sides"]["agreement"]["level"] == "interval"
