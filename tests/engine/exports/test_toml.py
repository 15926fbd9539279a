"""The config of a batch back as a file: run again, it is an equal batch."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.state import query
from tests.support.studies import game
from tidepool.engine.config import ceilings
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.exports.toml import as_toml, refuse_branch, toml_of, without_paths
from tidepool.engine.run import run_batch
from tidepool.engine.studies.branches import Origin
from tidepool.engine.trust.record import trust_record

EXAMPLES = Path(__file__).parents[3] / "examples"
SAID = (
    "SELECT wave, position, speaker, content FROM messages WHERE batch_id = ? ORDER BY conversation_id, wave, position"
)
TOLD = "SELECT agent, revealed, obtained, score FROM outcomes WHERE batch_id = ? ORDER BY conversation_id, opener"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_frozen_config_reads_back_as_it_was_with_all_that_it_took_in(example: Path, database: Path) -> None:
    config = load_config(example)
    frozen = (plan_study(config, database).config if config.design else freeze(config, database)).as_written()
    read = config_from(tomllib.loads(as_toml(frozen)), folder=EXAMPLES)
    assert freeze(read, database).as_written() == frozen


async def test_the_file_runs_to_an_equal_batch_elsewhere(database: Path, tmp_path: Path) -> None:
    study = game(6, metadata={"x y": [{"a": 1}], "odd": "\u202e\x1b[31m\"'''"})
    study.agents[0].temperature = None
    first = str((await run_batch(study, database))["batch_id"])
    (path,) = export_batch(database, first, "toml", tmp_path / "again.toml")
    elsewhere = tmp_path / "elsewhere.db"
    second = str((await run_batch(load_config(path), elsewhere))["batch_id"])
    for asked in (SAID, TOLD):
        assert query(elsewhere, asked, second) == query(database, asked, first) != []
    configs = [query(file, "SELECT config FROM batches")[0][0] for file in (database, elsewhere)]
    assert json.loads(configs[0]) == json.loads(configs[1])
    assert "\x1b" not in path.read_text() and "\u202e" not in path.read_text()


STRANGE: dict[str, Any] = {
    "batch": {"kind": "evolution"},
    "providers": {"lab": {"like": "openai", "base_url": "http://lab.example/v1", "api_key_env": "LAB_KEY"}},
    "evolution": {"problems": "/home/ada/sums.jsonl", "judge_from": "..\\tests.jsonl"},
}


def test_servers_and_code_of_a_stranger_stay_out_and_so_do_paths() -> None:
    row: Any = {"id": "0123456789ab", "version": "0.1.0", "origin": None, "config": json.dumps(STRANGE)}
    told = tomllib.loads(toml_of(row))
    assert told["providers"] == {"lab": {"like": "openai"}}
    assert told["evolution"] == {"problems": "sums.jsonl", "judge_from": "tests.jsonl"}
    trust_record().mark_trusted({row["id"]: row["config"]})
    assert tomllib.loads(toml_of(row)) == without_paths(STRANGE)


def test_what_no_file_may_say_stays_out_also_where_a_batch_is_known() -> None:
    forged = {**STRANGE, "cluster": {"ray": "lab.example:6379"}, "design": {"replicates": 9}}
    row: Any = {"id": "ba9876543210", "version": "0.1.0", "origin": None, "config": json.dumps(forged)}
    trust_record().mark_trusted({row["id"]: row["config"]})
    told = toml_of(row)
    assert "6379" not in told and "replicates" not in told and "lab.example/v1" in told


def test_a_config_larger_than_a_file_may_be_is_run_out_of_its_study_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ceilings, "CONFIG_BYTES", 100)
    large = {"batch": {"kind": "evolution"}, "evolution": {"frozen": "x" * 100}}
    row: Any = {"id": "0123456789ab", "version": None, "origin": None, "config": json.dumps(large)}
    with pytest.raises(UsageError, match=r"tidepool run FILE\.db#0123456789ab"):
        toml_of(row)


def test_a_branch_is_no_config() -> None:
    """What it goes on from stands in no config: one would run to something else."""
    origin = Origin("0c13f5c60828", (1, 2), "t4", "No.", 5)
    with pytest.raises(UsageError, match="tidepool branch 0c13f5c60828 --at t4"):
        refuse_branch({"id": "20faf7356319", "origin": origin.to_json()})  # type: ignore[arg-type]
    refuse_branch({"id": "20faf7356319", "origin": None})  # type: ignore[arg-type]
