"""Query mutation: do bandit and PPO learn, what do lost answers do to them, and how much faster are batched environments?

Learning runs through the engine with the default config, on seeds that nothing was tuned on. Losses that depend on the
operator are simulated in this process. Every policy is evaluated on held-out queries, without loss.
"""

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
from tidepool.engine.studies.mutation.config import LearnerName, MutationSettings
from tidepool.engine.studies.mutation.environment import Environments, EpisodeRules, endless
from tidepool.engine.studies.mutation.evaluation import compare, contenders, play_heldout
from tidepool.engine.studies.mutation.learners import make_learner
from tidepool.engine.studies.mutation.queries import builtin_queries, split_queries
from tidepool.engine.studies.mutation.training import Player, TrainingRecord, train

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
    result: dict[str, Any]
    share: float
    """of the policy's held-out steps that play the operator after which answers are lost most"""


def trial(learner: str, seed: int, steps: int, rules: EpisodeRules, losing: Losing | None = None) -> Trial:
    """Trains with loss, if any, and always evaluates without."""
    split = split_queries(builtin_queries(), 0.2, seed)
    settings = MutationSettings(num_env_steps=steps)
    environments = Environments(16, endless(split.training, seed), OfflineTransport(seed, losing), rules)
    size = asyncio.run(environments.reset()).shape[1]
    student = make_learner(learner, settings, rules, size, seed)
    record = TrainingRecord(update_size=16 * settings.num_steps)
    asyncio.run(train(environments, [Player(learner, student, steps, 0, 16, record)]))
    own = TrainingRecord(update_size=0)
    scores = asyncio.run(
        play_heldout(
            contenders(student.policy(), seed),
            split.heldout,
            OfflineTransport(seed + 1),
            rules,
            on_outcome=lambda outcome: own.count(outcome.part(0, 2 * len(split.heldout))),
        )
    )
    return Trial(record, compare(scores), own.operators[LOSSY].uses / own.env_steps)


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


def losses(learner: str, seeds: Sequence[int], steps: int = 10_000) -> list[Losing30]:
    return [
        _averaged(name, [trial(learner, seed, steps, rules, losing) for seed in seeds]) for name, rules, losing in CASES
    ]


def _averaged(case: str, trials: Sequence[Trial]) -> Losing30:
    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(trials)

    return Losing30(
        case,
        heldout=mean(t.result["policy"]["mean_reward"] or 0.0 for t in trials),
        share=mean(t.share for t in trials),
        masked=mean(
            t.record.losses.masked_steps / sum((t.record.losses.masked_steps, t.record.env_steps)) for t in trials
        ),
    )


# -- figures -------------------------------------------------------------------------------------------------


def prove_learning() -> Iterable[Measurement]:
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
