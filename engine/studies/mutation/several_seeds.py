"""One learner over several seeds, against its baselines and against other learners: runs are what is counted.

Batches that differ in nothing but their seed are one group. A run is worth its policy's mean reward on held-out queries;
runs of one seed held back the same queries, so they are compared seed by seed.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tidepool.engine.statistics.comparisons import holm
from tidepool.engine.statistics.paired import SeedContrast, paired_by_seed, seeds_in_words
from tidepool.engine.studies.mutation.config import FOREIGN
from tidepool.storage.study_rows.findings import finding

MEASURE = "mean reward of a run's policy on held-out queries"
POLICY = "policy"
BULKY = ("query_list", "policy_content")
MOST_DIFFERENCES = 3
"""settings by which groups are named; where more differ, the names of the batches are shorter"""


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one config."""

    settings: Mapping[str, Any]
    name: str
    batches: list[str] = field(default_factory=list)
    rewards: dict[str, dict[int, float]] = field(default_factory=dict)
    """by contender and seed"""

    def take(self, batch: sqlite3.Row, heldout: Mapping[str, Any]) -> None:
        self.batches.append(batch["id"])
        learnt = {name: row for name, row in heldout.get("others", {}).items() if name == "bandit"}
        told = {name: heldout.get(name) for name in (POLICY, "random", "best_constant", "unchanged")} | learnt
        for name, row in told.items():
            if row and row["mean_reward"] is not None:
                self.rewards.setdefault(name, {})[batch["seed"]] = row["mean_reward"]


def groups_of(connection: sqlite3.Connection, batches: Sequence[sqlite3.Row]) -> list[Group]:
    groups: dict[str, Group] = {}
    for batch in batches:
        settings = json.loads(batch["config"]).get("mutation", {})
        outside = settings.get("learner") == FOREIGN
        key = json.dumps([settings, batch["name"] if outside else ""], sort_keys=True)
        group = groups.setdefault(key, Group(settings, batch["name"]))
        group.take(batch, finding(connection, batch["number"], "heldout") or {})
    return list(groups.values())


def labels(groups: Sequence[Group]) -> list[str]:
    """By what tells them apart, else by their learner."""
    names = dict.fromkeys(name for group in groups for name in group.settings if name not in BULKY)
    apart = [name for name in names if len({json.dumps(group.settings.get(name)) for group in groups}) > 1]
    if len(groups) == 1:
        return [str(groups[0].settings.get("learner", POLICY))]
    if not apart or len(apart) > MOST_DIFFERENCES:
        return [f"{group.name} ({place})" for place, group in enumerate(groups, 1)]
    return [", ".join(f"{name} {group.settings.get(name)}" for name in apart) for group in groups]


def seed_differences(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Each group's policy against its baselines, and every two groups' policies; Holm's correction is over each of these
    families, since they are different questions."""
    named = list(zip(labels(groups), groups, strict=True))
    families = [
        [
            (label, name, group, group, name)
            for name in group.rewards
            if name not in (POLICY, group.settings.get("learner"))
        ]
        for label, group in named
    ]
    families.append([(one, other, first, second, POLICY) for (one, first), (other, second) in combinations(named, 2)])
    return [one for family in families for one in _compared(family)]


def _compared(family: Sequence[tuple[str, str, Group, Group, str]]) -> list[dict[str, Any]]:
    found: list[tuple[dict[str, Any], SeedContrast]] = []
    for one, other, first, second, against in family:
        ours, theirs = first.rewards.get(POLICY, {}), second.rewards.get(against, {})
        if contrast := paired_by_seed(ours, theirs, len(family)):
            found.append(({"groups": [one, other], "batches": [first.batches, second.batches]}, contrast))
    adjusted = iter(holm([one.p_value for _, one in found if one.p_value is not None]))
    return [_told(about, one, None if one.p_value is None else next(adjusted)) for about, one in found]


def _told(about: Mapping[str, Any], found: SeedContrast, p_value_holm: float | None) -> dict[str, Any]:
    return {
        "measure": MEASURE,
        **about,
        "paired": True,
        "seeds": list(found.seeds),
        "by_seed": list(found.gaps),
        "difference": found.difference,
        "difference_ci95": found.interval and list(found.interval),
        "p_value": found.p_value,
        "p_value_holm": p_value_holm,
        "seeds_missing": found.missing,
        "verdict": seeds_in_words(found, p_value_holm),
    }
