"""How a stretch of a run went, written into its log: time, pace, calls in flight, cache, tokens, money; and its waves.

Stories never read the clock; one that tells its stretches (a generation, say) leaves it to this.
"""

import time

from tidepool.engine.core.context import RunContext
from tidepool.engine.core.expected_waves import ExpectedWaves
from tidepool.engine.results.blocks import money, number, span


class PerformanceLog:
    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._since = time.monotonic()
        self._before = context.ledger.tally.so_far()

    def tell(self, what: str) -> None:
        """Of all that happened since it was last told."""
        before, since = self._before, self._since
        now = self._before = self._context.ledger.tally.so_far()
        self._since = time.monotonic()
        seconds = max(1e-9, self._since - since)
        calls, live = now.calls - before.calls, now.call_seconds - before.call_seconds
        cached, bought = now.cached - before.cached, now.bought - before.bought
        tokens = now.input_tokens + now.output_tokens - before.input_tokens - before.output_tokens
        peak = sum(account.limiter.peak for account in self._context.accounts.values())
        told = [
            f"{span(seconds)}",
            f"{calls:,} calls ({number(calls / seconds, 1)}/s)",
            f"{number(live / seconds, 1)} in flight on average, peak {peak:,}",
            *([f"mean latency {span(live / bought)}"] if live and bought else []),
            f"{cached:,} from the cache ({100 * cached / calls if calls else 0:.0f} %)",
            f"{now.retried - before.retried:,} retried",
            f"{now.failed - before.failed:,} failed",
            f"{tokens:,} tokens ({tokens / seconds:,.0f}/s)",
            money(None if now.unpriced > before.unpriced else now.cost_usd - before.cost_usd),
        ]
        self._context.log("info", f"Performance of {what}: {', '.join(told)}.")


EVERY_WAVE = 20
"""waves of a run of which each is logged; of later ones the 32nd, the 64th and so on, since a run may have 100,000"""


class WaveLog:
    """Logs the start and the end of each wave: requests, seconds, mean per message.

    A wave ends with the last request that the study expects in it. Where it does not know their number, the waves follow
    one another, and the start of the next one is its end. What is open at the end of the run ends with it.
    """

    def __init__(self, context: RunContext, expected: ExpectedWaves) -> None:
        self._context = context
        self._expected = expected
        self.started: set[int] = set()
        self._open: set[int] = set()
        context.ledger.tally.on_wave = self._recorded

    def start(self, wave: int) -> None:
        """The first request of a wave that this run makes."""
        self.started.add(wave)
        for earlier in sorted(self._open):
            if self._expected.calls_in(earlier) is None and earlier < wave:
                self._end(earlier)
        number = len(self.started)
        if number <= EVERY_WAVE or not number & (number - 1):
            self._open.add(wave)
            calls = self._expected.calls_in(wave)
            planned = "" if calls is None else f": {calls:,} request{'s' * (calls != 1)} planned"
            self._context.log("info", f"Wave {wave:,} started{planned}.")

    def close(self) -> None:
        for wave in sorted(self._open):
            self._end(wave)

    def _recorded(self, wave: int, calls: int) -> None:
        if wave in self._open and (expected := self._expected.calls_in(wave)) is not None and calls >= expected:
            try:
                self._end(wave)
            except Exception as error:  # of a listener: the writer calls this, and must go on
                self._context.fail(error)

    def _end(self, wave: int) -> None:
        self._open.discard(wave)
        calls, failed, seconds = self._context.ledger.tally.wave_figures(wave)
        mean = f", {span(seconds / calls)} per message" if calls else ""
        lost = f", {failed:,} lost" if failed else ""
        requests = f"{calls:,} request{'s' * (calls != 1)}"
        self._context.log("info", f"Wave {wave:,} ended: {requests} in {span(seconds)}{mean}{lost}.")
