"""Limits in virtual time: minutes of pacing against a provider that enforces them."""

import asyncio
from collections import deque
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.books import NoBooks, live_call
from tests.support.scripted import Asked, ScriptedProvider
from tests.support.stage import question
from tests.support.virtual_time import play
from tidepool.engine.config.sections import ProviderSettings, SimulatedSettings
from tidepool.engine.providers.protocol import Answer, ErrorClass, ProviderError, RateLimits
from tidepool.engine.runtime.accounts import Account, rest_after
from tidepool.engine.runtime.limits import Limiter, RatePace, SendPacer
from tidepool.engine.runtime.recording import LiveCall
from tidepool.engine.simulated.provider import SimulatedProvider


def most_in_a_minute(moments: list[float], weight: float = 1.0) -> float:
    window: deque[float] = deque()
    most = 0
    for moment in moments:
        window.append(moment)
        while window[0] <= moment - 60:
            window.popleft()
        most = max(most, len(window))
    return most * weight


async def buy(account: Account, step: str) -> Answer:
    return await live_call(account, question(step), hash(step)).answer()


# -- pace ------------------------------------------------------------------------------------------------


@given(st.integers(1, 20_000), st.lists(st.floats(0, 3), max_size=40))
@settings(max_examples=30, deadline=None)
def test_a_pace_never_lets_more_leave_in_a_sliding_minute_than_the_limit(per_minute: int, gaps: list[float]) -> None:
    pace, now, left = RatePace(per_minute), 100.0, []
    for gap in [*gaps, *[0.0] * min(per_minute * 3, 500)]:
        now = now + gap
        now = max(now, now + pace.delay(now))
        pace.consume(now)
        left.append(now)
    assert most_in_a_minute(left) <= per_minute


@given(st.integers(1000, 1_000_000), st.lists(st.tuples(st.floats(0.002, 0.25), st.floats(0, 3)), max_size=200))
@settings(max_examples=30, deadline=None)
def test_calls_of_any_size_never_take_more_tokens_in_a_sliding_minute_than_the_limit(
    per_minute: int, calls: list[tuple[float, float]]
) -> None:
    """Calls of up to a quarter of the limit each."""
    pace, now = RatePace(per_minute), 100.0
    left: list[tuple[float, float]] = []
    for share, gap in calls:
        tokens = share * per_minute
        now += gap
        now = max(now, now + pace.delay(now, tokens))
        pace.consume(now, tokens)
        left.append((now, tokens))
    for end, _ in left:
        assert sum(tokens for moment, tokens in left if end - 60 < moment <= end) <= per_minute * 1.0001


@given(
    st.sampled_from([1, 7, 45, 60, 90, 600, 1_200, 6_000, 20_000]),
    st.lists(st.floats(0, 0.01) | st.floats(0, 0.3) | st.floats(0, 3), min_size=200, max_size=400),
)
@settings(max_examples=30, deadline=None)
def test_however_late_the_loop_is_no_second_gets_more_than_its_share(per_minute: int, lateness: list[float]) -> None:
    """Arrivals are uneven by up to 20 ms on their way, the worse for every window."""
    pace, now, left = RatePace(per_minute), 100.0, []
    for late in lateness:
        now = max(now, now + pace.delay(now)) + late
        while pace.delay(now) <= 0:
            pace.consume(now)
            left.append(now)
    share, window = max(1, ceil(per_minute / 60)), max(1.0, 60 / per_minute)
    for first, beyond in zip(left, left[share:], strict=False):
        assert beyond - first >= window + 0.02 or per_minute < 60 <= per_minute * (beyond - first)


def test_a_limit_learnt_from_headers_counts_what_left_before_it_was_known() -> None:
    pace = RatePace(0)
    for _ in range(10):
        pace.consume(100.0)
    pace.change(600, 100.1, just_left=10)
    assert pace.delay(100.1) >= 1.0 and pace.delay(101.2) <= 0
    pace.consume(101.2)
    pace.change(1200, 101.2)
    assert 0.05 <= pace.delay(101.2) <= 0.06, "another limit opens no gap in the flow"


@pytest.mark.parametrize("per_minute", [7, 60, 600])
def test_a_provider_that_enforces_its_limit_never_answers_429_and_is_used_to_95_percent(
    per_minute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SimulatedSettings(
        requests_per_minute=per_minute, enforced_per_minute=per_minute, latency=0.3, jitter=0.5, max_concurrent=100
    )
    calls = 3 * per_minute

    async def three_minutes() -> Account:
        account = Account(SimulatedProvider(settings, "paced"), settings)
        await asyncio.gather(*(buy(account, f"c{number}") for number in range(calls)))
        return account

    account, seconds = play(monkeypatch, three_minutes())
    assert account.limiter.allowed == 100, "a 429 would have cut it"
    assert calls / (seconds / 60 * per_minute) >= 0.95 if per_minute >= 60 else seconds <= 3 * 60 * 1.06


def test_tokens_per_minute_are_paced_by_what_calls_really_took(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []

    async def short_answer(asked: Asked) -> Answer:
        left.append(asyncio.get_running_loop().time())
        return Answer("short", input_tokens=10, output_tokens=40)

    async def two_minutes() -> None:
        account = Account(ScriptedProvider(short_answer), ProviderSettings(tokens_per_minute=6000, max_concurrent=1000))
        await asyncio.gather(*(buy(account, f"c{number}") for number in range(240)))

    _, seconds = play(monkeypatch, two_minutes())
    assert most_in_a_minute(left, weight=50) <= 6000
    assert seconds == pytest.approx(120, rel=0.1)


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


# -- concurrency -----------------------------------------------------------------------------------------


async def test_no_more_than_the_ceiling_are_in_flight_and_all_get_through() -> None:
    limiter, most = Limiter(7), 0

    async def pass_through() -> None:
        nonlocal most
        await limiter.enter(0)
        most = max(most, limiter.in_flight)
        await asyncio.sleep(0)
        limiter.leave()

    await asyncio.gather(*(pass_through() for _ in range(100)))
    assert (most, limiter.peak, limiter.in_flight) == (7, 7, 0)


async def test_a_429_cuts_concurrency_once_per_round_trip() -> None:
    limiter = Limiter(100)
    loop = asyncio.get_running_loop()
    asked_at = loop.time()
    for _ in range(50):
        limiter.refused(asked_at)
    assert limiter.allowed == pytest.approx(70)
    limiter.refused(loop.time() + 1)
    assert limiter.allowed == pytest.approx(49)


async def test_success_grows_concurrency_back_to_its_ceiling_and_no_further() -> None:
    limiter = Limiter(10)
    limiter.refused(asyncio.get_running_loop().time())
    cut = limiter.allowed
    limiter.succeeded()
    assert cut < limiter.allowed < cut + 1
    for _ in range(200):
        limiter.succeeded()
    assert limiter.allowed == 10


def test_retry_after_is_obeyed_by_every_call_of_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[str, float] = {}

    async def story() -> None:
        begun = asyncio.get_running_loop().time()

        async def script(asked: Asked) -> Answer:
            if asked.call.step == "first" and asked.attempt == 1:
                raise ProviderError(ErrorClass.RATE_LIMITED, "slow down", retry_after=9.0)
            left[asked.call.step] = asyncio.get_running_loop().time() - begun
            return Answer("ok")

        account = Account(ScriptedProvider(script), ProviderSettings(max_concurrent=1))
        await asyncio.gather(buy(account, "first"), buy(account, "second"))

    play(monkeypatch, story())
    assert min(left.values()) >= 9.0 and len(left) == 2


def test_new_limits_take_effect_for_those_who_wait_already(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        account = Account(ScriptedProvider(), ProviderSettings(requests_per_minute=1))
        calls = [asyncio.ensure_future(buy(account, f"c{number}")) for number in range(50)]
        await asyncio.sleep(1)
        account.change("requests_per_minute", 6000)
        await asyncio.gather(*calls)

    assert play(monkeypatch, story())[1] < 3


async def test_a_waiter_that_is_cancelled_takes_no_place() -> None:
    limiter = Limiter(1)
    await limiter.enter(0)
    given_up, patient = (asyncio.ensure_future(limiter.enter(0)) for _ in range(2))
    await asyncio.sleep(0)
    given_up.cancel()
    limiter.leave()
    await patient
    limiter.leave()
    assert limiter.in_flight == 0 and limiter.try_enter(0)


# -- retries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "retries", "attempts"),
    [
        (ErrorClass.TRANSIENT, 3, 4),
        (ErrorClass.TRANSIENT, 0, 1),
        (ErrorClass.CLIENT, 3, 1),
        (ErrorClass.FATAL, 3, 1),
        (ErrorClass.RATE_LIMITED, 3, 101),
    ],
)
def test_only_what_can_heal_is_retried_and_no_more_than_was_set(
    fault: ErrorClass, retries: int, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def always(asked: Asked) -> Answer:
        raise ProviderError(fault, "no")

    async def story() -> int:
        provider = ScriptedProvider(always)
        with pytest.raises(ProviderError):
            await buy(Account(provider, ProviderSettings(retries=retries, outage_patience=0)), "c")
        return len(provider.asked)

    assert play(monkeypatch, story())[0] == attempts


def test_a_call_that_heals_is_answered_and_tells_its_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    async def third_time(asked: Asked) -> Answer:
        if asked.attempt < 3:
            raise ProviderError(ErrorClass.TRANSIENT, f"fault {asked.attempt}")
        return Answer("ok")

    async def story() -> LiveCall:
        account = Account(ScriptedProvider(third_time), ProviderSettings())
        live = live_call(account, question("c"), books=NoBooks(told.append))
        await live.answer()
        assert account.in_flight == {} and account.limiter.in_flight == 0
        return live

    assert play(monkeypatch, story())[0].attempts == 3
    assert told == ["fault 1", "fault 2"]


@pytest.mark.parametrize("per_minute", [30, 60, 600, 1200])
def test_calls_that_were_held_up_on_their_way_out_do_not_leave_in_a_bunch(
    per_minute: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float] = []

    async def held_up(gate: SendPacer, number: int) -> None:
        await asyncio.sleep(number * 60 / per_minute / 0.96 // 0.7 * 0.7)  # the disk lets several go at once
        await gate.next(per_minute)
        left.append(asyncio.get_running_loop().time())

    async def minute() -> None:
        gate = SendPacer()
        await asyncio.gather(*(held_up(gate, number) for number in range(per_minute)))

    _, seconds = play(monkeypatch, minute())
    in_a_second = max(1, per_minute // 60)
    spans = [later - earlier for earlier, later in zip(left, left[in_a_second:], strict=False)]
    assert min(spans) >= 1.03 * max(1, 60 / per_minute), "so much may their arrival differ"
    assert seconds <= 60 / 0.95 + 1
