"""`make prove` measures every claim that the test suite cannot cover and writes docs/evidence.md.

PROOFS lists the sections of the page. Each is a function that yields measurements, named as "module:function". `make prove
ONLY="start plans"` measures some sections again; the text of the others stays as it is in the page.
`python -m benchmarks.prove --print start` only prints.
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

EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence.md"


class Proof(NamedTuple):
    title: str
    function: str


PROOFS = {
    "engine": Proof("The engine", "throughput:prove_engine"),
    "plans": Proof("Plans: what is expected, and at most", "plans:prove"),
    "start": Proof("A light start", "start:prove"),
    "killed_runs": Proof("Killed at any moment", "crashes.killed:prove_runs"),
    "killed_batches": Proof("Provider batches, killed at every step", "crashes.killed:prove_provider_batches"),
    "killed_commands": Proof("Killed at any moment of any act that writes", "crashes.killed:prove_commands"),
    "learning": Proof("Query mutation: learning", "mutation:prove_learning"),
    "pools": Proof("Several servers of mixed speed", "servers:prove_pools"),
    "adversarial_servers": Proof("Hostile servers", "adversarial_servers:prove"),
    "untrusted_files": Proof("Strangers' files", "untrusted_files:prove"),
    "publishing": Proof("Published folders in the programs of others", "publishing:prove"),
    "sdk": Proof("Calls through the real SDKs", "throughput:prove_sdk"),
    "pace": Proof("A limit of requests a minute", "servers:prove_pace"),
    "slow_server": Proof("A server slower than its timeout", "servers:prove_slow_server"),
    "outage": Proof("A server that goes away for a minute", "servers:prove_outage"),
    "coverage": Proof("Intervals and tests of secret games", "inference.coverage:prove_games"),
    "coverage_of_simulations": Proof(
        "Intervals and tests of simulations, and of two batches", "inference.coverage:prove_simulations"
    ),
    "designs": Proof("Designs: what hypotheses find", "inference.designs:prove"),
    "power": Proof("Power, told before anything is bought", "inference.power:prove"),
    "coverage_of_runs": Proof("Intervals through the whole program", "inference.coverage:prove_runs"),
    "stopping": Proof("Stop when sure: is it, and what does it save?", "inference.stopping:prove"),
    "branches": Proof("Branches: the effect of one sentence", "inference.branches:prove"),
    "coding": Proof("Hand coding: do the intervals hold?", "inference.coding:prove"),
    "detectors": Proof("Reveals in labelled messages", "detectors:prove"),
    "evolution": Proof("Prompt evolution: what it claims", "evolution:prove_truth"),
    "planted": Proof("Prompt evolution: what no seed says", "evolution:prove_planted"),
    "evolution_speed": Proof("Prompt evolution: many calls at once", "evolution:prove_speed"),
    "scale_running": Proof("A million conversations, run", "scale:prove_running"),
    "scale_reading": Proof("A million conversations, read", "scale:prove_reading"),
    "app": Proof("The terminal app", "app:prove"),
    "journeys": Proof("Journeys through the app", "journeys.journey:prove"),
}


def measure(name: str) -> Iterator[Measurement]:
    """Runs one proof and prints each measurement as it comes."""
    title, function = PROOFS[name]
    print(f"== {title} ({name})", flush=True)
    module, _, prove = function.partition(":")
    for figure in getattr(import_module(f"benchmarks.{module}"), prove)():
        verdict = "ok    " if figure.met else "MISSED"
        print(f"   {verdict} {figure.name}: {figure.value:,.3f} {figure.unit} {figure.note}", flush=True)
        yield figure


def section(name: str, figures: Sequence[Measurement], seconds: float) -> str:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [f"## {PROOFS[name].title}", "", f"`make prove ONLY={name}` · {date} · {seconds:.0f} s", ""]
    lines += ["| promise | measured | promised | |", "| --- | --- | --- | --- |"]
    return "\n".join([*lines, *map(_row, figures)]) + "\n"


def _row(figure: Measurement) -> str:
    digits = 0 if figure.value >= 1000 else 3
    value = f"{figure.value:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{figure.value:,.0f}"
    sign = "≥" if figure.at_least else "≤"
    note = f" ({figure.note})" if figure.note else ""
    verdict = "ok" if figure.met else "**missed**"
    return f"| {figure.name}{note} | {value} {figure.unit} | {sign} {figure.target:,g} | {verdict} |"


def with_section(page: str, text: str) -> str:
    """The page with this section in place of its predecessor, the others as they are, in the order of PROOFS."""
    sections = {one.partition("\n")[0]: one.rstrip("\n") + "\n" for one in re.split(r"^(?=## )", page, flags=re.M)[1:]}
    sections[text.partition("\n")[0]] = text
    titles = [f"## {proof.title}" for proof in PROOFS.values()]
    return "\n".join([_introduction(), *(sections[title] for title in titles if title in sections)])


def _introduction() -> str:
    return (
        "# Evidence\n\nWhat Tidepool promises and the test suite is too short to show, measured by `make prove` "
        "(one section: `make prove ONLY=engine`). Ratios are taken within one run on one machine: "
        f"{os.cpu_count()} cores, Python {platform.python_version()}.\n"
    )


def main(arguments: Iterable[str]) -> int:
    only_print = "--print" in arguments
    names = [name for name in arguments if name != "--print"] or list(PROOFS)
    if unknown := [name for name in names if name not in PROOFS]:
        print(f"unknown: {', '.join(unknown)}. Known: {', '.join(PROOFS)}", file=sys.stderr)
        return 2
    met = True
    for name in names:
        started = time.monotonic()
        figures = list(measure(name))
        met = met and all(figure.met for figure in figures)
        if not only_print:
            page = EVIDENCE.read_text(encoding="utf-8") if EVIDENCE.exists() else ""
            text = section(name, figures, time.monotonic() - started)
            EVIDENCE.write_text(with_section(page, text), encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
