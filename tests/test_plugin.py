"""A package of somebody else adds a kind of study, a provider, a detector, an operator and a scorer, without a change here."""

import json
import os
import pydoc
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.support.command import ROOT, Tidepool
from tests.support.killing import wait_for_calls
from tests.support.state import query
from tests.tui.persons import batch_status, opened, until, until_seen
from tidepool import Agent
from tidepool.engine import registries
from tidepool.engine.errors import UsageError
from tidepool.engine.registries import Registry
from tidepool.tui.app.kind_screens import screens_of
from tidepool.tui.app.screens.compose import ComposeScreen
from tidepool.tui.app.screens.results import ResultsScreen
from tidepool.tui.app.widgets.form_fields import FieldRow
from tidepool.tui.app.widgets.frame import NameStrip

EXAMPLE = ROOT / "examples" / "plugin"
REGISTRIES: tuple[Registry[Any], ...] = (
    *(registries.KINDS, registries.PROVIDERS),
    *(registries.DETECTORS, registries.OPERATORS, registries.SCORERS),
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built and installed into a folder of its own."""
    target = tmp_path_factory.mktemp("installed")
    install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", *install, str(EXAMPLE)], check=True, capture_output=True)
    return target


class Extended(Tidepool):
    """The command where the package is installed. It starts from nothing: what is installed is seen at the start."""

    package: Path

    def __call__(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return self.cold(*arguments, **environment)

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        return super().start(*arguments, **{"PYTHONPATH": f"{self.package}:{ROOT}", **environment})


@pytest.fixture
def extended(package: Path, tmp_path: Path) -> Extended:
    command = Extended(tmp_path, tmp_path / "study.db")
    command.package = package
    return command


@pytest.fixture
def fresh_registries() -> Iterator[None]:
    """What is installed is looked up anew, before and after."""

    def forget() -> None:
        screens_of.cache_clear()
        for registry in REGISTRIES:
            vars(registry).pop("installed", None)
            registry.loaded.clear()

    forget()
    yield
    forget()
    for registry in REGISTRIES:
        vars(registry)["installed"] = {}


def study(name: str) -> str:
    return str(EXAMPLE / "studies" / f"{name}.toml")


# -- each part, used in a study ------------------------------------------------------------------------------


def test_a_kind_and_a_provider_of_a_package_run_and_the_same_study_again_is_all_hits(extended: Extended) -> None:
    first = extended.json("--run", study("whispers"))
    assert (first["kind"], first["status"], first["simulated"]) == ("whispers", "completed", False)
    assert first["units"]["completed"] == 20 and first["calls"]["bought"] == 100
    assert 0 < first["statistics"]["measures"]["words kept"]["mean"] < 100
    again = extended.json("--run", study("whispers"))
    assert again["calls"]["cached"] == again["calls"]["total"] == 100
    assert again["statistics"] == first["statistics"]
    assert json.loads(query(extended.database, "SELECT config FROM batch")[0][0])["providers"]["echo"] == {
        "forgetting": 0.4
    }
    shown = extended("show", "last").stdout
    assert "Words that arrived" in shown and "20 units" in shown
    assert "Hearer 1" in extended("show", "last", "--conversation", "1").stdout


def test_a_stop_rule_watches_a_measure_of_a_package(extended: Extended) -> None:
    rule = ("--set", 'stop.outcome="words kept"', "--set", "stop.half_width=10")
    found = extended.json(
        "--run", study("whispers"), "--set", "whispers.chains=300", "--set", "whispers.hearers=1", *rule
    )
    assert found["status"] == "completed" and 100 <= found["units"]["completed"] < 300


def test_a_detector_of_a_package_finds_what_ours_do_not(extended: Extended) -> None:
    assert extended.json("--run", study("backwards"))["status"] == "completed"
    found = dict(query(extended.database, "SELECT detector, agent FROM outcomes WHERE revealed GROUP BY detector"))
    assert found == {"exact": "Ada", "backwards": "Bob"}


def test_a_learner_chooses_an_operator_of_a_package(extended: Extended) -> None:
    found = extended.json("--run", study("example"))["statistics"]
    assert list(found["operators"]) == ["noop", "shorten", "ask_for_example"]
    assert found["operators"]["ask_for_example"]["uses"] > 0


@pytest.mark.slow
def test_a_scorer_of_a_package_marks_the_replies(extended: Extended) -> None:
    brief, usual = (
        extended.json("--run", study("brief"), "--set", f"evolution.scorer={name!r}")["statistics"]["generations"]
        for name in ("brief", "")
    )
    assert brief[0]["best"] != usual[0]["best"]


# -- what a kind of a package inherits -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_kind_of_a_package_is_resumed_batched_and_exported_like_ours(extended: Extended, tmp_path: Path) -> None:
    by_batch = ("--set", "whispers.model=simulated:filler")
    slow = (
        "--set",
        "providers.simulated.latency=0.05",
        "--set",
        "service.name=live",
        "--set",
        "service.max_concurrent=2",
    )
    with extended.start("--run", study("whispers"), *by_batch, *slow) as process:
        wait_for_calls(extended.database, 10, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    quick = ("--set", "providers.simulated.latency=0.0", "--set", "service.name=auto", "--set", "service.batch_from=0")
    resumed = extended.json("--resume", "last", *quick)
    assert resumed["status"] == "completed" and 10 <= resumed["calls"]["replayed"] < 100
    assert resumed["calls"]["bought"] == resumed["calls"]["total"] == 100, "nothing is bought twice"
    assert resumed["waves"][-1]["transport"] == "batch"
    for form in ("json", "csv", "html"):
        assert extended("export", "last", "--format", form, "-o", str(tmp_path / form)).returncode == 0
    results = json.loads(next((tmp_path / "json").rglob("results.json")).read_text())
    assert len(results["units"]) == 20 and len(results["units"][0]["messages"]) == 5
    assert (tmp_path / "csv" / "messages.csv").read_text().count("Hearer 5") == 20
    assert "words that arrived" in (tmp_path / "html").read_text()


async def test_a_kind_of_a_package_is_composed_run_and_read_in_the_app(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registries: None
) -> None:
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.setenv("PYTHONPATH", f"{package}:{ROOT}")
    async with opened(tmp_path / "study.db", size=(160, 48)) as (app, pilot):
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, ComposeScreen))
        kinds = app.screen.query_one("#kinds", NameStrip)
        kinds.choose("whispers")
        await until_seen(pilot, "10 (service auto)")
        chains = next(row for row in app.screen.query(FieldRow) if row.field.path == ("whispers", "chains"))
        chains.query_one(Input).value = "7"
        await until_seen(pilot, "7 (service auto)")
        await pilot.press("ctrl+r")
        await until_seen(pilot, "requests to echo:forgetful")
        await pilot.press("y")
        await until(pilot, lambda: not isinstance(app.screen, ComposeScreen))
        await until(pilot, lambda: batch_status(tmp_path / "study.db") == "completed", "the batch to end")
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.screen, ResultsScreen))
        await until_seen(pilot, "7 of 7 completed")
        await pilot.press("tab")
        await until_seen(pilot, "ords that arrived")


# -- what was wrong once -------------------------------------------------------------------------------------


ODD = """
from tidepool_whispers.whispers import KIND, Outcome, Whispers, WhispersResults
import dataclasses

class Odd(Whispers):
    async def chain(self, unit):
        self.run.ledger.put_record("tally", unit.number, {"length": 3}, unit.number)
        if self.settings.chains == 3:
            1 / 0

    async def play(self, run):
        self.run = run
        await super().play(run)

class OddResults(WhispersResults):
    def measures(self, sections):
        return [Outcome(name="words kept", words="words", unit="%", bounds=(0.0, 100.0))]

KIND = dataclasses.replace(KIND, name="odd", study_class=Odd)
WRONG = dataclasses.replace(KIND, name="wrong", results_class=OddResults)
"""


@pytest.fixture
def odd(extended: Extended, tmp_path: Path) -> Extended:
    """A second package, whose kinds are built on those of the first."""
    folder = tmp_path / "odd"
    folder.mkdir()
    _pretend(folder, "tidepool.kinds", "odd = odd_kind:KIND\nwrong = odd_kind:WRONG")
    (folder / "odd_kind.py").write_text(ODD)
    for kind in ("odd", "wrong"):
        (tmp_path / f"{kind}.toml").write_text(f'[batch]\nkind = "{kind}"\nname = "Odd"\n[{kind}]\nchains = 2\n')
    odd = Extended(tmp_path, tmp_path / "odd.db")
    odd.package = Path(f"{folder}:{extended.package}")
    return odd


def test_rows_that_a_package_stores_are_in_every_export(odd: Extended, tmp_path: Path) -> None:
    odd.json("run", "odd.toml")
    for form in ("csv", "parquet", "json"):
        assert odd("export", "last", "--format", form, "-o", form).returncode == 0
    assert (tmp_path / "csv" / "records.csv").read_text().count("tally") == 2
    assert (tmp_path / "parquet" / "records.parquet").is_file()
    results = json.loads(next((tmp_path / "json").rglob("results.json")).read_text())
    assert "tally" in json.dumps(results)
    assert odd("publish", "last", "-o", "published").returncode == 0


def test_an_error_in_the_code_of_a_package_names_it_with_file_and_line(odd: Extended) -> None:
    failed = odd("run", "odd.toml", "--set", "odd.chains=3").stderr
    assert "odd_kind.py, line 9 of the package odd-package: ZeroDivisionError" in failed and "report" not in failed


def test_a_percentage_that_is_not_a_share_is_an_error(odd: Extended) -> None:
    wrong = odd("run", "wrong.toml").stderr
    assert (
        "words kept: values with the unit % are shares from 0 to 1" in wrong and "of the package odd-package" in wrong
    )


def test_agents_without_effect_are_named(odd: Extended, tmp_path: Path) -> None:
    with (tmp_path / "odd.toml").open("a") as stream:
        stream.write('[[agents]]\nname = "Ada"\nmodel = "simulated:naive"\n')
    assert "[[agents]] has no effect in a study of kind odd" in odd("plan", "odd.toml").stderr


def test_a_new_config_of_a_package_has_its_keys(extended: Extended) -> None:
    written = extended("new", "whispers", "-o", "-").stdout
    assert "# hearers = 5  # how many retell it" in written and "simulated" not in written


def test_help_explains_every_field() -> None:
    assert "sampling temperature" in pydoc.render_doc(Agent)


@pytest.mark.slow
def test_the_tests_that_list_names_pass_with_a_package_installed(package: Path) -> None:
    files = ("tui/compose/test_examining.py", "engine/config/test_freezing.py", "engine/providers/test_command.py")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/{name}" for name in files)]
    done = subprocess.run(tests, cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT}:{package}"}, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()[-2000:]


# -- what a package cannot do --------------------------------------------------------------------------------


def _pretend(folder: Path, group: str, entry: str) -> None:
    """A distribution called odd-package that registers one entry."""
    described = folder / "odd_package-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-package\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


def test_a_package_never_replaces_a_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registries: None
) -> None:
    _pretend(tmp_path, "tidepool.kinds", "simulation = nowhere:KIND")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "simulation" not in registries.KINDS.installed
    assert registries.KINDS["simulation"].units == "simulations"


@pytest.mark.parametrize(
    ("entry", "word"), [("odd = nowhere:KIND", "cannot be loaded"), ("odd = json:JSONDecoder", "is not a Kind")]
)
def test_a_broken_package_is_named_and_only_when_it_is_asked_for(
    entry: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registries: None
) -> None:
    _pretend(tmp_path, "tidepool.kinds", entry)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "odd" in registries.KINDS and registries.KINDS["evolution"].name == "evolution"
    with pytest.raises(UsageError, match=f"odd-package {word}"):
        registries.KINDS["odd"]


@pytest.mark.skipif(find_spec("tidepool_whispers") is not None, reason="the package is installed")
def test_a_batch_whose_package_is_not_installed_says_so_and_the_file_stays_readable(extended: Extended) -> None:
    extended.json("--run", study("whispers"), "--set", "whispers.chains=2")
    bare = Tidepool(extended.folder, extended.database)
    assert "whispers" in bare("list").stdout
    refused = bare("show", "last")
    assert refused.returncode == 2 and "needs a package that is not installed here" in refused.stderr
    assert "Hearer 2" in bare("show", "last", "--conversation", "1").stdout
