"""Forged study files, each opened by every command, some in the API and in the app."""

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
PAGE = Path(__file__).parent.parent / "docs" / "strangers.md"
WITH_SIMULATIONS = ("talks", "several", "queued")
"""honest files that the API has something to say of"""
IN_THE_APP = 1 / 3
"""of all files are opened in the app too, by lot"""


def steps(case: Case) -> tuple[Step, ...]:
    in_the_app = random.Random(f"{SEED}/app/{case.title}").random() < IN_THE_APP
    doors = (*([API] if case.base in WITH_SIMULATIONS else []), *([APP] if in_the_app else []))
    return (*READING, *doors, *WRITING)


def results() -> list[Seen]:
    with tempfile.TemporaryDirectory(prefix="strangers-") as place, ThreadPoolExecutor(AT_ONCE) as pool:
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
    "files that got a key or a call": ("its server was called", "holds a key", "a key is shown", "without being asked"),
    "files that were written by a command that reads": ("changes ",),
    "files that were not refused and had to be": ("is not refused",),
    "files with an escape in what is printed": ("an escape",),
    "files over which a command hangs": ("hangs", "deaf", "more than a second"),
    "files over which a command takes 2 s of CPU more than over the honest one": (" s of CPU",),
    "files with a traceback, or something unexpected": ("Traceback", "unexpected", "exit code", "process died"),
}
"""what must not be → the words by which the judge tells of it"""


def prove() -> Iterator[Measurement]:
    seen = results()
    PAGE.write_text(page(seen))
    wrong = [one.case.title for one in seen if one.wrongs]
    yield at_least(f"as they should be, of {len(seen)}", 1 - len(wrong) / len(seen), "", 1, "; ".join(wrong[:3]))
    for what, marks in SHOWN.items():
        found = [one.case.title for one in seen if any(mark in wrong for wrong in one.wrongs for mark in marks)]
        yield at_most(what, len(found), "", 0, "; ".join(found[:3]))


def page(seen: Sequence[Seen]) -> str:
    lines = [
        "# Strangers' files",
        "",
        "Each row is a study file as a stranger might send it, forged from an honest one by lot (`make prove ONLY=untrusted_files`). Every",
        "command is run over it, with keys in the environment and a server listening that must never be called; so are the API where",
        "there are simulations, and the app for a third of the files. *Told* is the first thing that is said of the file. A file is *ok*",
        "where no key, call, write, escape, hang, traceback or unforeseen error came of it, and where it was refused if it must be. Files",
        "with a million rows or 20 MB in one place may take their time, as an honest million does: there Ctrl+C must be heard within a second.",
    ]
    for family in dict.fromkeys(one.case.family for one in seen):
        lines += ["", f"## {family.capitalize()}", "", "| file | forged from | told | |", "| --- | --- | --- | --- |"]
        lines += [_row(one) for one in seen if one.case.family == family]
    return "\n".join(lines) + "\n"


def _row(seen: Seen) -> str:
    told = seen.told.partition("s.db")[2].lstrip(" :") if "s.db" in seen.told else ""
    verdict = "ok" if not seen.wrongs else f"**{'; '.join(_together(seen.wrongs))[:160]}**"
    return f"| {seen.case.name} | {seen.case.base} | {_cell(told)} | {_cell(verdict)} |"


def _cell(text: str) -> str:
    short = text if len(text) <= 160 else text[:159] + "…"
    return "".join(mark if mark.isprintable() else "�" for mark in short).replace("|", "\\|").replace("<", "&lt;")
