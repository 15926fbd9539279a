"""Statistics as types: the JSON they become, and are read back from."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidepool.engine.inference.typed import Statistics


@dataclass(frozen=True)
class Toss(Statistics):
    fell: str
    ci95: tuple[float, float] | None


@dataclass(frozen=True)
class Coins(Statistics):
    LEFT_OUT = frozenset({"judge"})
    EMPTY = frozenset({"last"})

    tosses: tuple[Toss, ...]
    by_hand: Mapping[str, Toss]
    judge: Toss | None
    last: Toss | None
    mean: float | None


HEADS = {"fell": "heads", "ci95": [0.5, 1]}


def test_json_has_the_fields_in_their_order_and_comes_back_as_the_same_types() -> None:
    found = Coins((Toss("heads", (0.5, 1)),), {"left": Toss("tails", None)}, Toss("edge", None), None, 0.25)
    told = found.as_json()
    assert list(told) == ["tosses", "by_hand", "judge", "last", "mean"]
    assert told["tosses"] == [HEADS] and told["by_hand"] == {"left": {"fell": "tails", "ci95": None}}
    assert Coins.from_json(told) == found


def test_what_is_none_has_no_key_or_is_empty_where_the_class_says_so() -> None:
    told = Coins((), {}, None, None, None).as_json()
    assert told == {"tosses": [], "by_hand": {}, "last": {}, "mean": None}
    assert Coins.from_json(told).as_json() == told
    assert Coins.from_json({**told, "last": HEADS, "of_a_newer_version": 1}).last == Toss("heads", (0.5, 1))
