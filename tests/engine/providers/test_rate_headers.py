"""What providers' headers say of limits and waiting."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.providers.protocol import RateLimits
from tidepool.engine.providers.rate_headers import anthropic_limits, duration, openai_limits, retry_after

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("120ms", 0.12), ("6s", 6.0), ("1m3s", 63.0), ("2h", 7200.0), ("1d2h", 93600.0), ("7", 7.0), ("soon", None)],
)
def test_a_duration_is_read_as_it_is_written(text: str, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 20 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "later"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_waiting_is_told_in_seconds_milliseconds_or_by_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_openai_headers_give_the_pace() -> None:
    headers = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6s",
    }
    assert openai_limits(headers) == RateLimits(500, 499, 0.12, 30000, 0, 6.0)
    assert openai_limits({"content-type": "text/html"}) is None


def test_anthropic_headers_give_the_scarcer_kind_of_tokens() -> None:
    headers = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-11-20T12:00:01Z",
        "anthropic-ratelimit-input-tokens-limit": "40000",
        "anthropic-ratelimit-input-tokens-remaining": "39000",
        "anthropic-ratelimit-input-tokens-reset": "2026-11-20T12:00:02Z",
        "anthropic-ratelimit-output-tokens-limit": "8000",
        "anthropic-ratelimit-output-tokens-remaining": "10",
        "anthropic-ratelimit-output-tokens-reset": "2026-11-20T12:00:59Z",
    }
    assert anthropic_limits(headers, NOW) == RateLimits(50, 49, 1.0, 48000, 10, 59.0)
    assert anthropic_limits({}, NOW) is None


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text(max_size=30)))
def test_no_header_can_break_the_reading(headers: dict[str, str]) -> None:
    seconds = retry_after(headers, NOW)
    assert seconds is None or 0 <= seconds < timedelta(days=365_000_000).total_seconds()


_ODD = st.text(max_size=30) | st.sampled_from(
    ["9" * 5000 + "d", "1e400", "inf", "nan", "-0", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1_0"]
)


@given(_ODD, _ODD, _ODD)
def test_no_limit_can_break_the_reading(limit: str, left: str, reset: str) -> None:
    said = (("limit", limit), ("remaining", left), ("reset", reset))
    assert openai_limits(
        {f"x-ratelimit-{part}-{what}": value for what in ("requests", "tokens") for part, value in said}
    )
    headers = {
        f"anthropic-ratelimit-{what}-{part}": value
        for what in ("requests", "input-tokens", "output-tokens")
        for part, value in said
    }
    read_limits = anthropic_limits(headers, NOW)
    assert read_limits is not None
    assert read_limits.requests_reset is None or 0 <= read_limits.requests_reset < 1e15
