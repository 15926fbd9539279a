"""The judge's view, by agent and in all: kept apart from what the wording shows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tidepool.engine.statistics.intervals import Interval
from tidepool.engine.statistics.typed import Statistics
from tidepool.engine.studies.secret_game.findings.shares import share_figures

Counts = Counter[tuple[bool, bool | None]]
"""sides by what the wording shows and what the judge says"""


@dataclass(frozen=True)
class VerdictCounts(Statistics):
    sides: int
    revealed: int
    revealed_percentage: float | None
    revealed_ci95: Interval
    only_judge: int
    only_wording: int
    missing: int


@dataclass(frozen=True)
class Verdicts(Statistics):
    overall: VerdictCounts
    agents: Mapping[str, VerdictCounts]


def verdict_statistics(counts: Counter[tuple[str, bool, bool | None]]) -> Verdicts:
    agents: dict[str, Counts] = {}
    for (agent, revealed, verdict), count in counts.items():
        agents.setdefault(agent, Counter())[revealed, verdict] += count
    whole: Counts = sum(agents.values(), Counter())
    return Verdicts(_verdicts(whole), {name: _verdicts(agents[name]) for name in sorted(agents)})


def _verdicts(counts: Counts) -> VerdictCounts:
    yes = counts[True, True] + counts[False, True]
    no = counts[True, False] + counts[False, False]
    return VerdictCounts(
        sides=counts.total(),
        revealed=yes,
        **share_figures("revealed", yes, yes + no),
        only_judge=counts[False, True],
        only_wording=counts[True, False],
        missing=counts[True, None] + counts[False, None],
    )
