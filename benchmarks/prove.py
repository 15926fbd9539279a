"""`make prove`: every promise too long for the test suite is measured, and written to docs/evidence.md.

Each proof is a module of this folder with `prove() -> Iterable[Figure]`; PROOFS lists them. `make prove ONLY=engine`
measures some of them again and keeps the other figures as they were; a module of a subfolder goes by its own name too.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EVIDENCE = ROOT / "docs" / "evidence.md"
RECORD = ROOT / "docs" / "evidence.json"

PROOFS = {
    "engine": "The engine",
    "truth.plans": "Plans: what is expected, and at most",
    "start": "A light start",
    "crashes.kill_moments": "Killed at any moment",
    "crashes.foreign_learner": "A learner outside, killed and started again",
    "mutation_learning": "Query mutation: learning",
    "mutation_speed": "Query mutation: waves",
    "pools.ollama_pool": "Several Ollama servers",
    "pools.openai_pool": "Several servers that speak like OpenAI or Anthropic",
    "pools.endpoints": "Five endpoints in one study, two of them pools",
    "crashes.studies": "A study of sixty batches, killed and resumed",
    "crashes.power_cut": "A loss of power",
    "crashes.kill_points": "Provider batches, killed at every step",
    "crashes.killed": "Killed at any moment of any act that writes",
    "crashes.quitting": "The app, killed while it quits",
    "crashes.full_disk": "A full disk in every act that writes",
    "crashes.clock": "The clock set back and forward",
    "crashes.stopped": "A process that stands still for a minute",
    "crashes.three_programs": "App, headless runs and the API on one file",
    "hostile": "Hostile servers",
    "files.strangers": "Strangers' files",
    "files.keys": "Strangers' files and the user's keys",
    "files.publishing": "Published folders in the programs of others",
    "api_load": "The HTTP API under load",
    "providers_speed": "Calls through the real SDKs",
    "limits.pace": "A limit of requests a minute",
    "limits.slow_server": "A server slower than its timeout",
    "limits.outage": "A server that goes away for a minute",
    "cluster.hands": "Hands on three nodes, killed one after another",
    "cluster.cost": "What hands cost, and what they bring",
    "secret_game": "A thousand conversations in each mode",
    "truth.statistics": "Intervals and tests",
    "designs.confirming": "Designs: what hypotheses find",
    "truth.power": "Power, told before anything is bought",
    "truth.end_to_end": "Intervals through the whole program",
    "stopping.rules": "Stop when sure: is it, and what does it save?",
    "truth.branches": "Branches: the effect of one sentence",
    "coding": "Hand coding: do the intervals hold?",
    "detectors": "Reveals in labelled messages",
    "evolution_truth": "Prompt evolution: what it claims",
    "truth.planted": "Prompt evolution: what no seed says",
    "evolution_speed": "Prompt evolution: many calls at once",
    "simulations": "Two thousand simulations",
    "scale.running": "A million conversations, run",
    "scale.reading": "A million conversations, read",
    "app": "The terminal app",
    "journeys": "Journeys through the app",
}


def main(names: Iterable[str]) -> int:
    record: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    names = [_whole(name) for name in names]
    for name in names:
        print(f"== {PROOFS[name]} (python -m benchmarks.{name})", flush=True)
        started = time.monotonic()
        figures = []
        for figure in import_module(f"benchmarks.{name}").prove():
            print(
                f"   {'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:,.3f} {figure.unit}",
                flush=True,
            )
            figures.append(figure.as_json())
        record[name] = {
            "figures": figures,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "seconds": round(time.monotonic() - started),
        }
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        EVIDENCE.write_text(rendered(record))
    return 0 if all(figure["met"] for name in names for figure in record[name]["figures"]) else 1


def _whole(name: str) -> str:
    """`pace` is `limits.pace`."""
    return next((whole for whole in PROOFS if whole.rpartition(".")[2] == name), name)


def rendered(record: dict[str, Any]) -> str:
    lines = [
        "# Evidence",
        "",
        "What Tidepool promises and the test suite is too short to show, measured by `make prove` "
        "(one section: `make prove ONLY=engine`). Ratios are taken within one run on one machine: "
        f"{os.cpu_count()} cores, Python {platform.python_version()}.",
    ]
    for name, title in PROOFS.items():
        if name not in record:
            continue
        entry = record[name]
        lines += ["", f"## {title}", "", f"`python -m benchmarks.{name}` · {entry['date']} · {entry['seconds']} s", ""]
        lines += ["| promise | measured | promised | |", "| --- | --- | --- | --- |"]
        lines += [_row(figure) for figure in entry["figures"]]
    return "\n".join(lines) + "\n"


def _row(figure: dict[str, Any]) -> str:
    digits = 0 if figure["value"] >= 1000 else 3
    value = f"{figure['value']:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{figure['value']:,.0f}"
    sign = "≥" if figure["at_least"] else "≤"
    note = f" ({figure['note']})" if figure["note"] else ""
    verdict = "ok" if figure["met"] else "**missed**"
    return f"| {figure['name']}{note} | {value} {figure['unit']} | {sign} {figure['target']:,g} | {verdict} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(PROOFS)))
