"""Several seeds of one config, or of several, as blocks: curves with their spread, a dot a seed, and what may be claimed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidepool.engine.results.blocks import (
    Block,
    Cell,
    Estimate,
    Figure,
    Series,
    Words,
    line,
    table,
    text_of,
)
from tidepool.engine.statistics.contrasts import of_mean
from tidepool.engine.statistics.paired import SEEDS_FOR_A_VERDICT
from tidepool.engine.studies.mutation.statistics import MutationStatistics

BAND = "Means over seeds of the smoothed rewards; the bands are Student's 95 % intervals over seeds."
DOTS = "Under each mean, with Student's 95 % interval over seeds: a dot a run. Runs of one seed held back the same queries."
PAIRED = (
    "Runs are compared seed by seed: Student's 95 % intervals, p by sign flips, Holm's correction over a learner's baselines and "
    f"over pairs of learners. A verdict takes at least {SEEDS_FOR_A_VERDICT} seeds of each."
)
BASELINES = {"random": "random play", "best_constant": "the best constant operator", "unchanged": "the unchanged query"}
Runs = Mapping[int, MutationStatistics]
"""by seed"""


def seed_blocks(batches: Sequence[Mapping[str, Any]], differences: Sequence[Mapping[str, Any]]) -> list[Block]:
    """`differences` are those of `several_seeds`."""
    known = {batch["batch_id"]: (batch["seed"], MutationStatistics.from_json(batch["statistics"])) for batch in batches}
    members = {one["groups"][0]: one["batches"][0] for one in differences}
    members |= {one["groups"][1]: one["batches"][1] for one in differences if one["batches"][0] != one["batches"][1]}
    groups: dict[str, Runs] = {label: dict(known[batch] for batch in ids) for label, ids in members.items()}
    return [*_heldout(groups), *_curves(groups), *_verdicts(differences)]


def _heldout(groups: Mapping[str, Runs]) -> Iterator[Block]:
    rewards = {
        label: {seed: run.heldout.policy.mean_reward for seed, run in sorted(runs.items()) if run.heldout}
        for label, runs in groups.items()
    }
    rows: list[tuple[Cell, ...]] = [
        (label, len(found), _mean([one for one in found.values() if one is not None]))
        for label, found in rewards.items()
    ]
    yield table("policies on held-out queries, over seeds", ("who", "seeds", "mean reward (95 %)"), rows)
    shown = [row for label, found in rewards.items() for row in _dots(label, found)]
    names, means = zip(*shown, strict=True)
    series = Series("mean reward", tuple(one.value for one in means), intervals=tuple(one.interval for one in means))
    yield Figure("means", "mean reward on held-out queries, a dot a seed", (series,), labels=names, caption=DOTS)


def _dots(label: str, rewards: Mapping[int, float | None]) -> Iterator[tuple[str, Estimate]]:
    yield label, _mean([one for one in rewards.values() if one is not None])
    yield from ((f"seed {seed}", Estimate(one)) for seed, one in rewards.items())


def _mean(values: Sequence[float]) -> Estimate:
    found = of_mean(values)
    return Estimate(sum(values) / len(values) if values else None, found.interval if found else None, 3)


def _curves(groups: Mapping[str, Runs]) -> Iterator[Block]:
    series = [one for label, runs in groups.items() if (one := _curve(label, runs))]
    if series:
        title = "reward while learning, over seeds"
        yield Figure("lines", title, tuple(series), xlabel="answered steps", ylabel="mean reward", caption=BAND)


def _curve(label: str, runs: Runs) -> Series | None:
    """As far as every run has come."""
    by_steps: dict[int, list[float]] = {}
    for run in runs.values():
        for update in run.updates:
            by_steps.setdefault(update.env_steps, []).append(update.smoothed)
    shared = {steps: values for steps, values in sorted(by_steps.items()) if len(values) == len(runs)}
    if not shared:
        return None
    means = [_mean(values) for values in shared.values()]
    return line(label, list(shared), [one.value for one in means], intervals=[one.interval for one in means])


def _verdicts(differences: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    for one in differences:
        first, second = one["groups"]
        second = BASELINES.get(second, second)
        bounds = one["difference_ci95"]
        gap = Estimate(one["difference"], bounds and tuple(bounds), 3, signed=True)
        number = len(one["seeds"])
        told = f"{first} against {second}, {number} seed{'s' * (number > 1)}: {text_of(gap)}, {one['verdict']}"
        yield Words(told, "warning" if one["verdict"].startswith("worse") else "plain")
    yield Words(PAIRED, "quiet")
