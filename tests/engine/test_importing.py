"""Merging study files: each batch once, resumable after a move, and a stranger's file is data."""

import asyncio
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import panel, rows
from tests.support.state import change, end_state, query
from tidepool import resume_batch, run_batch
from tidepool.engine.errors import FileError
from tidepool.engine.publishing.reuse import import_file
from tidepool.engine.results.summary import summarise
from tidepool.storage import library
from tidepool.storage.file import prepare
from tidepool.storage.library import StoredAgent, StoredEntity, StoredType

JUDGE = {"question": "Does the speaker agree, 1 to 5?"}
TALKS = {"num_simulations": 6, "n_turns": 2, "thoughts": True, "judge": JUDGE}


def fingerprint(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def original(module_folder: Path) -> Path:
    """A study file of two batches, so that ids must be shifted."""
    asyncio.run(run_batch(panel(num_simulations=1), module_folder / "s.db"))
    asyncio.run(run_batch(panel(**TALKS, seed=5), module_folder / "s.db"))
    return module_folder / "s.db"


@pytest.fixture
def other(original: Path, tmp_path: Path) -> Path:
    """Another study file, the test's own to change."""
    return Path(shutil.copy(original, tmp_path / "other.db"))


async def test_a_batch_comes_over_whole_and_only_once(database: Path, other: Path) -> None:
    await run_batch(panel(num_simulations=2, seed=9), database)
    before = fingerprint(other)
    first, again = import_file(database, other), import_file(database, other)
    assert len(first.batches) == 2 and not first.known
    assert again.known == first.batches and not again.batches
    assert fingerprint(other) == before
    batch_id = first.batches[1]
    assert end_state(database, batch_id) == end_state(other, batch_id)
    ours, theirs = summarise(database, batch_id), summarise(other, batch_id)
    assert ours == theirs
    assert query(database, "PRAGMA integrity_check") == [("ok",)]


async def test_a_batch_that_stopped_is_resumed_where_it_was_moved_to(database: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.db", tmp_path / "broken.db"
    await run_batch(panel(**TALKS), whole)
    stopped = await run_batch(panel(**TALKS, simulated={"fatal_rate": 0.2}), broken)
    assert stopped["status"] == "partial"
    change(broken, "UPDATE batch SET status = 'in_progress', host = 'elsewhere'")
    imported = import_file(database, broken).batches[0]
    assert summarise(database, imported)["status"] == "interrupted"
    summary = await resume_batch(imported, database, overrides=["providers.simulated.fatal_rate=0"])
    assert summary["status"] == "completed"
    assert summary["calls"]["bought"] == summary["calls"]["total"] - summary["statistics"]["judgements"]["missing"]
    assert end_state(database)["messages"] == end_state(whole)["messages"]


async def test_imported_answers_never_serve_as_cache(database: Path, other: Path) -> None:
    import_file(database, other)
    summary = await run_batch(panel(**TALKS, seed=5), database)
    assert summary["calls"]["cached"] == 0
    assert (await run_batch(panel(**TALKS, seed=5), database))["calls"]["cached"] == summary["calls"]["total"]


def test_the_library_is_merged_each_once(database: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    ada, bob = StoredEntity("ada-1", "Ada", "human", "", {"age": 61}), StoredEntity("bob-1", "Bob", None, "", {})
    kind = {"name": "villager", "dimensions": [{"name": "tall", "kind": "boolean"}]}
    for path, entities in ((database, [ada]), (other, [ada, bob])):
        prepare(path)
        library.add(path, entities)
    library.add(other, [StoredAgent("eve-1", "Eve", {"name": "Eve", "model": "gpt4o_mini"})])
    library.put_types(other, [StoredType("villager", kind)])
    first = import_file(database, other)
    assert (first.entities, first.types, first.agents) == (1, 1, 1)
    again = import_file(database, other)
    assert (again.entities, again.types, again.agents) == (0, 0, 0)
    assert [row["id"] for row in rows(database, "SELECT id FROM library_entity")] == ["ada-1", "bob-1"]


STRANGE = {
    "an id that is a path": "UPDATE batch SET id = '../../x' WHERE number = 1",
    "an id that is a flag": "UPDATE batch SET id = '' WHERE number = 1",
    "a batch with a number beyond all": "UPDATE batch SET number = 1 << 40 WHERE number = 1",
    "a state there is not": "UPDATE batch SET status = 'hacked'",
    "text where a number belongs": "UPDATE call SET wave = 'one'",
    "a blob where text belongs": "UPDATE call SET text = x'00ff'",
    "a unit in another batch's range": "UPDATE unit SET id = id + (7 << 32) WHERE sequence_number = 1",
    "a unit of no batch": "UPDATE unit SET batch_number = 77, id = (77 << 32) | sequence_number WHERE batch_number = 1",
    "participants that are no list": "UPDATE unit SET participants = '{}'",
    "participants that are no names": "UPDATE unit SET participants = '[1, 2]'",
    "participants that are no JSON": "UPDATE unit SET participants = '['",
    "details that are no table": "UPDATE unit SET details = '[]'",
    "a config that is none": "UPDATE batch SET config = '[]'",
    "a config of another kind": "UPDATE batch SET kind = 'mutation'",
    "a kind there is not": "UPDATE batch SET kind = 'os', config = replace(config, '\"simulation\"', '\"os\"')",
    "a config that names a local file": "UPDATE batch SET config = replace(config, '\"context_file\": null', "
    '\'"context_file": "/etc/hostname"\')',
    "a newer file": "PRAGMA user_version = 99",
    "a library entity without a readable name": "INSERT INTO library_entity VALUES ('x', 'a' || char(10) || 'b', NULL, '', '{}', 0)",
    "a library agent that is none": "INSERT INTO library_agent VALUES ('x', 'x', '{\"model\": 3}', 0)",
    "a library type that is none": "INSERT INTO library_type VALUES ('x', '[]', 0)",
    "a library id that is a path": "INSERT INTO library_entity VALUES ('../x', 'X', NULL, '', '{}', 0)",
    "attributes that are no table": "INSERT INTO library_entity VALUES ('x', 'X', NULL, '', '[1]', 0)",
}


@pytest.mark.parametrize("harm", STRANGE.values(), ids=STRANGE.keys())
def test_a_file_that_was_tampered_with_is_refused_as_a_whole(database: Path, other: Path, harm: str) -> None:
    prepare(database)
    before = fingerprint(database)
    change(other, harm)
    with pytest.raises(FileError):
        import_file(database, other)
    assert fingerprint(database) == before


def test_a_missing_file_and_the_open_file_itself_are_refused(database: Path, tmp_path: Path) -> None:
    prepare(database)
    with pytest.raises(FileError, match="no study file"):
        import_file(database, tmp_path / "none.db")
    with pytest.raises(FileError, match="is the open file itself"):
        import_file(database, database)
