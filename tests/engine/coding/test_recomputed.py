"""Everything that is told of hand coding, worked out again from an export alone, by other code."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.engine.coding.coded import code_all, played_game, played_simulation
from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.exports.export import export_batch
from tidepool.engine.inference.corrected import kappa
from tidepool.engine.reports.blocks import Words


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
        self.agent, self.positive = outcome["agent"], bool(outcome["revealed"])
        mine = [code for code in codes if code["side"] == (0 if outcome["opener"] else 1)]
        self.codes = {code["coder"]: code["code"] for code in mine}
        self.weight = mine[0]["weight"] if mine else None
        counts = Counter(self.codes.values()).most_common()
        even = len(counts) > 1 and counts[0][1] == counts[1][1]
        self.code = None if not counts else "unclear" if even else counts[0][0]


@pytest.fixture(scope="module")
def sides(game: tuple[dict[str, Any], dict[str, Any]]) -> list[Side]:
    return [Side(outcome, unit["codes"]) for unit in game[0]["units"] for outcome in unit["outcomes"]]


def share(group: list[Side]) -> tuple[float, float, float]:
    """The share coded yes of a group of sides; with its distances below and above."""
    clear = [side.code == "yes" for side in group if side.code in ("yes", "no")]
    mean = float(numpy.mean(clear))
    low, high = wilson(mean, len(clear))
    return mean, mean - max(0.0, low), min(1.0, high) - mean


def test_the_sample_is_drawn_by_verdict_with_one_side_a_talk(
    game: tuple[dict[str, Any], dict[str, Any]], sides: list[Side]
) -> None:
    results, analysis = game
    found = analysis["coding"]["sides"]
    chosen = Counter(stratum for *_, stratum, _ in results["findings"]["coding.sides"]["chosen"])
    positives = sum(side.positive for side in sides)
    for name, batch in (("positive", positives), ("negative", len(sides) - positives)):
        assert found["strata"][name] == {"batch": batch, "sampled": chosen[name], "coded": chosen[name]}
        weights = [side.weight for side in sides if side.codes and side.positive == (name == "positive")]
        assert sum(weights) == pytest.approx(batch)
    assert all(len({code["side"] for code in unit["codes"]}) <= 1 for unit in results["units"])
    coded = [side for side in sides if side.codes]
    assert found["coded"] == len(coded) == 70 and found["unclear"] == sum(side.code == "unclear" for side in coded)
    assert {name: row["coded"] for name, row in found["coders"].items()} == {"ann": 70, "bob": 60, "cy": 40}
    assert set(found["instruments"]) == {"detectors", "judge"}
    warnings = [
        block.text for block in coding_blocks(analysis) if isinstance(block, Words) and block.level == "warning"
    ]
    assert any("assume that the coders' codes are true" in text for text in warnings)


def test_the_corrected_rates(game: tuple[dict[str, Any], dict[str, Any]], sides: list[Side]) -> None:
    analysis = game[1]
    groups = {"": (sides, analysis["overall"]["secrets_revealed_ci95"], analysis["coding"]["sides"]["corrected"])}
    for agent, told in analysis["coding"]["sides"]["agents"].items():
        own = [side for side in sides if side.agent == agent]
        groups[agent] = own, analysis["agents"][agent]["times_revealed_secret_ci95"], told
    assert len(groups) > 1
    for own, raw, told in groups.values():
        positive, negative = ([side for side in own if side.positive is sign] for sign in (True, False))
        yes, no = share(positive), share(negative)
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


def test_a_simulation_s_judge_is_one_more_coder(tmp_path: Path) -> None:
    path = played_simulation(tmp_path / "study.db")
    for coder in ("ann", "bob"):
        code_all(path, coder, size=40, choices=("4", "2", "3"))
    results, analysis = exported(path, tmp_path)
    told = {tuple(pair["coders"]): pair for pair in analysis["coding"]["sides"]["agreement"]}
    assert set(told) == {("ann", "bob"), ("ann", "judge"), ("bob", "judge")}
    ratings = {(u["sequence_number"], j["place"] - 1): j["rating"] for u in results["units"] for j in u["judgements"]}
    pairs = [
        (float(code["code"]), ratings[unit["sequence_number"], code["side"]])
        for unit in results["units"]
        for code in unit["codes"]
        if code["coder"] == "ann"
    ]
    assert told["ann", "judge"]["both"] == len(pairs) == 40
    assert told["ann", "judge"]["agree_percentage"] == pytest.approx(100 * sum(a == b for a, b in pairs) / 40)
    assert told["ann", "judge"]["kappa"] == pytest.approx(kappa(pairs))
