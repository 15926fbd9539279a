"""The result of a stop rule: in the file, the JSON statistics, reports and methods texts."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import TYPE_CHECKING, Any

from tidepool.engine.inference.intervals import Interval
from tidepool.engine.reports.blocks import Block, Estimate, Words, digits_of, number, table, text_of, units_in_words
from tidepool.storage.queries.summary import finding

if TYPE_CHECKING:
    from tidepool.engine.config.sections import StopWhenSure

FINDING = "stopping"


@dataclass(frozen=True)
class Stopping:
    """The result of a stop rule, in the units of its outcome: shares from 0 to 1, points of a rating."""

    rule: "StopWhenSure"
    method: str
    units: str
    """name of the units of the plan"""
    max: int
    blocks: int
    """number of blocks at the last look"""
    looks: int
    stopped_at: int | None
    """number of planned units after which the rule stopped the batch; None: it did not"""
    begun: int
    """number of units started by then, which are completed and included"""
    verdict: str
    estimate: float | None
    interval: Interval | None
    calls_saved: int
    in_percent: bool = True
    """the measure is a share, shown in percent"""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "rule": self.rule.model_dump()}

    @property
    def figure(self) -> str:
        """The estimate with its interval, for display."""
        if self.estimate is None:
            return "no estimate"
        share = self.in_percent
        scale, digits, unit = (100, 1, " points" if self.rule.difference else " %") if share else (1, 2, "")
        ends = self.interval and (scale * self.interval[0], scale * self.interval[1])
        estimate = Estimate(scale * self.estimate, ends, digits, unit, bool(self.rule.difference))
        if ends is None or self.rule.half_width is None:
            return text_of(estimate)
        return f"{estimate.value_text} ± {number((ends[1] - ends[0]) / 2, digits_of(ends))}"

    @property
    def name(self) -> str:
        agent_text = f" by {self.rule.agent}" if self.rule.agent else ""
        return f"{self.rule.outcome}{agent_text}" + (f", {self.rule.difference}" if self.rule.difference else "")

    @property
    def line(self) -> str:
        at = self.rule.at
        return f"{100 * at:g} %" if self.in_percent and not self.rule.difference else f"{at:g}"

    @property
    def words(self) -> str:
        """The reason for the end of the batch."""
        side = "" if self.rule.half_width is not None else f" is {self.verdict} {self.line}"
        return (
            f"stopped early: {self.name} {self.figure}{side} after {self.stopped_at:,} of {self.max:,} {units_in_words(self.units)}, "
            f"{self.calls_saved:,} requests saved"
        )


def stopping_of(connection: sqlite3.Connection, batch_number: int) -> Stopping | None:
    """Returns the stored result of the batch's stop rule; None if it is missing or, in an untrusted file, invalid."""
    return read(finding(connection, batch_number, FINDING))


def stopping_statistics(connection: sqlite3.Connection, batch_number: int) -> dict[str, Any]:
    """Returns the part of the JSON statistics on early stopping, which is empty without a result."""
    stopping = stopping_of(connection, batch_number)
    return {} if stopping is None else {FINDING: stopping.as_json()}


def read(content: Any) -> Stopping | None:
    """Reads a stored result. Returns None if it is invalid."""
    if not isinstance(content, Mapping) or not isinstance(content.get("rule"), Mapping):
        return None
    from tidepool.engine.config.sections import StopWhenSure

    counts = [content.get(name) for name in ("max", "blocks", "looks", "begun", "calls_saved")]
    words = [content.get(name) for name in ("method", "units", "verdict")]
    try:
        interval = tuple(content.get("interval") or ())
        numbers = [content.get("estimate"), *interval]
        rule = StopWhenSure.model_validate(dict(content["rule"]))
        assert all(type(count) is int for count in (*counts, content.get("stopped_at") or 0))
        assert all(isinstance(word, str) for word in words)
        assert all(number is None or isfinite(number) for number in numbers) and len(numbers) in (1, 3)
        values: dict[str, Any] = {field.name: content.get(field.name) for field in fields(Stopping)}
        more = {"rule": rule, "interval": interval or None, "in_percent": content.get("in_percent") is not False}
        return Stopping(**values | more)
    except (AssertionError, TypeError, ValueError):
        return None


def stopping_blocks(statistics: Mapping[str, Any]) -> Iterator[Block]:
    stopping = read(statistics.get(FINDING))
    if stopping is None:
        return
    yield table("early stopping", ("", ""), list(_facts(stopping)), left=2)
    if stopping.rule.half_width is None and stopping.stopped_at is not None:
        yield Words(
            "The interval of the rule is valid at every look. The other intervals of this report assume a fixed sample size. After an early stop "
            "they are slightly too narrow, and the estimate is slightly too far from the threshold.",
            "quiet",
        )


def _facts(stopping: Stopping) -> Iterator[tuple[str, str]]:
    yield "rule", _rule_words(stopping)
    yield "result", f"{stopping.figure}: {_verdict(stopping)}"
    units = units_in_words(stopping.units)
    looks_text = f"{stopping.looks:,} look{'s' * (stopping.looks != 1)} at {stopping.blocks:,} blocks"
    if stopping.stopped_at is None:
        yield "stopped", f"only at the maximum of {stopping.max:,} {units}; {looks_text}"
    else:
        extra = stopping.begun - stopping.stopped_at
        note = f"; {extra:,} more were in progress and are included" if extra > 0 else ""
        saved = f"; {stopping.calls_saved:,} requests saved"
        yield (
            "stopped",
            f"after {stopping.stopped_at:,} of {stopping.max:,} {units}, {looks_text}{note}{saved}",
        )
    yield "method", stopping.method


def _rule_words(stopping: Stopping) -> str:
    rule = stopping.rule
    if rule.half_width is not None:
        reach = f"{100 * rule.half_width:g} points" if stopping.in_percent else f"{rule.half_width:g}"
        return f"{stopping.name}: until the margin of error is {reach}"
    return f"{stopping.name}: until it is clearly above or below {stopping.line}"


def _verdict(stopping: Stopping) -> str:
    return f"{stopping.verdict} {stopping.line}" if stopping.verdict in ("above", "below") else stopping.verdict


def stopping_sentences(statistics: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences on the stop rule and its result."""
    stopping = read(statistics.get(FINDING))
    if stopping is None:
        return
    yield (
        f"A stopping rule ({_rule_words(stopping)}; maximum {stopping.max:,} {units_in_words(stopping.units)}) used {stopping.method}. It "
        "was applied to whole blocks in the planned order."
    )
    if stopping.stopped_at is None:
        yield f"It did not stop the study: {stopping.figure}, {_verdict(stopping)}."
    else:
        yield f"It stopped the study after {stopping.stopped_at:,} at {stopping.looks:,} looks: {stopping.figure}, {_verdict(stopping)}."
