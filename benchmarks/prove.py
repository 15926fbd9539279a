"""`make prove` measures every claim that the test suite cannot cover, and writes docs/evidence.md with its pages in docs/evidence/.

PROOFS lists the sections. Each has a claim, the page that shows its measurements, and a function that yields them, named as
"module:function". `make prove ONLY="start plans"` measures some sections again and leaves the others as they are. The summary in
docs/evidence.md is made from the pages, so it always agrees with them.
`python -m benchmarks.prove --print start` only prints. `--summary` only writes the summary again. `--import FILE [SECTION…]`
takes sections from a page of the former layout, where docs/evidence.md held all tables.
"""

import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tidepool.engine.bench import Measurement

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    "speed": "Speed and scale",
    "reliability": "Crashes, servers and files",
    "statistics": "Intervals, tests and power",
    "methods": "Detectors, evolution and mutation",
}
"""files of docs/evidence/ and their titles"""


class Proof(NamedTuple):
    page: str
    title: str
    claim: str
    function: str


PROOFS = {
    "engine": Proof(
        "speed",
        "Engine",
        "The engine records thousands of requests a second, and large studies cost no more per request.",
        "throughput:prove_engine",
    ),
    "sdk": Proof(
        "speed",
        "Overhead per request",
        "A live request uses at most 1.5 times the CPU of a bare HTTP loop, and a run takes hardly longer.",
        "throughput:prove_sdk",
    ),
    "start": Proof("speed", "Startup", "Commands start fast.", "start:prove"),
    "scale_running": Proof(
        "speed",
        "Running a million conversations",
        "A million conversations run in less than 1 GB of memory.",
        "scale:prove_running",
    ),
    "scale_reading": Proof(
        "speed",
        "Reading a million conversations",
        "Commands stay fast on a file with a million conversations.",
        "scale:prove_reading",
    ),
    "evolution_speed": Proof(
        "speed",
        "Parallel evolution",
        "Prompt evolution uses the whole concurrency of its preset.",
        "evolution:prove_speed",
    ),
    "app": Proof(
        "speed", "App speed", "The app stays responsive and does not slow down the study that you watch.", "app:prove"
    ),
    "plans": Proof(
        "reliability",
        "Plans and runs",
        "No run exceeds the maximum of its plan, and most stay near the expected cost.",
        "plans:prove",
    ),
    "killed_runs": Proof(
        "reliability",
        "Killed runs",
        "After kill -9 a run resumes to the same result and never buys a stored reply again.",
        "crashes.killed:prove_runs",
    ),
    "killed_batches": Proof(
        "reliability",
        "Killed provider batches",
        "A crash at any step never buys a provider batch twice.",
        "crashes.killed:prove_provider_batches",
    ),
    "killed_commands": Proof(
        "reliability",
        "Killed commands",
        "Killing a command that writes never loses data or leaves half of a file.",
        "crashes.killed:prove_commands",
    ),
    "pools": Proof(
        "reliability",
        "Server pools",
        "A pool of servers reaches almost the sum of their speeds.",
        "servers:prove_pools",
    ),
    "pace": Proof(
        "reliability",
        "Rate limits",
        "Tidepool uses a limit of requests per minute almost fully and never exceeds it.",
        "servers:prove_pace",
    ),
    "slow_server": Proof(
        "reliability",
        "Slow servers",
        "On a server slower than its timeout, every conversation completes at little extra cost.",
        "servers:prove_slow_server",
    ),
    "outage": Proof(
        "reliability",
        "Outages",
        "A run survives an outage of one minute without duplicate purchases.",
        "servers:prove_outage",
    ),
    "adversarial_servers": Proof(
        "reliability",
        "Adversarial servers",
        "Malformed replies never hang a run, end it, or enter its statistics.",
        "adversarial_servers:prove",
    ),
    "untrusted_files": Proof(
        "reliability",
        "Untrusted files",
        "A manipulated study file gets no key and no request, and no command hangs on it.",
        "untrusted_files:prove",
    ),
    "publishing": Proof(
        "reliability",
        "Published folders",
        "Other programs read a published folder, and others can run it again.",
        "publishing:prove",
    ),
    "journeys": Proof(
        "reliability",
        "Journeys through the app",
        "Every kind of study works in the app by keys and by mouse.",
        "journeys.journey:prove",
    ),
    "coverage": Proof(
        "statistics",
        "Secret games",
        "95 % intervals of secret games cover the truth in at least 93 % of tables.",
        "inference.coverage:prove_games",
    ),
    "coverage_of_clusters": Proof(
        "statistics",
        "Secret games with shared scenarios",
        "This also holds for games that share scenarios or memory, or the report warns.",
        "inference.coverage:prove_clustered",
    ),
    "coverage_of_simulations": Proof(
        "statistics",
        "Simulations and comparisons",
        "Intervals of simulations and of two batches cover the truth, and tests keep their error rate.",
        "inference.coverage:prove_simulations",
    ),
    "coverage_of_runs": Proof(
        "statistics",
        "Complete runs",
        "Intervals also cover the truth when the whole program runs.",
        "inference.coverage:prove_runs",
    ),
    "designs": Proof(
        "statistics",
        "Designs and hypotheses",
        "Hypothesis tests keep their error rate and reach the planned power.",
        "inference.designs:prove",
    ),
    "power": Proof(
        "statistics",
        "Power planning",
        "The margin of error and power of a plan match what runs show.",
        "inference.power:prove",
    ),
    "stopping": Proof(
        "statistics",
        "Early stopping",
        "Early stopping keeps its error rate and saves conversations.",
        "inference.stopping:prove",
    ),
    "branches": Proof(
        "statistics", "Branches", "Intervals of the effect of one message cover the truth.", "inference.branches:prove"
    ),
    "coding": Proof(
        "statistics",
        "Hand coding",
        "Rates corrected by hand coding have intervals that cover the truth.",
        "inference.coding:prove",
    ),
    "detectors": Proof(
        "methods", "Detectors", "Detectors find most reveals and rarely report one by mistake.", "detectors:prove"
    ),
    "compared": Proof(
        "statistics",
        "Compared prompts",
        "Intervals of the accuracy, of the gain and of two compared evolutions cover the truth.",
        "evolution:prove_compared",
    ),
    "evolution": Proof(
        "methods",
        "Prompt evolution",
        "Evolved prompts beat seed prompts on held-out problems, and claims of a winner hold.",
        "evolution:prove_truth",
    ),
    "planted": Proof(
        "methods",
        "Planted instructions",
        "Reflective search finds an instruction that no seed prompt contains.",
        "evolution:prove_planted",
    ),
    "learning": Proof(
        "methods",
        "Query mutation",
        "Learned policies beat random play and the best single operator.",
        "mutation:prove_learning",
    ),
}


def measure(name: str) -> Iterator[Measurement]:
    """Runs one proof and prints each measurement as it comes."""
    proof = PROOFS[name]
    print(f"== {proof.title} ({name})", flush=True)
    module, _, prove = proof.function.partition(":")
    for figure in getattr(import_module(f"benchmarks.{module}"), prove)():
        verdict = "ok    " if figure.met else "MISSED"
        print(f"   {verdict} {figure.name}: {figure.value:,.3f} {figure.unit} {figure.note}", flush=True)
        yield figure


# -- the pages --------------------------------------------------------------------------------------------


def section(name: str, figures: Sequence[Measurement], seconds: float) -> str:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [*_heading(name), "", f"`make prove ONLY={name}` · {date} · {seconds:.0f} s", "", *TABLE]
    return "\n".join([*lines, *map(_row, figures)]) + "\n"


TABLE = ("| measurement | measured | target | result |", "| --- | --- | --- | --- |")


def _heading(name: str) -> tuple[str, str, str]:
    return f"## {PROOFS[name].title}", "", PROOFS[name].claim


def _row(figure: Measurement) -> str:
    digits = 0 if figure.value >= 1000 else 3
    value = f"{figure.value:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{figure.value:,.0f}"
    sign = "≥" if figure.at_least else "≤"
    note = f" ({figure.note})" if figure.note else ""
    verdict = "ok" if figure.met else "**missed**"
    return f"| {figure.name}{note} | {value} {figure.unit} | {sign} {figure.target:,g} | {verdict} |"


COMMAND = re.compile(r"^`make prove ONLY=(\w+)` · ([\d-]+)", flags=re.M)


def sections(page: str) -> dict[str, str]:
    """The sections of a page by name, in whichever layout."""
    parts = re.split(r"^(?=## )", page, flags=re.M)[1:]
    return {found[1]: part.rstrip("\n") + "\n" for part in parts if (found := COMMAND.search(part))}


def store(texts: dict[str, str], docs: Path = DOCS) -> None:
    """Replaces these sections in their pages, and writes the summary again."""
    (docs / "evidence").mkdir(exist_ok=True)
    for file, title in PAGES.items():
        path = docs / "evidence" / f"{file}.md"
        kept = sections(path.read_text(encoding="utf-8")) if path.exists() else {}
        kept |= {name: text for name, text in texts.items() if PROOFS[name].page == file}
        head = f"# Evidence: {title[0].lower()}{title[1:]}\n\nBack to the [summary](../evidence.md).\n"
        path.write_text("\n".join([head, *(kept[name] for name in PROOFS if name in kept)]), encoding="utf-8")
    (docs / "evidence.md").write_text(summary(docs), encoding="utf-8")


# -- the summary ------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A row of a table, as a page has it."""

    name: str
    measured: str
    target: str
    met: bool

    @property
    def used(self) -> float:
        """How much of the promise is used up: 1 is on the target, more is missed."""
        value, target = (
            float(re.sub(r"[^\d.-]", "", text.split(" ")[place]))
            for text, place in ((self.measured, 0), (self.target, 1))
        )
        over, under = (target, value) if self.target.startswith("≥") else (value, target)
        return over / under if under else float(over > 0)


def rows(text: str) -> list[Row]:
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    return [Row(" | ".join(cell[:-3]), cell[-3].strip(), cell[-2], cell[-1] == "ok") for cell in cells]


def summary(docs: Path = DOCS) -> str:
    """One row for each section: its claim and the measurement that is nearest to its target."""
    found = {
        name: text
        for file in PAGES
        for name, text in sections((docs / "evidence" / f"{file}.md").read_text(encoding="utf-8")).items()
    }
    lines = [_introduction()]
    for file, title in PAGES.items():
        lines += [
            f"## {title}",
            "",
            "| claim | worst measurement | target | result | date |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [
            _summary_row(name, found[name]) for name, proof in PROOFS.items() if proof.page == file and name in found
        ]
        lines.append("")
    return "\n".join(lines)


def _summary_row(name: str, text: str) -> str:
    proof, measured = PROOFS[name], rows(text)
    worst = max(measured, key=lambda row: (not row.met, row.used))
    missed = sum(not row.met for row in measured)
    link = f"evidence/{proof.page}.md#{proof.title.lower().replace(' ', '-')}"
    result = f"**{missed} of {len(measured)} missed**" if missed else f"ok, {len(measured)} of {len(measured)}"
    date = COMMAND.findall(text)[0][1]
    what = re.sub(r" \(.*", "", worst.name)
    return f"| [{proof.title}]({link}): {proof.claim} | {what}: {worst.measured} | {worst.target} | {result} | {date} |"


def _introduction() -> str:
    return (
        "# Evidence\n\n"
        "`make prove` measures claims that the test suite cannot cover. Each row below is one section of it. It shows the claim, and the\n"
        "measurement that came closest to its target or missed it. Follow the link to see all measurements of a section.\n\n"
        f"You can repeat one section on your machine, for example with `make prove ONLY=engine`. Ratios compare two ways within one run on\n"
        f"one machine. This machine has {os.cpu_count()} cores and Python {platform.python_version()}. "
        "[Adversarial servers](evidence/adversarial_servers.md) and\n[untrusted files](evidence/untrusted_files.md) list every case "
        "that you can repeat.\n"
    )


# -- the former layout ------------------------------------------------------------------------------------

REWORDED = {
    "an undisturbed run's": "those of an uninterrupted run",
    "kills after which the end state equals": "kills after which the results equal",
    "calls bought again though their answer was kept": "stored replies bought again",
    "calls bought ÷ needed under kill": "requests bought ÷ needed under kill",
    "calls of one conversation in flight": "requests of one conversation in flight",
    "calls after one kill": "requests after one kill",
    "lost, by half, bought twice or left over": "lost, incomplete, bought twice or left behind",
    "has ordered anew": "has created another",
    "runs above their plan's most": "runs above the maximum of their plan",
    "calls and cost within 25 % of the expected": "requests and cost within 25 % of the plan",
    "hostile cases": "adversarial cases",
    "hostile names": "adversarial names",
    "as declared, share": "handled as declared, share",
    "runs ended by an odd value": "runs ended by an invalid value",
    "cases with a finding from what is no answer": "cases with a result from an invalid reply",
    "openai, none left": "openai, no requests left",
    "as they should be, of": "handled as declared, of",
    "files that got a key or a call": "files that got a key or a request",
    "files that were written by a command that reads": "files changed by a command that only reads",
    "files that were not refused and had to be": "files that had to be refused and were not",
    "files with an escape in what is printed": "files with a terminal escape in the output",
    "files over which a command hangs": "files on which a command hangs",
    "files over which a command takes 2 s of CPU more than over the honest one": (
        "files on which a command takes 2 s of CPU more than on the original"
    ),
    "a stranger ran again to the same letter": "another user ran again with identical results",
    "drift where there is none": "drift without any",
    "of them drawn again": "of them measured again",
    "a level draws anew": "a level changes the schedule",
    " talks": " conversations",
    " talk ": " conversation ",
    "talks saved": "conversations saved",
}
"""wording of the former page that today's benchmarks no longer use"""


def import_page(path: Path, wanted: Sequence[str] = ()) -> dict[str, str]:
    """Sections of a page that held all tables, with today's titles. No figure is changed."""
    return {
        name: "\n".join([*_heading(name), "", *_from_command(text)]) + "\n"
        for name, text in sections(path.read_text(encoding="utf-8")).items()
        if name in (wanted or PROOFS)
    }


def _from_command(text: str) -> Iterator[str]:
    command, body = text[text.index("`make prove") :].rstrip("\n").split("\n", 1)
    yield from (command, "", *TABLE)
    for line in body.splitlines()[3:]:
        for former, today in REWORDED.items():
            line = line.replace(former, today)
        yield line


def main(arguments: Iterable[str]) -> int:
    chosen = list(arguments)
    if "--import" in chosen:
        source, *names = [one for one in chosen if one != "--import"]
        store(import_page(Path(source), names))
        return 0
    if "--summary" in chosen:
        store({})
        return 0
    only_print = "--print" in chosen
    names = [name for name in chosen if name != "--print"] or list(PROOFS)
    if unknown := [name for name in names if name not in PROOFS]:
        print(f"unknown: {', '.join(unknown)}. Known: {', '.join(PROOFS)}", file=sys.stderr)
        return 2
    met = True
    for name in names:
        started = time.monotonic()
        figures = list(measure(name))
        met = met and all(figure.met for figure in figures)
        if not only_print:
            store({name: section(name, figures, time.monotonic() - started)})
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
