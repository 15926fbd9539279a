"""What a batch has come to so far agrees with its statistics at the end."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT
from tests.support.state import change, query
from tests.tui.studies import game, played
from tidepool.engine.config.loading import load_config
from tidepool.engine.reports.blocks import Estimate, Figure, Headline, Number, Table
from tidepool.engine.results import summary
from tidepool.engine.results.summary import findings_so_far, stored_headline, summarise
from tidepool.engine.run import run_batch
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.tui.app.widgets.batch_list import FINDING

SMALL = {
    "mutation": ("mutation.num_env_steps=320", "mutation.num_steps=10", "mutation.repeats=1"),
    "evolution": ("evolution.population_size=8", "evolution.max_generations=3", "evolution.max_problems=12"),
}


def found(path: Path) -> tuple[Headline | None, list[Any], Headline | None]:
    with reading(path) as connection:
        batch = find_batch(connection, "last")
        return *findings_so_far(connection, batch), stored_headline(batch)


async def test_secrets_so_far_are_those_of_the_statistics(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    await played(path, game(talks=40))
    overall = summarise(path, "last")["statistics"]["overall"]
    headline, blocks, stored = found(path)
    assert headline and isinstance(headline.figure, Estimate)
    assert headline.figure.value == pytest.approx(overall["secrets_revealed_percentage"])
    assert list(headline.figure.interval or ()) == pytest.approx(overall["secrets_revealed_ci95"])
    assert headline.words.startswith("so far") and stored and "so far" not in stored.text
    assert stored.figure == headline.figure
    assert isinstance(blocks[0], Figure) and isinstance(blocks[1], Table)


async def test_a_look_reads_the_first_completed_units_in_the_order_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "MOST_UNITS", 10)
    path = tmp_path / "study.db"
    await played(path, game(talks=40))
    change(path, "UPDATE unit SET status = 'failed' WHERE sequence_number = 2")
    change(path, "DELETE FROM outcome WHERE unit_id & 4294967295 = 2")
    headline, _, stored = found(path)
    (share,) = query(path, "SELECT avg(revealed) * 100 FROM outcome WHERE unit_id & 4294967295 <= 11")[0]
    assert headline and isinstance(headline.figure, Estimate) and headline.figure.value == pytest.approx(share)
    assert "first 10 units" in headline.words and stored and stored.figure != headline.figure
    assert len(query(path, "SELECT * FROM outcomes")) == 78, "the file is as it was"


async def test_nothing_is_told_before_anything_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    await played(path, game(talks=3))
    change(path, "DELETE FROM outcome")
    assert found(path)[:2] == (None, [])


@pytest.mark.parametrize(
    "text", ["", "5", "{", json.dumps({"is": "Words", "text": "x"}), json.dumps({"is": "Nothing"})]
)
async def test_a_stored_headline_of_a_stranger_is_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "study.db"
    await played(path, game(talks=3))
    change(path, "UPDATE batch SET headline = ?", text)
    assert found(path)[2] is None


def judged(statistics: dict[str, Any]) -> float:
    return float(statistics["judgements"]["mean"])


def fittest(statistics: dict[str, Any]) -> float:
    return float(max(row["best"] for row in statistics["generations"]))


def gain(statistics: dict[str, Any]) -> float:
    return 100 * float(statistics["difference"])


def learned(statistics: dict[str, Any]) -> float:
    return float(statistics["updates"][-1]["smoothed"])


def policy(statistics: dict[str, Any]) -> float:
    return float(statistics["heldout"]["policy"]["mean_reward"])


Reading = tuple[str, Callable[[dict[str, Any]], float]]


@pytest.mark.parametrize(
    ("example", "figure", "before"),
    [
        ("simulation_judged", ("mean rating", judged), None),
        ("evolution", ("gain", gain), ("training fitness", fittest)),
        ("mutation", ("reward", policy), ("training reward", learned)),
    ],
)
async def test_other_kinds_tell_what_their_statistics_tell(
    tmp_path: Path, example: str, figure: Reading, before: Reading | None
) -> None:
    """A training score only before there is a held-out one."""
    path = tmp_path / "study.db"
    await run_batch(load_config(ROOT / "examples" / f"{example}.toml", SMALL.get(example, ())), path)
    summary = summarise(path, "last")
    for name, value in filter(None, (figure, before)):
        headline, blocks, _ = found(path)
        assert headline and isinstance(headline.figure, Estimate | Number) and headline.figure.value is not None
        assert headline.figure.value == pytest.approx(value(summary["statistics"]))
        assert name in headline.brief and len(headline.brief) <= FINDING and len(blocks) == 2
        change(path, "DELETE FROM finding WHERE name IN ('result', 'heldout')")
