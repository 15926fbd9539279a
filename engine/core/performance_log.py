"""How a stretch of a run went, written into its log: time, pace, calls in flight, cache, tokens, money.

Stories never read the clock; one that tells its stretches (a generation, say) leaves it to this.
"""

import time

from tidepool.engine.core.context import RunContext
from tidepool.engine.results.wording import money, number, span


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
            f"{number(live / seconds, 1)} in flight on average, at most {peak:,} so far",
            *([f"mean latency {span(live / bought)}"] if live and bought else []),
            f"{cached:,} from the cache ({100 * cached / calls if calls else 0:.0f} %)",
            f"{now.retried - before.retried:,} retried",
            f"{now.failed - before.failed:,} failed",
            f"{tokens:,} tokens ({tokens / seconds:,.0f}/s)",
            money(now.cost_usd - before.cost_usd),
        ]
        self._context.log("info", f"Performance of {what}: {', '.join(told)}.")
