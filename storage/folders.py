"""Folders: the user's own, and scratch folders whose files take their place when they are whole.

Who makes a scratch folder holds a lock on it, which frees itself however its process ends, and leaves a note of it in the
user's state folder. The next command reads the notes (`sweep`) and removes each folder whose lock is free.
"""

import errno
import fcntl
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
"""the machine is part of it: locks do not cross a network share"""


@contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """A new folder in `folder`; it is gone at the end."""
    scratch = folder / f"{PREFIX}{os.urandom(8).hex()}"
    note = _note(scratch)
    scratch.mkdir(mode=0o700)  # others must not add files that would then take a place
    descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a disk without locks: nobody tidies there either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if note is not None:
            with suppress(OSError):
                note.write_text(str(scratch.resolve()), encoding="utf-8")
        yield scratch
    finally:
        _remove(scratch)
        if note is not None:
            with suppress(OSError):
                note.unlink()
        os.close(descriptor)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A scratch folder that becomes `folder` at the end in one step. If `folder` exists, its files are replaced one by one,
    each in one step, and what else lies there stays."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    nearest = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    with scratch_in(nearest) as scratch:  # on the same disk, so that a move is a change of name
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
    from tempfile import mkstemp  # slow to load, and every command loads this module

    descriptor, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    scratch = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def is_scratch(folder: Path) -> bool:
    """Or lies in one."""
    return any(one.name.startswith(PREFIX) for one in (folder, *folder.parents))


def sweep() -> None:
    """Tidies away what crashed commands of this user left on this machine, wherever it lies."""
    with suppress(OSError):
        for note in list((state_folder() / "scratch").iterdir()):
            with suppress(OSError, ValueError):
                scratch = Path(note.read_text(encoding="utf-8"))
                if note.name == scratch.name and scratch.name.startswith(PREFIX):
                    _remove_unlocked(scratch)
                    note.unlink()


def _note(scratch: Path) -> Path | None:
    """Where the note of a scratch folder lies; None where none can be left."""
    try:
        notes = state_folder() / "scratch"
        notes.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return notes / scratch.name


def _remove_unlocked(scratch: Path) -> None:
    """Raises OSError where another process holds the folder's lock, or the folder is another user's."""
    try:
        descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(scratch)
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    from shutil import rmtree  # loaded where there is something to remove: every command looks

    rmtree(folder, ignore_errors=True)


def _to_disk(path: Path) -> None:
    """A file's content, or a folder's names: a power cut after the change of names must not leave empty files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
