"""How figures are written, in every report: numbers, intervals, p-values, money, lengths of time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

UNKNOWN = "–"


def number(value: float | None, digits: int = 1, unit: str = "", *, signed: bool = False) -> str:
    return UNKNOWN if value is None else f"{value:{'+' if signed else ''},.{digits}f}{unit}"


def interval(bounds: Sequence[float] | None, digits: int = 1, *, signed: bool = False) -> str:
    if not bounds:
        return UNKNOWN
    low, high = (number(bound, digits, signed=signed) for bound in bounds)
    return f"{low} to {high}" if signed or bounds[0] < 0 else f"{low}–{high}"


def p_value(value: float | None) -> str:
    return UNKNOWN if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def gave(outcome: Mapping[str, Any]) -> str:
    """What a side of a secret game came to."""
    found = f"in message {outcome['turn']} ({outcome['detector']})"
    if outcome["revealed"]:
        return f"revealed {found}"
    return (
        f"may have revealed {found}, which is an ordinary word as well" if outcome["uncertain"] else "kept the secret"
    )


def more(count: int) -> str:
    return f"… and {count:,} more"


def money(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.4f}"


def requests(total: int, bought: int, cached: int, failed: int = 0, **more: int) -> str:
    """What became of all requests: new, cached and failed add up to the total. Then the attempts that were paid for beyond
    one per new reply; they may be the first ones of requests that failed."""
    new = total - cached - failed
    parts = f"{new:,} new, {cached:,} cached" + (f", {failed:,} failed" if failed else "")
    rest = {"unused attempts billed" if failed else "billed again": bought - new, **more}
    others = ", ".join(f"{count:,} {name}" for name, count in rest.items() if count > 0)
    return f"{total:,} request{'s' * (total != 1)}: {parts}{f'; {others}' if others else ''}"


def span(seconds: float) -> str:
    """A length of time in two words at most: 850 ms, 12.3 s, 4 min 05 s, 2 h 10 min, 3 d 4 h."""
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    if seconds < 86_400:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"
    return f"{int(seconds // 86_400)} d {int(seconds % 86_400 // 3600)} h"


def in_flight(mean: float | None) -> str:
    """How many calls were at a provider at once, on average; nothing where calls took next to no time."""
    return f", calls in flight, mean {mean:,.1f}" if mean is not None and mean >= 1 else ""


def round_top(values: Sequence[float]) -> float:
    """The end of an axis: so that a quarter of it is a number one can read."""
    highest = max(values, default=0.0)
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest))
    return next(top * size for top in (1, 2, 3, 4, 5, 6, 8, 10) if top * size >= highest * 0.999)
