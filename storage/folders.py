"""Folders: the user's own, and scratch folders whose files take their place when they are whole.

Who makes a scratch folder holds a lock on it, which frees itself however its process ends, and leaves a note of it in the
user's state folder. The next command reads the notes (`sweep`) and removes each folder whose lock is free. Files that were
whole, and had begun to move to their place, are moved there to the end: of several files that belong together all are new,
or none.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE

FOLDER_VARIABLE = "TIDEPOOL_STATE"
CONFIG_VARIABLE = "TIDEPOOL_CONFIG"


def state_folder() -> Path:
    """TIDEPOOL_STATE, else the user's own state folder. It need not exist yet, and is not absolute where there is no home."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).absolute()
    from platformdirs import user_state_path

    return user_state_path("tidepool")


def config_folder() -> Path:
    """TIDEPOOL_CONFIG, else the user's own config folder: what they wrote themselves. It need not exist."""
    if named := os.environ.get(CONFIG_VARIABLE):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("tidepool")


def refuse_what_others_wrote(path: Path) -> None:
    """Raises PermissionError where another user may have written this file, the link to it, or may replace it.

    Root may own it, as in images and where an administrator installs it. A group of the user alone (its number is the
    user's) may write to it, as it may to every file with umask 002.
    """
    owners = (0, os.geteuid())
    for place in (path, path.parent, Path(os.path.realpath(path)).parent):
        status = place.stat()
        if status.st_uid not in owners or place.lstat().st_uid not in owners:
            raise PermissionError(f"another user owns {place}; make it yours with chown")
        others = 0o002 if status.st_gid == os.getegid() == os.geteuid() else 0o022
        sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX  # only owners replace files there
        if status.st_mode & others and not sticky:
            raise PermissionError(f"other users can write to {place}; run chmod go-w on it")
    if not path.is_file():
        raise PermissionError(f"{path} is not a regular file")


PREFIX = ".tidepool-"
MAKING, WHOLE = ".part", ".whole"


@contextmanager
def scratch_in(folder: Path) -> Iterator[Path]:
    """A new folder in `folder`; it is gone at the end."""
    _sweep_in(folder)
    scratch, descriptor = _locked(folder)
    note = _noted(scratch)
    try:
        yield scratch
    finally:
        for left in (scratch, scratch.with_suffix(WHOLE)):
            _remove(left)
        if note is not None:
            with suppress(OSError):
                note.unlink()
        os.close(descriptor)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A scratch folder whose files move into `folder` together at the end; what else lies there stays."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder", str(folder))
    with scratch_in(_on_its_disk(folder)) as scratch:
        yield scratch
        mode = _usual_mode(scratch)
        for path in (*scratch.rglob("*"), scratch):
            _to_disk(path)
        if not _becomes(scratch, folder, mode):
            _move_up(scratch, folder)


def is_scratch(folder: Path) -> bool:
    """Or lies in one."""
    return any(one.name.startswith(PREFIX) and one.suffix == MAKING for one in (folder, *folder.parents))


def sweep() -> None:
    """Tidies away what crashed commands of this user left on this machine, wherever it lies."""
    try:
        notes = list((state_folder() / "scratch").iterdir())
    except OSError:
        return
    for note in notes:
        with suppress(OSError, ValueError):
            scratch = Path(note.read_text(encoding="utf-8"))
            if note.name == _token(scratch) and _tidied(scratch):
                note.unlink()


# -- beneath -------------------------------------------------------------------------------------------------


def _name(token: str) -> str:
    """The machine is part of it: locks do not cross a network share."""
    return f"{PREFIX}{os.uname().nodename}-{token}{MAKING}"


def _token(scratch: Path) -> str:
    token = scratch.stem.rpartition("-")[2]
    return token if scratch.name == _name(token) else ""


def _locked(folder: Path) -> tuple[Path, int]:
    """Another command may take an empty folder away before it is locked: then there is another."""
    while True:
        scratch = folder / _name(os.urandom(8).hex())
        scratch.mkdir(mode=0o700)  # others must not add files that would then take a place
        with suppress(FileNotFoundError):
            descriptor = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a disk without locks: nobody tidies there either
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if scratch.exists():
                return scratch, descriptor
            os.close(descriptor)


def _noted(scratch: Path) -> Path | None:
    """Where no note can be left, the next command that writes to the same folder tidies up."""
    try:
        notes = state_folder() / "scratch"
        notes.mkdir(parents=True, exist_ok=True, mode=0o700)
        note = notes / _token(scratch)
        note.write_text(str(scratch.resolve()), encoding="utf-8")
    except OSError:
        return None
    return note


def _sweep_in(folder: Path) -> None:
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                scratch = Path(entry.path).with_suffix(MAKING)
                if _token(scratch):
                    _tidied(scratch)


def _tidied(scratch: Path) -> bool:
    """Whether the folder is gone: its lock was free, or it never was. One that others could write to stays as it is."""
    gone = True
    for place in (scratch, scratch.with_suffix(WHOLE)):
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            gone = gone and isinstance(error, FileNotFoundError)
            continue
        try:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                # In a shared folder anybody can make one of this name: its files would replace this user's.
                raise PermissionError
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if place.suffix == WHOLE:
                _take_places(place)
            _remove(place)
        except OSError:
            gone = False
        finally:
            os.close(descriptor)
    return gone


def _remove(place: Path) -> None:
    if place.exists():
        from shutil import rmtree  # loaded where there is something to remove: every command looks

        rmtree(place, ignore_errors=True)


def _on_its_disk(folder: Path) -> Path:
    """The folder itself, else the nearest above it that exists: what lies there moves to it by a change of name."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return folder


def _usual_mode(folder: Path) -> int:
    """Of a new folder in `folder`. One is made to see it: to read the umask is to change it, for all threads."""
    new = folder / PREFIX
    new.mkdir()
    mode = S_IMODE(new.stat().st_mode)
    new.rmdir()
    return mode


def _becomes(scratch: Path, folder: Path, mode: int) -> bool:
    """Where there is no such folder yet, the scratch folder takes its name; where somebody made one meanwhile, it moves in."""
    if scratch.parent == folder:
        return False
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch.chmod(mode)
    try:
        scratch.rename(folder)
        _to_disk(folder.parent)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            return False
        raise
    return True


def _move_up(scratch: Path, folder: Path) -> None:
    """From the change of its own name on, the files of a scratch folder reach their place whatever happens."""
    whole = folder / scratch.with_suffix(WHOLE).name
    scratch.rename(whole)
    _take_places(whole)
    _to_disk(folder)
    whole.rmdir()


def _take_places(whole: Path) -> None:
    for path in sorted(whole.iterdir()):
        path.replace(whole.parent / path.name)


def _to_disk(path: Path) -> None:
    """A file's content, or a folder's names: a power cut after the change of names must not leave empty files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
