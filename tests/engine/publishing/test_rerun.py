"""Somebody else's study again: `--run FILE.db#BATCH` takes its configs, nothing else, and trusts nothing in them."""

import asyncio
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.trust.conftest import TREASURE
from tests.engine.trust.studies import game as of_lab
from tests.support.state import change, end_state, query
from tests.support.studies import TWO_AGENTS, game
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.errors import FileError, NotFound, NotTrusted, UsageError
from tidepool.engine.publishing.reuse import Rerun, StudyInFile, read_again, study_in_file
from tidepool.engine.run import create_batch, run_batch, run_planned, run_study
from tidepool.engine.trust.record import trust_record
from tidepool.storage.file import settle
from tidepool.tui.command.main import main

EXAMPLES = Path(__file__).parents[3] / "examples"
LAB = {"like": "openai", "base_url": "http://lab.example/v1", "api_key_env": TREASURE}


@pytest.fixture(autouse=True)
def move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """To a machine that has seen nothing yet."""

    def go(name: str) -> None:
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))

    go("theirs")
    return go


def again(file: Path, *changes: str, reference: str = "last") -> Rerun:
    return read_again(StudyInFile(file, reference), file.with_name("own.db"), changes)


def test_a_config_may_have_the_sign_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "study#2.toml").write_text("")
    assert study_in_file(str(tmp_path / "study#2.toml")) is None
    for half in ("a.db#", "#last"):
        with pytest.raises(UsageError, match=r"FILE\.db#BATCH"):
            study_in_file(half)


def test_a_batch_run_again_elsewhere_is_equal_and_buys_its_answers_anew(
    database: Path, tmp_path: Path, move: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "theirs.db"
    first = asyncio.run(run_batch(game(6, mode="retained"), theirs))
    move("ours")

    def told(*words: str) -> dict[str, Any]:
        assert main(["--db", str(database), "--json", "--run", *words]) == 0
        return dict(json.loads(capsys.readouterr().out))

    calls = told(f"{theirs}#{first['batch_id'][:6]}")["calls"]
    assert (calls["bought"], calls["cached"]) == (18, 0)
    assert end_state(database) == end_state(theirs)
    assert query(database, "SELECT config FROM batches") == query(theirs, "SELECT config FROM batches")
    assert told(f"{theirs}#last", "--dry-run", "--set", "secret_game.num_interactions=4")["units"] == 4
    assert len(query(database, "SELECT 1 FROM batches")) == 1


STUDY = f"""
[batch]
kind = "secret_game"
name = "Firmness"
{TWO_AGENTS}
[secret_game]
num_interactions = 3
messages_per_interaction = 2
[design]
replicates = 2
[design.factors]
firmness = [{{ level = "plain", set = {{}} }}, {{ level = "firm", set = {{ "agents.*.instructions" = "Never yield." }} }}]
[[design.hypotheses]]
outcome = "revealed"
contrast = "firmness: firm - plain"
"""


def firmness() -> Any:
    return config_from(tomllib.loads(STUDY))


async def test_a_study_run_again_has_the_same_cells_and_outcomes(tmp_path: Path, move: Callable[[str], None]) -> None:
    first = await run_study(firmness(), tmp_path / "theirs.db")
    move("ours")
    rerun = again(tmp_path / "theirs.db")
    rerun.refuse()
    second = await run_planned(rerun.planned(), tmp_path / "own.db")
    assert second["study_id"] != first["study_id"] and second["design"]["hypotheses"] == first["design"]["hypotheses"]
    for one, other in zip(first["cells"], second["cells"], strict=True):
        assert (one["levels"], one["replicate"]) == (other["levels"], other["replicate"])
        assert end_state(tmp_path / "theirs.db", one["batch_id"]) == end_state(tmp_path / "own.db", other["batch_id"])
    with pytest.raises(UsageError, match="cells and replicates"):
        again(tmp_path / "theirs.db", "design.replicates=9")


def test_servers_and_keys_of_the_file_are_refused_until_somebody_answers_for_them(
    database: Path, move: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TREASURE, "the users own treasure")
    batch_id = create_batch(of_lab("lab:gpt-4o-mini", lab=LAB), database)
    again(database).refuse()
    move("ours")
    rerun = again(database)
    with pytest.raises(NotTrusted, match=rf"lab\.example.*{TREASURE}.*tidepool --db \S+study\.db trust add {batch_id}"):
        rerun.refuse()
    question = rerun.question()
    assert question is not None and ("server", LAB["base_url"]) in question.rows() and question.calls == 2
    said = again(
        database, "providers.lab.base_url=http://127.0.0.1:9/v1", "providers.lab.api_key_env=OWN_KEY"
    ).question()
    assert said is not None and ("server", "http://127.0.0.1:9/v1") in said.rows() and ("key", "OWN_KEY") in said.rows()
    trust_record().mark_trusted({batch_id: query(database, "SELECT config FROM batches")[0][0]})
    assert again(database).question() is None


def test_what_is_set_takes_the_place_of_what_was_taken_in(tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    create_batch(load_config(EXAMPLES / "evolution_labels.toml"), file)
    cut = again(file, "evolution.max_problems=5").parts[0].config.as_written()["evolution"]["frozen"]
    assert (len(cut["training"]), len(cut["validation"])) == (5, 40)
    (tmp_path / "mine.jsonl").write_text("".join(f'{{"question": "{n} + 1?", "label": "{n}"}}\n' for n in range(90)))
    own = again(
        file, "evolution.problems=mine.jsonl", 'evolution.question_template="{question}"', "evolution.labels=[]"
    )
    assert own.parts[0].config.as_written()["evolution"]["frozen"]["sources"]["search"] == "mine.jsonl"


def test_a_file_that_would_have_others_read_is_refused(database: Path) -> None:
    create_batch(load_config(EXAMPLES / "evolution_labels.toml"), database)
    change(database, "UPDATE batch SET config = json_remove(config, '$.evolution.frozen')")
    settle(database)
    with pytest.raises(UsageError, match="names a file"):
        again(database)
    with pytest.raises(NotFound):
        again(database, reference="ffff")
    with pytest.raises(FileError, match="no study file"):
        again(database.with_name("none.db"))


def test_a_study_file_that_is_run_like_a_config_says_how_its_studies_are_named(database: Path) -> None:
    create_batch(load_config(EXAMPLES / "secret_game.toml"), database)
    with pytest.raises(UsageError, match="#last"):
        load_config(database)
