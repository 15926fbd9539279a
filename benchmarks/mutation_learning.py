"""Do bandit and PPO learn, and what do lost answers do to them?

    python -m benchmarks.mutation_learning [--seeds 201 202 …] [--learners bandit ppo] [--steps 10000] [--loss]

Learning is shown through the engine, with the defaults of the config, on seeds that nothing was tuned on. Losses
that depend on the operator are shown with the simulated models in this process: they measure learning and not the
engine. Every policy is evaluated on held-out queries, without loss.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.offline_transport import Losing, OfflineTransport
from tidepool import Mutation
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import Service
from tidepool.engine.run import run_batch
from tidepool.engine.studies.mutation.config import LearnerName
from tidepool.engine.studies.mutation.environment.environments import Environments, endless
from tidepool.engine.studies.mutation.environment.episodes import EpisodeRules
from tidepool.engine.studies.mutation.environment.transport import finished
from tidepool.engine.studies.mutation.evaluation import PolicyComparison, compare, contenders, play_heldout
from tidepool.engine.studies.mutation.learners.choice import make_learner
from tidepool.engine.studies.mutation.learners.learner import Training
from tidepool.engine.studies.mutation.learners.training import Player, train
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.queries import builtin_queries, split_queries
from tidepool.engine.studies.mutation.record import TrainingRecord

SEEDS = (201, 202, 203, 204, 205)
LOSS_SEEDS = (211, 212, 213)
LOSSY = "ask_for_steps"


# -- learning, through the engine --------------------------------------------------------------------------


def learnt(learner: LearnerName, seed: int, steps: int = 10_000) -> dict[str, Any]:
    """The held-out comparison of a study with the config's defaults."""
    study = Mutation(
        learner=learner,
        num_env_steps=steps,
        seed=seed,
        baselines=[],
        service=Service(name="live", max_concurrent=64),
    )
    with tempfile.TemporaryDirectory() as folder:
        summary = asyncio.run(run_batch(study, Path(folder) / "study.db"))
    heldout: dict[str, Any] = summary["statistics"]["heldout"]
    return heldout


def is_above(heldout: dict[str, Any]) -> bool:
    """Above random and above the best constant operator, the intervals apart."""
    return bool(heldout["policy"]["ci95"][0] > max(heldout[rival]["ci95"][1] for rival in ("random", "best_constant")))


# -- losses, rehearsed ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    record: TrainingRecord
    result: PolicyComparison
    share: float
    """of the policy's held-out steps that play the operator after which answers are lost most"""


def trial(learner: str, seed: int, steps: int, rules: EpisodeRules, losing: Losing | None = None) -> Trial:
    """Trains with loss, if any, and always evaluates without."""
    split = split_queries(builtin_queries(), 0.2, seed)
    training = Training(learner=learner, seed=seed, num_env_steps=steps)
    environments = Environments(16, endless(split.training, seed), OfflineTransport(seed, losing), rules)
    size = finished(environments.reset()).shape[1]
    student = make_learner(training, rules, size, len(OPERATOR_NAMES))
    record = TrainingRecord(update_size=16 * training.num_steps)
    finished(train(environments, [Player(learner, student, steps, 0, 16, record)]))
    own = TrainingRecord(update_size=0)
    scores = finished(
        play_heldout(
            contenders(student.policy(), seed),
            split.heldout,
            OfflineTransport(seed + 1),
            rules,
            on_outcome=lambda outcome: own.count(outcome.part(0, 2 * len(split.heldout))),
        )
    )
    return Trial(record, compare(scores, seed), own.operators[LOSSY].uses / own.env_steps)


def lost_after_steps(text: str) -> float:
    """About 30 % of all target calls are lost, most of them after `ask_for_steps`."""
    return 0.65 if "step" in text else 0.2


CASES: tuple[tuple[str, EpisodeRules, Losing | None], ...] = (
    ("none lost", EpisodeRules(), None),
    ("mask", EpisodeRules(on_error="mask"), lost_after_steps),
    ("refusal", EpisodeRules(on_error="refusal"), lost_after_steps),
)


@dataclass(frozen=True, slots=True)
class Losing30:
    """What became of one learner in one case: means over seeds."""

    case: str
    heldout: float
    share: float
    masked: float
    curve: list[float]


def losses(learner: str, seeds: Sequence[int], steps: int = 10_000) -> list[Losing30]:
    return [
        _averaged(name, [trial(learner, seed, steps, rules, losing) for seed in seeds]) for name, rules, losing in CASES
    ]


def _averaged(case: str, trials: Sequence[Trial]) -> Losing30:
    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(trials)

    updates = len(trials[0].record.updates)
    return Losing30(
        case,
        heldout=mean(t.result.policy.mean for t in trials),
        share=mean(t.share for t in trials),
        masked=mean(
            t.record.losses.masked_steps / sum((t.record.losses.masked_steps, t.record.env_steps)) for t in trials
        ),
        curve=[mean(t.record.updates[place].mean_reward for t in trials) for place in range(0, updates, 3)],
    )


# -- figures -------------------------------------------------------------------------------------------------


def prove() -> Iterable[Measurement]:
    learners: list[LearnerName] = ["bandit", "ppo"] if find_spec("stable_baselines3") else ["bandit"]
    for learner in learners:
        wins = sum(is_above(learnt(learner, seed)) for seed in SEEDS)
        yield at_least(
            f"{learner}: above random and the best constant operator, intervals apart",
            wins,
            "of 5 seeds",
            4,
            "held-out queries, default budget",
        )
    for learner in learners:
        whole, masked, refused = losses(learner, LOSS_SEEDS)
        note = f"mean of {len(LOSS_SEEDS)} seeds, {100 * masked.masked:.0f} % of steps masked"
        yield at_most(
            f"{learner}: held-out reward that lost answers cost when masked",
            whole.heldout - masked.heldout,
            "",
            0.03,
            note,
        )
        yield at_least(
            f"{learner}: held-out reward they cost when taken for refusals", whole.heldout - refused.heldout, "", 0.03
        )
        yield at_most(
            f"{learner}: use of {LOSSY} then, as a share of its use without loss", refused.share / whole.share, "", 0.7
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Do the learners of query mutation learn?")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--learners", nargs="+", default=["bandit", "ppo"])
    parser.add_argument("--loss", action="store_true", help="show what lost answers do, masked and as refusals")
    arguments = parser.parse_args()
    for learner in arguments.learners:
        if arguments.loss:
            show_losses(learner, arguments.seeds or LOSS_SEEDS, arguments.steps)
        else:
            show_learning(learner, arguments.seeds or SEEDS, arguments.steps)


def show_learning(learner: LearnerName, seeds: Sequence[int], steps: int) -> None:
    for seed in seeds:
        heldout = learnt(learner, seed, steps)
        cells = " | ".join(_cell(heldout[name]) for name in ("policy", "random", "best_constant", "unchanged"))
        print(f"| {learner} | {seed} | {cells} | {'yes' if is_above(heldout) else 'no'} |", flush=True)


def show_losses(learner: str, seeds: Sequence[int], steps: int) -> None:
    for found in losses(learner, seeds, steps):
        curve = " ".join(f"{value:.2f}" for value in found.curve)
        print(
            f"| {learner} | {found.case} | {found.heldout:.3f} | {100 * found.share:.0f} % | {100 * found.masked:.0f} % | {curve} |",
            flush=True,
        )


def _cell(estimate: dict[str, Any]) -> str:
    low, high = estimate["ci95"]
    return f"{estimate['mean_reward']:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
