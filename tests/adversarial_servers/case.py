"""A server that misbehaves in one way, and what a study must come to all the same.

Each case runs through the command against an emulator of its own. What came of it is read as the command printed it, as the file
holds it and as the server's own books have it.
"""

import asyncio
import json
import os
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from tests.emulator import Emulator, Faults
from tests.emulator.books import Purchase
from tests.emulator.malformed_replies import WORDS
from tests.support import warm
from tests.support.command import ROOT
from tests.support.state import query

SECRETS = ("marigold", "lantern")
"""what the agents keep; the emulator's thoughts hold both, its answers neither"""
MILLION = 1_000_000
PRICES = {"openai": (0.15, 0.60), "anthropic": (0.10, 0.50), "ollama": (0.0, 0.0)}
"""dollars for a million tokens of the models that are asked, input and output"""
DEAREST = 0.01
"""dollars that no single call of these studies can cost: 300 tokens of reply, a prompt of a page"""


@dataclass(slots=True)
class Seen:
    provider: str
    alike: bool
    """no seed is sent, so that questions cannot be told apart: the calls of the study are counted in their place"""
    code: int | None
    """None: it had to be ended"""
    summary: dict[str, Any] | None
    stderr: str
    log: list[str]
    messages: list[dict[str, Any]]
    units: list[dict[str, Any]]
    outcomes: list[dict[str, Any]]
    purchases: list[Purchase]
    traffic: Counter[str]
    words: tuple[str, ...]
    """the oddities that the server was to show"""
    strayed: list[Mapping[str, str]]
    leaks: list[str]
    seconds: float
    wrongs: list[str] = field(default_factory=list)

    @property
    def hung(self) -> bool:
        return self.code is None

    @property
    def status(self) -> str:
        return str(self.summary["status"]) if self.summary else ""

    @property
    def reason(self) -> str:
        told = (self.summary or {}).get("reason") or self.stderr[-300:]
        return str(told).replace("\n", " ")

    def tells(self, pattern: str) -> bool:
        return any(re.search(pattern, text, re.IGNORECASE) for text in (*self.log, self.stderr, *self.errors))

    @property
    def errors(self) -> list[str]:
        return [unit["error"] for unit in self.units if unit["error"]]

    @property
    def first_error(self) -> str:
        return next(iter(self.errors), "")

    # findings

    @property
    def missing(self) -> int:
        return sum(unit["status"] != "completed" for unit in self.units)

    @property
    def kept(self) -> float:
        return 1 - self.missing / len(self.units) if self.units else 0.0

    @property
    def revealed(self) -> int:
        return sum(bool(side["revealed"]) for side in self.outcomes)

    @property
    def blank(self) -> int:
        return sum(not (message["content"] or "").strip() for message in self.messages)

    @property
    def betraying(self) -> int:
        return sum(any(secret in (message["content"] or "") for secret in SECRETS) for message in self.messages)

    # books

    @property
    def struck(self) -> int:
        """How often the server was odd."""
        return sum(count for name, count in self.traffic.items() if name.partition(":")[2] in self.words)

    @property
    def sold(self) -> int:
        return len(self.purchases)

    @property
    def bought(self) -> int:
        return int(self.summary["calls"]["bought"]) if self.summary else 0

    @property
    def cost(self) -> float | None:
        return self.summary["cost_usd"] if self.summary else None

    @property
    def ratio(self) -> float:
        """Purchases ÷ questions, by the server's books."""
        asked = len({(purchase.model, purchase.content) for purchase in self.purchases})
        if self.alike and self.summary:
            asked = self.summary["calls"]["total"]
        return self.sold / asked if asked else 1.0

    @property
    def charged(self) -> float:
        """What the server would charge, by the tokens it has counted itself."""
        price_in, price_out = PRICES[self.provider]
        return sum(
            (price_in * one.input_tokens + price_out * one.output_tokens)
            / MILLION
            * (0.5 if one.transport == "batch" else 1.0)
            for one in self.purchases
        )

    @property
    def dearest(self) -> float:
        return DEAREST * max(1, self.bought)


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


KEY = "sk-hostile-0123456789-never-to-be-seen"
MODELS = {"openai": "gpt4o_mini", "anthropic": "claude_haiku", "ollama": "ollama:llama3.2"}
LIVE = {"name": "live", "max_concurrent": 12, "retries": 6, "timeout": 10.0, "poll_interval": 0.1, "cache": False}
PATIENCE = 10.0
MESSAGES = "SELECT content, thought, finish_reason, served_model, output_tokens, cost_usd, source FROM messages"


async def played(case: Case) -> Seen:
    """What the case came to, with everything that is not as declared."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as place:
        folder = Path(place)
        async with Emulator(**{case.provider: Faults(**case.conduct)}) as emulator:
            started = time.monotonic()
            done = await asyncio.to_thread(_command, case, folder, emulator.env())
            seen = _read(case, folder, emulator, done, time.monotonic() - started)
    seen.wrongs = wrongs(case, seen)
    return seen


def _command(case: Case, folder: Path, places: dict[str, str]) -> "subprocess.CompletedProcess[str] | None":
    keys = {name: KEY for name in places if name.endswith("_KEY")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    own = {"PYTHONPATH": str(ROOT), "TIDEPOOL_STATE": str(folder / "state"), "TIDEPOOL_SELLER": str(folder / "seller")}
    (folder / "study.toml").write_text(written(case))
    arguments = ["--db", str(folder / "study.db"), "--run", "study.toml", "--json"]
    try:
        return warm.run(arguments, folder, {**kept, **places, **keys, **own}, case.seconds)
    except subprocess.TimeoutExpired:
        return None


def written(case: Case) -> str:
    """The config of a case, as a user would write it."""
    service = {**LIVE, "outage_patience": PATIENCE, **case.service}
    agents = "".join(
        _table("[agents]", {"name": name, "model": MODELS[case.provider], "secret": secret, **case.agent})
        for name, secret in zip(("Ada", "Bob"), SECRETS, strict=True)
    )
    game = {"num_interactions": case.conversations, "messages_per_interaction": case.messages, "detection": ["exact"]}
    return _table("batch", {"kind": "secret_game"}) + _table("service", service) + _table("secret_game", game) + agents


def _table(name: str, values: dict[str, Any]) -> str:
    """JSON's words for texts, numbers, lists and truth are TOML's too."""
    return f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def _read(
    case: Case, folder: Path, emulator: Emulator, done: "subprocess.CompletedProcess[str] | None", seconds: float
) -> Seen:
    database = folder / "study.db"
    return Seen(
        provider=case.provider,
        alike=case.provider == "anthropic" or "seed" in case.conduct.get("refused_settings", ()),
        code=done.returncode if done else None,
        summary=_summary(done.stdout) if done else None,
        stderr=done.stderr if done else "",
        log=[row["message"] for row in _rows(database, "SELECT message FROM log ORDER BY at")],
        messages=_rows(database, MESSAGES),
        units=_rows(database, "SELECT status, error FROM conversations ORDER BY sequence_number"),
        outcomes=_rows(database, "SELECT agent, revealed FROM outcomes"),
        purchases=list(emulator.purchases),
        traffic=emulator.traffic(case.provider),
        words=_words(case),
        strayed=emulator.strayed,
        leaks=[path.name for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        + ([] if done is None or KEY not in done.stdout + done.stderr else ["output"]),
        seconds=seconds,
    )


def _summary(stdout: str) -> dict[str, Any] | None:
    try:
        summary: dict[str, Any] = json.loads(stdout)
    except ValueError:
        return None
    return summary if "status" in summary else None


def _rows(database: Path, statement: str) -> list[dict[str, Any]]:
    if not database.exists():
        return []
    names = statement.partition("SELECT ")[2].partition(" FROM ")[0].split(", ")
    return [dict(zip(names, row, strict=True)) for row in query(database, statement)]


def _words(case: Case) -> tuple[str, ...]:
    """The oddities a case is about, as the emulator counts them."""
    rates, script = case.conduct.get("rates", {}), case.conduct.get("script", {})
    said = {word for words in (*rates.values(), *script.values()) for word in words}
    return tuple(word for word in said if word.partition(":")[0] in WORDS) or tuple(said)


__all__ = ["KEY", "played", "written"]
