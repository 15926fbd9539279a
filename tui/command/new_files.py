"""Files that a command makes for its user to go on with: never over one that is there."""

from pathlib import Path

from tidepool.engine.errors import UsageError


def refuse_existing(path: Path) -> None:
    """Somebody may have worked in it."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already, and stays as it is. Choose another place with -o.")
