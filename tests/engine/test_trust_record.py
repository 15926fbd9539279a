"""The trust record itself: safe against kills between two files, honest where it cannot be kept, closed to what others wrote."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.engine.studies.simulation.panels import panel
from tests.engine.test_trusted_endpoints import TREASURE, game
from tests.support.command import ROOT, Tidepool
from tests.support.state import change, query
from tidepool import SecretGame
from tidepool.engine.config.user_endpoints import FILE_NAME as PROVIDERS_FILE
from tidepool.engine.errors import FileError, NotTrusted
from tidepool.engine.importing import import_file
from tidepool.engine.run import enlist, refuse_strangers, resume_batch
from tidepool.engine.trust.adoption import adopt
from tidepool.engine.trust.origins import ServerOrigin
from tidepool.engine.trust.question import question_about
from tidepool.engine.trust.record import FILE_NAME, TrustedServer, TrustRecord, tell_trouble_by, trust_record
from tidepool.storage import batches
from tidepool.storage.errors import BatchLocked
from tidepool.storage.file import reading
from tidepool.storage.locks import holding
from tidepool.storage.reading import search

SERVER = TrustedServer(ServerOrigin("https", "gpu.example", 443), "LAB_KEY")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "state"
    monkeypatch.setenv("TIDEPOOL_STATE", str(place))
    monkeypatch.setenv(TREASURE, "the users own treasure")
    return place


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is told of a record that cannot be used."""
    words: list[str] = []
    monkeypatch.setattr("tidepool.engine.trust.record._say", words.append)
    return words


def lab_game(address: str = "https://gpu.example/v1") -> SecretGame:
    return game("lab:x", lab={"like": "openai", "base_url": address, "api_key_env": "LAB_KEY"})


# -- our own rewrites ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("killed", ["before the file is written", "after it"])
async def test_a_kill_between_the_record_and_the_file_leaves_ones_own_batch_ones_own(
    database: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    class Killed(BaseException):
        pass

    batch_id = enlist(panel(num_simulations=1), database)
    rewrite = batches.rewrite_config

    def kill(*arguments: object) -> None:
        if killed == "after it":
            rewrite(*arguments)  # type: ignore[arg-type]
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("tidepool.engine.run.batches.rewrite_config", kill)
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
            record.write_bytes(b"SQLite format 3\x00" + b"\x07" * 500)
        case "no database":
            record.write_text("hello" * 100)
        case "a folder":
            record.mkdir()
        case "a pipe":
            os.mkfifo(record, 0o600)
        case "a link to an old record":
            TrustRecord(folder / "old").add_server(SERVER)
            record.symlink_to(folder / "old" / FILE_NAME)
        case "a link to nothing":
            record.symlink_to(folder / "nowhere")
        case "a folder that others write into":
            TrustRecord(folder).add_server(SERVER)
            folder.chmod(0o777)
        case "written by others":
            TrustRecord(folder).add_server(SERVER)
            record.chmod(0o622)
        case "other tables":
            with closing(sqlite3.connect(record)) as connection:
                connection.execute("CREATE TABLE batch (x)")
                connection.execute("CREATE TABLE server (x)")
                connection.commit()
            record.chmod(0o600)
    if record.is_file() and not record.is_symlink() and how in ("damaged", "no database"):
        record.chmod(0o600)


@pytest.mark.parametrize(
    "how",
    [
        "a file in its folder's place",
        "damaged",
        "no database",
        "a folder",
        "a pipe",
        "a link to an old record",
        "a link to nothing",
        "a folder that others write into",
        "written by others",
        "other tables",
    ],
)
def test_a_record_that_cannot_be_used_is_told_once_grants_nothing_and_trust_lasts_for_the_process(
    folder: Path, database: Path, said: list[str], how: str
) -> None:
    broken(folder, how)
    record = TrustRecord(folder)
    assert record.servers() == [] and record.batches() == []
    record.add_server(SERVER)
    record.vouch("abc", "{}")
    assert record.servers() == [SERVER] and record.knows("abc", "{}")
    assert len(said) == 1 and "for this process only" in said[0] and "TIDEPOOL_STATE" in said[0]
    with pytest.raises(FileError, match="cannot be changed"):
        record.forget_batch("abc")
    assert TrustRecord(folder).servers() == []


def test_a_record_that_another_process_holds_on_to_is_waited_for_and_then_told(
    folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidepool.engine.trust.record.BUSY_SECONDS", 0.05)
    record = TrustRecord(folder)
    record.add_server(SERVER)
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        record.vouch("abc", "{}")
        assert record.knows("abc", "{}") and record.servers() == []
    assert len(said) == 1 and "locked" in said[0]
    assert record.servers() == [SERVER], "as soon as it is let go"


def test_a_full_disk_is_told_and_nothing_that_was_there_is_lost(
    folder: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = TrustRecord(folder)
    record.add_server(SERVER)
    connect = sqlite3.connect

    def small(*arguments: object, **more: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **more)  # type: ignore[call-overload]
        if arguments[0] != ":memory:":
            connection.execute("PRAGMA max_page_count = 1")
        return connection

    monkeypatch.setattr("tidepool.engine.trust.record.sqlite3.connect", small)
    for number in range(100):
        record.vouch(f"batch{number}", "{}")
    assert len(said) == 1 and "full" in said[0]
    assert record.knows("batch99", "{}") and record.servers() == [SERVER]


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
    record.add_server(SERVER)
    assert record.servers() == [SERVER] and "no home" in said[0]
    assert not Path("~").exists()


def test_a_screen_can_tell_it_instead_of_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tidepool.engine.trust import record as module

    folder.write_text("in the way")
    words: list[str] = []
    before = module._say
    tell_trouble_by(words.append)
    try:
        TrustRecord(folder).add_server(SERVER)
    finally:
        tell_trouble_by(before)
    assert len(words) == 1 and not capsys.readouterr().err


# -- adoption ------------------------------------------------------------------------------------------------


def test_an_adopted_file_gets_a_search_index_of_its_own_making(database: Path, folder: Path) -> None:
    batch_id = enlist(panel(num_simulations=1), database)
    search.fill_some(database)
    index = "SELECT name FROM sqlite_master WHERE name = 'message_search'"
    assert query(database, index)
    ((config,),) = query(database, "SELECT config FROM batch")
    with holding(database, batch_id), pytest.raises(BatchLocked):
        adopt(database, batch_id, config)
    assert query(database, index)
    adopt(database, batch_id, config)
    assert query(database, index) == []


def test_of_several_batches_none_is_forgotten_by_a_beginning_they_share(tidepool: Tidepool, database: Path) -> None:
    trust_record().vouch("aa11", "{}")
    trust_record().vouch("aa22", "{}")
    trust_record().vouch("aa22", "{ }")
    refused = tidepool("trust", "remove", "aa")
    assert refused.returncode == 2 and "aa11, aa22" in refused.stderr
    assert tidepool("trust", "remove", "aa2").returncode == 0
    assert [one.id for one in trust_record().batches()] == ["aa11"]


# -- whose word counts ---------------------------------------------------------------------------------------


def judge(database: Path) -> None:
    with reading(database) as connection:
        refuse_strangers(batches.find_batch(connection, "last"))


def test_a_server_of_the_users_own_providers_file_is_the_users_word(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enlist(lab_game(), database)
    monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / "there"))
    with pytest.raises(NotTrusted):
        judge(database)
    monkeypatch.setenv("TIDEPOOL_CONFIG", str(tmp_path))
    declared = tmp_path / PROVIDERS_FILE
    declared.write_text(
        '[providers.mine]\nlike = "openai"\nbase_url = "https://gpu.example"\napi_key_env = "OTHER_KEY"\n'
    )
    with pytest.raises(NotTrusted):
        judge(database)
    declared.write_text(declared.read_text().replace("OTHER_KEY", "LAB_KEY"))
    judge(database)
    declared.write_text("half = [")
    with pytest.raises(NotTrusted):
        judge(database)


def test_what_comes_back_unchanged_keeps_its_servers_and_what_was_changed_loses_them(
    database: Path, tmp_path: Path, folder: Path
) -> None:
    batch_id = enlist(lab_game(), database)
    ((config,),) = query(database, "SELECT config FROM batch")
    here = tmp_path / "here.db"
    import_file(here, database)
    assert query(here, "SELECT config FROM batch") == [(config,)] and trust_record().knows(batch_id, config)
    change(database, "UPDATE batch SET config = json_set(config, '$.providers.lab.api_key_env', ?)", TREASURE)
    import_file(here, database, replace=True)
    ((kept,),) = query(here, "SELECT config FROM batch")
    assert TREASURE not in kept and "gpu.example" not in kept and not trust_record().knows(batch_id, kept)


def test_a_section_of_an_installed_package_is_a_strangers_word_too(tmp_path: Path, database: Path) -> None:
    """A package may read a server, or a command, from keys of its own."""
    package = tmp_path / "package"
    (package / "strange-1.dist-info").mkdir(parents=True)
    (package / "strange-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1\n")
    (package / "strange-1.dist-info" / "entry_points.txt").write_text(
        "[tidepool.providers]\nshell = strange:PROVIDER\n"
    )
    (package / "strange.py").write_text(
        "from tidepool.engine.extending import *\n"
        "class ShellSettings(ProviderSettings):\n    command: str = 'cat'\n"
        "class ShellProvider(LiveProvider):\n    name = 'shell'\n"
        "    async def complete(self, call, seed, attempt):\n"
        "        open(self.settings.command, 'w').close()\n"
        "        return Answer('hello', 1, 1, cost_usd=0.0)\n"
        "    def price(self, model_name):\n        return FREE\n"
        "PROVIDER = ProviderSpec(ShellSettings, ShellProvider, models=('x',))\n"
    )
    study = tmp_path / "study.toml"
    made = tmp_path / "made by the command"
    study.write_text(
        '[batch]\nkind = "simulation"\n[simulation]\ncontext = "c"\nmodel = "shell:x"\nnum_simulations = 1\n'
        f'[providers.shell]\ncommand = "{made}"\n'
        '[[entities]]\nname = "A"\ndescription = "a"\n[[entities]]\nname = "B"\ndescription = "b"\n'
    )

    def run(*words: str, state: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": f"{package}:{ROOT}", "TIDEPOOL_STATE": str(tmp_path / state)}
        command = [sys.executable, "-m", "tidepool", "--db", str(database), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=120)

    assert run("--run", str(study), state="here").returncode == 0
    made.unlink()
    change(database, "DELETE FROM call")
    change(database, "UPDATE batch SET status = 'interrupted'")
    change(database, "UPDATE unit SET status = 'in_progress'")
    refused = run("--resume", "last", state="there")
    assert refused.returncode == 2 and "shell:x" in refused.stderr and "command" in refused.stderr, refused.stderr
    assert not made.exists()
    assert run("--resume", "last", "--trust", state="there").returncode == 0
    assert made.exists()


def test_no_question_is_asked_of_what_is_known(database: Path) -> None:
    enlist(lab_game(), database)
    assert question_about(database, "last") is None
