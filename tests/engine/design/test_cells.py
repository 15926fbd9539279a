"""A config with a [design] becomes the cells that one would expect, and a wrong one is told in words."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.design.designs import FACTORS, written
from tidepool.engine.config.loading import load_config
from tidepool.engine.config.toml_files import put_at
from tidepool.engine.design.cells import plan_study, replicate_seed
from tidepool.engine.errors import UsageError
from tidepool.engine.run import create_study


def test_every_level_meets_every_other_once_a_replicate(tmp_path: Path) -> None:
    study = plan_study(load_config(written(tmp_path)), tmp_path / "none.db")
    places = [(cell.replicate, *cell.levels.values()) for cell in study.cells]
    assert places[:4] == [
        (1, "simulated:guarded", "plain"),
        (1, "simulated:guarded", "firm"),
        (1, "simulated:naive", "plain"),
        (1, "simulated:naive", "firm"),
    ]
    assert len(places) == len(set(places)) == 8
    firm = study.cells[3].config
    assert [agent.model for agent in firm.agents] == ["simulated:naive", "simulated:naive"]
    assert {agent.instructions for agent in firm.agents} == {"Never yield."}
    assert {agent.instructions for agent in study.cells[0].config.agents} == {""}
    seeds = {(cell.replicate, cell.config.batch.seed) for cell in study.cells}
    assert seeds == {(1, 7), (2, replicate_seed(7, 2))}, "cells of a replicate share a seed"
    assert replicate_seed(7, 2) not in (7, replicate_seed(7, 3), replicate_seed(8, 2))
    design = study.design
    assert design["hypotheses"] == [{"outcome": "revealed", "contrast": "firmness: firm - plain", "direction": "less"}]
    assert design["frozen_at"].startswith("20")
    as_written = {"num_interactions": 6, "messages_per_interaction": 3}
    assert design["source"]["secret_game"] == as_written, "no defaults"


def test_lists_in_step(tmp_path: Path) -> None:
    paired = FACTORS.replace("replicates = 2", 'mode = "paired"')
    study = plan_study(load_config(written(tmp_path, factors=paired)), tmp_path / "none.db")
    assert [tuple(cell.levels.values()) for cell in study.cells] == [
        ("simulated:guarded", "plain"),
        ("simulated:naive", "firm"),
    ]


ONE = '"agents.Ada.memory" = ["short", "long"]\n'
WRONG = {
    "one level": ('"agents.Ada.memory" = ["short"]', "has 1 level"),
    "twice": ('"agents.Ada.memory" = ["short", "short"]', "twice"),
    "nobody": ('"agents.Adda.memory" = ["short", "long"]', "Did you mean 'Ada'"),
    "no key": ('"agents.Ada.memmory" = ["short", "long"]', "memory"),
    "no section": ('"secret_gane.mode" = ["standard", "retained"]', "secret_gane"),
    "wrong value": ('"agents.Ada.memory" = ["short", "lang"]', "lang"),
    "limits": ('"service.max_concurrent" = [1, 2]', "one set of limits"),
    "limits in quotes": ("'\"service\".max_concurrent' = [1, 2]", "one set of limits"),
    "limits behind a space": ('" service .max_concurrent" = [1, 2]', "one set of limits"),
    "dates": ('"agents.Ada.instructions" = [2026-01-01, 2026-01-02]', "= 2026-01-01: expected text"),
    "seed": ('"batch.seed" = [1, 2]', "cannot vary"),
    "bare word": ('memory = ["short", "long"]', "level 1 of 'memory' cannot be read"),
    "bundle without set": ('memory = [ { level = "a" }, { level = "b" } ]', "level 1 of 'memory' cannot be read"),
    "a key without quotes": ('agents.Ada.memory = ["short", "long"]', '"agents.Ada.memory" = '),
    "whose key": ('"agents.memory" = ["short", "long"]', "Known names are Ada, Dr. Bob, and * for all"),
    "one table": (f'{ONE}[design.hypotheses]\noutcome = "revealed"', "[[design.hypotheses]]"),
    "same cells": ('x = [ { level = "a", set = {} }, { level = "b", set = {} } ]', "have the same settings"),
    "all of an agent": ('"agents.Ada" = ["x", "y"]', "Name one of its keys"),
    "unequal lists": (f'{ONE}"agents.Ada.temperature" = [1, 2, 3]\n[design]\nmode = "paired"', "lists of equal length"),
    "too many": (f"{ONE}[design]\nreplicates = 900", "at most"),
    "unknown key": (f"{ONE}[design]\nreplicate = 3", "replicates"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_design_is_told_in_words(case: str, tmp_path: Path) -> None:
    factors, words = WRONG[case]
    factors = f"[design.factors]\n{factors}\n"
    with pytest.raises(UsageError) as error:
        plan_study(load_config(written(tmp_path, factors=factors)), tmp_path / "none.db")
    assert words in str(error.value) and str(error.value).startswith(str(tmp_path / "study.toml"))


def _many(factors: int, levels: int) -> str:
    return "[design.factors]\n" + "".join(f'"x.{one}" = {list(range(levels))}\n' for one in range(factors))


TOO_LARGE = {
    "full": (_many(3, 100), "1,000,000 batches, but a study can have at most 1,000"),
    "replicates": ("[design]\nreplicates = 1000\n" + _many(2, 30), "900,000 batches"),
    "paired": ('[design]\nmode = "paired"\n' + _many(2, 1_001), "1,001 batches"),
    # Levels are compared with each other, so a long list is refused before it is read.
    "a repeated level": ("[design.factors]\n" + f'"x.0" = {[1] * 1_001}\n', "1,001 batches"),
    "a factor without levels": (_many(2, 1_001) + '"x.2" = []\n', "1,002,001 batches"),
}


@pytest.mark.parametrize("ask", [plan_study, create_study])
@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_design_that_is_too_large_is_refused_before_its_cells_are_built(
    case: str, ask: Callable[..., object], tmp_path: Path
) -> None:
    factors, words = TOO_LARGE[case]
    config = load_config(written(tmp_path, factors=factors))
    tracemalloc.start()
    try:
        with pytest.raises(UsageError) as error:
            ask(config, tmp_path / "none.db")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert words in str(error.value) and "Remove factors or levels" in str(error.value)
    assert peak < 20e6 and not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ('agents."Dr. Bob".model', "m", [["Ada", None], ["Dr. Bob", "m"]]),
        ("agents.*.model", "m", [["Ada", "m"], ["Dr. Bob", "m"]]),
    ],
)
def test_agents_are_found_by_name(path: str, value: str, found: list[list[str | None]]) -> None:
    data = {"agents": [{"name": "Ada"}, {"name": "Dr. Bob"}]}
    put_at(data, path, value)
    assert [[agent["name"], agent.get("model")] for agent in data["agents"]] == found


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.", ".a", 'a."b', "agents.*", "agents.Nobody.model"])
def test_a_path_that_leads_nowhere_is_told(path: str) -> None:
    with pytest.raises(UsageError):
        put_at({"agents": [{"name": "Ada"}], "a": {}}, path, 1)
