"""Reads rate limits and waiting times from providers' headers. Pure functions over a mapping of headers."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tidepool.engine.providers.protocol import RateLimits

_PARTS = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)(ms|h|m|s|d)")
UNREADABLE = (ValueError, TypeError, IndexError, OverflowError)
"""exceptions from reading a date"""
ABSURD = 1e15
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait before the next attempt, given in milliseconds, in seconds or as a date."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    if (seconds := _number(text)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(text)
        return max(0.0, (_aware(at) - (now or datetime.now(UTC))).total_seconds())
    except UNREADABLE:
        return None


def openai_limits(headers: Mapping[str, str]) -> RateLimits | None:
    if "x-ratelimit-limit-requests" not in headers and "x-ratelimit-limit-tokens" not in headers:
        return None

    def read(what: str) -> tuple[int | None, int | None, float | None]:
        limit, left = (_count(headers.get(f"x-ratelimit-{part}-{what}")) for part in ("limit", "remaining"))
        return limit, left, duration(headers.get(f"x-ratelimit-reset-{what}"))

    return RateLimits(*read("requests"), *read("tokens"))


def anthropic_limits(headers: Mapping[str, str], now: datetime | None = None) -> RateLimits | None:
    """Input and output tokens have separate limits. The limiter counts them together, so it gets the sum of the limits and
    the smaller remainder."""
    if "anthropic-ratelimit-requests-limit" not in headers and "anthropic-ratelimit-input-tokens-limit" not in headers:
        return None
    now = now or datetime.now(UTC)

    def read(what: str) -> tuple[int | None, int | None, float | None]:
        limit, left = (_count(headers.get(f"anthropic-ratelimit-{what}-{part}")) for part in ("limit", "remaining"))
        return limit, left, _until(headers.get(f"anthropic-ratelimit-{what}-reset"), now)

    kinds = read("input-tokens"), read("output-tokens")
    limits = [limit for limit, _, _ in kinds if limit is not None]
    _, left, reset = min(kinds, key=lambda kind: kind[1] / kind[0] if kind[0] and kind[1] is not None else 1.0)
    return RateLimits(*read("requests"), sum(limits) if limits else None, left, reset)


def duration(text: str | None) -> float | None:
    """`120ms`, `6s`, `1m3s`, `2h`, or plain seconds."""
    if text is None:
        return None
    if (number := _number(text)) is not None:
        return number
    parts = _PARTS.findall(text)
    return _bounded(sum(float(value) * _SECONDS[unit] for value, unit in parts)) if parts else None


def _until(text: str | None, now: datetime) -> float | None:
    try:
        return max(0.0, (_aware(datetime.fromisoformat(text)) - now).total_seconds()) if text else None
    except UNREADABLE:
        return None


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _count(text: str | None) -> int | None:
    number = _number(text)
    return None if number is None else int(number)


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return None if number is None else _bounded(number)


def _bounded(number: float) -> float | None:
    return number if 0 <= number < ABSURD else None
