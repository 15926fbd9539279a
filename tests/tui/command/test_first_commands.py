"""The first hour: a file opened by its name, a study run, examples, a config to start from, completion, words for slips."""

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.command import ROOT, Tidepool
from tests.tui.studies import game, played_now
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.registries import KINDS
from tidepool.tui.command.commands.start import copied, examples, starting_config
from tidepool.tui.command.main import COMMANDS, main

TWO_TALKS = ("--set", "secret_game.num_interactions=2")


# -- tidepool FILE.db ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("exprt", "Did you mean 'export'?"),
        ("lst", "Did you mean 'list'?"),
        ("nonsense-xyz", "tidepool --help"),
        ("study.toml", "tidepool run study.toml"),
        ("other.db#last", "tidepool run other.db#last"),
        (".", "is a folder"),
    ],
)
def test_a_word_that_is_neither_a_command_nor_a_study_file_is_told_what_to_write(
    word: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    told = capsys.readouterr().err
    assert words in told and "usage:" not in told


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_ends_with_two_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    examples = capsys.readouterr().out.partition("examples:")[2].strip().splitlines()
    assert len(examples) >= 2 and all(line.strip().startswith(f"tidepool {name}") for line in examples)


def test_one_study_file_is_named_once(tidepool: Tidepool) -> None:
    for arguments in (["other.db"], ["--run", "x.toml", "other.db"]):
        done = tidepool(*arguments)
        assert done.returncode == 2 and "two study files" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["show"], "`last` is the newest"), (["run", "x.toml", "--budget", "3"], "--set KEY=VALUE")],
)
def test_what_argparse_says_comes_with_a_cure(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err


def test_the_app_opens_on_the_file_that_is_named(tmp_path: Path) -> None:
    """In a terminal of its own; `q` ends it."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "tidepool", "named.db"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=follower, stdout=follower, stderr=follower, close_fds=True
    ) as app:
        os.close(follower)
        drawn = b""
        while b"\x1b[?1049h" not in drawn:  # the other screen of the terminal: the app is there
            drawn += os.read(leader, 4096)
        app.terminate()
        try:
            while os.read(leader, 4096):
                pass
        except OSError:
            pass
    os.close(leader)
    assert (tmp_path / "named.db").exists() and not (tmp_path / "tidepool.db").exists()


def test_without_a_terminal_there_is_no_app(tidepool: Tidepool) -> None:
    done = tidepool()
    assert done.returncode == 2 and "needs a terminal" in done.stderr and "tidepool run" in done.stderr
    assert not tidepool.database.exists()


# -- tidepool run --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("--run", "x.toml", "list"),
        ("--resume", "last", "list"),
        ("--run", "x.toml", "run", "y.toml"),
        ("--dry-run", "list"),
        ("--set", "batch.seed=1", "show", "last"),
        ("--on-stop", "cancel", "list"),
    ],
    ids=" ".join,
)
def test_an_option_that_a_command_would_ignore_is_refused(tidepool: Tidepool, arguments: tuple[str, ...]) -> None:
    done = tidepool(*arguments)
    assert done.returncode == 2 and arguments[0] in done.stderr and "has no effect before the command" in done.stderr


def test_what_is_perhaps_not_meant_is_a_warning_of_a_plan_and_of_a_run(tidepool: Tidepool, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    sound = (ROOT / "examples" / "secret_game.toml").read_text()
    study.write_text(sound.replace("simulated:guarded", "simulated:gaurded"))
    words = "no simulated persona is named 'gaurded'"
    for command in ("plan", "run"):
        done = tidepool(command, "study.toml", *TWO_TALKS)
        assert done.returncode == 0 and "warning: " in done.stderr and words in done.stderr
    assert words in tidepool.json("run", "study.toml", "--dry-run")["warnings"][0]


# -- tidepool new --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS.builtin)
def test_a_new_config_is_a_study_that_needs_no_network_and_each_line_can_be_uncommented(
    kind: str, database: Path
) -> None:
    text = starting_config(kind)
    assert freeze(config_from(tomllib.loads(text), folder=ROOT), database).batch.kind == kind
    behind = re.findall(r"(?m)^# ([a-z_]+ = .*)$", text)
    assert len(behind) > 10 and "simulated:" in text
    for line in behind:
        config_from(tomllib.loads(text.replace(f"\n# {line}\n", f"\n{line}\n")), folder=ROOT)


def test_new_writes_a_file_that_runs_and_never_over_another(tidepool: Tidepool, tmp_path: Path) -> None:
    done = tidepool("new", "secret_game")
    assert done.returncode == 0 and "Next: tidepool run secret_game.toml" in done.stdout
    assert tidepool.json("run", "secret_game.toml", *TWO_TALKS)["status"] == "completed"
    again = tidepool("new", "secret_game")
    assert again.returncode == 2 and "already exists" in again.stderr
    assert tidepool("new", "secret_game", "-o", "-").stdout == (tmp_path / "secret_game.toml").read_text()


# -- tidepool examples ---------------------------------------------------------------------------------------


def test_examples_are_listed_each_with_a_sentence(tidepool: Tidepool) -> None:
    listed = {one["name"]: one["about"] for one in tidepool.json("examples")}
    assert set(listed) == {path.stem for path in (ROOT / "examples").glob("*.toml")} | {"debate"}
    assert all(about.endswith((".", "?")) and len(about) > 20 for about in listed.values()), listed
    assert "tidepool run NAME.toml" in tidepool("examples").stdout


@pytest.mark.parametrize("name", examples())
def test_an_example_that_was_copied_out_has_all_that_it_names(name: str, tmp_path: Path) -> None:
    written = copied(examples()[name], tmp_path / "mine.toml")
    assert written[0] == tmp_path / "mine.toml"
    config = load_config(written[0])
    if config.design is None:
        freeze(config, tmp_path / "none.db")


def test_an_example_is_copied_and_nothing_is_written_over(tidepool: Tidepool, tmp_path: Path) -> None:
    done = tidepool("examples", "evolution_scorer", "-o", "mine/study.toml")
    assert done.stdout.split()[:2] == ["mine/study.toml", "mine/scorer.py"]
    again = tidepool("examples", "evolution_scorer", "-o", "mine")
    assert again.returncode == 2 and "mine/scorer.py already exists" in again.stderr
    assert tidepool("examples", "debate").stdout.split()[0] == "debate.py"
    assert "--set debate.motion=…" in tidepool("run", "debate.py").stderr
    assert tidepool.json("run", "debate.py", "--set", "motion=Tea")["status"] == "completed"
    assert "did you mean 'secret_game'?" in tidepool("examples", "secret_gam").stderr


# -- tidepool completion -------------------------------------------------------------------------------------


def test_bash_completes_commands_and_their_options(tidepool: Tidepool, tmp_path: Path) -> None:
    script = tidepool("completion", "bash").stdout
    assert [name for name in COMMANDS if name not in script] == []
    (tmp_path / "completion.sh").write_text(script)
    program = 'source completion.sh; COMP_WORDS=(tidepool {}); COMP_CWORD={}; _shtab_tidepool; echo "${{COMPREPLY[@]}}"'

    def completed(*words: str) -> list[str]:
        command = ["bash", "-c", program.format(" ".join(words), len(words))]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()

    assert completed("exa") == ["examples"]
    assert completed("export", "--for") == ["--format"]


# -- export -o NAME.json -------------------------------------------------------------------------------------


def test_an_export_to_a_json_file_is_one_file_with_the_analysis(tidepool: Tidepool, tmp_path: Path) -> None:
    played_now(tidepool.database, game(talks=2))
    assert tidepool("export", "last", "-o", "ex.json").stdout.split() == ["ex.json"]
    assert tidepool("export", "last", "-o", "folder").returncode == 0
    (folder,) = (tmp_path / "folder").iterdir()
    whole = json.loads((tmp_path / "ex.json").read_text())
    assert whole.pop("analysis") == json.loads((folder / "analysis.json").read_text())
    assert whole == json.loads((folder / "results.json").read_text())
