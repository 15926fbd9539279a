"""The short form of benchmarks/mutation_learning.py: do the learners learn, outage or not?"""

import pytest

from benchmarks.mutation_learning import lost_after_steps, trial
from tidepool.engine.studies.mutation.environment import EpisodeRules
from tidepool.engine.studies.mutation.learners import Training


@pytest.mark.parametrize(("learner", "steps"), [("bandit", 2500), ("ppo", 10_000)])
def test_a_learner_beats_random_and_the_best_constant_on_queries_it_never_saw(learner: str, steps: int) -> None:
    if learner == "ppo":
        pytest.importorskip("stable_baselines3", reason="the extra rl")
    trained = trial(learner, Training().seed, steps, EpisodeRules())
    record, result = trained.record, trained.result
    assert result.policy.low > result.random.high
    assert result.policy.low > result.best_constant.high
    assert record.updates[-1].mean_reward > record.updates[0].mean_reward + 0.1


def test_random_play_learns_nothing() -> None:
    result = trial("random", 1, 160, EpisodeRules()).result
    assert result.differences["random"].p_value_holm > 0.05


def test_masked_losses_cost_no_learning_and_losses_taken_for_refusals_do() -> None:
    """Answers are lost most often after `ask_for_steps`, which is the best operator of one kind."""
    trials = {
        name: trial("bandit", 1, 1500, rules, losing).result.policy.mean
        for name, rules, losing in (
            ("whole", EpisodeRules(), None),
            ("masked", EpisodeRules(), lost_after_steps),
            ("refusal", EpisodeRules(on_error="refusal"), lost_after_steps),
        )
    }
    assert trials["masked"] > trials["whole"] - 0.03
    assert trials["refusal"] < trials["masked"] - 0.05
