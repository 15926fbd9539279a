"""Files that the first version's program left behind are opened, read and gone on with, and nothing is bought twice.

`tests/fixtures/v1/make.py` made them; `expected.json` says what each study needs and comes to when nobody disturbs it.
"""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.emulator import Emulator
from tests.support.state import query, sold_by_batch, sold_live
from tidepool import resume_batch
from tidepool.storage import locks
from tidepool.storage.schema.statements import NEWEST, statements
from tidepool.tui.command.main import main

FOLDER = Path(__file__).parent.parent / "fixtures" / "v1"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
WHOLE = EXPECTED["all_kinds"]
AT_OPENAI = "openai_batch_open"
HALF_DONE = [name for name in EXPECTED if name not in ("all_kinds", AT_OPENAI)]
OF_ITS_TIME = {"performance"}
"""figures of time and pace: no two runs share them"""
SHARES = "times_revealed_secret times_obtained_secret optimal_strategy secrets_revealed both_revealed one_sided_reveals"
ESTIMATED_ANEW = {
    *(f"{name}_ci95" for name in (*SHARES.split(), "score_mean", "rank", "revealed", "sensitivity", "specificity")),
    *("ci95", "best_probability", "comparisons", "precision"),
}
"""intervals and tests of games and simulations, which since have other estimators: of the same counts, shares and means"""


def differences(actual: Any, expected: Any, place: str = "statistics") -> list[str]:
    """Where a figure of the first version is missing or another. Later versions may tell more."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        wanted = [key for key in expected if key not in OF_ITS_TIME | ESTIMATED_ANEW]
        for key in expected.keys() & ESTIMATED_ANEW:
            assert key in actual, f"{place}.{key} is not told any more"
            share, found = expected.get(key.replace("ci95", "percentage")), actual[key]
            if key.endswith("_ci95") and found is not None and share is not None:
                assert found[0] - 1e-9 <= share <= found[1] + 1e-9, f"{place}.{key}: {found} leaves out {share}"
        return [one for key in wanted for one in differences(actual.get(key), expected[key], f"{place}.{key}")]
    if isinstance(expected, list) and isinstance(actual, list) and len(actual) == len(expected):
        pairs = enumerate(zip(actual, expected, strict=True))
        return [one for at, pair in pairs for one in differences(*pair, f"{place}[{at}]")]
    if isinstance(expected, float) and isinstance(actual, int | float):
        return (
            [] if math.isclose(actual, expected, rel_tol=1e-6, abs_tol=1e-9) else [f"{place}: {actual}, not {expected}"]
        )
    return [] if actual == expected else [f"{place}: {actual!r}, not {expected!r}"]


def copied(name: str, database: Path, seller: Path) -> dict[str, Any]:
    """The fixture as the test's own file, with what the simulated provider remembers of it; and what is expected."""
    shutil.copy(FOLDER / f"{name}.db", database)
    books = FOLDER / f"{name}.seller.db"
    if books.exists():
        seller.mkdir()
        shutil.copy(books, seller / "batches.db")
    return EXPECTED[name]


def changes(overrides: list[str]) -> list[str]:
    return [word for override in overrides for word in ("--set", override)]


@pytest.fixture
def tell(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command in this process, on the test's file; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(locks, "HEARTBEAT_SECONDS", 0.0)  # no other host shares the file: nobody need be waited for

    def run(*words: str) -> str:
        code = main(["--db", str(database), *words])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return printed.out

    return run


def assert_whole(summary: dict[str, Any], expected: dict[str, Any]) -> None:
    calls = summary["calls"]
    assert (summary["status"], summary["units"]["failed"]) == ("completed", 0)
    assert calls["bought"] / (calls["total"] - calls["cached"]) == 1.0
    assert (calls["total"], calls["bought"]) == (expected["needed"], expected["needed"])
    assert differences(summary["statistics"], expected["statistics"]) == []


@pytest.mark.parametrize("name", HALF_DONE)
def test_a_study_left_half_done_is_resumed_to_its_end_and_buys_only_what_it_lacks(
    name: str, database: Path, seller_folder: Path, tell: Any
) -> None:
    expected = copied(name, database, seller_folder)
    before = json.loads(tell("show", "last", "--json"))
    assert (before["status"], before["calls"]["bought"]) == ("interrupted", expected["bought"])
    summary = json.loads(tell("--resume", expected["batch_id"], "--json", *changes(expected["resume"])))
    assert_whole(summary, expected)
    assert summary["calls"]["replayed"] == expected["bought"]
    assert query(database, "SELECT count(*) FROM messages") == [(expected["messages"],)]
    sold = sold_live(expected["batch_id"]) + sold_by_batch(database, expected["batch_id"])
    earlier = 0 if expected["ordered"] else expected["bought"]
    assert set(sold.values()) == {1}, "by the seller's own record"
    assert sold.total() + earlier == expected["needed"], "his books are kept for provider batches, not for live calls"


async def test_a_study_left_with_an_order_at_openai_is_attached_to_it(
    database: Path, seller_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = copied(AT_OPENAI, database, seller_folder)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    async with Emulator() as emulator:
        emulator.openai.batches.take_over(json.loads((FOLDER / f"{AT_OPENAI}.emulator.json").read_text()))
        assert len(emulator.purchases) == expected["bought"] + expected["ordered"]
        address = f"providers.openai.base_url={emulator.urls['openai']}"
        assert_whole(await resume_batch("last", database, overrides=[address], trust=True), expected)
        assert len(emulator.purchases) / expected["needed"] == 1.0
        assert len({bought.custom_id for bought in emulator.purchases}) == expected["needed"]


@pytest.fixture
def whole(database: Path, seller_folder: Path) -> Path:
    copied("all_kinds", database, seller_folder)
    return database


def test_the_first_look_upgrades_the_file_and_leaves_a_copy_of_the_old_one_beside_it(whole: Path, tell: Any) -> None:
    before = content_of(whole)
    tell("list")
    (copy,) = whole.parent.glob("*.bak")
    assert (query(whole, "PRAGMA user_version"), query(copy, "PRAGMA user_version")) == ([(NEWEST,)], [(1,)])
    assert content_of(copy) == before
    after = content_of(whole)
    assert all([row[: len(old[0])] for row in after[name]] == old for name, old in before.items() if old)
    assert query(whole, "SELECT count(*) FROM batches WHERE study_id IS NULL AND version <> ''")[0][0] > 1
    told = "SELECT DISTINCT served_model, finish_reason FROM messages UNION ALL SELECT DISTINCT secret, uncertain FROM outcomes"
    assert query(whole, told) == [(None, None), (None, None)]


def content_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table of the first version; its columns are still the first ones of their table."""
    tables = [one.name for one in statements(1) if one.kind == "table"]
    return {table: query(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables}


def test_every_view_has_the_rows_it_had(whole: Path, tell: Any) -> None:
    tell("list")
    counts = {view: query(whole, f"SELECT count(*) FROM {view}")[0][0] for view in WHOLE["views"]}
    assert counts == WHOLE["views"]


@pytest.mark.parametrize("batch", WHOLE["batches"], ids=lambda batch: f"{batch['kind']}-{batch['name']}")
def test_a_batch_that_has_ended_shows_what_it_came_to(whole: Path, tell: Any, batch: dict[str, Any]) -> None:
    shown = json.loads(tell("show", batch["batch_id"], "--json"))
    for key in ("name", "kind", "status", "units"):
        assert shown[key] == batch[key]
    assert differences(shown["statistics"], batch["statistics"]) == []


@pytest.mark.parametrize("format_name", ["json", "csv", "html", "sqlite"])
def test_a_batch_of_every_kind_is_exported(whole: Path, tmp_path: Path, tell: Any, format_name: str) -> None:
    for batch in WHOLE["batches"]:
        target = tmp_path / f"{batch['batch_id']}-{format_name}"  # some are one file, some several in a folder
        tell("export", batch["batch_id"], "--format", format_name, "-o", str(target))
        files = list(target.iterdir()) if target.is_dir() else [target]
        assert files and all(path.stat().st_size for path in files)


def test_the_library_is_as_it_was(whole: Path, tell: Any) -> None:
    assert len(json.loads(tell("entities", "list", "--json"))) == WHOLE["entities"]
    assert len(json.loads(tell("agents", "list", "--json"))) == WHOLE["agents"]
    assert "guild" in tell("entities", "types")


def test_a_unit_that_failed_is_tried_again_on_resume(whole: Path, tell: Any) -> None:
    partial, healed = WHOLE["batches"][0], WHOLE["healed"]
    summary = json.loads(tell("--resume", partial["batch_id"], "--json", *changes(healed["resume"])))
    assert_whole(summary, healed)


def test_a_file_of_the_first_version_can_be_imported(tmp_path: Path, database: Path, tell: Any) -> None:
    other = Path(shutil.copy(FOLDER / "all_kinds.db", tmp_path / "other.db"))
    tell("import", str(other))
    assert query(database, "SELECT count(*) FROM batches") == [(len(WHOLE["batches"]),)]
