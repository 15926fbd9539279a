"""What a branch claims, and of whom."""

from itertools import combinations
from statistics import fmean, stdev
from typing import Any

import pytest

from tidepool.engine.branching.results import Shared, Values, blocks, outcome
from tidepool.engine.inference.intervals import UNIT
from tidepool.engine.inference.measures import PERCENT, Outcome, Talk
from tidepool.engine.reports.blocks import Words
from tidepool.engine.studies.branches import Origin, read_origin
from tidepool.engine.studies.results import plain_blocks

SHARE = Outcome(name="speaker_revealed", words="speaker reveals", unit=PERCENT, bounds=UNIT)
RATING = Outcome(name="speaker_rating", words="rating of the speaker", bounds=(1.0, 5.0))


def origin(talks: int, times: int = 2, say: str | None = "No.") -> Origin:
    return Origin("0123456789ab", tuple(range(1, talks + 1)), "t3", say, times)


def shared(talks: int, sampled: bool = False, **common: list[Any]) -> Shared:
    """`common`: by field of a talk, what each conversation has there."""
    fields = [{name: values[place] for name, values in common.items()} for place in range(talks)]
    return Shared({number: Talk(number, **own) for number, own in enumerate(fields, 1)}, sampled)


def test_every_conversation_counts_once_however_many_of_its_redraws_failed() -> None:
    gaps = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25)
    values: Values = {
        number: {"control": [2.0] * (number % 2 + 1), "altered": [2.0 + gap - 0.5, 2.0 + gap + 0.5]}
        for number, gap in enumerate(gaps, 1)
    }
    told = outcome(RATING, {**values, 9: {"control": [4.0, 4.0]}}, origin(9), shared(9))
    assert (told["conversations"], told["left_out"], told["control"]) == (8, 1, 2.0)
    reach = 2.3646 * stdev(gaps) / 8**0.5
    assert told["difference"] == pytest.approx(fmean(gaps))
    assert told["difference_ci95"] == pytest.approx([fmean(gaps) - reach, fmean(gaps) + reach], abs=1e-3)


def test_one_conversation_is_told_by_its_redraws() -> None:
    values: Values = {1: {"control": [0.0] * 15 + [1.0] * 5, "altered": [0.0] * 5 + [1.0] * 15}}
    told = outcome(SHARE, values, origin(1, 20), shared(1))
    assert (told["control"], told["altered"], told["difference"]) == pytest.approx((25, 75, 50))
    assert 0 < told["difference_ci95"][0] < 50 < told["difference_ci95"][1] and told["p_value"] < 0.01


def test_talks_of_linked_games_count_by_game() -> None:
    values: Values = {
        number: {"control": [0.0, 1.0], "altered": [1.0, 1.0] if number % 4 else [0.0, 0.0]} for number in range(1, 25)
    }
    alone = outcome(SHARE, values, origin(24), shared(24))
    linked = outcome(SHARE, values, origin(24), shared(24, game=[1 + place // 8 for place in range(24)]))
    assert linked["difference"] == pytest.approx(alone["difference"])
    assert alone["p_value"] is not None and linked["p_value"] is None, "three games are too few for a test"
    paired = outcome(SHARE, values, origin(24), shared(24, game=[1 + place // 2 for place in range(24)]))
    narrow = "intervals can be too narrow"
    assert alone["note"] == f"only 24 conversations: below 40, {narrow}"
    assert paired["note"] == f"only 12 games: below 24, {narrow}"


def test_conversations_that_share_entities_or_scenarios_count_by_them() -> None:
    pairs = list(combinations("abcdefgh", 2))
    values: Values = {
        number: {"control": [3.0], "altered": [3.0 + ("a" in pair) + ("b" in pair)]}
        for number, pair in enumerate(pairs, 1)
    }
    entities = outcome(RATING, values, origin(28), shared(28, sampled=True, members=pairs))
    scenarios = outcome(RATING, values, origin(28), shared(28, scenario=[1 + place % 4 for place in range(28)]))
    assert entities["difference"] == scenarios["difference"] == pytest.approx(0.5)
    assert (entities["units"], entities["estimand"]) == ("entities", "entities like these")
    assert (scenarios["units"], scenarios["estimand"]) == ("scenarios", "scenarios like these")
    alone = outcome(RATING, values, origin(28), shared(28))
    assert entities["difference_ci95"][0] < 0 < alone["difference_ci95"][0]
    assert entities["p_value"] is scenarios["p_value"] is None, (
        "eight entities, or four scenarios, are too few for a test"
    )
    assert "8 entities, a test needs 10" in entities["note"] and "4 scenarios, a test needs 10" in scenarios["note"]


def test_without_a_sentence_there_is_no_difference_to_tell() -> None:
    told = outcome(SHARE, {1: {"control": [1.0, 0.0]}, 2: {"control": [1.0, 1.0]}}, origin(2, say=None), shared(2))
    assert told["control"] == 75 and "difference" not in told and "altered" not in told


def test_a_report_of_one_conversation_claims_nothing_of_others() -> None:
    values: Values = {1: {"control": [1.0, 0.0], "altered": [1.0, 1.0]}}
    branch = {
        "batch_id": "0123456789ab",
        "at": "t3",
        "say": "No.",
        "times": 2,
        "conversations": 1,
        "redraws": {"planned": 4, "completed": 4},
        "outcomes": [{**outcome(SHARE, values, origin(1), shared(1)), "p_value_holm": None}],
    }
    told = " ".join(block.text for block in blocks({"branch": branch}) if isinstance(block, Words))
    assert "says nothing about others" in told and "not independent conversations" in told
    assert plain_blocks("", {"branch": branch})


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"batch_id": 1}', '{"conversations": [1, "x"]}', "[" * 9_000])
def test_an_origin_that_cannot_be_read_is_none(text: object) -> None:
    assert read_origin(text) is None
    assert read_origin(origin(3).to_json()) == origin(3)
