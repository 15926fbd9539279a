"""Headers about limits that nobody should believe to the letter."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

Headers = Callable[[], dict[str, str]]
SOON = 2
"""seconds until the date that a Retry-After names: dates have no fractions, so at least one second is left"""


def _limits(limit: str, remaining: str, reset: str) -> Headers:
    """The same for requests and tokens, in both providers' spelling."""
    said = {"limit": limit, "remaining": remaining, "reset": reset}
    headers = {f"x-ratelimit-{what}-{of}": value for what, value in said.items() for of in ("requests", "tokens")}
    headers |= {f"anthropic-ratelimit-{of}-{what}": value for what, value in said.items() for of in ("requests",)}
    return lambda: headers


def _retry_after(value: str) -> Headers:
    return lambda: {"retry-after": value}


def _date(seconds: float) -> Headers:
    return lambda: {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)}


HEADERS: dict[str, Headers] = {
    "none-left": _limits("60000", "0", "99999d"),
    "none-left-now": _limits("6000", "0", "0s"),
    "negative": _limits("-5", "-1", "-3s"),
    "garbage": _limits("many", "some", "soon"),
    "nan": _limits("nan", "nan", "nan"),
    "infinite": _limits("1e400", "inf", "infd"),
    "zero": _limits("0", "0", "0"),
    "long": _limits("9" * 5000, "9" * 5000, "9" * 5000 + "s"),
    "a-page": lambda: {f"x-ratelimit-odd-{number}": "9" * 60 for number in range(40)},
}
"""on an answer"""

WAITS: dict[str, Headers] = {
    "date": _date(SOON),
    "past": _date(-86_400),
    "9999": _retry_after("9999"),
    "garbage": _retry_after("a while"),
    "negative": _retry_after("-1"),
    "nan": _retry_after("nan"),
    "infinite": _retry_after("inf"),
    "1e300": _retry_after("1e300"),
    "empty": _retry_after(""),
    "none": dict,
}
"""on a 429"""
