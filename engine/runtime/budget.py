"""Money by reservation: the worst case of a call is set aside before it leaves, and settled when it returns.

A call that does not fit waits while something is in flight; when nothing is, the budget is exhausted. A provider's
own budget is a part of the batch's whole one: what it reserves and spends counts in both. Amounts are counted in whole
millionths of a millionth of a dollar: sums of floats would not come back to zero.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

_FINE = 10**12
_DUST = 1_000
"""what rounding may leave of reservations that were written to the file and read back: far below any price"""


def _to_pico(dollars: float) -> int:
    return round(dollars * _FINE)


class Budget:
    def __init__(self, cap: float, spent: float = 0.0, reserved: float = 0.0, *, whole: "Budget | None" = None) -> None:
        self.cap = cap
        """0: no cap"""
        self.on_exhausted: Callable[[], None] = lambda: None
        self._whole = whole
        self._spent = _to_pico(spent)
        self._reserved = _to_pico(reserved)
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    @property
    def capped(self) -> bool:
        return bool(self.cap or (self._whole and self._whole.cap))

    @property
    def spent(self) -> float:
        return self._spent / _FINE

    @property
    def reserved(self) -> float:
        return self._reserved / _FINE

    async def reserve(self, amount: float) -> None:
        """Returns when the amount is set aside; where it never will be, `on_exhausted` is called."""
        pico_usd = _to_pico(amount)
        if not self._waiting and self._fits(pico_usd):
            self._reserved += pico_usd
        else:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((future, pico_usd))
            self._pump()
            await future
        if self._whole:
            await self._whole.reserve(amount)

    def affordable(self, amounts: Sequence[float]) -> int:
        """How many of a wave's calls, taken in order, may leave now; reserves them."""
        for index, amount in enumerate(amounts):
            if not all(budget._fits(_to_pico(amount)) for budget in self._levels()):
                return index
            for budget in self._levels():
                budget._reserved += _to_pico(amount)
        return len(amounts)

    def is_exhausted(self, amount: float) -> bool:
        """It does not fit, and nothing is in flight that could make room for it."""
        return any(not budget._fits(_to_pico(amount)) and budget._reserved <= _DUST for budget in self._levels())

    def settle(self, reserved: float, cost: float) -> None:
        for budget in self._levels():
            budget._reserved = max(0, budget._reserved - _to_pico(reserved))
            budget._spent += _to_pico(cost)
            budget._pump()

    def change(self, cap: float) -> None:
        """Another cap while running."""
        self.cap = cap
        self._pump()

    def _levels(self) -> "tuple[Budget, ...]":
        return (self, self._whole) if self._whole else (self,)

    def _fits(self, pico_usd: int) -> bool:
        return not self.cap or self._spent + self._reserved + pico_usd <= _to_pico(self.cap)

    def _pump(self) -> None:
        while self._waiting:
            future, pico_usd = self._waiting[0]
            if future.done():
                self._waiting.popleft()
            elif self._fits(pico_usd):
                self._waiting.popleft()
                self._reserved += pico_usd
                future.set_result(None)
            else:
                if self._reserved <= _DUST:
                    self.on_exhausted()
                return
