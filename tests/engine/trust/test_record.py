"""The trust record itself: safe against kills between two files, honest where it cannot be kept, closed to what others wrote."""

import os
import stat
from pathlib import Path

import pytest
from filelock import FileLock

from tests.engine.studies.simulation.panels import panel
from tests.support.command import Tidepool
from tests.support.state import query
from tidepool.engine.errors import FileError
from tidepool.engine.run import create_batch, resume_batch
from tidepool.engine.trust.record import (
    FILE_NAME,
    TrustRecord,
    config_hash,
    report_problems_to,
    trust_record,
)
from tidepool.storage import batches

OLD = {"old": "{}"}
KNOWN = [("old", config_hash("{}"))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "state"
    monkeypatch.setenv("TIDEPOOL_STATE", str(place))
    return place


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is told of a record that cannot be used."""
    words: list[str] = []
    monkeypatch.setattr("tidepool.engine.trust.record._report", words.append)
    return words


# -- our own rewrites ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("killed", ["before the file is written", "after it"])
async def test_a_kill_between_the_record_and_the_file_leaves_ones_own_batch_ones_own(
    database: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    class Killed(BaseException):
        pass

    batch_id = create_batch(panel(num_simulations=1), database)
    rewrite = batches.rewrite_configs

    def kill(*arguments: object) -> None:
        if killed == "after it":
            rewrite(*arguments)  # type: ignore[arg-type]
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("tidepool.engine.gate.batches.rewrite_configs", kill)
        with pytest.raises(Killed):
            await resume_batch(batch_id, database, overrides=["service.max_concurrent=3"])
    ((config,),) = query(database, "SELECT config FROM batch")
    assert ('"max_concurrent": 3' in config) == (killed == "after it")
    assert trust_record().knows(batch_id, config)
    assert (await resume_batch(batch_id, database))["status"] == "completed"


# -- where it cannot be kept ---------------------------------------------------------------------------------


def broken(folder: Path, how: str) -> None:
    record = folder / FILE_NAME
    if how == "a file in its folder's place":
        folder.write_text("in the way")
        return
    folder.mkdir(mode=0o700)
    match how:
        case "damaged":
            record.write_bytes(b'{"batch": {"old": ' + b"\x07" * 500)
            record.chmod(0o600)
        case "a pipe":
            os.mkfifo(record, 0o600)
        case "a link to an old record":
            TrustRecord(folder / "old").mark_trusted(OLD)
            record.symlink_to(folder / "old" / FILE_NAME)
        case "a folder that others write into":
            TrustRecord(folder).mark_trusted(OLD)
            folder.chmod(0o777)
        case "written by others":
            TrustRecord(folder).mark_trusted(OLD)
            record.chmod(0o622)
        case "other content":
            record.write_text('{"batch": {"old": "any"}, "secret": []}')
            record.chmod(0o600)


@pytest.mark.parametrize(
    "how",
    [
        "a file in its folder's place",
        "damaged",
        "a pipe",
        "a link to an old record",
        "a folder that others write into",
        "written by others",
        "other content",
    ],
)
def test_a_record_that_cannot_be_used_is_told_once_grants_nothing_and_trust_lasts_for_the_process(
    folder: Path, database: Path, said: list[str], how: str
) -> None:
    broken(folder, how)
    record = TrustRecord(folder)
    assert record.batches() == []
    record.mark_trusted({"abc": "{}"})
    assert record.knows("abc", "{}") and len(record.secret()) == 32 and record.secret() == record.secret()
    assert len(said) == 1 and "for this process only" in said[0] and "TIDEPOOL_STATE" in said[0]
    with pytest.raises(FileError, match="cannot be changed"):
        record.forget_batch("abc")
    assert TrustRecord(folder).batches() == []


def test_a_record_that_another_process_holds_on_to_is_waited_for_and_then_told(
    folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidepool.engine.trust.record.BUSY_SECONDS", 0.05)
    record = TrustRecord(folder)
    record.mark_trusted(OLD)
    with FileLock(record.path.with_suffix(".lock")):
        record.mark_trusted({"abc": "{}"})
        assert record.knows("abc", "{}") and record.knows("old", "{}")
    assert len(said) == 1 and "lock" in said[0]
    assert not TrustRecord(folder).knows("abc", "{}"), "for this process only"


@pytest.mark.parametrize("state", ["", "relative"])
def test_an_empty_name_of_the_folder_is_none_and_a_relative_one_begins_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDEPOOL_STATE", state)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "usual"))
    assert trust_record().path == tmp_path / ("relative" if state else "usual/tidepool") / FILE_NAME


def test_without_a_home_nothing_is_left_where_one_stands(tmp_path: Path, said: list[str]) -> None:
    record = TrustRecord(Path("~/.local/state/tidepool"))
    record.mark_trusted(OLD)
    assert record.batches() == KNOWN and "no home" in said[0]
    assert not Path("~").exists()


def test_a_screen_can_tell_it_instead_of_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tidepool.engine.trust import record as module

    folder.write_text("in the way")
    words: list[str] = []
    before = module._report
    report_problems_to(words.append)
    try:
        TrustRecord(folder).mark_trusted(OLD)
    finally:
        report_problems_to(before)
    assert len(words) == 1 and not capsys.readouterr().err


def test_of_several_batches_none_is_forgotten_by_a_beginning_they_share(tidepool: Tidepool, database: Path) -> None:
    trust_record().mark_trusted({"aa11": "{}", "aa22": "{}"})
    trust_record().mark_trusted({"aa22": "{ }"})
    refused = tidepool("trust", "remove", "aa")
    assert refused.returncode == 2 and "aa11, aa22" in refused.stderr
    assert tidepool("trust", "remove", "aa2").returncode == 0
    assert [batch_id for batch_id, _ in trust_record().batches()] == ["aa11"]


def test_the_record_is_its_owners_alone_and_holds_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own-key")
    trust_record().mark_trusted(OLD)
    record = folder / FILE_NAME
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    record.chmod(0o644)
    assert trust_record().batches() == KNOWN
    assert stat.S_IMODE(record.stat().st_mode) == 0o600 and b"sk-the-users" not in record.read_bytes()


def test_the_secret_stays_the_same_and_is_another_for_another_user(folder: Path, tmp_path: Path) -> None:
    assert TrustRecord(folder).secret() == TrustRecord(folder).secret() != TrustRecord(tmp_path / "other").secret()
