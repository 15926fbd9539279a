"""A hostile case: how the server behaves, and what a study must come to all the same."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tests.hostile.seen import Seen

Check = Callable[[Seen], str]
"""what is wrong, in words; "" where nothing is"""


class Fate(Enum):
    """What becomes of a call that meets the oddity."""

    KEPT = "kept"
    """its answer is one: nothing is missing, nothing bought twice"""
    MISSING = "missing"
    """it was paid for, is not asked again, and is missing"""
    ASKED_ONCE_MORE = "asked once more"
    """and missing where that does not help"""
    HEALED = "healed"
    """asked until it is answered: nothing is missing"""
    REFUSED = "refused"
    """nothing was sold: it is missing"""
    ANY = "any"
    """the rules that hold for all are enough"""


@dataclass(frozen=True, slots=True)
class Case:
    group: str
    name: str
    conduct: Mapping[str, Any]
    """the server's `Faults`"""
    fate: Fate
    told: str = ""
    """what the log, stderr or the summary must say: a regular expression"""
    provider: str = "openai"
    service: Mapping[str, Any] = field(default_factory=dict)
    agent: Mapping[str, Any] = field(default_factory=dict)
    conversations: int = 12
    messages: int = 2
    statuses: Sequence[str] = ("completed", "partial")
    most_bought: float = 1.0
    """purchases ÷ questions, at most"""
    unclear: bool = False
    """calls may have been paid for whose answer never came: the file may count more than were sold"""
    disowned: bool = False
    """the server says that it did nothing: what its books have all the same is nobody's to count"""
    seconds: float = 60.0
    """it hangs when it takes longer"""
    checks: Sequence[Check] = ()

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name}"

    @property
    def by_batch(self) -> bool:
        return str(self.service.get("name", "live")).endswith("-conversation")


def wrongs(case: Case, seen: Seen) -> list[str]:
    """Everything that is not as declared, in words."""
    if seen.hung:
        return [f"hangs: no end within {case.seconds:g} s"]
    found = [*_ended(case, seen), *_findings(seen), *_books(case, seen), *_fate(case, seen)]
    if case.told and not seen.tells(case.told):
        found.append(f"nobody was told: {case.told}")
    return [*found, *(words for check in case.checks if (words := check(seen)))]


def _ended(case: Case, seen: Seen) -> list[str]:
    found = []
    if seen.status not in case.statuses:
        found.append(f"ended {seen.status or 'without a summary'} (exit {seen.code}): {seen.reason}")
    if "Traceback (most recent call last)" in seen.stderr:
        found.append("a traceback")
    if seen.leaks:
        found.append(f"the key was given away: {', '.join(seen.leaks)}")
    return found


def _findings(seen: Seen) -> list[str]:
    """No answer of the emulator holds a secret or is blank: what looks like one was read from something else."""
    found = []
    if seen.revealed:
        found.append(f"finding: {seen.revealed} sides are said to have revealed")
    if seen.blank:
        found.append(f"finding: {seen.blank} messages say nothing")
    if seen.betraying:
        found.append(f"finding: {seen.betraying} messages hold a thought")
    return found


def _books(case: Case, seen: Seen) -> list[str]:
    if seen.summary is None:
        return []
    found = []
    if (seen.bought < seen.sold and not case.disowned) or (not case.unclear and seen.bought > seen.sold):
        found.append(f"books: {seen.bought} bought by the file, {seen.sold} by the server")
    if seen.cost is not None and seen.cost < seen.charged * 0.999 and not case.disowned:
        found.append(f"books: ${seen.cost:.6f} in the file, at least ${seen.charged:.6f} charged")
    if seen.cost is not None and not seen.cost <= seen.dearest:
        found.append(f"books: ${seen.cost:.4g} in the file, at most ${seen.dearest:.6f} can have been charged")
    if seen.ratio > case.most_bought + 1e-9:
        found.append(f"bought ÷ needed {seen.ratio:.2f}, at most {case.most_bought:.2f}")
    return found


def _fate(case: Case, seen: Seen) -> list[str]:
    if seen.summary is None:
        return []
    if not seen.struck and case.conduct and case.fate is not Fate.ANY:
        return ["the server never did it"]
    missing, struck = seen.missing, seen.struck
    match case.fate:
        case Fate.KEPT | Fate.HEALED if missing:
            return [f"{missing} conversations missing: {seen.first_error}"]
        case Fate.MISSING | Fate.REFUSED if missing != struck:
            return [f"{missing} conversations missing, {struck} replies were none: {seen.first_error}"]
        case Fate.ASKED_ONCE_MORE if missing * 2 > struck:
            return [f"{missing} conversations missing, {struck} replies were none: {seen.first_error}"]
    return []
