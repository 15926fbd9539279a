"""The commands of the documentation, read out of its pages, so that tests run them as they stand there.

A line of a `sh` block is a command. What cannot run in a test says so, for readers too, in a comment in brackets:
`(needs a key)`, `(opens the app)`, `(while it runs)`, `(asks first)`, `(takes minutes)`. In the first line of a block it
holds for the block.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"#.*\((?:needs|opens|while|asks|takes)\b[^)]*\)")

COMMENT = re.compile(r"(?:^|\s)# .*$", flags=re.M)
"""as a shell has it: FILE.db#BATCH is none"""


@dataclass(frozen=True, slots=True)
class Command:
    """A line of a block, and what the page prints below it as its output."""

    text: str
    words: tuple[str, ...]
    mark: bool
    """it is not for a test to run, and says why"""
    printed: str = ""


def blocks(text: str, *languages: str) -> Iterator[tuple[str, str]]:
    """language and content of each fenced block."""
    yield from re.findall(rf"^```({'|'.join(languages)})\n(.*?)^```", text, flags=re.S | re.M)


def commands(page: Path) -> list[Command]:
    """Those of a page, in their order."""
    found: list[Command] = []
    for language, content in blocks(page.read_text(encoding="utf-8"), "sh", "text"):
        if language == "sh":
            found += _of_block(content)
        elif found:
            last = found[-1]
            found[-1] = Command(last.text, last.words, last.mark, content)
    return found


def _of_block(content: str) -> Iterator[Command]:
    lines = content.splitlines()
    whole = bool(MARK.search(lines[0]))
    text = ""
    for line in lines:
        text = f"{text}\n{line}" if text else line
        try:
            words = shlex.split(COMMENT.sub("", text))
        except ValueError:
            continue  # a quotation goes on in the next line
        if words:
            yield Command(text, tuple(words), whole or bool(MARK.search(text)))
        text = ""
    assert not text, f"a quotation without an end: {text}"


def saved(page: Path) -> list[tuple[str, str]]:
    """Files that a page has its readers write: name and content."""
    return re.findall(
        r"ave this as `([\w.]+)`:\n\n```toml\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M
    )


def told(printed: str, said: str) -> list[str]:
    """Lines that the page shows and the command has not said, in this order; `…` stands for anything."""
    lacking, lines = [], iter(said.splitlines())
    for line in printed.splitlines():
        pattern = re.compile(".*".join(map(re.escape, map(str.strip, line.split("…")))))
        if line.strip("… ") and not any(pattern.search(spoken) for spoken in lines):
            lacking.append(line)
    return lacking


SMALLER = {
    "num_interactions": 8,
    "games": 2,
    "replicates": 1,
    "num_simulations": 6,
    "max_generations": 1,
    "population_size": 4,
    "elite_size": 2,
    "max_problems": 6,
    "validation_problems": 14,
    "max_calls": 200,
    "num_env_steps": 200,
}
"""sizes of the examples that decide how long a command takes"""


def smaller_examples(folder: Path) -> None:
    """The examples, as the commands name them, in sizes for a test."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    for path in (folder / "examples").glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        for key, most in SMALLER.items():
            text = re.sub(rf"^{key} = (\d+)", lambda at, k=key, m=most: f"{k} = {min(int(at[1]), m)}", text, flags=re.M)
        path.write_text(text.replace("[mutation]\n", "[mutation]\nheldout = 0.05\n"), encoding="utf-8")
