"""`tidepool FILE.db`: whether a word in a command's place is a study file, and what is said where it is none."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from tidepool.engine.errors import UsageError

ELSEWHERE = {
    "help": "tidepool --help",
    "version": "tidepool --version",
    "resume": "tidepool --resume last",
    "init": "tidepool new secret_game",
    "start": "tidepool run CONFIG.toml",
    "ls": "tidepool list",
    "status": "tidepool list",
    "rm": "tidepool delete BATCH",
    "remove": "tidepool delete BATCH",
    "results": "tidepool show last",
    "view": "tidepool show last",
    "report": "tidepool export last --format html -o report.html",
    "serve": "tidepool web",
    "price": "tidepool plan CONFIG.toml",
}
"""what other programs call a command, and how it is written here"""
SUFFIXES = (".db", ".sqlite", ".sqlite3")


def told_of(word: str, commands: Iterable[str]) -> str | None:
    """What is wrong with the word; None: it is a study file, or will be one."""
    path = Path(word)
    if path.is_dir():
        return f"{word} is a folder: name the study file in it, such as {path / 'tidepool.db'}."
    if path.suffix.lower() in SUFFIXES or _is_sqlite(path):
        return None
    if "#" in word:
        return f"{word} is a study of a file: `tidepool run {word}` runs it again."
    if path.suffix.lower() == ".toml":
        return f"{word} is no study file but a config: `tidepool run {word}` runs it."
    near = get_close_matches(word, list(commands), n=1)
    hint = f": did you mean {near[0]!r}?" if near else ": `tidepool --help` lists the commands."
    hint = f": here it is `{ELSEWHERE[word]}`." if word in ELSEWHERE else hint
    return f"{word!r} is neither a command nor a study file (*.db){hint}"


def turned(arguments: list[str], commands: Iterable[str]) -> list[str]:
    """`tidepool FILE.db list` is `tidepool --db FILE.db list`. Complains where the first word is no study file."""
    word, following = arguments[0], arguments[1]
    words = told_of(word, commands)
    if words is None and following in commands:
        if not any(other == "--db" or other.startswith("--db=") for other in arguments):
            return ["--db", *arguments]
        words = f"{word} and what --db names are two study files: name one."
    if words is not None:
        raise UsageError(words)
    return arguments


def _is_sqlite(path: Path) -> bool:
    from tidepool.engine.config.toml_files import SQLITE

    try:
        if not path.is_file():  # opening a pipe waits for who writes into it
            return False
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False
