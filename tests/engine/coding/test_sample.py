"""The sample that people code: half of each verdict, one side a talk, reproducible, and weighted back to the batch."""

from collections import Counter, defaultdict
from itertools import pairwise
from random import Random

import pytest

from tidepool.engine.coding.sample import DETECTORS, NEGATIVE, POSITIVE, Frame, Sample, draw_sample


def frame(talks: int, positive: float = 0.2, seed: int = 1) -> Frame:
    random = Random(seed)
    verdicts = {(talk, side): random.random() < positive for talk in range(1, talks + 1) for side in (0, 1)}
    return Frame(dict.fromkeys(verdicts, "Ada"), {DETECTORS: verdicts}, {})


def test_half_is_positive_and_no_talk_is_asked_twice_and_weights_add_up_to_the_batch() -> None:
    found = draw_sample(frame(400), 100, Random(7))
    counts = Counter(one.stratum for one in found.chosen)
    assert counts == {POSITIVE: 50, NEGATIVE: 50}
    assert Counter(one.stratum for one in found.chosen[:30])[POSITIVE] in range(7, 24), "whoever stops early has both"
    assert len({one.place[0] for one in found.chosen}) == len(found.chosen) == 100
    weights: defaultdict[str, float] = defaultdict(float)
    for one in found.chosen:
        weights[one.stratum] += one.weight
    assert weights == pytest.approx(frame(400).strata()) and sum(found.strata.values()) == 800
    assert Sample.from_json(found.as_json()) == found


def test_the_same_lots_draw_the_same_and_a_larger_sample_holds_a_smaller() -> None:
    candidates = frame(300)
    found = [[one.place for one in draw_sample(candidates, n, Random(7)).chosen] for n in (20, 21, 50, 100, 180, 300)]
    assert found[2] == [one.place for one in draw_sample(candidates, 50, Random(7)).chosen]
    for smaller, larger in pairwise(found):
        assert [place for place in larger if place in set(smaller)] == smaller, "in the same order"
    assert found[2] != [one.place for one in draw_sample(candidates, 50, Random(8)).chosen]


@pytest.mark.parametrize(
    ("positives", "negatives", "size", "expected"),
    [
        (200, 300, 100, (50, 50)),
        (10, 300, 100, (10, 90)),
        (300, 4, 100, (96, 4)),
        (0, 300, 100, (0, 100)),
        (3, 3, 100, (3, 3)),
    ],
)
def test_what_one_verdict_lacks_the_other_gives(
    positives: int, negatives: int, size: int, expected: tuple[int, int]
) -> None:
    verdicts = {(talk, 0): talk < positives for talk in range(positives + negatives)}
    drawn = draw_sample(Frame(dict.fromkeys(verdicts, "Ada"), {DETECTORS: verdicts}, {}), size, Random(1)).chosen
    counts = Counter(one.stratum for one in drawn)
    assert (counts[POSITIVE], counts[NEGATIVE]) == expected
