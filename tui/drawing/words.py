"""Numbers and moments as people read them: short, with units, of a width that does not jump."""

import time

from tidepool.engine.results.wording import in_flight as in_flight
from tidepool.engine.results.wording import requests as requests
from tidepool.engine.results.wording import span as span
from tidepool.storage.queries.watching import HandLine


def count(value: float) -> str:
    """1,234 up to a hundred thousand, then 123k, 1.2M."""
    if value < 100_000:
        return f"{value:,.0f}"
    if value < 10_000_000:
        return f"{value / 1000:,.0f}k"
    return f"{value / 1_000_000:,.1f}M"


def rate(per_second: float) -> str:
    """Never a zero that is none: 41/s, 0.2/s, 1.5/min."""
    if 0 < per_second < 0.095:
        return f"{60 * per_second:.1f}/min"
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"


def utc(moment: float) -> str:
    """A moment that sorts, and means the same to everybody who reads it."""
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(moment))


def ago(moment: float, now: float | None = None) -> str:
    """How old something is, in one word: 5 s, 12 min, 3 h, 2 d."""
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def resting(provider: str, since: float, until: float, why: str, down: bool) -> str:
    """For what calls wait, with the time that is left."""
    now = time.time()
    left = max(0.0, until - now)
    if down:
        return f"{provider} is down: waiting for {ago(since, now)}, gives up in {countdown(left)}"
    return f"{provider} rests {countdown(left)} more ({why})"


def hand_words(hand: HandLine) -> str:
    """A worker of a cluster: where it is, and what it does."""
    return (
        f"hand {hand.process} on {hand.node}: {count(hand.in_flight)} in flight, {rate(hand.per_second)}, "
        f"{count(hand.returned)} came back"
    )


def countdown(seconds: float) -> str:
    """Whole seconds: 42 s, 8:40."""
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60}:{whole % 60:02}"


def dollars(amount: float | None) -> str:
    """Unknown prices are a dash, never a zero."""
    if amount is None:
        return "–"
    return f"${amount:,.2f}" if amount >= 10 or amount == 0 else f"${amount:,.4f}"


def at_most(amount: float | None) -> str:
    """What something may cost, before it is bought: never a zero that is none."""
    if amount is None:
        return "at a price that is not known"
    return "for less than $0.0001" if 0 < amount < 0.0001 else f"for {dollars(amount)} at most"


def percent(part: float, whole: float) -> str:
    """Never 100 % before the end."""
    if not whole:
        return "–"
    return f"{min(100 if part >= whole else 99, int(100 * part / whole))} %"
