"""The learning curve so far: the reward of each update, smoothed, and the share of episodes that end well."""

import json
import sqlite3
from typing import Any

from tidepool.engine.results.blocks import Block, Estimate
from tidepool.engine.results.glimpse import Told
from tidepool.engine.studies.mutation.report import learning_figures, updates_table
from tidepool.engine.studies.mutation.statistics import UpdateStatistics, smoothed
from tidepool.storage.study_rows.mutation import training_updates


class MutationGlimpse:
    def __init__(self) -> None:
        self._updates: list[dict[str, Any]] = []

    def take_in(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        after = self._updates[-1]["update"] if self._updates else None
        for row in training_updates(connection, batch_number, after):
            told = json.loads(row["details"] or "{}")
            figures = {name: row[name] for name in ("env_steps", "mean_reward", "success_rate")}
            self._updates.append({"update": row["update_number"], **figures, **told})
        return False

    def told(self) -> Told | None:
        if not self._updates:
            return None
        updates = [UpdateStatistics.from_json(one) for one in smoothed(self._updates)]
        last = updates[-1]
        blocks: tuple[Block, ...] = (*learning_figures({"policy": updates}), updates_table(updates))
        reward = Estimate(last.smoothed, last.smoothed_ci95, 3)
        return Told("mean reward", reward, f"n = {last.env_steps:,} steps, update {last.update:,}", blocks)
