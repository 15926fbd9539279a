"""A study whose models are a program's on this machine, for tests and for the table of its kills."""

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.command import ROOT, Tidepool
from tests.support.state import query

STAND_IN = ROOT / "tests" / "support" / "run_batch.py"
CONVERSATIONS, MESSAGES = 12, 2
CALLS = CONVERSATIONS * MESSAGES


@dataclass(frozen=True, slots=True)
class Lab:
    """A study whose models are a program's, and the program's book."""

    folder: Path
    book: Path
    run: Tidepool

    @classmethod
    def within(cls, folder: Path) -> "Lab":
        (book := folder / "book").mkdir(parents=True)
        return cls(folder, book, Tidepool(folder, folder / "study.db"))

    @property
    def database(self) -> Path:
        return self.run.database

    def order(self, name: str, text: str = "") -> None:
        (self.book / name).write_text(text)

    def obey(self, name: str) -> None:
        (self.book / name).unlink(missing_ok=True)

    @property
    def starts(self) -> list[list[str]]:
        path = self.book / "starts"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def study(self, conversations: int = CONVERSATIONS, **section: Any) -> str:
        keys = "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in {"batch_command": self.command, **section}.items()
        )
        agents = "".join(
            f'[[agents]]\nname = "{name}"\nmodel = "lab:tiny"\nsecret = "{secret}"\n'
            for name, secret in (("Ada", "marigold"), ("Bob", "lantern"))
        )
        path = self.folder / "study.toml"
        path.write_text(
            f'[batch]\nkind = "secret_game"\n[service]\npoll_interval = 0.1\n[providers.lab]\nlike = "openai"\n{keys}'
            f"[secret_game]\nnum_interactions = {conversations}\nmessages_per_interaction = {MESSAGES}\n"
            f'detection = ["exact"]\n{agents}'
        )
        return str(path)

    @property
    def command(self) -> str:
        words = [sys.executable, str(STAND_IN), "-i", "{input}", "-o", "{output}", "--model", "{model}", "--book"]
        return shlex.join([*words, str(self.book)])

    def killed_at(self, moment: str) -> None:
        arguments = ["-m", "tests.support.killed", moment, "--db", str(self.database), "--run", self.study()]
        done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, timeout=60)
        assert done.returncode == -signal.SIGKILL, done.stderr

    def killed_while_a_job_runs(self, **section: Any) -> None:
        """The job stays, and waits for the order `hold` to go."""
        self.order("hold")
        with self.run.start("--run", self.study(**section)) as process:
            until(lambda: self.starts and self.open_jobs)
            process.kill()

    @property
    def open_jobs(self) -> bool:
        return bool(query(self.database, "SELECT 1 FROM provider_batch WHERE state = 'created'"))

    def summary(self, *arguments: str) -> dict[str, Any]:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        summary: dict[str, Any] = json.loads(done.stdout)
        return summary

    def log(self) -> str:
        return "\n".join(row[0] for row in query(self.database, "SELECT message FROM log_line"))


def until(condition: Any) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
