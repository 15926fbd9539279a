"""What is made in a temporary folder is seen whole or not at all."""

import os
from pathlib import Path

import pytest

from tidepool.storage.errors import FileError
from tidepool.storage.folders import PREFIX, replace_file
from tidepool.storage.transfer.formats import finished, finished_together


def earlier(folder: Path) -> None:
    folder.mkdir()
    for name in ("a", "b", "of somebody"):
        (folder / name).write_text("old")


def found(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() if path.is_file() else "a folder" for path in folder.iterdir()}


def test_finished_files_replace_the_earlier_ones_and_tidy_up_after_a_killed_export(tmp_path: Path) -> None:
    earlier(tmp_path / "out")
    (tmp_path / "out" / f"{PREFIX}killed" / "made").mkdir(parents=True)
    os.utime(tmp_path / "out" / f"{PREFIX}killed", (0, 0))
    (tmp_path / "out" / f"{PREFIX}at work").mkdir()
    with finished_together(tmp_path / "out") as scratch:
        (scratch / "a").write_text("new")
    with finished_together(tmp_path / "deep" / "out") as scratch:
        (scratch / "a").write_text("new")
        assert not (tmp_path / "deep").exists()
    assert found(tmp_path / "out") == {"a": "new", "b": "old", "of somebody": "old", f"{PREFIX}at work": "a folder"}
    assert found(tmp_path / "deep" / "out") == {"a": "new"}


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
