"""The user's own folders, and the one way to write files: all of them take their places when they are whole."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER_VARIABLE = "TIDEPOOL_STATE"
CONFIG_VARIABLE = "TIDEPOOL_CONFIG"


def state_folder() -> Path:
    """TIDEPOOL_STATE, else the user's own state folder. It need not exist yet, and is not absolute where there is no home."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder).absolute()
    from platformdirs import user_state_path

    return user_state_path("tidepool")


def config_folder() -> Path:
    """TIDEPOOL_CONFIG, else the user's own config folder: what they wrote themselves. It need not exist."""
    if folder := os.environ.get(CONFIG_VARIABLE):
        return Path(folder)
    from platformdirs import user_config_path

    return user_config_path("tidepool")


def refuse_writable_by_others(path: Path) -> None:
    """Raises PermissionError where another user may have written this file, the link to it, or may replace it.

    Root may own it, as in images and where an administrator installs it. A group of the user alone (its number is the
    user's) may write to it, as it may to every file with umask 002.
    """
    owners = (0, os.geteuid())
    for place in (path, path.parent, Path(os.path.realpath(path)).parent):
        status = place.stat()
        if status.st_uid not in owners or place.lstat().st_uid not in owners:
            raise PermissionError(f"another user owns {place}; make it yours with chown")
        write_bits = 0o002 if status.st_gid == os.getegid() == os.geteuid() else 0o022
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX  # only owners replace files there
        if status.st_mode & write_bits and not sticky:
            raise PermissionError(f"other users can write to {place}; run chmod go-w on it")
    if not path.is_file():
        raise PermissionError(f"{path} is not a regular file")


PREFIX = f".tidepool-{os.uname().nodename}-"
"""of temporary folders; the machine is part of it, since another one knows nothing of its processes"""


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """A folder in `parent` for the user alone, gone at the end. By a note of it in the state folder the next command finds what
    a killed one left."""
    from tempfile import TemporaryDirectory  # slow to load, and every command loads this module

    note: Path | None = None
    try:
        with TemporaryDirectory(dir=parent, prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as name:
            with suppress(OSError):  # no state folder: nobody tidies up after a kill
                note = state_folder() / "scratch" / Path(name).name
                note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                note.write_text(str(Path(name).resolve()), encoding="utf-8")
            yield Path(name)
    finally:
        if note is not None:
            with suppress(OSError):
                note.unlink()


def sweep() -> None:
    """Removes the temporary folders that killed commands of this user left on this machine, wherever they lie."""
    for note in (state_folder() / "scratch").glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError):
            scratch = Path(note.read_text(encoding="utf-8"))
            if scratch.name == note.name and not _runs(int(note.name.removeprefix(PREFIX).partition("-")[0])):
                from shutil import rmtree

                rmtree(scratch, ignore_errors=True)
                note.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` at the end in one step. If `folder` exists, its files are replaced one by one,
    each in one step, and what else lies there stays. An error leaves everything as it was."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    with temporary_folder(nearest) as scratch:  # on the same disk, so that a move is a change of name
        staging = scratch / "made"
        staging.mkdir()
        yield staging
        for path in (*staging.rglob("*"), staging):
            _to_disk(path)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            staging.replace(folder)
        else:
            for path in sorted(staging.iterdir()):
                path.replace(folder / path.name)
        for path in (folder, folder.parent):
            _to_disk(path)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file for its owner alone, in one step: readers see the old content or the new one."""
    with whole_folder(path.parent) as scratch:
        file = scratch / path.name
        file.touch(mode=0o600)
        file.write_bytes(content)


def _to_disk(path: Path) -> None:
    """A file's content, or a folder's names: a power cut after the change of names must not leave empty files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
