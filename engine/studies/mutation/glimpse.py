"""The reward on held-out queries where there is one, else in training; and the learning curve so far: the reward of each
update, smoothed, and the share of episodes that end well."""

import json
import sqlite3
from typing import Any

from tidepool.engine.results.blocks import Block, Estimate
from tidepool.engine.results.glimpse import Told
from tidepool.engine.studies.mutation.report import learning_figures, updates_table
from tidepool.engine.studies.mutation.statistics import HeldOutRewards, UpdateStatistics, smoothed
from tidepool.storage.queries.learning import training_updates
from tidepool.storage.queries.summary import finding


class MutationGlimpse:
    def __init__(self) -> None:
        self._updates: list[dict[str, Any]] = []
        self._heldout: HeldOutRewards | None = None

    def take_in(self, connection: sqlite3.Connection, batch_number: int) -> bool:
        after = self._updates[-1]["update"] if self._updates else None
        for row in training_updates(connection, batch_number, after):
            told = json.loads(row["details"] or "{}")
            figures = {name: row[name] for name in ("env_steps", "mean_reward", "success_rate")}
            self._updates.append({"update": row["update_number"], **figures, **told})
        heldout = finding(connection, batch_number, "heldout")
        self._heldout = HeldOutRewards.from_json(heldout) if heldout else None
        return False

    def told(self) -> Told | None:
        updates = [UpdateStatistics.from_json(one) for one in smoothed(self._updates)]
        blocks: tuple[Block, ...] = ()
        if updates:
            blocks = (*learning_figures({"policy": updates}), updates_table(updates))
        if (heldout := self._heldout) is not None:
            reward = Estimate(heldout.policy.mean_reward, heldout.policy.ci95, 3)
            return Told("held-out reward", reward, f"n = {heldout.queries:,} queries", blocks)
        if not updates:
            return None
        last = updates[-1]
        reward = Estimate(last.smoothed, last.smoothed_ci95, 3)
        return Told("training reward", reward, f"n = {last.env_steps:,} steps, update {last.update:,}", blocks)
