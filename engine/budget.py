"""Money by reservation: the worst case of a call is set aside before it leaves, and settled when it returns.

A call that does not fit waits while something is in flight; when nothing is, the budget is exhausted.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence


class Budget:
    def __init__(self, cap: float, spent: float = 0.0, reserved: float = 0.0) -> None:
        self.cap = cap
        """0: no cap"""
        self.spent = spent
        self.reserved = reserved
        self.on_exhausted: Callable[[], None] = lambda: None
        self._waiting: deque[tuple[asyncio.Future[None], float]] = deque()

    def fits(self, amount: float) -> bool:
        return not self.cap or self.spent + self.reserved + amount <= self.cap + 1e-12

    async def reserve(self, amount: float) -> None:
        if not self._waiting and self.fits(amount):
            self.reserved += amount
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, amount))
        self._pump()
        await future

    def affordable(self, amounts: Sequence[float]) -> int:
        """How many of a wave's calls, taken in order, may leave now; reserves them."""
        total = 0.0
        for index, amount in enumerate(amounts):
            if not self.fits(total + amount):
                self.reserved += total
                return index
            total += amount
        self.reserved += total
        return len(amounts)

    def settle(self, reserved: float, cost: float) -> None:
        self.reserved = max(0.0, self.reserved - reserved)
        self.spent += cost
        self._pump()

    def change(self, cap: float) -> None:
        """Another cap while running."""
        self.cap = cap
        self._pump()

    def nothing_in_flight(self) -> bool:
        return self.reserved <= 1e-12

    def _pump(self) -> None:
        while self._waiting:
            future, amount = self._waiting[0]
            if future.done():
                self._waiting.popleft()
            elif self.fits(amount):
                self._waiting.popleft()
                self.reserved += amount
                future.set_result(None)
            else:
                if self.nothing_in_flight():
                    self.on_exhausted()
                return
