"""A study as a folder to publish: whole, the same every time, with nothing private in it, and enough to run it again."""

import asyncio
import json
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml
from markdown_it import MarkdownIt

from tests.engine.publishing.test_rerun import firmness
from tests.support.state import change, end_state, query
from tests.support.studies import game
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import load_config
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.publishing import folder as publishing
from tidepool.engine.publishing.card import About
from tidepool.engine.publishing.folder import publish
from tidepool.engine.publishing.reuse import StudyInFile, read_again
from tidepool.engine.run import create_batch, run_batch, run_study
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of
from tidepool.storage.transfer.tables import columns_of
from tidepool.storage.views import VIEWS

ABOUT = About(
    title="Who gives in?", description="Two lines:\n- one", authors=("Lovelace, Ada", "The Lab"), license="CC-BY-4.0"
)


@dataclass(frozen=True)
class Files:
    """A file with two batches and a study, and what was published of it."""

    database: Path
    batch_id: str
    study: dict[str, Any]
    batch_folder: Path
    study_folder: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    place = tmp_path_factory.mktemp("published")
    database = place / "ours.db"

    async def run() -> tuple[str, dict[str, Any]]:
        study = await run_study(firmness(), database)
        await run_batch(game(2), database)
        return (await run_batch(game(6, mode="retained"), database))["batch_id"], study

    batch_id, study = asyncio.run(run())
    made = publish(database, "last", place / "batch", ABOUT)
    assert made.notes == () and f"data/{next(iter(VIEWS))}.parquet" in made.files
    return Files(
        database, batch_id, study, made.folder, publish(database, study["study_id"], place / "study", About()).folder
    )


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


async def test_a_stranger_runs_the_study_again_from_the_folder_alone(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = files.batch_folder
    assert query(folder / "study.db", "SELECT id FROM batches") == [(files.batch_id,)]
    monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / "another machine"))
    rerun = read_again(StudyInFile(folder / "study.db", files.batch_id), tmp_path / "again.db")
    rerun.refuse()
    written = load_config(folder / "config.toml")
    assert freeze(written, tmp_path / "again.db") == rerun.parts[0].config, "what the file says, its config says too"
    await run_batch(written, tmp_path / "again.db")
    assert end_state(tmp_path / "again.db") == end_state(files.database, files.batch_id)


def test_a_study_goes_out_with_all_its_cells_their_factors_and_its_config(files: Files, tmp_path: Path) -> None:
    from arro3.io import read_parquet

    folder, study = files.study_folder, files.study
    assert "firmness" in (folder / "report.md").read_text() and (folder / "report.html").exists()
    outcomes = read_parquet(str(folder / "data" / "outcomes.parquet")).read_all()
    told = set(zip(outcomes.column("batch_id").to_pylist(), outcomes.column("firmness").to_pylist(), strict=True))
    assert told == {(cell["batch_id"], cell["levels"]["firmness"]) for cell in study["cells"]}
    planned = plan_study(load_config(folder / "study.toml"), tmp_path / "none.db")
    with reading(folder / "study.db") as connection:
        stored = cells_of(connection, study["study_id"])
    assert [cell.config.as_written() for cell in planned.cells] == [json.loads(cell.batch["config"]) for cell in stored]
    (alone,) = export_batch(files.database, study["study_id"], "toml", tmp_path / "x.toml")
    assert alone.read_text() == (folder / "study.toml").read_text(), "the same as tidepool export gives"


def test_the_same_study_makes_the_same_folder_and_nothing_private_goes_out(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own-key")
    database = Path(shutil.copy(files.database, tmp_path / "study.db"))
    change(database, "UPDATE log_line SET message = message || ?", f" see {tmp_path}/notes.txt, {Path.home()}/x")
    change(database, "UPDATE batch SET config = json_set(config, '$.providers.openai.base_url', 'http://lab.example')")
    change(database, "UPDATE batch SET host = ?", "machine-under-the-desk")
    for table in ("call", "outcome"):
        served = f"{Path.home()}/x/models/m.gguf"
        change(database, f"UPDATE {table} SET model = 'llamacpp:/srv/m.gguf', served_model = ?", served)
    change(database, "UPDATE batch SET config = json_set(config, '$.agents[0].model', 'llamacpp:/srv/m.gguf')")
    made = [publish(database, files.batch_id, tmp_path / name, About()) for name in ("one", "two")]
    assert all(named in " ".join(made[0].notes) for named in ("lab.example", "llamacpp:/srv/m.gguf"))
    for name in made[0].files:
        content = (made[0].folder / name).read_bytes()
        assert content == (made[1].folder / name).read_bytes(), name
        for private in (f"{tmp_path}/", f"{Path.home()}/x", "machine-under-the-desk", "sk-the-users"):
            assert private.encode() not in content, (name, private)


def test_machines_read_the_tables_and_the_heads(files: Files) -> None:
    folder = files.batch_folder
    with reading(folder / "study.db") as connection:
        columns = {view: columns_of(connection, view) for view in VIEWS}
    assert {f"data/{view}.parquet" for view in VIEWS} < names_in(folder)
    head = pyyaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert head["license"] == "cc-by-4.0" and "simulated" in head["tags"] and head["pretty_name"] == ABOUT.title
    assert [one["config_name"] for one in head["configs"] if one.get("default")] == ["outcomes"]
    assert "Authors: Lovelace, Ada; The Lab." in (folder / "README.md").read_text()
    dictionary = (folder / "DATA.md").read_text()
    assert all(f"| `{column}` |" in dictionary for names in columns.values() for column in names)


ODD = "a: [b]\n---\n# x `|` \u202e\x1b[31m \"' {{<img src=x>}} \U0001f600"


def test_foreign_words_are_text_in_every_head(files: Files, tmp_path: Path) -> None:
    database = Path(shutil.copy(files.database, tmp_path / "study.db"))
    study_id = files.study["study_id"]
    change(database, "UPDATE study_cell SET factor = ?, level = ?", ODD, ODD)
    change(database, "UPDATE study SET name = ?", ODD)
    change(database, "DELETE FROM batch WHERE number > 1")
    folder = publish(database, study_id, tmp_path / "out", About(authors=(ODD,), description=ODD)).folder
    for name in ("README.md", "DATA.md", "report.md"):
        text = (folder / name).read_text()
        assert "\x1b" not in text and "\u202e" not in text, name
        assert "<img" not in MarkdownIt("commonmark").enable("table").render(text), name
    head, _, rest = (folder / "README.md").read_text().removeprefix("---\n").partition("---\n")
    assert pyyaml.safe_load(head)["pretty_name"].startswith("a: [b] --- # x") and rest.startswith("\n# a: \\[b\\]")
    assert tomllib.loads((folder / "study.toml").read_text())


def test_there_is_a_whole_folder_or_none_and_what_is_unfinished_is_told(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_batch(game(1), database)
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir()
    (full / "mine.txt").write_text("")
    empty.mkdir()
    with pytest.raises(FileError, match="not empty"):
        publish(database, "last", full, ABOUT)
    with pytest.raises(UsageError, match="SPDX"):
        publish(database, "last", empty, About(license="mine, all mine"))

    def fails(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "settle", fails)
        with pytest.raises(FileError, match="No space left"):
            publish(database, "last", empty, ABOUT)
    assert list(empty.iterdir()) == [] and [path.name for path in full.iterdir()] == ["mine.txt"]
    made = publish(database, "last", empty, ABOUT)
    assert query(empty / "study.db", "PRAGMA integrity_check") == [("ok",)]
    assert {path.name for path in empty.iterdir()} == {name.partition("/")[0] for name in made.files}
    assert "Unfinished" in made.notes[0] and "Unfinished" in (made.folder / "README.md").read_text()
