"""The steps of a mutation's episodes as a table: a row a step, with every text of it."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from tidepool.storage.exporting.contents import ExportTable
from tidepool.storage.reading.units import units_in_pages
from tidepool.storage.study_rows.episodes import episode_steps, split_of
from tidepool.storage.unit_ids import unit_id
from tidepool.storage.views import ColumnType

COLUMNS: dict[str, ColumnType] = {
    "batch_id": "text",
    "conversation_id": "integer",
    "episode": "integer",
    "split": "text",
    "player": "text",
    "step": "integer",
    "operator": "text",
    "query": "text",
    "rewritten": "text",
    "fell_back": "boolean",
    "model": "text",
    "reply": "text",
    "reward": "real",
}
"""split: training or heldout; player: who chose; query: as it was before the step; reward: empty where the step was masked"""


def steps_table(connection: sqlite3.Connection, batch: sqlite3.Row) -> ExportTable:
    return ExportTable("steps", COLUMNS, step_rows(connection, batch))


def step_rows(connection: sqlite3.Connection, batch: sqlite3.Row) -> Iterator[tuple[Any, ...]]:
    if batch["kind"] != "mutation":
        return
    for unit in units_in_pages(connection, batch["number"]):
        episode = (batch["id"], unit_id(batch["number"], unit.sequence_number), unit.sequence_number)
        player = ", ".join(unit.participants)
        for step in episode_steps(unit.details, unit.messages):
            told = (
                step.number,
                step.operator,
                step.query,
                step.rewritten,
                int(step.fell_back),
                step.model,
                step.reply,
                step.reward,
            )
            yield (*episode, unit.interaction_type or split_of(unit.details), player, *told)
