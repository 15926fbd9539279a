"""A provider that is down, or slower than its timeout, in virtual time."""

import asyncio
from collections.abc import Callable
from itertools import count
from random import Random

import pytest

from tests.support.books import NoBooks, live_call
from tests.support.scripted import Asked, ScriptedProvider, plain
from tests.support.stage import question
from tests.support.virtual_time import play
from tidepool.engine.config.sections import ProviderSettings
from tidepool.engine.providers.protocol import Answer, ErrorClass, NoReply, ProviderError
from tidepool.engine.runtime.accounts import Account, ProviderDown
from tidepool.engine.runtime.recording import LiveCall

Fault = Callable[[], ProviderError]


def refused() -> ProviderError:
    return ProviderError(ErrorClass.TRANSIENT, "connection refused", no_reply=NoReply.UNREACHABLE)


def server_error() -> ProviderError:
    return ProviderError(ErrorClass.TRANSIENT, "answered 503")


def too_slow() -> ProviderError:
    return ProviderError(ErrorClass.TRANSIENT, "nothing came", no_reply=NoReply.TIMEOUT)


class Shop:
    """An account at a provider that is down for a while, and the calls made there."""

    def __init__(self, fault: Fault = refused, *, down: tuple[float, float] = (0.0, 0.0), **settings: float) -> None:
        self.fault = fault
        self.down = down
        self.provider = ScriptedProvider(self._reply)
        self.provider.backoff = 0.5
        self.account = Account(self.provider, ProviderSettings(**settings))  # type: ignore[arg-type]
        self.log: list[str] = []
        self.errors: list[str] = []
        self.account.outage.log = self._tell
        self.books = NoBooks()
        self.began = asyncio.get_running_loop().time()

    def _tell(self, level: str, message: str) -> None:
        """Errors by class are one thing, whether the provider is down is another."""
        (self.errors if " × " in message or message.startswith("First ") else self.log).append(f"{level}: {message}")

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time() - self.began

    async def _reply(self, asked: Asked) -> Answer:
        await asyncio.sleep(0.1)
        if self.down[0] <= self.now < self.down[1]:
            raise self.fault()
        return await plain(asked)

    async def buy(self, number: int) -> LiveCall:
        live = live_call(self.account, question("t1"), number, self.books)
        await live.answer()
        return live

    async def buy_many(self, calls: int) -> list[LiveCall | BaseException]:
        return await asyncio.gather(*map(self.buy, range(calls)), return_exceptions=True)


@pytest.mark.parametrize("fault", [refused, server_error])
def test_calls_wait_for_a_provider_that_is_down_and_lose_no_retries(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> Shop:
        shop = Shop(fault, down=(2.0, 62.0), retries=1, max_concurrent=5)
        bought = await shop.buy_many(300)
        assert all(isinstance(live, LiveCall) for live in bought)
        return shop

    shop, seconds = play(monkeypatch, story())
    assert 62 < seconds < 62 + 15 + 10, "it is tried again every 15 s at least"
    assert len(shop.provider.asked) < 300 + 25, "one call at a time tries"
    down, back = shop.log
    assert "is down" in down and "10 min" in down and "resume later" in down
    assert "answers again, after" in back


def test_when_patience_ends_those_who_wait_fail_and_others_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> Shop:
        shop = Shop(down=(0.0, 1_000.0), outage_patience=30, max_concurrent=4)
        failed = await shop.buy_many(50)
        assert 30 <= shop.now < 31
        assert {type(error) for error in failed} == {ProviderDown}
        assert "was down for longer than 30.0 s (outage_patience): connection refused" in str(failed[-1])
        before = len(shop.provider.asked)
        await shop.buy_many(10)
        assert len(shop.provider.asked) - before == 10
        shop.down = (0.0, 0.0)
        await shop.buy(99)
        return shop

    shop, _ = play(monkeypatch, story())
    assert [line.split(":")[0] for line in shop.log] == ["warning", "error", "warning"]
    assert "Resume the batch when the provider is back" in shop.log[1] and "answers again" in shop.log[2]


def test_what_calls_wait_for_is_shown_and_patience_can_be_changed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> float:
        shop = Shop(down=(0.0, 1_000.0), outage_patience=600)
        waiting = asyncio.ensure_future(shop.buy(1))
        await asyncio.sleep(20)
        resting = shop.account.resting()
        assert resting is not None and resting.down and resting.why == "connection refused"
        assert resting.until - resting.since == pytest.approx(600)
        shop.account.change("outage_patience", 25.0)
        with pytest.raises(ProviderError, match="longer than"):
            await waiting
        return shop.now

    assert 25 <= play(monkeypatch, story())[0] < 26


def test_a_paused_batch_does_not_run_out_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        shop = Shop(down=(0.0, 100.0), outage_patience=30)
        buying = asyncio.ensure_future(shop.buy_many(5))
        await asyncio.sleep(10)
        shop.account.limiter.pause(True)
        await asyncio.sleep(100)
        shop.account.limiter.pause(False)
        assert all(isinstance(live, LiveCall) for live in await buying)

    play(monkeypatch, story())


# -- rests that the provider asks for ----------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "waited"), [(42.0, 42.0), (9999.0, 60.0)])
def test_a_long_retry_after_is_told_once_with_its_end_and_never_longer_than_patience(
    asked: float, waited: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> Shop:
        shop = Shop(
            lambda: ProviderError(ErrorClass.RATE_LIMITED, "429", retry_after=asked),
            down=(0.0, 1.0),
            outage_patience=60,
        )
        buying = asyncio.ensure_future(shop.buy_many(5))
        await asyncio.sleep(2)
        resting = shop.account.resting()
        assert resting is not None and not resting.down and resting.why == "Retry-After"
        assert resting.until - resting.since == pytest.approx(waited)
        await buying
        assert shop.account.resting() is None
        return shop

    shop, seconds = play(monkeypatch, story())
    assert waited <= seconds < waited + 2
    (told,) = [line for line in shop.log if "asks for a pause of" in line]
    assert ("The next attempt is after 1 min 00 s" in told) is (asked > waited)


class Throttle:
    """Refuses calls with 429 from 0 s until `ends`; `spared` says which ones it answers all the same."""

    def __init__(self, retry_after: float | None = None, ends: float = 1e6, **settings: float) -> None:
        self.shop = Shop(**settings)
        self.shop.provider.script = self._reply
        self.ends = ends
        self.spared: Callable[[Asked], bool] = lambda asked: False
        self._retry_after = retry_after

    async def _reply(self, asked: Asked) -> Answer:
        await asyncio.sleep(0.1)
        if self.shop.now < self.ends and not self.spared(asked):
            words = "OpenAI answered 429: slow down, sk-abcdef123456"
            raise ProviderError(ErrorClass.RATE_LIMITED, words, retry_after=self._retry_after)
        return await plain(asked)


@pytest.mark.parametrize("retry_after", [None, 0.5, 20.0, 9999.0])
def test_nothing_but_429_for_longer_than_patience_is_an_outage(
    retry_after: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> Shop:
        throttle = Throttle(retry_after, outage_patience=30, max_concurrent=4)
        shop = throttle.shop
        failed = await shop.buy_many(50)
        assert 30 <= shop.now < 31, "the last try is made when patience ends"
        assert {str(error) for error in failed} == {str(failed[0])}
        assert "rejected every request (429) for longer than 30.0 s (outage_patience): OpenAI answered 429" in str(
            failed[0]
        )
        before = len(shop.provider.asked)
        await shop.buy_many(10)
        assert len(shop.provider.asked) - before == 10, "until a call succeeds, others are tried once"
        throttle.ends = 0.0
        await shop.buy(99)
        return shop

    shop, _ = play(monkeypatch, story())
    lines = [line for line in shop.log if "asks for a pause" not in line]
    assert [line.split(":")[0] for line in lines[1:]] == ["error", "warning"]
    assert "rate limit" in shop.errors[0] and "slow down, [key]" in shop.errors[0]
    assert "rejects every request" in lines[0] and "Its requests wait up to 30.0 s" in lines[0]
    assert "rejected every request" in lines[1] and "answers again" in lines[2]


def test_429_beside_calls_that_succeed_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> Shop:
        throttle = Throttle(retry_after=5.0, ends=100.0, outage_patience=30, max_concurrent=4)
        answered = count()
        throttle.spared = lambda asked: next(answered) % 4 == 3
        bought = await throttle.shop.buy_many(40)
        assert throttle.shop.now > 60 and all(isinstance(live, LiveCall) for live in bought)
        return throttle.shop

    shop = play(monkeypatch, story())[0]
    assert not [line for line in shop.log if "asks for a pause" not in line]
    assert 1 <= len(shop.errors) <= 3, "the first 429, then their number at 10, at 100"


# -- a server that is slower than its timeout --------------------------------------------------------------


class SlottedServer:
    """Answers so many calls at once, queues the rest in silence, and goes on with calls that nobody waits for."""

    def __init__(self, slots: int, mean: float, timeout: float, jitter: float = 0.5) -> None:
        self._slots = asyncio.Semaphore(slots)
        self._random = Random(1)
        self._mean, self._timeout, self._jitter = mean, timeout, jitter
        self.timeouts = 0
        self._working: set[asyncio.Future[None]] = set()

    async def __call__(self, asked: Asked) -> Answer:
        work = asyncio.ensure_future(self._work())
        self._working.add(work)
        work.add_done_callback(self._working.discard)
        try:
            await asyncio.wait_for(asyncio.shield(work), self._timeout)
        except TimeoutError:
            self.timeouts += 1
            raise too_slow() from None
        return await plain(asked)

    async def _work(self) -> None:
        async with self._slots:
            await asyncio.sleep(self._mean * (1 + self._jitter * self._random.uniform(-1, 1)))


@pytest.mark.parametrize(("slots", "allowed", "calls"), [(2, 6, 60), (2, 6, 600), (1, 8, 200), (4, 50, 600)])
def test_a_server_with_few_slots_answers_all_at_nearly_its_best_speed(
    slots: int, allowed: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def served(at_once: int) -> tuple[float, int]:
        server = SlottedServer(slots, mean=2.0, timeout=6.0)
        shop = Shop(max_concurrent=at_once)
        shop.provider.script = server
        bought = await shop.buy_many(calls)
        assert not [one for one in bought if isinstance(one, BaseException)]
        return shop.now, server.timeouts

    (seconds, timeouts), _ = play(monkeypatch, served(allowed))
    (best, _), _ = play(monkeypatch, served(slots))
    assert best / seconds >= 0.8
    assert timeouts <= allowed + calls * 0.05


def test_a_call_that_hangs_among_quick_ones_cuts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> float:
        shop, numbers = Shop(max_concurrent=20), count()

        async def now_and_then(asked: Asked) -> Answer:
            if next(numbers) % 100 == 50:
                await asyncio.sleep(60)
                raise too_slow()
            await asyncio.sleep(1)
            return await plain(asked)

        shop.provider.script = now_and_then
        await shop.buy_many(2_000)
        return shop.account.limiter.allowed

    assert play(monkeypatch, story())[0] == 20
