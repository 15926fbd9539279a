"""What a file calls its provider batch may be any other one of the user's: on its word alone nothing is cancelled or deleted."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.emulator import Emulator
from tests.support.state import change, log_of, query
from tidepool import SecretGame
from tidepool.engine.batching.giving_up import give_up
from tidepool.engine.config.sections import Agent, Service
from tidepool.engine.core.run_control import RunControl
from tidepool.engine.errors import FileError, NotTrusted
from tidepool.engine.events import Event, ProviderBatchChanged
from tidepool.engine.run import resume_batch, run_batch
from tidepool.engine.trust.adoption import adopt
from tidepool.storage.states import StopCode


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Emulator]:
    """The provider's own address, whose batches never end."""
    async with Emulator() as running:
        for name, value in running.env().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / "here"))
        running.set_faults("openai", batch_seconds=1e6)
        yield running


def study() -> SecretGame:
    agents = [Agent(name=name, model="openai:gpt-4o-mini", secret=f"{name}moss") for name in ("Ada", "Bo")]
    service = Service(name="auto", batch_from=0, poll_interval=0.05, retries=0)
    return SecretGame(
        agents=agents, num_interactions=3, messages_per_interaction=1, detection=["exact"], service=service
    )


class StopsWhenFollowed(RunControl):
    """Stops the run as soon as the provider has shown its batch."""

    def hear(self, event: Event) -> None:
        if isinstance(event, ProviderBatchChanged) and event.state != "created":
            self.stop_for(StopCode.STOPPED)


@pytest.fixture
async def strangers(database: Path, server: Emulator, tmp_path: Path) -> tuple[Path, str, str]:
    """A file whose batch claims the provider batch of a study of the user's own; (file, batch, id at the provider)."""
    control = StopsWhenFollowed("leave")
    await run_batch(study(), database, on_event=control.hear, control=control)
    copy = Path(shutil.copy(database, tmp_path / "strangers.db"))
    change(copy, "UPDATE batch SET config = json_set(config, '$.batch.description', 'changed')")
    ((batch_id, remote_id),) = query(copy, "SELECT b.id, p.remote_id FROM batch b JOIN provider_batch p")
    return copy, batch_id, remote_id


def cancelled(server: Emulator) -> int:
    """Cancellations and deletions that reached the provider."""
    return server.traffic("openai")["cancel"]


async def test_stopping_a_strangers_batch_cancels_nothing_and_says_how_to_adopt_it(
    strangers: tuple[Path, str, str], server: Emulator
) -> None:
    path, batch_id, remote_id = strangers
    control = StopsWhenFollowed("cancel")
    await resume_batch(batch_id, path, on_event=control.hear, control=control)
    assert cancelled(server) == 0
    (words,) = [line for line in log_of(path, batch_id) if "left alone" in line]
    assert remote_id in words and f"tidepool trust add {batch_id}" in words


async def test_one_that_takes_too_long_is_not_cancelled_either(
    strangers: tuple[Path, str, str], server: Emulator
) -> None:
    path, batch_id, _ = strangers
    summary = await resume_batch(batch_id, path, overrides=["service.rescue_after=0.01", "service.name=auto"])
    assert summary["status"] == "completed" and cancelled(server) == 0


async def test_giving_it_up_is_refused_until_the_batch_is_adopted(
    strangers: tuple[Path, str, str], server: Emulator
) -> None:
    path, batch_id, remote_id = strangers
    before = server.traffic("openai").total()
    with pytest.raises(NotTrusted, match=f"tidepool trust add {batch_id}"):
        await give_up(path, batch_id, remote_id)
    assert server.traffic("openai").total() == before
    ((config,),) = query(path, "SELECT config FROM batch")
    await asyncio.to_thread(adopt, path, batch_id, config)
    assert (await give_up(path, batch_id, remote_id)).outcome in ("cancelled", "lost", "kept")
    assert cancelled(server) == 1


async def test_ones_own_are_cancelled_as_ever(
    strangers: tuple[Path, str, str], database: Path, server: Emulator
) -> None:
    control = StopsWhenFollowed("cancel")
    await resume_batch("last", database, on_event=control.hear, control=control)
    assert cancelled(server) == 1


async def test_an_upload_that_a_file_names_is_not_deleted(
    strangers: tuple[Path, str, str], database: Path, server: Emulator
) -> None:
    """Where a creation is in doubt, what was uploaded for it is taken back: for one's own batch only."""
    path, batch_id, _ = strangers
    server.set_faults("openai", batch_seconds=0.0)
    doubt = "UPDATE provider_batch SET state = 'creating', remote_id = NULL, id = 'z' || substr(id, 2), created_at = 1"
    for file, deleted in ((path, 0), (database, 1)):
        change(file, doubt)
        assert (await resume_batch(batch_id, file))["status"] == "completed"
        assert cancelled(server) == deleted


@pytest.mark.parametrize(
    "remote_id", ["../files/file-1", "x/../../fine_tuning/jobs/ft-1", "a?b", "a#b", "", "a b", "é"]
)
async def test_an_id_that_would_lead_elsewhere_is_refused(
    strangers: tuple[Path, str, str], server: Emulator, remote_id: str
) -> None:
    path, batch_id, _ = strangers
    change(path, "UPDATE provider_batch SET remote_id = ?", remote_id)
    polled = server.traffic("openai")["poll"]
    with pytest.raises(FileError, match="an id that is none"):
        await resume_batch(batch_id, path)
    assert server.traffic("openai")["poll"] == polled
