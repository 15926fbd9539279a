"""Strangers' files that would have the user's keys: forged in every way we could think of, taken up in every way there is.

A server on this machine notes whatever reaches it. Every variable that may hold a key holds a canary. Each file names
that server, has a key sent along, and claims to be the user's own; then it is resumed, planned, asked about, imported,
copied, given up, and resumed through the API.
"""

import asyncio
import os
import random
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.support.state import change
from tidepool import SecretGame, Simulation
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.endpoints import KNOWN_ENDPOINTS
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from
from tidepool.engine.config.sections import Agent, Providers, Service
from tidepool.engine.config.study import Study
from tidepool.engine.errors import TidepoolError
from tidepool.engine.importing import import_file
from tidepool.engine.library.entities import Entity
from tidepool.engine.run import config_to_resume, enlist, refuse_untrusted, resume_batch
from tidepool.engine.runtime.abandoning import give_up
from tidepool.engine.studies.kinds import load_kind
from tidepool.engine.studies.plan import priced
from tidepool.engine.trust.gate import copied_config, question_about, servers_named_by
from tidepool.storage import batches
from tidepool.storage.file import reading

FILES = 200
CANARY = "canary-0123456789abcdef"
SECRETS = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "LAB_KEY")
PLAIN = ("openai", "anthropic", "ollama", "openrouter", "gemini", "azure", "vllm", "litellm")
SPELLINGS: tuple[Callable[[int], str], ...] = (
    lambda port: f"http://127.0.0.1:{port}/v1",
    lambda port: f"http://localhost:{port}/v1",
    lambda port: f"http://LOCALHOST:{port}/v1",
    lambda port: f"http://127.0.0.5:{port}",
    lambda port: f"http://127.1:{port}/v1",
    lambda port: f"http://2130706433:{port}/v1",
    lambda port: f"http://0x7f000001:{port}/v1",
    lambda port: f"http://0177.0.0.1:{port}/v1",
    lambda port: f"http://0.0.0.0:{port}/v1",
    lambda port: f"http://localhost.:{port}/v1",
    lambda port: f"http://api.openai.com@127.0.0.1:{port}/v1",
    lambda port: f"http://127.0.0.1:{port}/api.openai.com/v1",
    lambda port: f"http://127.0.0.1:{port}?https://api.openai.com",
    lambda port: f"http://127.0.0.1:{port}#@api.openai.com",
    lambda port: f"http://127.0.0.1\t:{port}",
    lambda port: f" http://127.0.0.1:{port}",
    lambda port: f"HTTP://127.0.0.1:{port}",
    lambda port: f"http://\uff11\uff12\uff17.0.0.1:{port}",
    lambda port: f"http://[::ffff:127.0.0.1]:{port}",
    lambda port: f"127.0.0.1:{port}",
)
CLAIMS = (
    "UPDATE batch SET status = 'interrupted'",
    "UPDATE batch SET status = 'pending', reason = 'queued'",
    "UPDATE batch SET status = 'failed', imported = 0",
    "UPDATE batch SET reason = 'trusted', stop_code = 'stopped', status = 'partial'",
    "UPDATE progress SET calls = 100, bought = 100",
    "INSERT INTO control (batch_number, at, command, arguments, taken_at) SELECT number, 1.0, 'limits', "
    "json_object('providers.openai.api_key_env', 'GITHUB_TOKEN'), 1.0 FROM batch",
)


@dataclass(frozen=True, slots=True)
class Forgery:
    """What is written into a file."""

    model: str
    section: dict[str, Any]
    claim: str
    kind: str
    after_adoption: bool
    """it was the user's own, and was changed since"""

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]


def forged(seed: int, port: int) -> Forgery:
    """With a key in every case: where no key is sent, a server of this machine may be asked."""
    dice = random.Random(seed)
    address = dice.choice(SPELLINGS)(port)
    provider = dice.choice((*PLAIN, "lab", "my-lab"))
    where = dice.choice(({"base_url": address}, {"hosts": [address]}, {"hosts": [address, address + "/"]}))
    section: dict[str, Any] = {**where, "prices": {"*": {"input": 0.0, "output": 0.0}}}
    if provider not in KNOWN_ENDPOINTS:
        section["like"] = dice.choice(("openai", "anthropic", "ollama"))
    if not KNOWN_ENDPOINTS.get(provider) or not KNOWN_ENDPOINTS[provider].keys or dice.random() < 0.5:
        section["api_key_env"] = dice.choice((*SECRETS, "OPENAI_API_KEY"))
    return Forgery(
        f"{provider}:gpt-4o-mini",
        section,
        dice.choice(CLAIMS),
        dice.choice(("secret_game", "simulation")),
        seed % 3 == 0,
    )


def study(forgery: Forgery, *, forge: bool) -> Study:
    own = {"like": forgery.section["like"], "base_url": "http://192.0.2.1/v1"} if "like" in forgery.section else {}
    providers = Providers.model_validate({forgery.provider: forgery.section if forge else own})
    service = Service(name="live", retries=0, timeout=2, outage_patience=1)
    if forgery.kind == "simulation":
        people = [Entity(name=name, description="somebody") for name in ("Ada", "Bo")]
        return Simulation(
            context="c", entities=people, num_simulations=1, model=forgery.model, service=service, providers=providers
        )
    agents = [Agent(name=name, model=forgery.model, secret=f"{name}moss") for name in ("Ada", "Bo")]
    return SecretGame(
        agents=agents,
        num_interactions=1,
        messages_per_interaction=2,
        detection=["exact"],
        service=service,
        providers=providers,
    )


@asynccontextmanager
async def recorder() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server that notes what it is sent, on every address of loopback."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError):
            heard.append(await asyncio.wait_for(reader.read(65536), 2))
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(listen, "0.0.0.0", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


@contextmanager
def machine(folder: Path) -> Iterator[None]:
    keys = {name for known in KNOWN_ENDPOINTS.values() for name in known.keys} | set(SECRETS)
    unset = {name: "" for known in KNOWN_ENDPOINTS.values() if (name := known.address_variable)}
    places = {"TIDEPOOL_STATE": str(folder / "state"), "TIDEPOOL_CONFIG": str(folder / "config")}
    with patch.dict(os.environ, {**dict.fromkeys(keys, CANARY), **unset, **places}):
        os.environ.pop("ANTHROPIC_PROFILE", None)
        yield


def written(path: Path, forgery: Forgery) -> str:
    """The forged file: of another machine, or the user's own and changed since."""
    if forgery.after_adoption:
        batch_id = enlist(study(forgery, forge=False), path)
        config = freeze(study(forgery, forge=True), path).to_json()
        change(path, "UPDATE batch SET config = ?", config)
    else:
        with patch.dict(os.environ, {"TIDEPOOL_STATE": f"{path}.elsewhere"}):
            batch_id = enlist(study(forgery, forge=True), path)
    change(path, "UPDATE batch SET host = ?", socket.gethostname())
    change(path, forgery.claim)
    order = (
        "INSERT INTO provider_batch (id, batch_number, provider, lot, upload_id, remote_id, unsure, state, calls, count, "
        "wave, content_hash, reservation_usd, created_at) SELECT 'o1', number, ?, '', 'file-1', 'batch_1', 0, 'created', "
        "'[]', 1, 1, '', 0, 1 FROM batch"
    )
    change(path, order, forgery.provider)
    return batch_id


async def taken_up(path: Path, batch_id: str, forgery: Forgery) -> int:
    """In every way; returns how many of them would have obeyed the file."""
    obeyed = 0
    for way in (
        lambda: resume_batch(batch_id, path),
        lambda: resume_batch("last", path, overrides=["service.max_concurrent=2"]),
        lambda: give_up(path, batch_id, "batch_1"),
    ):
        try:
            await way()
        except (TidepoolError, ValueError):
            continue
        obeyed += 1
    obeyed += await asyncio.to_thread(_read, path, batch_id, forgery)
    copy = path.with_suffix(".imported.db")
    with suppress(TidepoolError):
        await asyncio.to_thread(import_file, copy, path)
        with suppress(TidepoolError, ValueError):
            imported = config_to_resume(batch_id, copy)
            obeyed += bool(servers_named_by(forgery.provider, imported.providers.section(forgery.provider)))
    return obeyed


def _read(path: Path, batch_id: str, forgery: Forgery) -> int:
    with suppress(TidepoolError, ValueError):
        config = config_to_resume(batch_id, path)
        priced(load_kind(config.batch.kind).plan(config), config)
    obeyed = 0
    with suppress(TidepoolError, ValueError):
        obeyed += question_about(path, batch_id) is None
    with reading(path) as connection:
        batch = batches.find_batch(connection, batch_id)
    try:
        refuse_untrusted(batch)  # what the API asks before it starts a process
        obeyed += 1
    except (TidepoolError, ValueError):
        pass
    with suppress(TidepoolError, ValueError):
        copied = freeze(config_from(copied_config(batch_id, batch["config"])), path)
        obeyed += bool(servers_named_by(forgery.provider, copied.providers.section(forgery.provider)))
    return obeyed


async def _measure(folder: Path) -> tuple[int, int, int, bool]:
    """Files; how often one was obeyed; what was heard of them; whether one's own batch still gets there."""
    files = obeyed = 0
    async with recorder() as (port, heard):
        for seed in range(FILES):
            forgery, path = forged(seed, port), folder / f"{seed}.db"
            try:
                batch_id = written(path, forgery)
            except (TidepoolError, ValueError):  # no config at all, wherever it is written
                continue
            files += 1
            obeyed += await taken_up(path, batch_id, forgery)
        stolen = len(heard)
        own = Forgery("openai:gpt-4o-mini", {"base_url": SPELLINGS[0](port)}, CLAIMS[0], "secret_game", False)
        mine = folder / "mine.db"
        enlist(study(own, forge=True), mine)
        with suppress(TidepoolError):
            await resume_batch("last", mine)
        reached = any(CANARY.encode() in one for one in heard[stolen:])
    return files, obeyed, stolen, reached


def prove() -> Iterable[Measurement]:
    with tempfile.TemporaryDirectory() as name, machine(Path(name)):
        files, obeyed, stolen, reached = asyncio.run(_measure(Path(name)))
    yield at_most("times that a forged file was obeyed", obeyed, "times", 0, f"{files} files, each in seven ways")
    yield at_most("requests that reached a server which only a file names", stolen, "requests", 0)
    yield at_least("the user's own batch reaches its server with its key", float(reached), "of 1", 1)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
