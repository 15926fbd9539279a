"""A config with a [design] becomes the cells that one would expect, and a wrong one is told in words."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.design.designs import FACTORS, written
from tidepool.engine.config.loading import load_config
from tidepool.engine.config.toml_files import put_at
from tidepool.engine.design.cells import plan_study, priced_study, replicate_seed
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


ONE = '[design.factors]\n"agents.Ada.memory" = ["short", "long"]\n'
WRONG = {
    "one level": ('[design.factors]\n"agents.Ada.memory" = ["short"]\n', "has 1 level"),
    "twice": ('[design.factors]\n"agents.Ada.memory" = ["short", "short"]\n', "twice"),
    "nobody": ('[design.factors]\n"agents.Adda.memory" = ["short", "long"]\n', "Did you mean 'Ada'"),
    "no key": ('[design.factors]\n"agents.Ada.memmory" = ["short", "long"]\n', "memory"),
    "no section": ('[design.factors]\n"secret_gane.mode" = ["standard", "retained"]\n', "secret_gane"),
    "wrong value": ('[design.factors]\n"agents.Ada.memory" = ["short", "lang"]\n', "lang"),
    "limits": ('[design.factors]\n"service.max_concurrent" = [1, 2]\n', "one set of limits"),
    "limits in quotes": ("[design.factors]\n'\"service\".max_concurrent' = [1, 2]\n", "one set of limits"),
    "limits behind a space": ('[design.factors]\n" service .max_concurrent" = [1, 2]\n', "one set of limits"),
    "dates": (
        '[design.factors]\n"agents.Ada.instructions" = [2026-01-01, 2026-01-02]\n',
        "= 2026-01-01: expected text",
    ),
    "seed": ('[design.factors]\n"batch.seed" = [1, 2]\n', "cannot change"),
    "bare word": ('[design.factors]\nmemory = ["short", "long"]\n', "level 1 of 'memory' cannot be read"),
    "bundle without set": (
        '[design.factors]\nmemory = [ { level = "a" }, { level = "b" } ]\n',
        "level 1 of 'memory' cannot be read",
    ),
    "a key without quotes": ('[design.factors]\nagents.Ada.memory = ["short", "long"]\n', '"agents.Ada.memory" = '),
    "whose key": ('[design.factors]\n"agents.memory" = ["short", "long"]\n', "There are Ada, Dr. Bob, and * for all"),
    "one table": (f'{ONE}[design.hypotheses]\noutcome = "revealed"\n', "[[design.hypotheses]]"),
    "contrast without factor": (
        f'{ONE}[[design.hypotheses]]\noutcome = "revealed"\ncontrast = "long - short"\n',
        "The factors of the design are agents.Ada.memory: 'short', 'long'",
    ),
    "same cells": (
        '[design.factors]\nx = [ { level = "a", set = {} }, { level = "b", set = {} } ]\n',
        "are the same study",
    ),
    "all of an agent": ('[design.factors]\n"agents.Ada" = ["x", "y"]\n', "not one of its keys"),
    "unequal lists": (
        f'[design]\nmode = "paired"\n{ONE}"agents.Ada.temperature" = [0.1, 0.2, 0.3]\n',
        "lists of one length",
    ),
    "too many": (f"[design]\nreplicates = 900\n{ONE}", "at most"),
    "unknown key": (f"[design]\nreplicate = 3\n{ONE}", "replicates"),
    "no such direction": (
        ONE + '[[design.hypotheses]]\noutcome = "revealed"\ncontrast = "x"\ndirection = "up"\n',
        "direction",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_design_is_told_in_words(case: str, tmp_path: Path) -> None:
    factors, words = WRONG[case]
    with pytest.raises(UsageError) as error:
        plan_study(load_config(written(tmp_path, factors=factors)), tmp_path / "none.db")
    assert words in str(error.value) and str(error.value).startswith(str(tmp_path / "study.toml"))


def _many(factors: int, levels: int) -> str:
    return "[design.factors]\n" + "".join(f'"x.{one}" = {list(range(levels))}\n' for one in range(factors))


TOO_LARGE = {
    "full": (_many(3, 100), "1,000,000 batches, and a study has at most 1,000"),
    "replicates": ("[design]\nreplicates = 1000\n" + _many(2, 30), "900,000 batches"),
    "paired": ('[design]\nmode = "paired"\n' + _many(2, 1_001), "1,001 batches"),
    # Levels are compared with each other, so a long list is refused before it is read.
    "a repeated level": ("[design.factors]\n" + f'"x.0" = {[1] * 1_001}\n', "1,001 batches"),
    "a factor without levels": (_many(2, 1_001) + '"x.2" = []\n', "1,002,001 batches"),
}


@pytest.mark.parametrize("ask", [plan_study, priced_study, create_study])
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
