"""A study of one's own is a class in a Python file: the example, run by command, config and program."""

import csv
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from textual.widgets import Input

from tests.support.command import ROOT, Tidepool
from tests.support.killing import wait_for_calls
from tests.support.state import end_state, query
from tests.tui.persons import batch_status, opened, until, until_seen
from tidepool import UsageError, load_config, run_batch
from tidepool.engine.answers import fits, form_of, read_answer, sent_schema
from tidepool.engine.branching.making import BranchSpec, new_branch
from tidepool.engine.config.loading import config_from
from tidepool.engine.results.summary import read_summary
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.widgets.form_fields import FieldRow

SOURCE = (ROOT / "examples" / "debate.py").read_text(encoding="utf-8")
CONFIG = '[batch]\nkind = "debate.py:Debate"\n[debate]\nmotion = "Tea"\n'
SHORT = ("--set", "motion=Tea", "--set", "rounds=1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "debate.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "study.toml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def measured(database: Path) -> list[tuple[Any, ...]]:
    return query(database, "SELECT unit, participant, measure, value FROM measures ORDER BY 1, 2")


def test_the_example_is_as_short_as_promised() -> None:
    assert len(SOURCE.splitlines()) <= 40


async def test_a_study_runs_the_same_by_file_and_by_config_and_by_program(folder: Path) -> None:
    by_file = await run_batch(load_config(folder / "debate.py", ["motion=Tea"]), folder / "file.db")
    by_config = await run_batch(load_config(folder / "study.toml"), folder / "config.db")
    namespace: dict[str, Any] = {"__name__": "tidepool"}
    exec(compile(SOURCE, "debate.py", "exec"), namespace)
    with pytest.raises(UsageError, match="motion is missing"):
        namespace["Debate"]()
    assert measured(folder / "file.db") == measured(folder / "config.db") and len(measured(folder / "file.db")) == 40
    found = by_file["statistics"]["measures"]["won of Ada"]
    assert by_config["statistics"] == by_file["statistics"] and found["units"] == 20
    assert found["ci95"][0] < found["mean"] < found["ci95"][1]


def test_a_config_of_another_person_never_runs_a_file_that_the_user_has_not_chosen(folder: Path) -> None:
    marker = folder / "ran"
    (folder / "debate.py").write_text(
        f"import pathlib\npathlib.Path({str(marker)!r}).touch()\n{SOURCE}", encoding="utf-8"
    )
    with pytest.raises(UsageError, match="allow it once with `tidepool plan"):
        load_config(folder / "study.toml")
    with pytest.raises(UsageError, match="allow it once"):
        config_from({"batch": {"kind": "debate.py:Debate"}}, folder=folder)
    assert not marker.exists()
    load_config(folder / "debate.py", ["motion=Tea"])
    assert load_config(folder / "study.toml").settings.model_dump()["motion"] == "Tea" and marker.exists()


@pytest.mark.slow
def test_killed_and_resumed_it_comes_to_the_same_and_a_changed_file_is_refused(folder: Path) -> None:
    whole = Tidepool(folder, folder / "whole.db")
    assert whole("run", "debate.py", *SHORT).returncode == 0
    command = Tidepool(folder, folder / "study.db")
    slow = ("--set", "service.name=live", "--set", "providers.simulated.latency=0.1")
    with command.start("run", "debate.py", *SHORT, *slow) as process:
        wait_for_calls(command.database, 10, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    (folder / "debate.py").write_text(f"# changed\n{SOURCE}", encoding="utf-8")
    refused = command("resume", "last").stderr
    assert "needs debate.py as it was" in refused and "debate.py has changed since" in refused
    (folder / "debate.py").write_text(SOURCE, encoding="utf-8")
    assert command.json("resume", "last", "--set", "providers.simulated.latency=0.0")["status"] == "completed"
    assert measured(command.database) == measured(whole.database)
    ends = [end_state(one.database, query(one.database, "SELECT id FROM batch")[0][0]) for one in (command, whole)]
    assert ends[0] == ends[1]


async def test_its_results_are_read_without_the_file_and_its_conversations_are_branched(folder: Path) -> None:
    database = folder / "study.db"
    summary = await run_batch(load_config(folder / "debate.py", ["motion=Tea", "rounds=1"]), database)
    branch = new_branch(database, BranchSpec("last", at="1", say="I agree.", conversations=(1,), times=3))
    assert branch.branch.origin.units == 6
    (folder / "debate.py").unlink()
    assert read_summary("last", database)["statistics"] == summary["statistics"]
    stored = json.loads(query(database, "SELECT config FROM batch")[0][0])["debate"]
    assert stored["source"] == SOURCE and stored["models"] == {"judge": "simulated:judge"}
    speakers = query(folder / "study.db", "SELECT speaker, count(*) FROM messages GROUP BY 1 ORDER BY 1")
    assert [name for name, _ in speakers] == ["Ada", "Bob", "judge"] and speakers[2][1] == 20


def test_a_failed_unit_has_missing_measures_until_a_resume(folder: Path) -> None:
    tidepool = Tidepool(folder, folder / "study.db")
    tidepool("run", "debate.py", *SHORT, "--set", "providers.simulated.fatal_rate=0.1")
    failed = query(tidepool.database, "SELECT count(*) FROM unit WHERE status = 'failed'")[0][0]
    assert 0 < failed < 20
    assert tidepool.json("show", "last")["statistics"]["measures"]["won of Ada"]["missing"] == failed
    tidepool("resume", "last", "--set", "providers.simulated.fatal_rate=0")
    assert tidepool.json("show", "last")["statistics"]["measures"]["won of Ada"]["missing"] == 0


def test_an_exported_config_asks_before_it_runs_the_file_and_a_published_folder_has_it(folder: Path) -> None:
    tidepool = Tidepool(folder, folder / "study.db")
    tidepool("run", "debate.py", *SHORT)
    assert tidepool("resume", "last", "--dry-run").returncode == 0
    assert tidepool("publish", "last", "-o", "published").returncode == 0
    assert (folder / "published" / "debate.py").read_text(encoding="utf-8") == SOURCE
    asked = tidepool("run", "published/config.toml")
    assert asked.returncode == 2 and "which you have not run before" in asked.stderr
    assert tidepool("plan", "published/debate.py", *SHORT).returncode == 0
    again = tidepool.json("run", "published/config.toml")
    assert again["statistics"] == tidepool.json("show", "last~1")["statistics"]


def test_its_first_measure_is_coded_by_hand(folder: Path) -> None:
    tidepool = Tidepool(folder, folder / "study.db")
    tidepool("run", "debate.py", *SHORT)
    assert tidepool("code", "last", "--export", "sample.csv").returncode == 0
    with (folder / "sample.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["question"] == "debates won?" and rows[0]["about"] in ("Ada", "Bob")
    codes = "".join(f"{row['key']},{'yes' if row['about'] == 'Ada' else 'no'}\n" for row in rows)
    (folder / "codes.csv").write_text(f"key,code\n{codes}")
    assert "20 new" in tidepool("code", "last", "--import", "codes.csv", "--coder", "Ann").stdout
    assert "rates, raw and corrected" in tidepool("stats", "last", "coding").stdout


async def test_a_stop_rule_watches_one_of_its_measures(folder: Path) -> None:
    (folder / "debate.py").write_text(SOURCE.replace("repeats=20", "repeats=300"), encoding="utf-8")
    rule = ["stop.decided=true", "stop.line=0.2"]
    summary = await run_batch(
        load_config(folder / "debate.py", ["motion=Tea", "rounds=1", 'stop.outcome="won of Ada"', *rule]),
        folder / "study.db",
    )
    stopping = summary["statistics"]["stopping"]
    assert stopping["verdict"] == "above" and stopping["stopped_at"] < 300 and stopping["interval"][0] > 0.2
    with pytest.raises(UsageError, match="Use one of won of Ada, won of Bob"):
        await run_batch(load_config(folder / "debate.py", ["motion=Tea", 'stop.outcome="x"', *rule]), folder / "x.db")


BROKEN = {
    "transcript.append(reply)": ("int(reply.text)", "line 23: ValueError"),
    "reply = await unit.ask(": (
        "asked = tp.gather(unit.ask(self.judge), unit.ask(self.judge))\n            reply = (await asked)[0] or unit.ask(",
        "in flight",
    ),
    "class Debate(": ("class Other(", "has no study Debate"),
    "import tidepool as tp": ("import tidepool as tp\n1 / 0", "line 4: ZeroDivisionError"),
    "measure(won=": ("measure(wun=", "line 27: play() measures 'wun', which is not in `measures`. Did you mean 'won'?"),
    ", of=agent)": (")", "The measure 'won' needs unit.measure(…, of=agent)"),
    "ask(self.judge": ('ask("openai:gpt-4o-mini"', "no agent or setting names this model"),
    "verdict.answer == agent.name": ("0.5", "this measure is true or false"),
    "agent.name, of=agent)": ('agent.name, of="Carl")', "of='Carl', who is not in this unit"),
    "answer=names": ("answer=[]", "answer=[] is no form"),
    'system="Who': ('step="1", system="Who', "two requests with step='1'"),
    "reply = await": ("reply =", "Is `await` missing?"),
    '"Bob", "simulated:trusting"': ('"Bob"', "line 12: Agent: model is missing."),
}


@pytest.mark.parametrize("old", BROKEN)
def test_a_mistake_in_the_file_is_told_with_its_place(old: str, folder: Path) -> None:
    new, told = BROKEN[old]
    (folder / "debate.py").write_text(SOURCE.replace(old, new), encoding="utf-8")
    done = Tidepool(folder, folder / "study.db")("plan", "debate.py:Debate", "--set", "motion=Tea")
    assert done.returncode == 2 and told in done.stderr, done.stderr


class Grade(BaseModel):
    points: int
    reason: str = ""


@pytest.mark.parametrize(
    ("answer", "reply", "value"),
    [
        (["Ada", "Bob"], '{"answer": "bob"}', "Bob"),
        (["Ada", "Bob"], "**Ada**.", "Ada"),
        (["Ada", "Bob"], "Ada argued better than Bob", None),
        ((1, 5), 'My view: {"answer": 4}', 4),
        ((1, 5), '{"answer": 4.5}', None),
        ((0.0, 1.0), '{"answer": 0.25}', 0.25),
        ((0.0, 1.0), '{"answer": NaN}', None),
        (Grade, '{"points": 3, "reason": "clear"}', Grade(points=3, reason="clear")),
        (Grade, '{"points": "many"}', None),
        ({"type": "object", "properties": {"x": {"type": "string"}}}, '{"x": "y"}', {"x": "y"}),
    ],
)
def test_an_answer_is_read_or_it_is_none(answer: Any, reply: str, value: Any) -> None:
    assert read_answer(reply, answer) == value
    assert sent_schema(form_of(answer))["additionalProperties"] is False
    assert fits(reply, form_of(answer)) or value is None


async def test_the_app_composes_and_runs_a_class_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    async with opened(folder / "study.db", size=(110, 40)) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, ComposeScreen))
        await pilot.press("ctrl+o")
        await until_seen(pilot, "debate.py")
        await pilot.press("enter")
        await until_seen(pilot, "debate.motion is missing")
        motion = next(row for row in app.screen.query(FieldRow) if row.field.path == ("debate", "motion"))
        motion.query_one(Input).value = "Tea"
        await until_seen(pilot, "20 (service auto)")
        await pilot.press("ctrl+r")
        await until_seen(pilot, "Save this study first")
        await pilot.press("escape", "ctrl+s")
        await until_seen(pilot, "Save the study")
        await pilot.press("enter")
        await until(pilot, (folder / "debate.toml").exists, "the saved study")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: batch_status(folder / "study.db") == "completed", "the batch to end")
    assert load_config(folder / "debate.toml").settings.model_dump()["motion"] == "Tea"
