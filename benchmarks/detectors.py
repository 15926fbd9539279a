"""How well reveals are found on labelled messages of our own: by category, with intervals, certain and uncertain apart.

    python -m benchmarks.detectors

reads every file of cases, and writes the tables of docs/detectors.md and the figures a report cites
(engine/studies/secret_game/detectors/measured.py). The cases of a file named `…_held` were not looked at while the
detectors were built: theirs are the figures to believe.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.statistics.intervals import share_interval
from tidepool.engine.studies.secret_game.detectors import find_in_talk, is_revealed

ROOT = Path(__file__).parent.parent
CASES = ROOT / "tests" / "engine" / "studies" / "secret_game" / "detection_cases"
PAGE = ROOT / "docs" / "detectors.md"
FIGURES = ROOT / "engine" / "studies" / "secret_game" / "detectors" / "measured.py"
MARKS = ("<!-- tables: python -m benchmarks.detectors -->", "<!-- end of tables -->")
SENSITIVITY, FALSE_ALARMS = 0.90, 0.005
"""what is promised in scope"""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    secret: str
    messages: tuple[str, ...]
    label: str
    category: str
    in_scope: bool
    half: str

    @property
    def group(self) -> str:
        """reveal, none, uncertain, or beyond: what no detector of wording is to find"""
        return self.label if self.in_scope else "beyond"


@dataclass(slots=True)
class Count:
    cases: int = 0
    certain: int = 0
    uncertain: int = 0

    def take(self, verdict: str) -> None:
        self.cases += 1
        self.certain += verdict == "certain"
        self.uncertain += verdict == "uncertain"


Counts = Mapping[tuple[str, str], Count]
"""by group and category"""


def cases(folder: Path = CASES) -> list[Case]:
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        half = "held" if path.stem.endswith("held") else "open"
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            said, scope = tuple(one["messages"]), one.get("scope", True)
            found.append(Case(one["id"], one["secret"], said, one["label"], one["category"], scope, half))
    return found


def verdict(case: Case) -> str:
    hits = find_in_talk([(0, text) for text in case.messages], {0: case.secret})[0]
    return "certain" if is_revealed(hits) else "uncertain" if hits else "nothing"


def counted(judged: Iterable[tuple[Case, str]]) -> Counts:
    counts: dict[tuple[str, str], Count] = defaultdict(Count)
    for case, said in judged:
        counts[case.group, case.category].take(said)
    return counts


def total(counts: Counts, group: str) -> Count:
    found = [count for (of, _), count in counts.items() if of == group]
    return Count(*(sum(getattr(count, part) for count in found) for part in ("cases", "certain", "uncertain")))


# -- the page ---------------------------------------------------------------------------------------------

_TITLES = {
    "reveal": ("Reveals in scope", "found", "found, or uncertain"),
    "none": ("Everyday text that gives nothing", "false alarms", "false alarms, or uncertain"),
    "uncertain": ("Messages that could be either", "taken for a reveal", "taken for a reveal, or uncertain"),
    "beyond": ("Reveals by meaning, which are the judge's", "found", "found, or uncertain"),
}
_HALVES = {
    "held": "Cases that were not looked at while the detectors were built",
    "open": "Cases the detectors were built with",
}


def tables(judged: Sequence[tuple[Case, str]]) -> str:
    lines = []
    for half, title in _HALVES.items():
        counts = counted(one for one in judged if one[0].half == half)
        if counts:
            lines += [f"### {title}", "", *_table(counts)]
    return "\n".join(lines).rstrip("\n")


def _table(counts: Counts) -> Iterator[str]:
    for group, (title, certain, either) in _TITLES.items():
        rows = sorted((category, count) for (of, category), count in counts.items() if of == group)
        if not rows:
            continue
        yield f"| {title} | cases | {certain} | 95 % interval | {either} |"
        yield "| --- | --- | --- | --- | --- |"
        for category, count in [*rows, ("**all**", total(counts, group))]:
            yield _row(category.removeprefix("u_").replace("_", " "), count)
        yield ""


def _row(name: str, count: Count) -> str:
    low, high = share_interval(count.certain, count.cases)
    either = count.certain + count.uncertain
    interval = f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"| {name} | {count.cases} | {_share(count.certain, count.cases)} | {interval} | {_share(either, count.cases)} |"


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.1f} %)"


def with_tables(page: str, judged: Sequence[tuple[Case, str]]) -> str:
    start, end = MARKS
    return re.sub(
        f"{re.escape(start)}.*{re.escape(end)}",
        lambda _: f"{start}\n\n{tables(judged)}\n\n{end}",
        page,
        flags=re.DOTALL,
    )


# -- the figures for reports ------------------------------------------------------------------------------

_MODULE = '''"""How well the detectors do on our own labelled messages, for the methods of a report: docs/detectors.md has the tables.

Written by `python -m benchmarks.detectors`, never by hand.
"""

from typing import NamedTuple


class Measured(NamedTuple):
    """Of so many messages of a kind, those with a certain hit, and those with an uncertain one only."""

    cases: int
    certain: int
    uncertain: int


REVEALS: dict[str, Measured] = {reveals}
"""that give the secret in documented scope: certain hits are sensitivity; `held` was not seen while building"""
EVERYDAY: dict[str, Measured] = {everyday}
"""that give nothing: certain hits are false alarms"""
AMBIGUOUS: dict[str, Measured] = {ambiguous}
"""that could be either: they should be uncertain"""
REVEALS_BY_CATEGORY: dict[str, Measured] = {categories}
"""both halves together"""
'''


def figures(judged: Sequence[tuple[Case, str]]) -> str:
    halves = {half: counted(one for one in judged if one[0].half == half) for half in _HALVES}
    halves = {half: counts for half, counts in halves.items() if counts}
    whole = counted(judged)
    by_category = {category: count for (group, category), count in sorted(whole.items()) if group == "reveal"}
    return _MODULE.format(
        reveals=_literal({half: total(counts, "reveal") for half, counts in halves.items()}),
        everyday=_literal({half: total(counts, "none") for half, counts in halves.items()}),
        ambiguous=_literal({half: total(counts, "uncertain") for half, counts in halves.items()}),
        categories=_literal(by_category),
    )


def _literal(counts: Mapping[str, Count]) -> str:
    rows = (f'    "{name}": Measured({one.cases}, {one.certain}, {one.uncertain}),\n' for name, one in counts.items())
    return "{\n" + "".join(rows) + "}"


# -- the proof --------------------------------------------------------------------------------------------


def judged_cases() -> list[tuple[Case, str]]:
    return [(case, verdict(case)) for case in cases()]


def prove() -> Iterator[Measurement]:
    judged = judged_cases()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), judged), encoding="utf-8")
    FIGURES.write_text(figures(judged), encoding="utf-8")
    yield at_least("labelled messages", len(judged), "", 300)
    for half in dict.fromkeys(case.half for case, _ in judged):
        counts = counted(one for one in judged if one[0].half == half)
        reveals, everyday, either = (total(counts, group) for group in ("reveal", "none", "uncertain"))
        told = f"{reveals.certain} of {reveals.cases} in scope, {reveals.uncertain} uncertain"
        yield at_least(f"sensitivity, {half} half", 100 * reveals.certain / reveals.cases, "%", 100 * SENSITIVITY, told)
        told = f"{everyday.certain} of {everyday.cases} everyday messages, {everyday.uncertain} uncertain"
        alarms = 100 * everyday.certain / everyday.cases
        yield at_most(f"false alarms, {half} half", alarms, "%", 100 * FALSE_ALARMS, told)
        told = f"{either.uncertain} of {either.cases} uncertain"
        if either.cases:
            share = 100 * either.certain / either.cases
            yield at_most(f"ambiguous taken for certain, {half} half", share, "%", 10, told)
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
