"""A study of one's own: two agents argue and a judge decides. Statistics, report, comparison and export follow from its measure."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.state import query
from tidepool.engine.call import Call, Message
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.section import Section
from tidepool.engine.config.sections import ModelName
from tidepool.engine.design.statistics import read_study
from tidepool.engine.exports.export import export_batch
from tidepool.engine.inference.measures import PERCENT, Outcome, Sections
from tidepool.engine.kinds import KINDS, Kind
from tidepool.engine.reports.blocks import Estimate, Headline
from tidepool.engine.results.comparing import compare
from tidepool.engine.results.report import report_of
from tidepool.engine.run import run_batch, run_study
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import Plan, PlannedCalls
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.studies.results import Results
from tidepool.engine.studies.study import Study

SIDES = ("for", "against")


class DebateSettings(Section):
    motion: str = "Tea is better than coffee."
    model: ModelName = "simulated:filler"
    debates: int = 20
    turns: int = 2


class Debate(Study):
    @property
    def settings(self) -> DebateSettings:
        return cast(DebateSettings, self.config.settings)

    def plan(self) -> Plan:
        waves = range(1, self.settings.turns + 2)
        calls = (PlannedCalls(wave, self.settings.model, self.settings.debates, 100, 75) for wave in waves)
        return Plan(self.settings.debates, tuple(calls))

    async def play(self, run: BatchRun) -> None:
        run.expect_units(self.settings.debates)
        numbers = range(1, self.settings.debates + 1)
        await run.units(UnitPlan(number, self.argue, participants=SIDES) for number in numbers)

    async def argue(self, unit: Unit) -> None:
        said = [Message("user", self.settings.motion)]
        for turn in range(1, self.settings.turns + 2):
            speaker = SIDES[turn % 2] if turn <= self.settings.turns else "judge"
            call = Call(f"t{turn}", turn, self.settings.model, tuple(said), speaker=speaker, turn=turn)
            said.append(Message("user", (await unit.ask(call)).text))
        won = int(said[-1].text[19]) % 2
        for place, side in enumerate(SIDES):
            unit.measure("won", float(place == won), of=side)


class DebateResults(Results):
    def measures(self, sections: Sections) -> list[Outcome]:
        words = "debates that the side won"
        return [Outcome(name=f"won of {side}", words=f"{words}, {side}", unit=PERCENT, bounds=(0, 1)) for side in SIDES]


@pytest.fixture(autouse=True)
def debate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kind = Kind(
        name="debate",
        title="Debate",
        summary="two sides argue, a judge decides",
        units="debates",
        settings_class=DebateSettings,
        study_class=Debate,
        results_class=DebateResults,
        talks=True,
    )
    monkeypatch.setitem(cast(dict[str, str], KINDS.builtin), "debate", "unused:KIND")
    monkeypatch.setitem(cast(dict[str, Any], KINDS.loaded()), "debate", kind)
    yield


def written(seed: int = 1, **more: Any) -> Any:
    return config_from({"batch": {"kind": "debate", "name": "tea", "seed": seed}, "debate": {}, **more})


async def test_a_study_of_ones_own_has_all_that_follows_from_its_measure(database: Path, tmp_path: Path) -> None:
    summary = await run_batch(written(), database)
    found = summary["statistics"]["measures"]["won of for"]
    (share,) = query(database, "SELECT avg(value) * 100 FROM measures WHERE participant = 'for'")[0]
    assert (
        found["mean"] == pytest.approx(share) and found["ci95"][0] < share < found["ci95"][1] and found["units"] == 20
    )
    headline = next(block for block in report_of(database, summary).findings if isinstance(block, Headline))
    assert isinstance(headline.figure, Estimate) and headline.figure.value == pytest.approx(share)
    other = await run_batch(written(seed=2), database)
    (difference,) = compare(database, [summary.batch_id, other.batch_id])["differences"]
    assert difference["paired"] and -100 <= difference["difference_ci95"][0] <= difference["difference"]
    files = export_batch(database, summary.batch_id, "csv", tmp_path / "tables")
    rows = list(csv.DictReader((tmp_path / "tables" / "measures.csv").read_text(encoding="utf-8").splitlines()))
    assert [path.name for path in files] == ["messages.csv", "measures.csv"] and len(rows) == 40
    assert {row["measure"] for row in rows} == {"won"} and {row["missing"] for row in rows} == {"0"}


async def test_a_study_of_ones_own_has_effects_in_a_design(database: Path) -> None:
    factors = {"debate.turns": [2, 3]}
    study = await run_study(written(design={"factors": factors, "replicates": 1}), database)
    outcomes = read_study(study["study_id"], database)["statistics"]["outcomes"]
    assert list(outcomes) == ["won of for", "won of against"]
    assert outcomes["won of for"]["effects"][0]["number"] == 20
