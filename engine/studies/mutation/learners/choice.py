"""Where each learner is found. PyTorch is loaded for the one that needs it."""

from tidepool.engine.errors import UsageError
from tidepool.engine.studies.mutation.environment.episodes import EpisodeRules
from tidepool.engine.studies.mutation.learners.bandit import BanditLearner
from tidepool.engine.studies.mutation.learners.learner import Learner, Training
from tidepool.engine.studies.mutation.learners.random_policy import RandomLearner

LEARNERS = ("bandit", "ppo", "random")
NEEDS_EXTRA = 'learner = "ppo" needs the extra `rl`: pip install "tidepool-lab[rl]" -c constraints.txt'


def make_learner(training: Training, rules: EpisodeRules, size: int, operators: int) -> Learner:
    """The learner that the settings name. `size` is the length of an observation."""
    if training.learner == "bandit":
        return BanditLearner(size, operators, training.seed)
    if training.learner == "random":
        return RandomLearner(operators, training.seed)
    if training.learner != "ppo":
        told = f'mutation.learner is "{training.learner}"; it is one of {", ".join(LEARNERS)}.'
        raise UsageError(told, ("mutation", "learner"))
    require_extra()
    from tidepool.engine.studies.mutation.learners.ppo import PPOLearner

    return PPOLearner(training, rules, size, operators)


def require_extra() -> None:
    """Says in one line what to install, without the 2.4 seconds of loading PyTorch."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("torch", "stable_baselines3", "gymnasium")):
        raise UsageError(NEEDS_EXTRA, ("mutation", "learner"))
