"""Do bandit and PPO learn? Each against random and the best constant operator, on held-out queries, for five
seeds.

    python -m benchmarks.mutation_learning [--seeds 5] [--learners bandit ppo] [--steps 10000] [--loss]

Runs the simulated models in this process, so it measures learning and not the engine.
"""

import argparse
import time
from collections.abc import Sequence

from engine.mutation.environment import Environments, endless
from engine.mutation.episodes import Rules
from engine.mutation.evaluation import Comparison, Estimate, compare, contenders, play
from engine.mutation.learner import Training, make_learner
from engine.mutation.operators import OPERATOR_NAMES
from engine.mutation.queries import builtin_queries, split_queries
from engine.mutation.record import TrainingRecord
from engine.mutation.training import Player, train
from engine.mutation.transport import finished
from engine.providers.simulated.rehearsal import Losing, Rehearsal


def trial(
    learner: str, seed: int, steps: int, rules: Rules, losing: Losing | None = None
) -> tuple[TrainingRecord, Comparison]:
    """Trains with loss, if any, and always evaluates without."""
    split = split_queries(builtin_queries(), 0.2, seed)
    training = Training(learner=learner, seed=seed, num_env_steps=steps)
    environments = Environments(16, endless(split.training, seed), Rehearsal(seed, losing), rules)
    size = finished(environments.reset()).shape[1]
    student = make_learner(training, rules, size, len(OPERATOR_NAMES))
    record = TrainingRecord(update_size=16 * training.num_steps)
    finished(train(environments, [Player(learner, student, steps, 0, 16, record)]))
    scores = finished(play(contenders(student.policy(), seed), split.heldout, Rehearsal(seed + 1), rules))
    return record, compare(scores, seed)


def lost_after_steps(text: str) -> float:
    """About 30 % of all target calls are lost, most of them after `ask_for_steps`."""
    return 0.65 if "step" in text else 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description="Do the learners of query mutation learn?")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--learners", nargs="+", default=["bandit", "ppo"])
    parser.add_argument("--loss", action="store_true", help="show what lost answers do, masked and as refusals")
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    for learner in arguments.learners:
        if arguments.loss:
            show_loss(learner, seeds, arguments.steps)
        else:
            show_learning(learner, seeds, arguments.steps)


def show_learning(learner: str, seeds: Sequence[int], steps: int) -> None:
    print(f"{'learner':8}{'seed':>5}  {'policy':22}{'random':22}{'best constant':22}{'apart':>6}{'seconds':>9}")
    wins = 0
    for seed in seeds:
        began = time.perf_counter()
        _, result = trial(learner, seed, steps, Rules())
        apart = result.policy.low > max(result.random.high, result.best_constant.high)
        wins += apart
        cells = [_cell(estimate) for estimate in (result.policy, result.random, result.best_constant)]
        seconds = time.perf_counter() - began
        print(f"{learner:8}{seed:5}  {''.join(cells)}{'yes' if apart else 'no':>6}{seconds:9.1f}", flush=True)
    print(f"{learner}: above both with intervals apart in {wins} of {len(seeds)} seeds")


def show_loss(learner: str, seeds: Sequence[int], steps: int) -> None:
    """Held-out reward, evaluated without loss, and the curve of the mean reward while training."""
    cases = (
        ("no loss", Rules(), None),
        ("mask", Rules(on_error="mask"), lost_after_steps),
        ("refusal", Rules(on_error="refusal"), lost_after_steps),
    )
    for name, rules, losing in cases:
        trials = [trial(learner, seed, steps, rules, losing) for seed in seeds]
        heldout = sum(result.policy.mean for _, result in trials) / len(trials)
        share = sum(record.operators["ask_for_steps"].uses / record.env_steps for record, _ in trials) / len(trials)
        masked = sum(r.losses.masked_steps / (r.losses.masked_steps + r.env_steps) for r, _ in trials)
        curve = [
            sum(record.updates[place].mean_reward for record, _ in trials) / len(trials)
            for place in range(0, len(trials[0][0].updates), 3)
        ]
        print(
            f"{learner:8}{name:9} held out {heldout:.3f}  masked {masked / len(trials):.2f}  "
            f"ask_for_steps {share:.3f}  curve {' '.join(f'{value:.2f}' for value in curve)}",
            flush=True,
        )


def _cell(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} [{estimate.low:.3f} {estimate.high:.3f}]".ljust(22)


if __name__ == "__main__":
    main()
