"""Where Tidepool keeps what belongs to its user and to no study file, and whether another user could have changed it."""

import os
import stat
from pathlib import Path

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
