import numpy as np
import pytest

from tidepool.engine.simulated.mutation.offline_transport import OfflineTransport
from tidepool.engine.studies.mutation.environment.episodes import EpisodeRules
from tidepool.engine.studies.mutation.environment.transport import finished
from tidepool.engine.studies.mutation.evaluation import RewardEstimate, compare, contenders, interval, play_heldout
from tidepool.engine.studies.mutation.learners.policy import ConstantPolicy
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.queries import builtin_queries, split_queries

HELDOUT = split_queries(builtin_queries(), 0.2, 1).heldout


def _scores(policy: float, random: float, constants: dict[str, float]) -> dict[str, np.ndarray]:
    spread = np.linspace(-0.05, 0.05, 30)
    values = {"policy": policy, "random": random, **dict.fromkeys(OPERATOR_NAMES, 0.1), **constants}
    return {name: value + spread for name, value in values.items()}


def test_the_best_constant_is_the_luckiest_operator() -> None:
    result = compare(_scores(0.7, 0.3, {"shorten": 0.5, "simplify": 0.4}), seed=1)
    assert result.best_operator == "shorten"
    assert result.best_constant.mean == pytest.approx(0.5)
    assert result.policy.apart_from(result.best_constant) and result.policy.apart_from(result.random)
    assert result.over_best_constant.low == pytest.approx(0.2)


def test_queries_that_a_contender_never_answered_are_left_out_for_all_and_counted() -> None:
    scores = _scores(0.7, 0.3, {})
    scores["random"][:3] = np.nan
    result = compare(scores, seed=1)
    assert (result.queries, result.missing) == (27, 3)
    assert result.policy.mean == pytest.approx(scores["policy"][3:].mean())


def test_with_nothing_answered_there_is_no_estimate() -> None:
    scores = {name: np.full(3, np.nan) for name in _scores(0, 0, {})}
    assert np.isnan(compare(scores, seed=1).policy.mean)


def test_an_interval_holds_its_mean_narrows_with_more_queries_and_repeats() -> None:
    generator = np.random.default_rng(1)
    few, many = (interval(generator.uniform(size=size), seed=1) for size in (20, 500))
    assert few.low < few.mean < few.high
    assert many.high - many.low < (few.high - few.low) / 2
    values = generator.uniform(size=20)
    assert interval(values, 1) == interval(values, 1)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [((0.5, 0.4, 0.6), (0.7, 0.61, 0.8), True), ((0.5, 0.4, 0.6), (0.7, 0.6, 0.8), False)],
)
def test_intervals_are_apart_when_they_share_no_value(one: tuple, other: tuple, apart: bool) -> None:
    assert RewardEstimate(*one).apart_from(RewardEstimate(*other)) is apart
    assert RewardEstimate(*other).apart_from(RewardEstimate(*one)) is apart


def test_all_contenders_play_all_queries_in_the_same_few_waves() -> None:
    transport = OfflineTransport(2)
    scores = finished(play_heldout(contenders(ConstantPolicy(0), 1), HELDOUT, transport, EpisodeRules(), repeats=2))
    answers = [count for stage, count in transport.waves if stage == "answer"]
    assert len(answers) == 5
    assert answers[0] == len(HELDOUT) * 2 * (2 + len(OPERATOR_NAMES))
    assert set(scores) == {"policy", "random", *OPERATOR_NAMES}
    assert all(len(values) == len(HELDOUT) and not np.isnan(values).any() for values in scores.values())


def test_a_query_whose_every_episode_is_lost_at_once_is_missing_and_not_zero() -> None:
    gone = HELDOUT[0].text
    transport = OfflineTransport(2, losing=lambda text: 1.0 if text == gone else 0.0)
    scores = finished(play_heldout({"noop": ConstantPolicy(0)}, HELDOUT, transport, EpisodeRules()))
    assert np.isnan(scores["noop"]).tolist() == [True] + [False] * (len(HELDOUT) - 1)
