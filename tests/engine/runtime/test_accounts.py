"""One provider account: what its headers and changed limits do to its pace."""

import pytest

from tests.support.scripted import ScriptedProvider
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.protocol import RateLimits
from tidepool.engine.runtime.accounts import Account, rest_after


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        (RateLimits(500, 499, 0.12, 30_000, 29_000, 6.0), 0.0),
        (RateLimits(500, 0, 60.0), 0.12),
        (RateLimits(3, 0, 60.0), 20.0),
        (RateLimits(500, 10, 60.0, 30_000, 0, 60.0), 3.0),
        (RateLimits(), 0.0),
    ],
)
def test_an_empty_limit_is_waited_for_as_long_as_one_call_needs(limits: RateLimits, seconds: float) -> None:
    assert rest_after(limits) == pytest.approx(seconds)


async def test_headers_set_the_pace_only_where_the_config_sets_none() -> None:
    told = RateLimits(requests_per_minute=500, tokens_per_minute=30_000)
    free = Account(ScriptedProvider(), ProviderSettings())
    free.learn(told)
    assert (free.limiter.requests.per_minute, free.limiter.tokens.per_minute) == (500, 30_000)
    bound = Account(ScriptedProvider(), ProviderSettings(requests_per_minute=60))
    bound.learn(told)
    assert (bound.limiter.requests.per_minute, bound.limiter.tokens.per_minute) == (60, 30_000)


async def test_a_changed_limit_reaches_the_provider_too() -> None:
    account = Account(ScriptedProvider(), ProviderSettings(timeout=60))
    account.change("timeout", 5.0)
    assert account.provider.settings.timeout == 5.0
