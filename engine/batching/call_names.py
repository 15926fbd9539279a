"""The ids of a provider batch's calls at its provider, and of the units that wait for it without being in memory: a few
bytes for each, since there may be a million."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

KEY_BYTES = 16


def custom_id(order_id: str, key: str) -> str:
    """A call's id at the provider: any single one of them tells which provider batch it belongs to."""
    return f"{order_id}_{key}"


def parts_of(name: str) -> tuple[str, str]:
    """(id of its provider batch, key) in the id of a result."""
    order_id, _, key = name.rpartition("_")
    return order_id, key


class CallNames:
    """The ids of all calls of a provider batch."""

    __slots__ = ("_keys", "_order_id")

    def __init__(self, order_id: str, keys: Iterable[str]) -> None:
        self._order_id = order_id
        self._keys = b"".join(sorted(map(bytes.fromhex, keys)))

    def __len__(self) -> int:
        return len(self._keys) // KEY_BYTES

    def __getitem__(self, place: int) -> bytes:
        return self._keys[place * KEY_BYTES : (place + 1) * KEY_BYTES]

    def __contains__(self, name: object) -> bool:
        order_id, key = parts_of(str(name))
        try:
            wanted = bytes.fromhex(key)
        except ValueError:
            return False
        place = bisect_left(self, wanted)
        return order_id == self._order_id and place < len(self) and self[place] == wanted and key == wanted.hex()


class Absent:
    """Units whose calls a provider batch holds and whose stories are not in memory; one entry a call."""

    __slots__ = ("_ids",)

    def __init__(self, ids: Iterable[int] = ()) -> None:
        self._ids = array("q", sorted(ids))

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, unit_id: int) -> bool:
        place = bisect_left(self._ids, unit_id)
        return place < len(self._ids) and self._ids[place] == unit_id

    def add(self, ids: Iterable[int]) -> None:
        self._ids = array("q", sorted([*self._ids, *ids]))

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def between(self, first: int, last: int) -> list[int]:
        return sorted(set(self._ids[bisect_left(self._ids, first) : bisect_right(self._ids, last)]))

    def take(self, ids: "set[int]") -> None:
        """These are absent no longer."""
        self._ids = array("q", [one for one in self._ids if one not in ids])
