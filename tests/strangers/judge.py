"""What no stranger's file may bring about, whatever the command."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.strangers.case import Case
from tests.strangers.drive import AGAIN, API, APP, CANARY, INTERRUPT_SECONDS, READING, Ended
from tidepool.engine.api.server import DRAIN_SECONDS

CODES = {0, 1, 2, 3, 4, 130, 143}
MORE_CPU = 2.0
"""seconds that a command may take beyond what it takes on the honest file"""
WORDS = ("Traceback (most recent call last)", "omething unexpected", "started without being asked")


def wrongs_of(case: Case, ended: Ended, honest: Mapping[str, float]) -> list[str]:
    """Everything about one command that must not be; empty where all is well."""
    said = ended.out + ended.err
    wrongs = [f"says {words!r}" for words in WORDS if words in said]
    if ended.code is None:
        return [*wrongs, ended.err]
    if ended.code not in CODES:
        wrongs.append(f"exit code {ended.code}")
    if "\x1b" in said or "\x07" in said or "\x9b" in said:
        wrongs.append("an escape reaches the terminal")
    if CANARY in said:
        wrongs.append("a key is shown")
    # A million rows take their time, as an honest million do: then Ctrl+C must be heard.
    if ended.interrupted is not None and not case.large:
        wrongs.append(f"hangs; Ctrl+C ends it in {ended.interrupted:.1f} s")
    if ended.interrupted is not None and ended.interrupted > INTERRUPT_SECONDS + DRAIN_SECONDS * (ended.words == API):
        wrongs.append("Ctrl+C takes more than a second")
    if not case.large and ended.cpu > honest.get(ended.name, 0.0) + MORE_CPU:
        wrongs.append(f"{ended.cpu:.1f} s of CPU")
    reads_tables_alone = ended.words[0] in ("import", "trust") or ended.words[-1] == AGAIN[-1]
    if case.refused and not reads_tables_alone and ended.code == 0:
        wrongs.append("is not refused")
    return wrongs + _changes(case, ended)


def _changes(case: Case, ended: Ended) -> list[str]:
    reads = ended.words in (*READING, AGAIN, APP) or case.refused
    if not reads or case.settles or not ended.left:
        return []
    return [f"changes {', '.join(ended.left[:3])}"]


def leaks(folder: Path, more: Iterable[Path] = ()) -> list[str]:
    """Files that hold a key."""
    mark = CANARY.encode()
    found = (one for place in (folder, *more) for one in place.rglob("*"))
    small = (one for one in found if one.is_file() and not one.is_symlink() and one.stat().st_size < 10**9)
    return [f"{one.name} holds a key" for one in small if _readable(one) and mark in one.read_bytes()]


def _readable(path: Path) -> bool:
    try:
        with path.open("rb"):
            return True
    except OSError:
        return False
