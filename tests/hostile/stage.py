"""Runs a hostile case through the command, against an emulator of its own, and reads what came of it."""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.emulator import Emulator, Faults
from tests.emulator.malformed_replies import WORDS
from tests.hostile.case import Case, wrongs
from tests.hostile.seen import SECRETS, Seen
from tests.support import warm
from tests.support.command import ROOT
from tests.support.state import query

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
