"""How a stop rule is told of: in every report, and in the sentences for a paper."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidepool.engine.results.blocks import Block, Words, table
from tidepool.engine.stopping.statistics import FINDING, SHARES, Stopping, read


def stopping_blocks(statistics: Mapping[str, Any]) -> Iterator[Block]:
    found = read(statistics.get(FINDING))
    if found is None:
        return
    yield table("Stop when sure", ("", ""), list(_facts(found)), left=2)
    if found.rule.half_width is None and found.stopped_at is not None:
        yield Words(
            "The interval of the rule holds at every look, whenever it stopped. The other intervals of this report are for a "
            "length fixed beforehand: after a decision they are a little too narrow, and the estimate lies a little too far "
            "from the line.",
            "quiet",
        )


def _facts(found: Stopping) -> Iterator[tuple[str, str]]:
    yield "rule", _asked(found)
    yield "found", f"{found.figure}: {_verdict(found)}"
    looked = f"{found.looks:,} look{'s' * (found.looks != 1)} at {found.blocks:,} blocks"
    if found.stopped_at is None:
        yield "stopped", f"not before its most of {found.max:,} {found.units}; {looked}"
    else:
        more = found.begun - found.stopped_at
        kept = f"; {more:,} more had been begun, and are kept" if more > 0 else ""
        yield "stopped", f"after {found.stopped_at:,} of {found.max:,} {found.units}, {looked}{kept}"
        yield "saved", f"{found.calls_saved:,} calls"
    yield "method", found.method


def _asked(found: Stopping) -> str:
    rule = found.rule
    if rule.half_width is not None:
        reach = f"{100 * rule.half_width:g} points" if rule.outcome in SHARES else f"{rule.half_width:g}"
        return f"{found.name}: until known to ± {reach}"
    return f"{found.name}: until it is decided whether it is above or below {found.line}"


def _verdict(found: Stopping) -> str:
    return f"{found.verdict} {found.line}" if found.verdict in ("above", "below") else found.verdict


def stopping_sentences(statistics: Mapping[str, Any]) -> Iterator[str]:
    """That a study could stop early, by what, and whether it did."""
    found = read(statistics.get(FINDING))
    if found is None:
        return
    yield (
        f"The study was to end when sure ({_asked(found)}), after {found.max:,} {found.units} at most, by {found.method}, looking at "
        "whole blocks in the order planned."
    )
    if found.stopped_at is None:
        yield f"It did not stop before: {found.figure}, {_verdict(found)}."
    else:
        yield f"It stopped after {found.stopped_at:,} at {found.looks:,} looks: {found.figure}, {_verdict(found)}."
