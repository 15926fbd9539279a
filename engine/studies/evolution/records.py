"""Names of the findings that an evolution stores, and how its finalists and its genealogy are read back."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from tidepool.engine.errors import NotFound
from tidepool.engine.inference.contrasts import BoundedContrast, Contrast, of_pairs
from tidepool.engine.inference.grouped import numpy
from tidepool.engine.studies.evolution.genome import join_segments, split_frame, split_segments
from tidepool.storage.batches import find_batch
from tidepool.storage.queries.learning import genome_history, genomes_in_order
from tidepool.storage.queries.summary import findings

GENERATION = "generation/"
RESULT = "result"
VALIDATION = "validation"
ACCURACY = "held-out accuracy"
"""the measure by which evolutions are compared"""
Scores = Sequence[float | None]
"""by held-out problem; None: not answered"""


def by_problem_contrast(first: Scores, second: Scores) -> Contrast | None:
    """Compares problem by problem, and skips problems without an answer on both sides. None if no problem remains."""
    both = zip(first, second, strict=True)
    return of_pairs(numpy.array([left - right for left, right in both if left is not None and right is not None]))


class HeldOutScores(NamedTuple):
    """The scores of one prompt."""

    known: Scores
    lowest: Scores
    """with all unclear replies wrong"""
    highest: Scores
    """with all of them right"""


def compared_scores(
    first: HeldOutScores,
    second: HeldOutScores,
    contrast: Callable[[Scores, Scores], Contrast | None] = by_problem_contrast,
) -> BoundedContrast | None:
    known = contrast(first.known, second.known)
    lowest, highest = contrast(first.lowest, second.highest), contrast(first.highest, second.lowest)
    return BoundedContrast(known, lowest, highest) if known and lowest and highest else None


REASONS = {
    "answer": "revealed an answer",
    "question": "quoted a problem",
    "placeholder": "lost or added a placeholder",
    "too_long": "too long",
    "unchanged": "unchanged",
    "refusal": "declined",
    "unusable": "no prompt in the reply",
}
"""the reasons for refusing a rewrite, in words"""


def counted_reasons(refused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {REASONS.get(reason, reason)}" for reason, count in refused.items())


ROLES = {"champion": "champion", "baseline": "best seed prompt", "random_search": "random search"}
"""names in the statistics → names in reports"""


def finalists(connection: sqlite3.Connection, batch_number: int) -> dict[str, str]:
    """Role → genome id."""
    value = findings(connection, batch_number)
    stored = value.get(RESULT)
    if stored is not None:
        return {role: stored[role]["genome_id"] for role in ROLES if stored.get(role)}
    leaders = [content["leader"] for name, content in value.items() if name.startswith(GENERATION)]
    return {"champion": leaders[-1], "baseline": leaders[0]} if leaders else {}


def champion_prompt(connection: sqlite3.Connection, reference: str) -> str:
    """The champion's prompt of a batch, named by id, prefix or `last`, without the frame around its question. So it fits an
    agent's `instructions`."""
    batch = find_batch(connection, reference)
    if batch["kind"] != "evolution":
        raise NotFound(f"Batch {batch['id']} is a {batch['kind']}. Only an evolution has a champion.")
    champion = finalists(connection, batch["number"]).get("champion")
    row = genome_history(connection, batch["number"], champion) if champion else None
    if row is None:
        raise NotFound(f"Batch {batch['id']} has no champion yet, because no generation is complete.")
    return join_segments(split_frame(split_segments(row["prompt"]))[0])


@dataclass(frozen=True, slots=True)
class Member:
    genome_id: str
    generation: int
    parents: tuple[str, ...]
    """the mother first: her prompt was changed"""
    operator: str
    prompt: str
    fitness: float | None
    accuracy: float | None
    missing: float | None


@dataclass(frozen=True, slots=True)
class Family:
    members: Mapping[str, Member]
    champion: str | None
    """of an unfinished run: its leader so far"""
    baseline: str | None

    def mothers(self, genome_id: str) -> Iterator[Member]:
        """The line from a genome back to a founder."""
        seen: set[str] = set()
        while genome_id in self.members and genome_id not in seen:
            seen.add(genome_id)
            member = self.members[genome_id]
            yield member
            genome_id = member.parents[0] if member.parents else ""

    def ancestors(self, genome_id: str) -> list[Member]:
        """All of them, including the genome itself, the youngest first."""
        found_members: dict[str, Member] = {}
        waiting = [genome_id]
        while waiting:
            name = waiting.pop()
            if name in self.members and name not in found_members:
                found_members[name] = self.members[name]
                waiting += found_members[name].parents
        return sorted(found_members.values(), key=lambda member: (-member.generation, member.genome_id))

    def as_json(self) -> dict[str, Any]:
        children: Counter[str] = Counter(parent for member in self.members.values() for parent in member.parents)
        lineage = self.ancestors(self.champion) if self.champion else []
        return {
            "champion": self.champion,
            "baseline": self.baseline,
            "lineage": [member.genome_id for member in lineage],
            "operators": dict(Counter(member.operator for member in self.members.values()).most_common()),
            "genomes": [
                {**asdict(member), "parents": list(member.parents), "children": children[member.genome_id]}
                for member in self.members.values()
            ],
        }


def read_family(connection: sqlite3.Connection, batch_number: int, statistics: Mapping[str, Any]) -> Family:
    rows = genomes_in_order(connection, batch_number)
    members = {row[0]: Member(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) for row in rows}
    named = [(statistics.get(name) or {}).get("genome_id") for name in ("champion", "baseline")]
    return Family(members, *named)
