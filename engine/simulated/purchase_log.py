"""The simulated provider's own books: what it sold, kept outside the batch's process and file.

A kill of the batch cannot hide a double purchase: live sales are lines appended to a file, and a provider batch is sold
once its file with the ending `.sold` is there, all in the seller's folder. Nothing here is read by a study.
"""

import json
import os
import re
import tempfile
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tidepool.engine.call import Call, Message
from tidepool.storage.folders import replace_file, state_folder

FOLDER_VARIABLE = "TIDEPOOL_SELLER"
STORED = 7
"""fields of a call that an answer depends on, from its step to its `max_tokens`"""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""of an order: one from a stranger's file may be a path"""


def seller_folder() -> Path:
    """TIDEPOOL_SELLER, else the user's state folder; a temporary one where that cannot be written."""
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else state_folder() / "seller"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / "tidepool-seller"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True, slots=True)
class SoldBatch:
    remote_id: str
    created_at: float
    cancelled_at: float | None
    count: int


class PurchaseLog:
    def __init__(self, batch_id: str) -> None:
        self._batch_id = batch_id
        self._descriptor: int | None = None

    @cached_property
    def folder(self) -> Path:
        """Made when something is sold: a plan leaves no trace."""
        return seller_folder()

    @property
    def _sales(self) -> Path:
        return self.folder / f"{self._batch_id}.sales"

    # -- live sales --------------------------------------------------------------------------------------

    def sell(self, seed: int) -> None:
        """One line for each answer sold live; the seed is the call's address, hashed."""
        if self._descriptor is None:
            self._descriptor = os.open(self._sales, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(self._descriptor, b"%016x\n" % seed)

    def live_sales(self) -> list[str]:
        return self._sales.read_text().split() if self._sales.exists() else []

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    # -- provider batches --------------------------------------------------------------------------------

    def add_order(self, order_id: str, calls: Iterable[tuple[str, int, Call]]) -> str:
        """A provider batch is bought at the moment it is taken, as with the real ones."""
        listed = [(name, seed, call[:STORED]) for name, seed, call in calls]
        remote_id = f"simbatch_{order_id}_{time.time_ns():x}"
        replace_file(self.folder / f"{remote_id}.requests", zlib.compress(json.dumps(listed).encode(), 1))
        replace_file(self.folder / f"{remote_id}.sold", json.dumps([time.time(), len(listed)]).encode())
        return remote_id

    def find(self, order_id: str) -> str | None:
        return next((path.stem for path in self._sold(order_id)), None)

    def look_up(self, remote_id: str) -> SoldBatch | None:
        if not _NAME.fullmatch(remote_id) or not (path := self.folder / f"{remote_id}.sold").exists():
            return None
        created_at, count = json.loads(path.read_bytes())
        cancelled = self.folder / f"{remote_id}.cancelled"
        return SoldBatch(remote_id, created_at, float(cancelled.read_text()) if cancelled.exists() else None, count)

    def requests_of(self, remote_id: str) -> list[tuple[str, int, Call]]:
        return [
            (name, seed, Call(step, wave, model, tuple(Message(*one) for one in messages), *rest))
            for name, seed, (step, wave, model, messages, *rest) in self._listed(remote_id)
        ]

    def cancel(self, remote_id: str) -> None:
        if (sold := self.look_up(remote_id)) is not None and sold.cancelled_at is None:
            replace_file(self.folder / f"{remote_id}.cancelled", str(time.time()).encode())

    def ordered_seeds(self, order_ids: Iterable[str]) -> list[int]:
        """Every call ever ordered under these ids, once for each time it was ordered."""
        sold = [path.stem for order_id in order_ids for path in self._sold(order_id)]
        return [seed for remote_id in sold for _, seed, _ in self._listed(remote_id)]

    def _sold(self, order_id: str) -> list[Path]:
        return sorted(self.folder.glob(f"simbatch_{order_id}_*.sold")) if _NAME.fullmatch(order_id) else []

    def _listed(self, remote_id: str) -> list[tuple[str, int, Sequence[Any]]]:
        listed: list[tuple[str, int, Sequence[Any]]]
        listed = json.loads(zlib.decompress((self.folder / f"{remote_id}.requests").read_bytes()))
        return listed
