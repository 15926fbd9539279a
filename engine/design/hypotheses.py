"""Hypotheses that stand in a design: checked before anything is bought, frozen by their hash, read back with it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, Literal, cast

from tidepool.engine.design.contrasts import Asked, parse_contrast, weigh
from tidepool.engine.design.factors import Factors
from tidepool.engine.design.outcomes import Outcome, find_outcome
from tidepool.engine.errors import UsageError, located

Direction = Literal["two-sided", "less", "greater"]
DIRECTIONS: tuple[Direction, ...] = ("two-sided", "less", "greater")
FEWEST_REPLICATES = 6
"""replicates as units: fewer have an interval, and no verdict"""
MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Hypothesis:
    outcome: Outcome
    asked: Asked
    direction: Direction


def hypotheses_hash(hypotheses: Sequence[Mapping[str, Any]]) -> str | None:
    """By which a later change of them is seen; None without any."""
    if not hypotheses:
        return None
    told = json.dumps([dict(one) for one in hypotheses], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def read_hypotheses(design: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[Hypothesis]:
    """Raises a UsageError at its place in the config where one cannot be meant."""
    factors = Factors.of(design)
    found: list[Hypothesis] = []
    for place, told in enumerate(design.get("hypotheses") or ()):
        with located("design", "hypotheses", place):
            one = _read(told, factors, outcomes)
            if any((one.outcome.name, one.asked) == (other.outcome.name, other.asked) for other in found):
                raise UsageError(
                    f"The same hypothesis stands here twice: {one.outcome.name}, {one.asked}.", ("contrast",)
                )
            found.append(one)
    return found


def _read(told: Mapping[str, Any], factors: Factors, outcomes: Sequence[Outcome]) -> Hypothesis:
    name, direction = str(told.get("outcome", "")), told.get("direction") or "two-sided"
    outcome = find_outcome(outcomes, name)
    if outcome is None:
        raise UsageError(_no_outcome(name, outcomes), ("outcome",))
    if direction not in DIRECTIONS:
        raise UsageError(
            f"{direction!r} is no direction; known are {', '.join(map(repr, DIRECTIONS))}.", ("direction",)
        )
    with located("contrast"):
        asked = parse_contrast(str(told.get("contrast", "")), factors)
    return Hypothesis(outcome, asked, cast(Direction, direction))


def _no_outcome(name: str, outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return (
            f"There is no outcome {name!r}: nothing of this study can be compared. A simulation needs a judge; a kind of a "
            "package must say what it comes to."
        )
    names = [one.name for one in outcomes]
    folded = {other.casefold(): one.name for one in outcomes for other in (one.name, *one.also)}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    hint = f" Did you mean {folded[near[0]]!r}?" if near else ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{name!r} is no outcome of this study.{hint} Known are {', '.join(map(repr, names[:MOST_NAMED]))}{more}."


def check_hypotheses(design: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[str]:
    """Raises where a hypothesis cannot be meant; tells of those that can have no verdict, however it comes out."""
    factors, replicates = Factors.of(design), int(design.get("replicates") or 1)
    told = []
    for one in read_hypotheses(design, outcomes):
        weighing = weigh(one.asked, factors, factors.cells)
        assert weighing is not None  # or it would not have been read
        why = "" if one.outcome.per_talk else f"{one.outcome.name} is one number a batch"
        why = why or ("a level changes who or what is drawn" if weighing.redraws else "")
        if why and replicates < FEWEST_REPLICATES:
            told.append(
                f"The hypothesis {str(one.asked)!r} will have no verdict: {why}, so replicates are what is counted, and "
                f"{replicates} of them are too few. {FEWEST_REPLICATES} or more have one."
            )
    return told
