"""What is made in a scratch folder is seen whole or not at all, and a crash leaves nothing after the next command."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command import ROOT, Tidepool
from tidepool.storage.errors import FileError
from tidepool.storage.folders import scratch_in, state_folder, sweep
from tidepool.storage.transfer.formats import finished, finished_together

CRASH = """
import os, signal, sys
from pathlib import Path
from tidepool.storage.transfer.formats import finished_together
when, folder = sys.argv[1], Path(sys.argv[2])
moves = iter(range(100))
real = Path.replace
def replace(self, target):
    if when == "while they move" and next(moves) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, target)
Path.replace = replace
with finished_together(folder) as scratch:
    for name in ("a", "b", "c"):
        (scratch / name).write_text("new")
        if when == "while they are written" and name == "b":
            os.kill(os.getpid(), signal.SIGKILL)
"""


def crash(when: str, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASH, when, str(folder)], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == -signal.SIGKILL


def earlier(folder: Path, names: Sequence[str] = ("a", "b", "c", "of somebody")) -> None:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("old")


def found(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() if path.is_file() else "a folder" for path in folder.iterdir()}


def test_files_killed_while_they_are_written_leave_the_earlier_ones(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    crash("while they are written", tmp_path / "out")
    sweep()
    assert found(tmp_path / "out") == {"a": "old", "b": "old", "c": "old", "of somebody": "old"}


def test_files_killed_while_they_move_are_moved_to_the_end(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    crash("while they move", tmp_path / "out")
    sweep()
    assert found(tmp_path / "out") == {"a": "new", "b": "new", "c": "new", "of somebody": "old"}


def test_a_folder_that_was_not_there_is_whole_or_absent(tmp_path: Path) -> None:
    crash("while they are written", tmp_path / "deep" / "out")
    sweep()
    assert not list(tmp_path.iterdir())
    with finished_together(tmp_path / "deep" / "out") as scratch:
        (scratch / "a").write_text("new")
        assert not (tmp_path / "deep").exists()
    assert found(tmp_path / "deep" / "out") == {"a": "new"}


def test_any_next_command_tidies_up(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    crash("while they are written", tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 5
    Tidepool(tmp_path, tmp_path / "study.db")("entities", "generate", "-n", "1")
    assert len(list((tmp_path / "out").iterdir())) == 4
    assert not list((state_folder() / "scratch").iterdir())


def test_where_no_note_can_be_left_the_next_export_to_the_same_place_tidies_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEPOOL_STATE", os.devnull)
    earlier(tmp_path / "out")
    crash("while they are written", tmp_path / "out")
    with finished(tmp_path / "out" / "a") as path:
        path.write_text("new")
    assert found(tmp_path / "out") == {"a": "new", "b": "old", "c": "old", "of somebody": "old"}


def test_what_is_at_work_is_left_alone(tmp_path: Path) -> None:
    with scratch_in(tmp_path) as scratch:
        sweep()
        with scratch_in(tmp_path):
            pass
        assert scratch.is_dir()
    assert not list(tmp_path.iterdir())


def test_a_note_that_names_something_else_removes_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "thesis"
    earlier(kept)
    notes = state_folder() / "scratch"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / "thesis").write_text(str(kept))
    (notes / "broken").write_bytes(b"\xff\0")
    sweep()
    assert len(found(kept)) == 4
    for name in ("thesis", "broken"):
        (notes / name).unlink()


@pytest.mark.parametrize("why", ["owned by another user", "this user is another one", "writable by others"])
def test_a_planted_scratch_folder_replaces_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """In a folder that several users share, anybody can make one that looks like the rest of a crashed export."""
    (tmp_path / "a").write_text("old")
    planted = tmp_path / f".tidepool-{os.uname().nodename}-{'0' * 16}.whole"
    planted.mkdir(mode=0o700)
    (planted / "a").write_text("planted")
    if why == "owned by another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another user")
        os.chown(planted, 65534, 65534)
    elif why == "writable by others":
        planted.chmod(0o777)
    notes = state_folder() / "scratch"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / ("0" * 16)).write_text(str(planted.with_suffix(".part")))
    with monkeypatch.context() as patch:
        if why == "this user is another one":
            patch.setattr(os, "geteuid", lambda: 4711)
        sweep()
        with finished(tmp_path / "b") as path:
            path.write_text("new")
    assert found(tmp_path) == {"a": "old", "b": "new", planted.name: "a folder"} and found(planted) == {"a": "planted"}
    (notes / ("0" * 16)).unlink()


def test_a_sweep_goes_on_past_what_it_cannot_open(tmp_path: Path) -> None:
    for token in ("0" * 16, "1" * 16):
        part = tmp_path / f".tidepool-{os.uname().nodename}-{token}.part"
        part.touch()
        part.with_suffix(".whole").mkdir(mode=0o700)
    with scratch_in(tmp_path) as scratch:
        assert {path.suffix for path in tmp_path.iterdir() if path != scratch} == {".part"}


def test_a_scratch_folder_is_private_and_a_finished_one_has_the_usual_mode(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with finished_together(tmp_path / "out") as scratch:
            assert scratch.stat().st_mode & 0o777 == 0o700
            (scratch / "a").write_text("new")
        (tmp_path / "usual").mkdir()
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert found(tmp_path / "out") == {"a": "new"}


def test_an_error_leaves_nothing_and_names_the_place(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    with pytest.raises(FileError, match=r"Cannot write .*out: No space left"), finished_together(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="it is a file, not a folder"), finished(tmp_path / "file" / "a"):
        pass
    assert len(found(tmp_path / "out")) == 4
