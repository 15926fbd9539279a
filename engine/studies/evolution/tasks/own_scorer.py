"""A scorer of the user's own: `scorer = "file.py:function"`, a file in the folder of the config.

It is code, so nothing but the user's own hand has it run. A config that is written down here names it, and its hash is
frozen; a batch that goes on runs the file with that very hash, where `run.py` has judged the batch to be the user's own
and looked for the file. Reading results never comes near it.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tidepool.engine.config.toml_files import check_file
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.evolution.config import OWN_SCORER
from tidepool.engine.studies.evolution.tasks import workers

WORKER = Path(workers.__file__).with_name("scorer_worker.py")
MOST_BYTES = 1 << 20
LOAD_SECONDS = 60.0
"""that a scorer's imports may take"""
WHERE = ("evolution", "scorer")
READY = b'{"ready": true}\n'
"""what a worker says when the scorer is loaded"""


@dataclass(frozen=True, slots=True)
class OwnScorer:
    file: str
    """as the config names it, from the folder of the config on"""
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.function}"


@dataclass(frozen=True, slots=True)
class FoundScorer:
    """The file itself, which this process may run."""

    path: Path
    function: str
    sha256: str

    def command(self, seconds: float) -> list[str]:
        return [sys.executable, "-B", str(WORKER), str(self.path), self.function, self.sha256, str(seconds)]


_allowed: dict[tuple[str, str], FoundScorer] = {}
"""by name and hash: what `find` was asked for by who runs a batch of the user's own"""


def own_scorer(scorer: str) -> OwnScorer | None:
    """None where it is the name of an installed one, or nothing."""
    named = re.fullmatch(OWN_SCORER, scorer)
    return OwnScorer(named["file"], named["function"]) if named else None


def hash_of(scorer: OwnScorer, folders: Iterable[Path], known: str = "") -> str:
    """When a batch is made: of the file's content, after a look at it that runs nothing. `known`: it must be this one."""
    content = _content(_place(scorer, folders, known))
    found = sha256(content).hexdigest()
    try:
        names = {name for statement in ast.parse(content).body for name in _defined(statement)}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"The scorer {scorer.file} is no Python: {error}.", WHERE) from None
    if scorer.function not in names:
        raise UsageError(f"The scorer {scorer.file} has no function {scorer.function!r} at its top level.", WHERE)
    return found


def _defined(statement: ast.stmt) -> Iterable[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)


def find(scorer: OwnScorer, expected: str, folders: Iterable[Path], seconds: float) -> FoundScorer:
    """Looks for the file with this hash, and has it loaded once in a process of its own: what cannot be is told before
    anything is bought. From then on this process may run it."""
    found = FoundScorer(_place(scorer, folders, expected), scorer.function, expected)
    try:
        told = subprocess.run(
            found.command(seconds),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LOAD_SECONDS,
            cwd=found.path.parent,
        ).stdout
    except subprocess.TimeoutExpired:
        raise UsageError(f"The scorer {scorer} was not loaded within {LOAD_SECONDS:g} seconds.", WHERE) from None
    if told != READY:
        words = json.loads(told)["error"] if told else "its process ended"
        raise UsageError(f"The scorer {scorer} cannot be loaded: {words}.", WHERE)
    _allowed[str(scorer), expected] = found
    return found


def allowed(scorer: OwnScorer, expected: str) -> FoundScorer:
    if (found := _allowed.get((str(scorer), expected))) is None:
        raise UsageError(f"The scorer {scorer} is not run: nobody here has asked for it.", WHERE)
    return found


def _place(scorer: OwnScorer, folders: Iterable[Path], expected: str = "") -> Path:
    """The first folder that has the file, with this hash where one is expected."""
    looked, changed = list(dict.fromkeys(folder.resolve() for folder in folders)), None
    for folder in looked:
        path = _within(folder, scorer.file)
        if path.is_file():
            if not expected or sha256(_content(path)).hexdigest() == expected:
                return path
            changed = changed or path
    if changed:
        raise UsageError(
            f"The scorer {changed} was changed since the batch was made (its hash is not {expected[:12]}…), so its marks "
            "would not be those of the batch. Put the old file back, or run the study anew.",
            WHERE,
        )
    places = " nor in ".join(map(str, looked))
    raise UsageError(f"There is no scorer {scorer.file} in {places}. Put it there.", WHERE)


def _within(folder: Path, name: str) -> Path:
    """A file of the folder, not one that a name or a link leads to elsewhere."""
    path = Path(os.path.realpath(folder / name))
    if Path(name).is_absolute() or not path.is_relative_to(folder):
        raise UsageError(f"The scorer {name!r} is not in the folder of the config: only what lies there is run.", WHERE)
    return path


def _content(path: Path) -> bytes:
    try:
        check_file(path, MOST_BYTES, WHERE)
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"The scorer {path} cannot be read: {error.strerror}.", WHERE) from None
