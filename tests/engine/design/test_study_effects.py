"""A study's statistics from its file: what was stated stands apart, cells are those of the batches, and all kinds have them."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import game
from tidepool import SecretGame
from tidepool.engine.config.sections import Config
from tidepool.engine.design.report import study_blocks
from tidepool.engine.design.statistics import design_statistics, study_statistics
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.effects import FEWEST_REPLICATES, CellBatch, tables_of
from tidepool.engine.inference.hypotheses import Cell, Factors, check_hypotheses
from tidepool.engine.inference.measures import BatchValues, Outcome, Talk
from tidepool.engine.reports.blocks import Block, Figure, Table, Words, as_json, from_json
from tidepool.engine.run import run_batch
from tidepool.engine.studies.results import study_outcomes
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading, writing


def design_of(
    factors: Mapping[str, Mapping[str, Mapping[str, Any]]],
    hypotheses: Sequence[Mapping[str, str]] = (),
    mode: str = "full",
    replicates: int = 1,
) -> dict[str, Any]:
    """Factors as name → level → what it sets."""
    return {
        "kind": "secret_game",
        "mode": mode,
        "replicates": replicates,
        "seed": 1,
        "factors": [
            {"name": name, "levels": [{"level": level, "set": dict(own)} for level, own in levels.items()]}
            for name, levels in factors.items()
        ],
        "hypotheses": list(hypotheses),
        "frozen_at": "2026-01-31T08:15:30.250Z",
    }


def made_study(path: Path, design: Mapping[str, Any], batch: Callable[[Cell, int], Config]) -> dict[str, Any]:
    """Runs a batch for every cell and replicate; the row of the study."""
    factors = Factors.of(design)
    for replicate in range(1, design["replicates"] + 1):
        for cell in factors.cells:
            asyncio.run(run_batch(batch(cell, replicate), path))
            _make_cell(path, replicate, dict(zip(factors.names, cell, strict=True)))
    with writing(path) as connection:
        connection.execute(
            "INSERT INTO study (id, name, design, created_at) VALUES ('s1', 'made', ?, 0)", (json.dumps(design),)
        )
    with reading(path) as connection:
        return dict(connection.execute("SELECT * FROM study").fetchone())


def _make_cell(path: Path, replicate: int, levels: Mapping[str, str]) -> None:
    with writing(path) as connection:
        number = find_batch(connection, "last")["number"]
        connection.execute("UPDATE batch SET study_id = 's1', replicate = ? WHERE number = ?", (replicate, number))
        connection.executemany(
            "INSERT INTO study_cell (batch_number, factor, level) VALUES (?, ?, ?)",
            [(number, factor, level) for factor, level in levels.items()],
        )


FIRMNESS = {"firmness": {"plain": {}, "firm": {"agents.*.instructions": "Never yield."}}}
STATED = {"outcome": "revealed", "contrast": "firmness: firm - plain", "direction": "less"}
REVEALED = Outcome(name="revealed", words="sides that revealed", unit="%", bounds=(0.0, 1.0))


def tables(plain: Sequence[float], firm: Sequence[float]) -> dict[str, Any]:
    cells: tuple[Cell, ...] = (("plain",), ("firm",))
    talks = [Talk(number) for number in range(len(plain))]
    batches = [
        CellBatch(cell, 1, BatchValues(talks=talks, by_talk={"revealed": values}))
        for cell, values in zip(cells, (plain, firm), strict=True)
    ]
    return tables_of([REVEALED], cells, batches)


def lone(plain: Sequence[float]) -> Any:
    """As if the other cell were deleted."""
    batch = CellBatch(("plain",), 1, BatchValues(talks=[Talk(0)], by_talk={"revealed": plain[:1]}))
    return tables_of([REVEALED], [("plain",)], [batch])["revealed"]


OPEN, CLOSED = [1.0, 0.5, 1.0, 0.0, 0.5] * 8, [0.0, 0.5, 0.0, 0.0, 0.5] * 8


def words(blocks: Sequence[Block]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Words))


def titles(blocks: Sequence[Block]) -> list[str]:
    return [block.title for block in blocks if isinstance(block, Table | Figure)]


def test_what_was_stated_is_confirmatory_and_not_among_the_exploratory() -> None:
    found = design_statistics(design_of(FIRMNESS, [STATED]), tables(OPEN, CLOSED))
    (one,) = found["hypotheses"]
    assert one["verdict"] == "supported" and one["difference"] == pytest.approx(-40) and one["units"] == "talks"
    assert found["outcomes"]["revealed"]["effects"] == []
    unasked = design_statistics(design_of(FIRMNESS), tables(OPEN, CLOSED))
    assert unasked["hypotheses"] == []
    (effect,) = unasked["outcomes"]["revealed"]["effects"]
    assert effect["difference"] == pytest.approx(-40) and effect["p_value"] == pytest.approx(2 * one["p_value"])


def test_an_effect_the_other_way_is_no_finding_however_large() -> None:
    found = design_statistics(design_of(FIRMNESS, [STATED]), tables(CLOSED, OPEN))
    assert found["hypotheses"][0]["verdict"] == "not supported: opposite direction"
    assert found["hypotheses"][0]["p_value"] > 0.99
    (lost,) = design_statistics(design_of(FIRMNESS, [STATED]), {"revealed": lone(OPEN)})["hypotheses"]
    assert lost["estimand"] == "conversations like these" and lost["verdict"] == "no verdict: its cells are missing"


def test_verdicts_on_a_part_of_a_study_are_told() -> None:
    found = design_statistics(design_of(FIRMNESS, [STATED]), tables(OPEN, CLOSED))
    lacking = {"ended_with_failures": 3, "not_ended": 2, "not_in_file": 0}
    part = words(study_blocks({**found, "missing_batches": lacking}))
    assert "Planned batches that ended with failures: 3; that had not ended: 2. Verdicts use only a part" in part
    assert "Planned batches" not in words(study_blocks({**found, "missing_batches": dict.fromkeys(lacking, 0)}))


def test_hypotheses_of_a_file_that_somebody_changed_are_told_not_raised() -> None:
    design = design_of(FIRMNESS, [{"outcome": "weather", "contrast": "[red]: x"}])
    found = design_statistics(design, tables(OPEN, CLOSED))
    assert "'weather' is not a measure" in words(study_blocks(found))


@pytest.mark.parametrize(
    ("hypothesis", "where", "told"),
    [
        ({**STATED, "outcome": "reveald"}, "outcome", "Did you mean 'revealed'"),
        ({**STATED, "contrast": "firmness: frim - plain"}, "contrast", "Did you mean 'firm'"),
        ({**STATED, "direction": "down"}, "direction", "'less'"),
    ],
)
def test_a_wrong_hypothesis_is_told_at_its_place(hypothesis: Mapping[str, str], where: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        check_hypotheses(design_of(FIRMNESS, [STATED, hypothesis]), [REVEALED])
    assert told in str(error.value) and error.value.where == ("design", "hypotheses", 1, where)


def test_a_hypothesis_that_can_have_no_verdict_is_told_before_anything_is_bought() -> None:
    outcomes = study_outcomes("evolution", [{}])
    stated = [{"outcome": "accuracy", "contrast": "firmness: firm - plain"}]
    (told,) = check_hypotheses(design_of(FIRMNESS, stated, replicates=5), outcomes)
    assert "one number per batch" in told and f"at least {FEWEST_REPLICATES} replicates" in told
    assert check_hypotheses(design_of(FIRMNESS, stated, replicates=6), outcomes) == []
    assert check_hypotheses(design_of(FIRMNESS, [STATED]), [REVEALED]) == []


# -- from files ------------------------------------------------------------------------------------------------


def test_the_report_of_a_study_of_games_has_a_section_for_each_outcome(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    models = {"guarded": {"agents.Ada.model": "simulated:guarded"}, "open": {"agents.Ada.model": "simulated:talkative"}}
    stated = [{"outcome": "Ada: revealed", "contrast": "who: open - guarded", "direction": "greater"}]

    def batch(cell: Cell, replicate: int) -> SecretGame:
        study = game(6, seed=replicate)
        study.agents[0].model = models[cell[0]]["agents.Ada.model"]
        return study

    row = made_study(path, design_of({"who": models}, stated, replicates=2), batch)
    with reading(path) as connection:
        found = study_statistics(connection, row)
    assert list(found["outcomes"]) == ["revealed", "score", "revealed of Ada", "obtained of Ada", "score of Ada"]
    (ada,) = found["hypotheses"]
    assert ada["outcome"] == "revealed of Ada" and ada["difference"] > 0 and ada["number"] == 6
    assert json.loads(json.dumps(found)) == found
    blocks = study_blocks(found)
    sections = [block.text for block in blocks if isinstance(block, Words) and block.level == "strong"]
    assert (
        sections[0] == "sides that revealed, Ada's own and sides that obtained, Ada's own, by cell (n: conversations)"
    )
    assert [title for title in titles(blocks) if title] == [
        "effects on revealed of Ada, percentage points",
        "hypotheses (confirmatory); n = 6 conversations",
        "all other effects (exploratory)",
    ]
    assert tuple(from_json(as_json(blocks))) == tuple(blocks)


def cell_row(connection: sqlite3.Connection, kind: str, replicate: int, level: str, config: Mapping[str, Any]) -> int:
    number = connection.execute(
        "INSERT INTO batch (id, kind, name, description, status, paused, seed, simulated, imported, host, config, version, "
        "created_at, study_id, replicate) VALUES (?, ?, 'n', '', 'completed', 0, 1, 1, 0, '', ?, '1', 0, 's', ?)",
        (f"{level}{replicate}", kind, json.dumps(config), replicate),
    ).lastrowid
    assert number
    connection.execute("INSERT INTO study_cell VALUES (?, 'how', ?)", (number, level))
    return number


def found_in(path: Path) -> dict[str, Any]:
    with reading(path) as connection:
        design = json.dumps(design_of({"how": {"a": {}, "b": {}}}))
        return study_statistics(connection, {"id": "s", "design": design})


def keep(connection: sqlite3.Connection, number: int, name: str, content: Any) -> None:
    connection.execute("INSERT INTO finding VALUES (?, ?, ?)", (number, name, json.dumps(content)))


@pytest.mark.parametrize(
    ("kind", "name", "finding", "outcome", "scale"),
    [
        ("evolution", "result", lambda value: {"champion": {"validation_accuracy": value}}, "held-out accuracy", 100),
        ("mutation", "heldout", lambda value: {"policy": {"mean_reward": value}}, "held-out reward", 1),
    ],
)
def test_runs_that_are_worth_one_number_are_compared_replicate_by_replicate(
    tmp_path: Path, kind: str, name: str, finding: Any, outcome: str, scale: float
) -> None:
    path = tmp_path / "study.db"
    with writing(path) as connection:
        for replicate, (level, gain) in product(range(1, 7), (("a", 0.0), ("b", 0.1))):
            number = cell_row(connection, kind, replicate, level, {})
            keep(connection, number, name, finding(0.5 + gain + 0.01 * replicate * (1 + 10 * gain)))
    found = found_in(path)["outcomes"][outcome]
    (effect,) = found["effects"]
    assert effect["difference"] == pytest.approx(0.135 * scale) and effect["units"] == "replicates"
    assert effect["p_value"] < 0.001 and [one["batches"] for one in found["cells"]] == [6, 6]


def test_a_study_that_has_just_begun_has_cells_and_nothing_to_compare(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with writing(path) as connection:
        for level in "ab":
            cell_row(connection, "simulation", 1, level, {"simulation": {"judge": {"scale": [1, 5]}}})
    found = found_in(path)["outcomes"]["rating"]
    assert [(one["talks"], one["mean"]) for one in found["cells"]] == [(0, None), (0, None)]
    assert {one["estimand"] for one in (*found["cells"], *found["effects"])} == {"entities like these"}
    assert found["effects"][0]["units"] == "entities"
    assert found["effects"][0]["note"].startswith("no result") and study_blocks(found_in(path))


def test_a_study_without_any_outcome_says_so(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with writing(path) as connection:
        cell_row(connection, "simulation", 1, "a", {"simulation": {}})
    found = found_in(path)
    assert found["outcomes"] == {} and "No result yet" in words(study_blocks(found))


@pytest.mark.parametrize("design", ["no json", "[]", '{"factors": [{}]}', '{"factors": 3}'])
def test_a_design_that_somebody_damaged_is_told(design: str) -> None:
    with pytest.raises(UsageError, match="design of the study cannot be read"):
        study_statistics(sqlite3.connect(":memory:"), {"id": "s", "design": design})
