"""A full disk in every act that writes: a small disk in memory (tmpfs, which only root may mount) that fills up.

python -m benchmarks.crashes.full_disk [ACT]

Each act is tried with several amounts of room; those where it still fits count nothing. Then there is room again.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.crashes.acts import ACTS, FULL, Act, Materials, Size, materials
from benchmarks.crashes.killed import Verdict, bought_twice, debris, scene_of
from benchmarks.crashes.scene import WATCHED, Said, Scene
from tidepool.engine.bench import Measurement, at_least, at_most

ROOM = (0, 40_000, 300_000, 1_500_000, 5_000_000)
"""bytes that are free when the act begins"""
PLENTY = 1 << 30


def prove(size: Size = FULL, only: str = "") -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as name:
        made = materials(Path(name), size)
        for act in ACTS:
            for place in _places(act):
                if only in act.name:
                    yield from _figures(act, place, made)


def _places(act: Act) -> tuple[str, ...]:
    """Whose disk is full: the study's, that of the export, that of temporary files."""
    if act.name.startswith("export"):
        return ("out",)
    return ("study", "tmp") if act.name == "import of an older file" else ("study",)


def _figures(act: Act, place: str, made: Materials) -> Iterator[Measurement]:
    verdict = Verdict()
    codes: set[int] = set()
    for number, room in enumerate(ROOM):
        codes |= _with_room(room, act, place, made, made.folder / f"{act.name}-{place}-{number}", verdict)
    for fault in verdict.faults:
        print(f"      {act.name}, {place}: {fault}", flush=True)
    whose = {"study": "the study's disk", "out": "the export's disk", "tmp": "the temporary files' disk"}[place]
    note = f"it ended with {', '.join(map(str, sorted(codes))) or 'success'}"
    yield at_least(f"{act.name}, {whose} full: times it did not fit", verdict.broken_off, "", 1, note)
    yield at_most(
        f"{act.name}, {whose} full: words of another file, lost, by half, bought twice or left over",
        len(verdict.faults),
        "",
        0,
    )


def _with_room(room: int, act: Act, place: str, made: Materials, folder: Path, verdict: Verdict) -> set[int]:
    with scene_of(act, folder) as (scene, books), _small_disk(scene, place) as resized:
        act.lay(scene, made)
        before = scene.names()
        disk = os.statvfs(scene.folder / place)
        resized((disk.f_blocks - disk.f_bfree) * disk.f_frsize + room)
        said = scene.run(*act.arguments(scene, made))
        verdict.moments += 1
        if said.code == 0:
            return set()
        verdict.broken_off += 1
        verdict.note(room, _wording(said, scene, place))
        looked = scene.run("list", "--json")
        if room and scene.database.exists() and looked.code and act.name != "migration":
            verdict.note(room, f"list on the full disk ends with {looked.code}: {looked.err.strip()[-200:]}")
        resized(PLENTY)
        verdict.note(room, *_with_room_again(scene, act, made, before, books))
        return {said.code}


def _with_room_again(scene: Scene, act: Act, made: Materials, before: frozenset[str], books: Path | None) -> list[str]:
    found = []
    looked = scene.run("list", "--json")
    if looked.code and scene.database.exists():
        found.append(f"list ends with {looked.code}: {looked.err.strip()[-200:]}")
    if scene.database.exists():
        found += [scene.sound(), act.kept(scene, made)]
    known = {str(scene.database.relative_to(scene.folder))} | {"study/study.db.v1.bak"}
    found += debris(scene, before | known | {"state/scratch", "state/trust.db"}, "after a look at it")
    again = scene.run(*(act.again or act.arguments)(scene, made))
    if again.code not in act.codes or again.traceback:
        found.append(f"again: ends with {again.code}: {again.err.strip()[-300:]}")
    return [*found, scene.sound(), act.done(scene, made), bought_twice(scene, act, books, set())]


def _wording(said: Said, scene: Scene, place: str) -> str:
    """What it says must name the disk that is full, and no other."""
    named = {"study": str(scene.database), "out": str(scene.out), "tmp": str(scene.folder / "tmp")}
    others = [path for name, path in named.items() if name != place and path in said.err]
    right = named[place] in said.err and not others and any(word in said.err for word in ("full", "No space"))
    if right and not said.traceback and said.code in (1, 2, 3):
        return ""
    return f"code {said.code}, said: {said.err.strip()[-400:]}"


@contextmanager
def _small_disk(scene: Scene, place: str) -> Iterator["_Resize"]:
    folder = scene.folder / place
    assert place in WATCHED
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={PLENTY}", "tmpfs", str(folder)], check=True)
    try:
        yield _Resize(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


class _Resize:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={max(size, 4096)}", str(self._folder)], check=True)


if __name__ == "__main__":
    for figure in prove(only=sys.argv[1] if sys.argv[1:] else ""):
        print(f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:.0f} {figure.note}", flush=True)
