"""`tidepool code` as its users have it: keys at a terminal, wrong ones, Ctrl+C; CSV; a clear word where there is none."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.studies import game, played_now
from tidepool.tui.command.main import main


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("coded") / "study.db"
    played_now(found, game(talks=12))
    return found


class Person:
    """At a terminal of 80 × 24."""

    def __init__(self, path: Path, *words: str) -> None:
        self._terminal, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tidepool", "--db", str(path), "code", "last", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "TIDEPOOL_STATE": str(path.parent)},
            start_new_session=True,
        )
        os.close(theirs)
        self._shown = ""

    def sees(self, words: str) -> str:
        """Waits for it; returns what was shown up to there, since the last time."""
        while words not in self._shown:
            try:
                self._shown += os.read(self._terminal, 4096).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                break
        assert words in self._shown, self._shown[-2000:]
        seen, _, self._shown = self._shown.partition(words)
        return seen

    def presses(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def interrupts(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def ends(self) -> int:
        code = self._process.wait(20)
        os.close(self._terminal)
        return code


def test_one_key_a_code_and_whatever_stops_it_nothing_is_lost(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    person = Person(path, "--coder", "ann", "--sample", "6")
    assert "secret: " in person.sees("q stop")
    for keys, shown in (
        ("y", "1 of 6"),
        ("k", "[unknown key]"),
        ("\x1b[A", "[unknown key]"),
        ("yyy", "[unknown key]"),
        ("N", "2 of 6"),
        ("u", "1 of 6"),
        ("?", "2 of 6"),
        ("s", "[skipped]"),
    ):
        person.presses(keys)
        seen = person.sees(shown)
        if "[" not in shown:
            person.sees("q stop")
        assert "exact" not in seen and "simulated" not in seen, "blinded"
    person.interrupts()
    person.sees("2 of 6 coded by ann. Continue: tidepool code")
    assert person.ends() == 130
    again = Person(path, "--coder", "ann")
    for place in range(2, 6):
        again.sees(f"{place} of 6")
        again.sees("q stop")
        again.presses("n")
    again.sees("6 of 6 coded, sample complete · u undo")
    for keys, shown in (
        ("u", "5 of 6"),
        ("n", "any other key ends"),
        ("q", "6 of 6 coded by ann. The sample is complete"),
    ):
        again.presses(keys)
        again.sees(shown)
    assert again.ends() == 0
    assert main(["--db", str(path), "code", "last", "--status", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["coding"]["sides"]
    assert told["coders"]["ann"] == {"coded": 6, "codes": {"no": 4, "unclear": 1, "yes": 1}}


def test_where_there_is_no_terminal_it_says_what_to_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", str(path), "code", "last"]) == 2
    assert "--export FILE.csv" in capsys.readouterr().err


def test_csv_out_and_in_status_and_errors_from_elsewhere(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sample.csv"
    words = ["--db", str(path), "code", "last", "--coder", "bob"]
    assert main([*words, "--export", str(file), "--sample", "6"]) == 0
    assert "6 sides, 0 of them coded by bob" in capsys.readouterr().out
    lines = file.read_text(encoding="utf-8-sig").replace(",,", ",no,", 1)
    file.write_text(lines)
    assert main([*words, "--export", str(file), "--redraw"]) == 2 and file.read_text() == lines
    assert "its codes would be lost" in capsys.readouterr().err
    assert main([*words, "--import", str(file)]) == 0
    assert capsys.readouterr().out.strip() == "Codes of bob: 1 new, 5 empty"
    assert main(["--db", str(path), "code", "last", "--status"]) == 0
    shown = capsys.readouterr().out
    assert "coded by hand" in shown and "bob" in shown and "instruments against the coders" in shown
    assert "coders: " in shown and "bob (1 coded)" in shown
    assert main(["--db", str(path), "stats", "last"]) == 0
    assert "coded by hand" in capsys.readouterr().out, "the report has it too"
