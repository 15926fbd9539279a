"""Every error is classified in one place: what heals, what is this request's, what stops the batch."""

from itertools import pairwise

import aiohttp
import httpx2
import pytest

from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.endpoint import endpoint_of
from tidepool.engine.providers.errors import (
    ProviderComplaint,
    complaint_of,
    diagnose,
    no_reply_of,
)
from tidepool.engine.providers.protocol import ErrorClass

OPENAI, ANTHROPIC = (endpoint_of(name, ProviderSettings()) for name in ("openai", "anthropic"))


def test_what_stops_the_batch_carries_the_providers_words_and_advice() -> None:
    told = str(
        diagnose(ProviderComplaint(401, words="Incorrect API key provided"), OPENAI, "https://api.openai.com/v1")
    )
    assert told == (
        "OpenAI refuses all calls: Incorrect API key provided. Check the key in OPENAI_API_KEY, then resume."
    )
    spent = str(
        diagnose(ProviderComplaint(429, code="insufficient_quota", words="You exceeded your quota."), OPENAI, "")
    )
    assert "Raise the account's spend limit" in spent


def test_a_healing_error_says_where_and_how_long_to_wait() -> None:
    error = diagnose(ProviderComplaint(429, words="slow down", headers={"retry-after": "7"}), ANTHROPIC, "")
    assert (error.fault, error.retry_after) == (ErrorClass.RATE_LIMITED, 7.0)
    silent = diagnose(ProviderComplaint(None, words="reset"), OPENAI, "http://user:secret@127.0.0.1:9/v1")
    assert str(silent) == "OpenAI at 127.0.0.1:9 gave no answer: reset"


class _Raised(Exception):
    def __init__(self, status: int, body: object) -> None:
        super().__init__("Error code")
        self.response = httpx2.Response(status, headers={"retry-after": "2"})
        self.body = body


def test_the_words_of_both_sdks_are_read_from_their_bodies() -> None:
    openai = complaint_of(_Raised(400, {"message": "no", "code": "unsupported_parameter", "param": "seed"}))
    assert (openai.status, openai.code, openai.words, openai.param) == (400, "unsupported_parameter", "no", "seed")
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "wait", "details": {"error_code": "x"}}}
    anthropic = complaint_of(_Raised(429, body))
    assert (anthropic.code, anthropic.words, anthropic.headers["retry-after"]) == ("x", "wait", "2")
    assert complaint_of(_Raised(502, "<html>")).words == "Error code: 502"


def chained(*errors: Exception) -> Exception:
    """The first, caused by the second, and so on."""
    for error, cause in pairwise(errors):
        error.__cause__ = cause
    return errors[0]


def disconnected() -> Exception:
    return chained(httpx2.ConnectTimeout("Server disconnected"), aiohttp.ServerDisconnectedError())


@pytest.mark.parametrize(
    ("error", "silence"),
    [
        (
            chained(httpx2.ConnectTimeout("no"), aiohttp.ClientConnectionError("no"), ConnectionRefusedError()),
            "unreached",
        ),
        (httpx2.ConnectError("no"), "unreached"),
        (httpx2.ConnectTimeout("no"), "unreached"),
        (TimeoutError(), "timeout"),
        (httpx2.ReadTimeout("late"), "timeout"),
        (disconnected(), "broken"),
        (chained(httpx2.ReadError("cut"), aiohttp.ClientPayloadError()), "broken"),
        (httpx2.RemoteProtocolError("odd"), "broken"),
        (ValueError("no JSON"), "broken"),
    ],
)
def test_silence_tells_whether_something_may_have_been_bought(error: Exception, silence: str) -> None:
    assert no_reply_of(error).value == silence
