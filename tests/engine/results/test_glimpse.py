"""What a batch has come to so far agrees with its statistics at the end, however it was taken in."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT
from tests.tui.studies import game, played
from tidepool.engine.config.loading import load_config
from tidepool.engine.results.blocks import Estimate, Headline, Number, text_of
from tidepool.engine.results.glimpse import Glimpse, Interim
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import run_batch
from tidepool.engine.studies.kinds import load_kind
from tidepool.storage.file import connect
from tidepool.tui.app.widgets.batch_list import FINDING

EXAMPLES = ROOT / "examples"
SMALL = {
    "mutation": ("mutation.num_env_steps=320", "mutation.num_steps=10", "mutation.repeats=1"),
    "evolution": ("evolution.population_size=8", "evolution.max_generations=3", "evolution.max_problems=12"),
}


def fresh(kind: str) -> Glimpse:
    made = load_kind(kind).glimpse
    assert made is not None
    return made()


def all_told(glimpse: Glimpse, connection: sqlite3.Connection) -> Interim:
    while glimpse.update(connection, 1):
        pass
    told = glimpse.interim()
    assert told is not None
    return told


async def test_secrets_so_far_are_those_of_the_statistics_and_a_revised_verdict_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    await played(path, game(talks=40))
    overall = summarise(path, "last")["statistics"]["overall"]
    connection = connect(path)
    glimpse = fresh("secret_game")
    told = all_told(glimpse, connection)
    assert isinstance(told.figure, Estimate) and told.figure.value is not None and told.figure.interval is not None
    assert told.figure.value == pytest.approx(overall["secrets_revealed_percentage"])
    low, high = told.figure.interval
    assert low < told.figure.value < high
    assert told.rests_on == "n = 40 conversations"
    assert told.headline(True).words.startswith("so far") and "so far" not in told.headline(False).text
    assert "(" in told.headline(True).text and "(" not in told.headline(False).text

    connection.execute(
        "INSERT OR REPLACE INTO outcome SELECT unit_id, side, mode, game, agent, opponent, NOT revealed, obtained, detector, turn, "
        'start, "end", score, verdict, verdict_step, scenario, secret, uncertain, model, served_model, details FROM outcome '
        "WHERE side = 0"
    )
    again, anew = all_told(glimpse, connection), all_told(fresh("secret_game"), connection)
    assert again == anew != told
    assert again.rests_on == told.rests_on


async def test_nothing_is_told_before_anything_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    await played(path, game(talks=3))
    connection = connect(path)
    connection.execute("DELETE FROM outcome")
    glimpse = fresh("secret_game")
    assert not glimpse.update(connection, 1)
    assert glimpse.interim() is None


def judged(statistics: dict[str, Any]) -> float:
    return float(statistics["judgements"]["mean"])


def fittest(statistics: dict[str, Any]) -> float:
    return float(max(row["best"] for row in statistics["generations"]))


def champion(statistics: dict[str, Any]) -> float:
    return 100 * float(statistics["champion"]["validation_accuracy"])


def learned(statistics: dict[str, Any]) -> float:
    return float(statistics["updates"][-1]["smoothed"])


def policy(statistics: dict[str, Any]) -> float:
    return float(statistics["heldout"]["policy"]["mean_reward"])


Reading = tuple[str, Callable[[dict[str, Any]], float]]


@pytest.mark.parametrize(
    ("example", "figure", "before"),
    [
        ("simulation_judged", ("mean rating", judged), None),
        ("evolution", ("held out", champion), ("training fitness", fittest)),
        ("mutation", ("held-out reward", policy), ("training reward", learned)),
    ],
)
async def test_other_kinds_tell_what_their_statistics_tell(
    tmp_path: Path, example: str, figure: Reading, before: Reading | None
) -> None:
    """A training score only before there is a held-out one."""
    path = tmp_path / "study.db"
    await run_batch(load_config(EXAMPLES / f"{example}.toml", SMALL.get(example, ())), path)
    summary = summarise(path, "last")
    connection = connect(path)
    for name, value in filter(None, (figure, before)):
        told = all_told(fresh(summary["kind"]), connection)
        assert isinstance(told.figure, Estimate | Number) and told.figure.value is not None
        assert (told.name, told.figure.value) == (name, pytest.approx(value(summary["statistics"])))
        assert isinstance(told.headline(True), Headline) and text_of(told.figure).split(" (")[0] in told.brief
        assert name in told.brief and len(told.brief) <= FINDING and len(told.blocks) >= 2
        connection.execute("DELETE FROM finding WHERE name IN ('result', 'heldout')")
