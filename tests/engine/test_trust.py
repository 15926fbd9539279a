"""Trust lives outside the file: no key and no word goes where only a file says so."""

import asyncio
import shutil
import socket
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from tests.emulator import Emulator
from tests.engine.api.conftest import Launcher
from tests.engine.studies.simulation.panels import panel
from tests.support.command import Tidepool
from tests.support.state import query
from tidepool import SecretGame
from tidepool.engine.api.runs import QUEUED, Runs
from tidepool.engine.config.sections import Agent, Providers, ProviderSettings, Service
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.run import enlist, resume_batch
from tidepool.engine.trust.origins import is_loopback, origin_of
from tidepool.engine.trust.record import FILE_NAME, TrustedServer, config_hash, trust_record
from tidepool.engine.trust.servers import without_strange_addresses

KEY = "sk-the-users-own-key"

Move = Callable[[str], None]


@pytest.fixture
async def server() -> AsyncIterator[Emulator]:
    """A server on this machine, which may be anybody's."""
    async with Emulator() as running:
        yield running


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Move:
    """A machine with a key and a trust record of its own; and the way to another one."""

    def move(name: str) -> None:
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))

    move("here")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return move


def game(server: Emulator | None = None) -> SecretGame:
    agents = [Agent(name=name, model="openai:gpt-4o-mini", secret=f"{name}moss") for name in ("Ada", "Bo")]
    settings = ProviderSettings(base_url=server.urls["openai"]) if server else ProviderSettings()
    return SecretGame(
        agents=agents,
        num_interactions=1,
        messages_per_interaction=2,
        detection=["exact"],
        service=Service(name="live"),
        providers=Providers(openai=settings),
    )


def changed(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def led_astray(path: Path, server: Emulator) -> None:
    """The file's batches name another server, and say that they were made here."""
    changed(
        path,
        "UPDATE batch SET host = ?, config = json_set(config, '$.providers.openai.base_url', ?)",
        socket.gethostname(),
        server.urls["openai"],
    )


def requests(server: Emulator) -> int:
    return sum(server.traffic("openai").values())


async def test_a_file_that_claims_to_be_from_this_machine_gets_no_key(database: Path, server: Emulator) -> None:
    enlist(game(), database)
    led_astray(database, server)
    with pytest.raises(UsageError) as refused:
        await resume_batch("last", database)
    words = str(refused.value)
    assert server.urls["openai"] in words and "openai:gpt-4o-mini" in words and "OPENAI_API_KEY" in words
    assert "--set 'providers.openai.base_url=…'" in words and "--trust" in words and KEY not in words
    assert requests(server) == 0


async def test_a_batch_that_was_made_here_goes_on_at_its_own_server(database: Path, server: Emulator) -> None:
    enlist(game(server), database)
    assert (await resume_batch("last", database))["status"] == "completed"
    assert requests(server) > 0


async def test_on_another_machine_its_server_is_a_strangers(database: Path, server: Emulator, machine: Move) -> None:
    enlist(game(server), database)
    machine("there")
    with pytest.raises(UsageError, match="not known here"):
        await resume_batch("last", database)
    assert requests(server) == 0


async def test_a_copy_is_as_trusted_as_the_file_wherever_it_lies(
    database: Path, server: Emulator, tmp_path: Path
) -> None:
    enlist(game(server), database)
    copy = Path(shutil.copy(database, tmp_path / "copy.db"))
    assert (await resume_batch("last", copy))["status"] == "completed"


async def test_a_config_that_was_changed_in_the_file_is_no_longer_trusted(database: Path, server: Emulator) -> None:
    async with Emulator() as other:
        enlist(game(server), database)
        led_astray(database, other)
        with pytest.raises(UsageError, match="not known here"):
            await resume_batch("last", database)
        assert requests(other) == requests(server) == 0


@pytest.mark.parametrize("form", ["providers.openai.base_url={0}", 'providers.openai = {{ base_url = "{0}" }}'])
async def test_set_says_where_calls_go_and_is_remembered(database: Path, server: Emulator, form: str) -> None:
    async with Emulator() as other:
        enlist(game(), database)
        led_astray(database, other)
        server.set_faults("openai", rates={"live": {"400": 1.0}})
        change = form.format(server.urls["openai"])
        assert (await resume_batch("last", database, overrides=[change]))["status"] == "failed"
        server.set_faults("openai", rates={})
        assert (await resume_batch("last", database))["status"] == "completed"
        assert requests(other) == 0


async def test_a_set_about_something_else_allows_no_server(database: Path, server: Emulator) -> None:
    enlist(game(), database)
    led_astray(database, server)
    for change in ("service.max_concurrent=3", "providers.openai.max_concurrent=3", "providers.anthropic.base_url=x"):
        with pytest.raises(UsageError, match="not known here"):
            await resume_batch("last", database, overrides=[change])
    assert requests(server) == 0


async def test_our_own_rewrite_of_a_config_keeps_its_trust(database: Path, server: Emulator) -> None:
    enlist(game(server), database)
    server.set_faults("openai", rates={"live": {"400": 1.0}})
    assert (await resume_batch("last", database, overrides=["service.max_concurrent=3"]))["status"] == "failed"
    server.set_faults("openai", rates={})
    assert (await resume_batch("last", database))["status"] == "completed"
    ((batch_id, config),) = query(database, "SELECT id, config FROM batch")
    assert [(one.id, one.config_hash) for one in trust_record().batches()] == [(batch_id, config_hash(config))]


async def test_trust_is_for_this_once(database: Path, server: Emulator, machine: Move) -> None:
    enlist(game(server), database)
    machine("there")
    server.set_faults("openai", rates={"live": {"400": 1.0}})
    summary = await resume_batch("last", database, overrides=["service.max_concurrent=3"], trust=True)
    assert summary["status"] == "failed" and requests(server) > 0
    with pytest.raises(UsageError, match="not known here"):
        await resume_batch("last", database)


async def test_a_trusted_server_is_trusted_with_the_key_it_was_trusted_with(
    database: Path, server: Emulator, machine: Move
) -> None:
    enlist(game(server), database)
    machine("there")
    origin = origin_of(server.url)
    assert origin is not None
    for other in ("", "ANTHROPIC_API_KEY"):
        trust_record().add_server(TrustedServer(origin, other))
        with pytest.raises(UsageError, match="not known here"):
            await resume_batch("last", database)
    assert requests(server) == 0
    trust_record().add_server(TrustedServer(origin, "OPENAI_API_KEY"))
    assert (await resume_batch("last", database))["status"] == "completed"


async def test_the_address_of_the_environment_is_the_users_own(
    database: Path, server: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    enlist(game(), database)
    led_astray(database, server)
    monkeypatch.setenv("OPENAI_BASE_URL", server.urls["openai"])
    assert (await resume_batch("last", database))["status"] == "completed"


async def test_a_loopback_server_that_gets_no_key_needs_no_trust(
    database: Path, server: Emulator, machine: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://192.0.2.1:11434")
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    study = panel(num_simulations=1, model="ollama:llama3.2")
    study.providers.ollama.hosts = [server.urls["ollama"]]
    enlist(study, database)
    machine("there")
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    with pytest.raises(UsageError, match="OLLAMA_API_KEY"):
        await resume_batch("last", database)
    assert sum(server.traffic("ollama").values()) == 0
    monkeypatch.delenv("OLLAMA_API_KEY")
    assert (await resume_batch("last", database))["status"] == "completed"


async def test_a_trigger_that_would_lead_the_next_resume_astray_ends_the_first(
    database: Path, server: Emulator
) -> None:
    enlist(game(), database)
    changed(
        database,
        "CREATE TRIGGER leads_astray AFTER UPDATE OF status ON batch BEGIN UPDATE batch SET "
        f"config = json_set(config, '$.providers.openai.base_url', '{server.urls['openai']}'); END",
    )
    before = sha256(database.read_bytes()).hexdigest()
    for _ in range(2):
        with pytest.raises(FileError, match="leads_astray"):
            await resume_batch("last", database)
    assert sha256(database.read_bytes()).hexdigest() == before
    assert requests(server) == 0


async def test_the_command_refuses_with_2_and_obeys_trust(
    tidepool: Tidepool, database: Path, server: Emulator, machine: Move
) -> None:
    enlist(game(server), database)
    machine("there")
    refused = await asyncio.to_thread(tidepool, "--resume", "last")
    assert refused.returncode == 2 and "not known here" in refused.stderr and "Traceback" not in refused.stderr
    assert requests(server) == 0
    obeyed = await asyncio.to_thread(tidepool, "--resume", "last", "--trust")
    assert obeyed.returncode == 0, obeyed.stderr


def test_what_a_strangers_file_calls_queued_is_not_run_by_the_api(database: Path, machine: Move) -> None:
    launcher = Launcher()
    batch_id = enlist(panel(num_simulations=1), database)
    changed(database, "UPDATE batch SET reason = ?", QUEUED)
    runs = Runs(database, launcher, 4)
    runs.look()
    assert launcher.started == [], "not even what was made here, by another program"
    runs.queue(batch_id)
    machine("there")
    runs.look()
    assert launcher.started == []
    machine("here")
    runs.look()
    assert [started.batch_id for started in launcher.started] == [batch_id]


def test_what_the_api_once_ran_is_not_run_again_because_the_file_says_so(database: Path) -> None:
    launcher = Launcher()
    batch_id = enlist(panel(num_simulations=1), database)
    Runs(database, launcher, 4).queue(batch_id)
    changed(database, "UPDATE batch SET status = 'completed', reason = NULL")
    Runs(database, launcher, 4).look()
    changed(database, "UPDATE batch SET status = 'pending', reason = ?", QUEUED)
    Runs(database, launcher, 4).look()
    assert launcher.started == []


def test_a_queued_batch_whose_config_was_changed_in_the_file_is_not_run(database: Path) -> None:
    launcher = Launcher()
    batch_id = enlist(panel(num_simulations=1), database)
    runs = Runs(database, launcher, 4)
    runs.queue(batch_id)
    changed(database, "UPDATE batch SET config = json_set(config, '$.simulation.num_simulations', 1000000)")
    runs.look()
    assert launcher.started == []


def test_the_record_is_its_owners_alone_and_holds_no_key(database: Path, tmp_path: Path, server: Emulator) -> None:
    enlist(game(server), database)
    record = tmp_path / "here" / FILE_NAME
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    record.chmod(0o644)
    assert len(trust_record().batches()) == 1
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert KEY.encode() not in record.read_bytes()


async def test_a_record_that_others_may_have_written_grants_nothing(
    database: Path, tmp_path: Path, server: Emulator, capsys: pytest.CaptureFixture[str]
) -> None:
    enlist(game(server), database)
    (tmp_path / "here" / FILE_NAME).chmod(0o666)
    with pytest.raises(UsageError, match="not known here"):
        await resume_batch("last", database)
    assert "others may have written it" in capsys.readouterr().err
    assert requests(server) == 0


async def test_without_a_writable_record_that_is_said_once_and_trust_lasts_for_the_process(
    database: Path, tmp_path: Path, server: Emulator, machine: Move, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a file").write_text("in the way")
    machine("a file/state")
    enlist(game(server), database)
    enlist(game(server), database)
    assert (await resume_batch("last", database))["status"] == "completed"
    assert capsys.readouterr().err.count("trust record") == 1
    machine("there")
    (first,) = query(database, "SELECT id FROM batch WHERE status = 'pending'")
    with pytest.raises(UsageError, match="not known here"):
        await resume_batch(first[0], database)


def test_a_strangers_batch_is_copied_without_its_servers(database: Path, server: Emulator, machine: Move) -> None:
    enlist(game(server), database)
    ((batch_id, config),) = query(database, "SELECT id, config FROM batch")
    assert without_strange_addresses(batch_id, config)["providers"]["openai"] == {"base_url": server.urls["openai"]}
    machine("there")
    assert without_strange_addresses(batch_id, config)["providers"]["openai"] == {}


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://127.0.0.1:11434", True),
        ("127.0.0.5:80", True),
        ("http://[::1]:8000/v1", True),
        ("http://LOCALHOST:8000", True),
        ("http://localhost.example:8000", False),
        ("http://127.0.0.1@192.0.2.1/v1", False),
        ("http://192.0.2.1\\@127.0.0.1/v1", False),
        ("http://192.0.2.1#@127.0.0.1", False),
        ("http://127.0.0.1\n.example", False),
        ("https://192.0.2.1", False),
        ("", False),
    ],
)
def test_only_loopback_is_this_machine(address: str, here: bool) -> None:
    assert is_loopback(address) == here


def test_the_trust_command_lists_adds_and_removes(tidepool: Tidepool, database: Path, machine: Move) -> None:
    batch_id = enlist(panel(num_simulations=1), database)
    machine("there")
    assert tidepool("trust", "add", "https://gpu.example/v1", "--key", "LAB_KEY").returncode == 0
    assert tidepool("trust", "add", batch_id[:6]).returncode == 0
    listed = tidepool.json("trust", "list")
    assert listed["servers"] == [{"server": "https://gpu.example:443", "key": "LAB_KEY"}]
    assert [one["id"] for one in listed["batches"]] == [batch_id]
    refused = tidepool("trust", "add", "https://gpu.example", "--key", KEY)
    assert refused.returncode == 2 and KEY not in refused.stderr
    assert tidepool("trust", "add", "https://name:password@gpu.example").returncode == 2
    assert tidepool("trust", "remove", "https://gpu.example").returncode == 0
    assert tidepool("trust", "remove", batch_id).returncode == 0
    assert tidepool("trust", "remove", batch_id).returncode == 2
    assert tidepool.json("trust", "list") == {"servers": [], "batches": []}
