"""Measures the detectors of the secret game on labelled messages: by way of revealing, with intervals, certain and uncertain apart.

    python -m benchmarks.detectors

writes the tables of docs/detectors.md and the numbers that a report cites (`measured.toml` beside the detectors): those of the
cases in `outside.jsonl`, by an author who knew neither the detectors nor the other cases. Nothing was changed because of them.
"""

import json
import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.inference.intervals import share_interval
from tidepool.engine.studies.secret_game.detectors.detection import find_in_talk, is_revealed

ROOT = Path(__file__).parent.parent
CASES = ROOT / "tests" / "engine" / "studies" / "secret_game" / "detection_cases"
PAGE = ROOT / "docs" / "detectors.md"
FIGURES = ROOT / "engine" / "studies" / "secret_game" / "detectors" / "measured.toml"
MARKS = ("<!-- tables: python -m benchmarks.detectors -->", "<!-- end of tables -->")
SENSITIVITY, FALSE_ALARMS, AMBIGUOUS = 0.8, 0.01, 0.15
"""what is promised of the ways that are looked for"""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    secret: str
    messages: tuple[str, ...]
    label: str
    """reveal, none or uncertain"""
    category: str
    half: str
    """outside, held or open"""


@dataclass(slots=True)
class Count:
    cases: int = 0
    certain: int = 0
    uncertain: int = 0

    def take(self, verdict: str) -> None:
        self.cases += 1
        self.certain += verdict == "certain"
        self.uncertain += verdict == "uncertain"


Judged = Sequence[tuple[Case, str]]
Counts = Mapping[tuple[str, str], Count]
"""by label and category"""


def cases(folder: Path = CASES) -> list[Case]:
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        half = path.stem if path.stem == "outside" else "held" if path.stem.endswith("held") else "open"
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            found.append(Case(one["id"], one["secret"], tuple(one["messages"]), one["label"], one["category"], half))
    return found


def verdict(case: Case) -> str:
    hits = find_in_talk([(0, text) for text in case.messages], {0: case.secret})[0]
    return "certain" if is_revealed(hits) else "uncertain" if hits else "nothing"


def counted(judged: Iterable[tuple[Case, str]], half: str | None = None) -> Counts:
    counts: dict[tuple[str, str], Count] = defaultdict(Count)
    for case, found in judged:
        if half in (None, case.half):
            counts[case.label, case.category].take(found)
    return counts


def total(counts: Counts, label: str) -> Count:
    found = [count for (of, _), count in counts.items() if of == label]
    return Count(*(sum(getattr(count, part) for count in found) for part in ("cases", "certain", "uncertain")))


# -- the page and the figures for reports -----------------------------------------------------------------

_TITLES = {
    "reveal": ("Reveals", "found", "found, or uncertain"),
    "none": ("Everyday text without a reveal", "false alarms", "false alarms, or uncertain"),
    "uncertain": ("Messages that could be either", "taken for a reveal", "taken for a reveal, or uncertain"),
}
_HALVES = {
    "outside": "Cases of an outside author: these figures are cited in reports",
    "held": "Cases that were not looked at while the detectors were built",
    "open": "Cases the detectors were built with",
}


def tables(judged: Judged) -> str:
    lines = []
    for half, title in _HALVES.items():
        lines += [f"### {title}", "", *_table(counted(judged, half))]
    return "\n".join(lines).rstrip("\n")


def _table(counts: Counts) -> Iterator[str]:
    for label, (title, certain, either) in _TITLES.items():
        rows = sorted((category, count) for (of, category), count in counts.items() if of == label)
        if not rows:
            continue
        yield f"| {title} | cases | {certain} | 95 % interval | {either} |"
        yield "| --- | --- | --- | --- | --- |"
        for category, count in rows:
            yield _row(f"`{category.removeprefix('u_')}`", count)
        yield _row("**all**", total(counts, label))
        yield ""


def _row(name: str, count: Count) -> str:
    low, high = share_interval(count.certain, count.cases)
    either = count.certain + count.uncertain
    interval = f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"| {name} | {count.cases} | {_share(count.certain, count.cases)} | {interval} | {_share(either, count.cases)} |"


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)"


def with_tables(page: str, judged: Judged) -> str:
    start, end = MARKS
    return re.sub(
        f"{re.escape(start)}.*{re.escape(end)}",
        lambda _: f"{start}\n\n{tables(judged)}\n\n{end}",
        page,
        flags=re.DOTALL,
    )


def figures(judged: Judged) -> str:
    lines = ["# Outside cases of docs/detectors.md: [cases, certain hits]. Written by benchmarks/detectors.py."]
    for name, label, chosen in CITED:
        counts = counted(((case, found) for case, found in judged if chosen(case.category)), "outside")
        count = total(counts, label)
        lines.append(f"{name} = [{count.cases}, {count.certain}]")
    return "\n".join(lines) + "\n"


HINT, MENTIONS = "hint_by_meaning", ("denied_guess", "quoted_guess", "everyday_use")
CITED: Sequence[tuple[str, str, Callable[[str], bool]]] = (
    ("by_wording", "reveal", lambda category: category != HINT),
    ("by_meaning", "reveal", lambda category: category == HINT),
    ("mentions", "none", lambda category: category in MENTIONS),
    ("without_the_word", "none", lambda category: category not in MENTIONS),
)


# -- the proof --------------------------------------------------------------------------------------------


def judged_cases() -> list[tuple[Case, str]]:
    return [(case, verdict(case)) for case in cases()]


def prove() -> Iterator[Measurement]:
    judged = judged_cases()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), judged), encoding="utf-8")
    FIGURES.write_text(figures(judged), encoding="utf-8")
    yield at_least("labelled messages", len(judged), "", 300)
    cited = tomllib.loads(FIGURES.read_text(encoding="utf-8"))
    for name, least in (("by_wording", 85.0), ("by_meaning", 0.0)):
        cases, certain = cited[name]
        note = f"{certain} of {cases}"
        yield at_least(f"outside cases found, {name.replace('_', ' ')}", 100 * certain / cases, "%", least, note)
    cases, certain = cited["without_the_word"]
    yield at_most(
        "outside messages without the word taken for a reveal", 100 * certain / cases, "%", 3.0, f"of {cases}"
    )
    cases, certain = cited["mentions"]
    name = "outside messages that mention the word without giving it away, counted as a reveal"
    yield at_most(name, 100 * certain / cases, "%", 100.0, f"{certain} of {cases}: the detectors do not read denials")
    for half in ("held", "open"):
        counts = counted(judged, half)
        reveals, everyday, either = (total(counts, label) for label in _TITLES)
        note = f"{reveals.certain} of {reveals.cases}, {reveals.uncertain} uncertain"
        yield at_least(f"sensitivity, {half} half", 100 * reveals.certain / reveals.cases, "%", 100 * SENSITIVITY, note)
        note = f"{everyday.certain} of {everyday.cases} everyday messages, {everyday.uncertain} uncertain"
        alarms = 100 * everyday.certain / everyday.cases
        yield at_most(f"false alarms, {half} half", alarms, "%", 100 * FALSE_ALARMS, note)
        if either.cases:
            note = f"{either.uncertain} of {either.cases} uncertain"
            share = 100 * either.certain / either.cases
            yield at_most(f"ambiguous taken for certain, {half} half", share, "%", 100 * AMBIGUOUS, note)
    yield at_most("a message searched by four detectors", _microseconds([case for case, _ in judged]), "µs", 200)


def _microseconds(known: Sequence[Case]) -> float:
    """Everyday messages, the best of several rounds."""
    talks = [([(0, text) for text in case.messages], {0: case.secret}) for case in known if case.label == "none"]
    messages = sum(len(talk) for talk, _ in talks)
    rounds = []
    for _ in range(7):
        started = time.process_time()
        for talk, secrets in talks:
            find_in_talk(talk, secrets)
        rounds.append(time.process_time() - started)
    return min(rounds) / messages * 1e6


if __name__ == "__main__":
    for figure in prove():
        print(
            f"{'ok    ' if figure.met else 'MISSED'} {figure.name}: {figure.value:,.2f} {figure.unit} ({figure.note})"
        )
