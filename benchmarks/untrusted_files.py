"""Manipulated study files, each opened by every command, some in the API and in the app."""

import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.untrusted_files.cases import CASES
from tests.untrusted_files.driving import API, APP, READING, WRITING, Seen, Step, staged
from tests.untrusted_files.forging import SEED, Case
from tidepool.engine.bench import Measurement, at_least, at_most

AT_ONCE = 2
INTRODUCTION = """# Evidence: untrusted files

Back to the [summary](../evidence.md).

Each row is a study file as someone else might send it to you. The benchmark makes it from a valid file at random. You can repeat all
of them with `make prove ONLY=untrusted_files`.

Every command runs on each file, with keys in the environment and a server that must never receive a request. The HTTP API opens files
with simulations, and the app opens a third of all files. *Message* is the first thing that a command reports about the file.

A file is *ok* if it caused no use of a key, request, write, terminal escape, hang, traceback or unexpected error. If a file must be
refused, it is *ok* only if it was refused. Files with a million rows or 20 MB in one value may take time, as valid large files do.
With these, Ctrl+C must work within a second."""
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "untrusted_files.md"
WITH_SIMULATIONS = ("simulation", "several", "queued")
"""original files with simulations, which the API serves"""
IN_THE_APP = 1 / 3
"""of all files are opened in the app too, at random"""


def steps(case: Case) -> tuple[Step, ...]:
    in_the_app = random.Random(f"{SEED}/app/{case.title}").random() < IN_THE_APP
    doors = (*([API] if case.base in WITH_SIMULATIONS else []), *([APP] if in_the_app else []))
    return (*READING, *doors, *WRITING)


def results() -> list[Seen]:
    with tempfile.TemporaryDirectory(prefix="untrusted-") as place, ThreadPoolExecutor(AT_ONCE) as pool:
        folder = Path(place)
        os.environ["TIDEPOOL_STATE"], os.environ["TIDEPOOL_SELLER"] = str(folder / "state"), str(folder / "seller")
        with staged(folder) as stage:
            stage.measure((*READING, API, APP, *WRITING))
            return list(pool.map(lambda case: stage.play(case, steps(case)), CASES))


def _together(wrongs: Sequence[str]) -> list[str]:
    """The commands that go wrong in the same way, in one line."""
    ways: dict[str, list[str]] = {}
    for wrong in wrongs:
        command, _, way = wrong.rpartition(": ")
        ways.setdefault(way, []).append(command)
    return [f"{way}: {', '.join(commands)}" for way, commands in ways.items()]


SHOWN = {
    "files that got a key or a request": (
        "its server was called",
        "holds a key",
        "a key is shown",
        "without being asked",
    ),
    "files changed by a command that only reads": ("changes ",),
    "files that had to be refused and were not": ("is not refused",),
    "files with a terminal escape in the output": ("an escape",),
    "files on which a command hangs": ("hangs", "deaf", "more than a second"),
    "files on which a command takes 2 s of CPU more than on the original": (" s of CPU",),
    "files with a traceback, or something unexpected": ("Traceback", "unexpected", "exit code", "process died"),
}
"""what must not happen → the words by which the judge reports it"""


def prove() -> Iterator[Measurement]:
    seen = results()
    PAGE.write_text(page(seen))
    wrong = [one.case.title for one in seen if one.wrongs]
    yield at_least(f"handled as declared, of {len(seen)}", 1 - len(wrong) / len(seen), "", 1, "; ".join(wrong[:3]))
    for what, marks in SHOWN.items():
        found = [one.case.title for one in seen if any(mark in wrong for wrong in one.wrongs for mark in marks)]
        yield at_most(what, len(found), "", 0, "; ".join(found[:3]))


def page(seen: Sequence[Seen]) -> str:
    lines = [INTRODUCTION]
    for family in dict.fromkeys(one.case.family for one in seen):
        lines += [
            "",
            f"## {family.capitalize()}",
            "",
            "| file | made from | message | result |",
            "| --- | --- | --- | --- |",
        ]
        lines += [_row(one) for one in seen if one.case.family == family]
    return "\n".join(lines) + "\n"


def _row(seen: Seen) -> str:
    message = seen.told.partition("s.db")[2].lstrip(" :") if "s.db" in seen.told else ""
    verdict = "ok" if not seen.wrongs else f"**{'; '.join(_together(seen.wrongs))[:160]}**"
    return f"| {seen.case.name} | {seen.case.base} | {_cell(message)} | {_cell(verdict)} |"


def _cell(text: str) -> str:
    short = text if len(text) <= 160 else text[:159] + "…"
    return "".join(mark if mark.isprintable() else "�" for mark in short).replace("|", "\\|").replace("<", "&lt;")
