"""What is made in a temporary folder is seen whole or not at all, and a crash leaves nothing after the next command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ROOT, Tidepool
from tidepool.storage.errors import FileError
from tidepool.storage.file import PREFIX, replace_file, state_folder, sweep, temporary_folder
from tidepool.storage.transfer.formats import finished, finished_together

CRASH = """
import os, signal, sys
from pathlib import Path
from tidepool.storage.transfer.formats import finished_together
with finished_together(Path(sys.argv[1])) as scratch:
    (scratch / "a").write_text("new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def crash(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASH, str(folder)], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == -signal.SIGKILL


def earlier(folder: Path) -> None:
    folder.mkdir()
    for name in ("a", "b", "of somebody"):
        (folder / name).write_text("old")


def found(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() if path.is_file() else "a folder" for path in folder.iterdir()}


def test_any_next_command_tidies_up_after_a_kill(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    crash(tmp_path / "out")
    crash(tmp_path / "deep" / "out")
    assert len(list((tmp_path / "out").iterdir())) == 4
    Tidepool(tmp_path, tmp_path / "study.db")("entities", "generate", "-n", "1")
    assert found(tmp_path / "out") == {"a": "old", "b": "old", "of somebody": "old"}
    assert {path.name for path in tmp_path.iterdir()} == {"out", "study.db"}
    assert not list((state_folder() / "scratch").iterdir())


@pytest.mark.parametrize("state", ["writable", "not writable"])
def test_finished_files_replace_the_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    if state == "not writable":
        monkeypatch.setenv("TIDEPOOL_STATE", os.devnull)
    earlier(tmp_path / "out")
    with finished_together(tmp_path / "out") as scratch:
        (scratch / "a").write_text("new")
    with finished_together(tmp_path / "deep" / "out") as scratch:
        (scratch / "a").write_text("new")
        assert not (tmp_path / "deep").exists()
    assert found(tmp_path / "out") == {"a": "new", "b": "old", "of somebody": "old"}
    assert found(tmp_path / "deep" / "out") == {"a": "new"}


def test_what_is_at_work_is_left_alone(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as scratch:
        sweep()
        assert scratch.is_dir()
    assert not list(tmp_path.iterdir())


def test_a_note_that_names_something_else_removes_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "thesis"
    earlier(kept)
    notes = state_folder() / "scratch"
    notes.mkdir(parents=True, exist_ok=True)
    (notes / f"{PREFIX}1").write_text(str(kept))
    (notes / f"{PREFIX}broken").write_bytes(b"\xff\0")
    sweep()
    assert len(found(kept)) == 3
    for name in ("1", "broken"):
        (notes / f"{PREFIX}{name}").unlink()


def test_a_scratch_folder_is_private_and_a_finished_one_has_the_usual_mode(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with finished_together(tmp_path / "out") as scratch:
            assert scratch.parent.stat().st_mode & 0o777 == 0o700
            (scratch / "a").write_text("new")
        (tmp_path / "usual").mkdir()
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert found(tmp_path / "out") == {"a": "new"}
    replace_file(tmp_path / "out" / "a", b"newer")
    assert (tmp_path / "out" / "a").stat().st_mode & 0o777 == 0o600 and found(tmp_path / "out") == {"a": "newer"}


def test_an_error_leaves_nothing_and_names_the_place(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    with pytest.raises(FileError, match=r"Cannot write .*out: No space left"), finished_together(tmp_path / "out"):
        raise OSError(28, "No space left on device")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="it is a file, not a folder"), finished(tmp_path / "file" / "a"):
        pass
    assert len(found(tmp_path / "out")) == 3
