"""Every step of an episode can be read: in a transcript, in the app, and in each export."""

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.mutation.studies import episodes, mutation
from tidepool import run_batch
from tidepool.engine.exports.export import export_batch
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.queries.learning import episode_heads, episode_steps, of_split, players
from tidepool.storage.queries.lists import transcript
from tidepool.storage.queries.units import StoredMessage
from tidepool.tui.drawing.transcript import talk_lines


def said(turn: int, text: str, speaker: str = "target") -> StoredMessage:
    return StoredMessage(turn, speaker, text, None, "live", "simulated:target")


@pytest.mark.parametrize(
    "details",
    [
        {},
        {"steps": 3},
        {"steps": [3, None, {"reward": "x"}]},
        {"since": "a", "steps": [{}]},
        {"query": 3, "steps": [[]]},
    ],
)
def test_a_strangers_details_are_taken_for_what_they_are_worth(details: dict[str, Any]) -> None:
    for step in episode_steps(details, [said(2, "Because.")]):
        assert step.query is None and step.reward is None


async def test_every_step_goes_out_with_all_its_texts_and_the_app_shows_the_same(
    database: Path, tmp_path: Path
) -> None:
    summary = await run_batch(mutation(encoder="hashing", simulated={"fatal_rate": 0.05}), database)
    export_batch(database, "last", "csv", tmp_path)
    with (tmp_path / "steps.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    played = episodes(database)
    assert len(rows) == sum(len(episode["steps"]) for episode in played)
    for episode in played:
        own = [row for row in rows if int(row["episode"]) == episode["number"]]
        assert [row["operator"] for row in own] == [step["operator"] for step in episode["steps"]]
        assert {(row["split"], row["player"]) for row in own} == {(episode["type"], episode["player"])}
        assert own[0]["query"] == episode["query"]
        assert all(before["rewritten"] == after["query"] for before, after in itertools.pairwise(own))
        assert [float(row["reward"]) if row["reward"] else None for row in own] == [
            step["reward"] for step in episode["steps"]
        ]
        assert all(row["reply"] for row in own if row["reward"])
    (results,) = [path for path in export_batch(database, "last", "json", tmp_path) if path.name == "results.json"]
    assert [step["reply"] or "" for step in json.loads(results.read_text())["steps"]] == [row["reply"] for row in rows]

    read = list(summary.steps())
    assert [(row.episode, row.step, row.reward) for row in read] == [
        (int(row["episode"]), int(row["step"]), float(row["reward"]) if row["reward"] else None) for row in rows
    ]
    assert {type(row.fell_back) for row in read} == {bool}

    with reading(database) as connection:
        batch = find_batch(connection, "last")["number"]
        talk = transcript(connection, batch, 3)
        heads = episode_heads(connection, batch, [episode["number"] for episode in played])
        held_out = of_split(connection, batch, "heldout")
        assert {episode["player"] for episode in played} == set(players(connection, batch))
    assert {number: (head.player, head.query) for number, head in heads.items()} == {
        episode["number"]: (episode["player"], episode["query"]) for episode in played
    }
    assert held_out == {episode["number"] for episode in played if episode["type"] == "heldout"} != set()
    assert talk is not None
    shown = ["".join(text for text, _ in line.pieces).strip() for line in talk_lines(talk, 2_000)]
    for row in (row for row in rows if row["episode"] == "3"):
        assert row["query"] in shown and row["rewritten"] in shown
        assert f"reward {float(row['reward']):.3f}" in shown if row["reward"] else "failed, not counted" in shown
