"""What was bought: every answered request, live or in a batch, whoever received the answer.

A batch's requests are booked when the batch is created, for then its owner will pay for them, and struck when
a cancellation came before them. Requests that failed or expired are free. The optional file has one JSON line
per event and outlives a crash.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class Purchase:
    provider: str
    transport: str
    """live or batch"""
    model: str
    content: str
    """hash of what was asked: the same live and in a batch"""
    input_tokens: int
    output_tokens: int
    custom_id: str = ""
    batch_id: str = ""


class Books:
    def __init__(self, path: Path | None = None) -> None:
        self.purchases: list[Purchase] = []
        self._file: IO[str] | None = None
        if path:
            self._read(path)
            self._file = path.open("a")

    def _read(self, path: Path) -> None:
        for line in path.read_text().splitlines() if path.exists() else []:
            event = json.loads(line)
            if bought := event.get("bought"):
                self.purchases.append(Purchase(**bought))
            else:
                self._forget(event["batch_id"], set(event["struck"]))

    def book(self, purchases: Iterable[Purchase]) -> None:
        for purchase in purchases:
            self.purchases.append(purchase)
            self._write({"bought": asdict(purchase)}, flush=False)
        if self._file:
            self._file.flush()

    def strike(self, batch_id: str, custom_ids: set[str]) -> None:
        self._forget(batch_id, custom_ids)
        self._write({"batch_id": batch_id, "struck": sorted(custom_ids)})

    def bought_of(self, provider: str) -> int:
        return sum(purchase.provider == provider for purchase in self.purchases)

    def _forget(self, batch_id: str, custom_ids: set[str]) -> None:
        self.purchases = [p for p in self.purchases if p.batch_id != batch_id or p.custom_id not in custom_ids]

    def _write(self, event: dict[str, Any], flush: bool = True) -> None:
        if self._file:
            self._file.write(json.dumps(event) + "\n")
            if flush:
                self._file.flush()

    def close(self) -> None:
        if self._file:
            self._file.close()
