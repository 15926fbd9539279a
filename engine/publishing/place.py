"""How a batch or a study of a file is named where a config could stand: `FILE.db#BATCH`."""

from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class StudyInFile:
    file: Path
    reference: str
    """an id, a unique prefix of one, `last` or `last~1`"""


def study_in_file(said: str) -> StudyInFile | None:
    """What `FILE.db#BATCH` names; None where it is the path of a config, which may have such a sign in it."""
    file, sign, reference = said.rpartition("#")
    if not sign or Path(said).exists():
        return None
    if not file or not reference:
        raise UsageError(
            f"--run {said!r} does not read FILE.db#BATCH: give a study file, and an id or `last` behind the sign."
        )
    return StudyInFile(Path(file), reference)
