"""Batch against batch where each thing is compared with itself: entities by their ratings, held-out queries by their reward."""

import pytest
from scipy import stats

from tests.engine.studies.simulation.panels import take_completed
from tidepool.engine.studies.mutation.results import compared as compared_queries
from tidepool.engine.studies.simulation.measures import SpeechTally
from tidepool.engine.studies.simulation.results import compared as compared_entities


def rated(*talks: dict[str, float]) -> SpeechTally:
    tally = SpeechTally()
    for talk in talks:
        take_completed(tally, "", talk, (), talk.items())
    return tally


def test_only_what_both_have_is_compared_and_one_pair_is_too_few() -> None:
    found = compared_queries({"a": 3.0, "b": 2.0, "c": 5.0}, {"a": 1.0, "b": 1.0, "d": 9.0})
    assert found is not None and found["difference"] == pytest.approx(1.5) and found["p_value"] is None
    assert found["note"].startswith("no verdict: 2 queries, a test needs 10") and found["estimand"].endswith(
        "like these"
    )
    assert compared_queries({"a": 3.0}, {"a": 1.0}) is None
    entities = compared_entities(rated({"a": 3}, {"b": 2}, {"c": 5}), rated({"a": 1}, {"b": 1}, {"d": 9}))
    assert entities is not None and entities["difference"] == pytest.approx(1.5) and entities["p_value"] is None
    assert entities["note"].startswith("no verdict: 2 entities, a test needs 10")
    assert compared_entities(rated({"a": 3}), rated({"a": 1})) is None


def test_equal_batches_differ_in_nothing() -> None:
    alone = [{name: 3.0} for name in "abcdefghij"]
    found = compared_entities(rated(*alone), rated(*alone))
    assert found is not None and found["difference"] == 0 and found["p_value"] == 1


def test_entities_that_share_talks_are_left_out_with_all_of_them() -> None:
    """Written out: three who meet in pairs, each rated in every talk."""
    first = [{"a": 3.0, "b": 2.0}, {"a": 5.0, "c": 1.0}, {"b": 4.0, "c": 2.0}]
    second = [{"a": 2.0, "b": 2.0}, {"a": 2.0, "c": 3.0}, {"b": 1.0, "c": 2.0}]

    def gap(without: str) -> float:
        """Of two, one talk is left, which they had with each other."""
        (ours,), (theirs,) = ([talk for talk in batch if without not in talk] for batch in (first, second))
        return sum(ours[name] - theirs[name] for name in ours) / 2

    without = [gap(name) for name in "abc"]
    middle = sum(without) / 3
    error = (2 / 3 * sum((one - middle) ** 2 for one in without)) ** 0.5
    found = compared_entities(rated(*first), rated(*second))
    assert found is not None
    reach = float(stats.t.ppf(0.975, 2)) * error
    mean = found["difference"]
    assert found["difference_ci95"] == pytest.approx([mean - reach, mean + reach])
