import asyncio

import numpy as np
import pytest

from tests.support.offline_transport import OfflineTransport
from tidepool.engine.inference.contrasts import matched
from tidepool.engine.inference.significance import holm
from tidepool.engine.studies.mutation.environment import EpisodeRules
from tidepool.engine.studies.mutation.evaluation import UNCHANGED, compare, contenders, play_heldout
from tidepool.engine.studies.mutation.operators import OPERATOR_NAMES
from tidepool.engine.studies.mutation.policy import ConstantPolicy
from tidepool.engine.studies.mutation.queries import builtin_queries, split_queries

HELDOUT = split_queries(builtin_queries(), 0.2, 1).heldout


def _scores(policy: float, random: float, constants: dict[str, float]) -> dict[str, np.ndarray]:
    spread = np.linspace(-0.05, 0.05, 30)
    values = {"policy": policy, "random": random, UNCHANGED: 0.1, **dict.fromkeys(OPERATOR_NAMES, 0.1), **constants}
    return {name: value + spread for name, value in values.items()}


def test_that_the_luckiest_of_all_operators_is_ahead_is_no_surprise() -> None:
    luck = np.random.default_rng(3).normal(0, 0.1, 12)
    scores = {name: values[:12] for name, values in _scores(0.4, 0.3, {"shorten": 0.47}).items()}
    scores["shorten"] = scores["shorten"] + luck
    beaten = compare(scores)["differences"]["best_constant"]
    plain = matched(scores["policy"] - scores["shorten"])
    assert (
        beaten["difference"] < 0
        and plain
        and plain.p_value
        and beaten["p_value"] == pytest.approx(min(1.0, len(OPERATOR_NAMES) * plain.p_value))
    )
    assert beaten["p_value"] > plain.p_value and beaten["ci95"] == plain.interval


def test_fewer_than_ten_queries_are_too_few_for_a_verdict() -> None:
    for queries, tested in ((9, False), (10, True)):
        scores = {name: values[:queries] for name, values in _scores(0.7, 0.3, {}).items()}
        scores["policy"] = scores["policy"] + np.linspace(0, 0.05, queries)
        gains = compare(scores)["differences"]
        assert all(
            (one["p_value"] is not None) == tested == (one["p_value_holm"] is not None) for one in gains.values()
        )
        assert gains["random"]["ci95"]
        if tested:
            plain = [one["p_value"] for one in gains.values()]
            assert [one["p_value_holm"] for one in gains.values()] == pytest.approx(holm(plain))


def test_a_query_whose_every_episode_is_lost_at_once_is_missing_and_not_zero() -> None:
    gone = HELDOUT[0].text
    transport = OfflineTransport(2, losing=lambda text: 1.0 if text == gone else 0.0)
    scores = asyncio.run(play_heldout({"noop": ConstantPolicy(0)}, HELDOUT, transport, EpisodeRules()))
    assert np.isnan(scores["noop"]).tolist() == [True] + [False] * (len(HELDOUT) - 1)


def test_the_unchanged_query_is_asked_by_the_same_rules_also_where_noop_is_no_operator_of_the_study() -> None:
    rules = EpisodeRules(operators=("shorten", "simplify"), success=1.0)
    transport = OfflineTransport(2)
    named = contenders(ConstantPolicy(0), 1, operators=rules.operators)
    scores = asyncio.run(play_heldout(named, HELDOUT, transport, rules, repeats=1))
    answers = [count for stage, count in transport.waves if stage == "answer"]
    assert answers == [len(HELDOUT) * 5] * 5
    assert list(scores) == ["policy", "random", "shorten", "simplify", UNCHANGED]
    with_noop = asyncio.run(
        play_heldout(contenders(ConstantPolicy(0), 1), HELDOUT, OfflineTransport(2), EpisodeRules())
    )
    assert np.array_equal(with_noop[UNCHANGED], with_noop["noop"])
    assert abs(scores[UNCHANGED].mean() - with_noop[UNCHANGED].mean()) < 0.03
    assert compare(scores, rules.operators)["best_constant"]["operator"] in rules.operators
