"""Names of files that a field of a form offers while a path is typed."""

from pathlib import Path

MOST = 2_000
"""entries of a folder that are looked at"""


def path_beginning(folder: Path, typed: str) -> str | None:
    """The first file or folder whose path begins with what was typed; relative ones lie in `folder`. A folder ends with a slash."""
    before, slash, start = typed.rpartition("/")
    try:
        entries = [entry for _, entry in zip(range(MOST), (folder / (before + slash)).iterdir(), strict=False)]
        plain = [entry for entry in entries if entry.name.isprintable() and (start or entry.name[0] != ".")]
        found = sorted(entry for entry in plain if entry.name.startswith(start))
        if not found or (start and found[0].name == start):
            return None
        return f"{before}{slash}{found[0].name}{'/' if found[0].is_dir() else ''}"
    except (OSError, ValueError):
        return None
