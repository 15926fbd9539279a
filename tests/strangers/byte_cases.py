"""Files that are not what their bytes say, and names that are no files."""

import os
from collections.abc import Callable, Iterator

from tests.strangers.case import Case, Forge, Forgery

HEADER = 100


def _bytes(change: Callable[[bytearray, Forgery], object]) -> Forge:
    def forge(forgery: Forgery) -> None:
        content = bytearray(forgery.path.read_bytes())
        change(content, forgery)
        forgery.path.write_bytes(content)

    return forge


def _flips(count: int, first: int = HEADER) -> Forge:
    def change(content: bytearray, forgery: Forgery) -> None:
        for _ in range(count):
            content[forgery.chance.randrange(first, len(content))] ^= 1 << forgery.chance.randrange(8)

    return _bytes(change)


def _cut(share: float) -> Forge:
    return _bytes(lambda content, forgery: content.__delitem__(slice(int(len(content) * share), None)))


def _set(place: int, value: bytes) -> Forge:
    return _bytes(lambda content, forgery: content.__setitem__(slice(place, place + len(value)), value))


def _zero_page(content: bytearray, forgery: Forgery) -> None:
    size = int.from_bytes(content[16:18])
    page = forgery.chance.randrange(1, len(content) // size)
    content[page * size : (page + 1) * size] = bytes(size)


def _beside(suffix: str, content: Callable[[Forgery], bytes]) -> Forge:
    return lambda forgery: forgery.path.with_name(forgery.path.name + suffix).write_bytes(content(forgery))


def _hot_journal(forgery: Forgery) -> None:
    """As if a writer had died: pages of it are put back when the file is opened."""
    content = forgery.path.read_bytes()
    size = int.from_bytes(content[16:18])
    head = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + (1).to_bytes(4) + bytes(4) + (len(content) // size).to_bytes(4)
    head += (512).to_bytes(4) + size.to_bytes(4)
    page = content[size : 2 * size]
    checksum = sum(page[place] for place in range(size - 200, 0, -200)) & 0xFFFFFFFF
    journal = head.ljust(512, b"\0") + (2).to_bytes(4) + page + checksum.to_bytes(4)
    forgery.path.with_name(f"{forgery.path.name}-journal").write_bytes(journal)


def _instead(make: Callable[[Forgery], object]) -> Forge:
    def forge(forgery: Forgery) -> None:
        forgery.path.rename(forgery.path.with_name("elsewhere"))
        make(forgery)

    return forge


def _sparse(forgery: Forgery) -> None:
    """A hundred gigabytes on paper, with our header before them."""
    with forgery.path.open("r+b") as file:
        file.truncate(100 * 10**9)


def _utf16(forgery: Forgery) -> None:
    with forgery.opened() as connection:
        script = "\n".join(line for line in connection.iterdump() if "sqlite_sequence" not in line)
        mark, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
    forgery.path.unlink()
    forgery.sql(
        f"PRAGMA encoding = 'UTF-16le'; {script}; PRAGMA application_id = {mark}; PRAGMA user_version = {version}"
    )


_CASES: dict[str, Forge] = {
    **{f"{count} flipped bits ({number})": _flips(count) for count in (1, 10, 200) for number in (1, 2)},
    "flipped bits in the header": _flips(3, 20),
    "half of it": _cut(0.5),
    "a third of it": _cut(0.3371),
    "a hundred bytes of it": _bytes(lambda content, forgery: content.__delitem__(slice(100, None))),
    "a page of zeros": _bytes(_zero_page),
    "another page of zeros": _bytes(_zero_page),
    "an odd page size": _set(16, (777).to_bytes(2)),
    "another page size": _set(16, (512).to_bytes(2)),
    "a file format of the future": _set(18, b"\x09\x09"),
    "a length that is not its own": _set(28, (10**9).to_bytes(4)),
    "a list of free pages that is none": _set(32, (3).to_bytes(4) + (10**6).to_bytes(4)),
    "an encoding that is none": _set(56, (9).to_bytes(4)),
    "in UTF-16": _utf16,
    "a text": _bytes(lambda content, forgery: content.__setitem__(slice(None), b"hello\n" * 1000)),
    "a folder": _instead(lambda forgery: forgery.path.mkdir()),
    "a pipe": _instead(lambda forgery: os.mkfifo(forgery.path)),
    "a link": _instead(lambda forgery: forgery.path.symlink_to("elsewhere")),
    "a link to itself": _instead(lambda forgery: forgery.path.symlink_to(forgery.path.name)),
    "a link to nothing": _instead(lambda forgery: forgery.path.symlink_to("nowhere/at/all.db")),
    "a file that may not be read": lambda forgery: forgery.path.chmod(0),
    "a hundred gigabytes of nothing": _sparse,
}
_SETTLED: dict[str, Forge] = {
    "a hot journal": _hot_journal,
    "a journal of noise": _beside("-journal", lambda forgery: b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + forgery.chance.randbytes(9000)),
    "a write-ahead log of noise": _beside("-wal", lambda forgery: forgery.chance.randbytes(9000)),
    "a shared memory of noise": _beside("-shm", lambda forgery: forgery.chance.randbytes(32768)),
    "a write-ahead log in WAL mode": lambda forgery: (
        _set(18, b"\x02\x02")(forgery),
        _beside("-wal", lambda forgery: b"\x37\x7f\x06\x82" + forgery.chance.randbytes(9000))(forgery),
    ),
}  # fmt: skip


def cases() -> Iterator[Case]:
    for name, forge in _CASES.items():
        yield Case("bytes", name, "game", forge)
    for name, forge in _SETTLED.items():
        yield Case("bytes", name, "game", forge, settles=True)
