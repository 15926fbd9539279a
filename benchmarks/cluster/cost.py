"""What hands cost the process at home, and what they bring where calls cost CPU. Ratios within one run.

The cost is that of the trade alone: calls handed over and taken back with nothing else around them. For what they bring
one study is run whole, through the SDK, against a server that answers at once and costs next to nothing itself: on a
machine of two cores the process at home has one, and the hands have the other.
"""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.limits.pace import paced
from tests.support.stage import question
from tidepool.engine.bench import Measurement, at_least, at_most
from tidepool.engine.config.sections import SimulatedSettings
from tidepool.engine.providers.catalogue import open_provider
from tidepool.engine.runtime.cluster_section import Cluster
from tidepool.engine.runtime.ray_cluster import start_workers
from tidepool.engine.runtime.remote_provider import RemoteProvider

ROOT = Path(__file__).parent.parent.parent
TRADED, AT_ONCE = 40_000, 1_000
TALKS, MESSAGES = 1_000, 3
ROUNDS = 3
PER_MINUTE = 1_200
SAYS = {"role": "assistant", "content": "No, never."}
REPLIES = {
    b"/v1/models": {"object": "list", "data": [{"id": "gpt-4o-mini", "object": "model", "created": 0}]},
    b"/v1/chat/completions": {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "finish_reason": "stop", "message": SAYS}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 4, "total_tokens": 94},
    },
    b"/api/tags": {"models": [{"model": "m:latest"}]},
    b"/api/chat": {
        "model": "m",
        "message": SAYS,
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 90,
        "eval_count": 4,
    },
}


def prove() -> Iterator[Measurement]:
    cost, bunch = asyncio.run(traded())
    words = f"{AT_ONCE:,} in flight with 2 hands, {bunch:.0f} calls a bunch"
    yield at_most("CPU that a call by hands costs the process at home", cost, "ms", 0.25, words)
    for model, words, least in (("ollama:m", "Ollama's client", 1.3), ("openai:gpt-4o-mini", "OpenAI's SDK", 1.0)):
        ours = {hands: min(_seconds(hands, model) for _ in range(ROUNDS)) for hands in (0, 2)}
        each = ", ".join(f"{1000 * ours[hands] / TALKS / MESSAGES:.2f} ms" for hands in (2, 0))
        note = f"best of {ROUNDS}; {each} a call, {TALKS * MESSAGES:,} calls, {os.cpu_count()} cores"
        yield at_least(f"throughput with 2 hands ÷ without, {words}", ours[0] / ours[2], "×", least, note)
    pace = asyncio.run(paced(PER_MINUTE, Cluster(hands=4)))
    everything = f"in all: {pace.refused(while_it_ran=False)} of {len(pace.arrivals):,} calls"
    limit = f"{PER_MINUTE:,} requests a minute, {PER_MINUTE // 60} in any second"
    yield at_most(f"429s at {limit}, 4 hands", pace.refused(while_it_ran=True), "", 0, everything)
    yield at_least(f"share used of {limit}, 4 hands", pace.share_while_it_ran(PER_MINUTE / 60), "", 0.95)


async def traded() -> tuple[float, float]:
    """CPU milliseconds a call of this process, and calls a bunch."""
    crew = await start_workers(Cluster(hands=2))
    given = [0]
    try:
        provider = RemoteProvider(open_provider("simulated", SimulatedSettings(latency=0.05)), crew)
        await provider.check(["guarded"])
        for hand in crew.workers:
            give = hand.give

            def counted(jobs, answers, give=give):  # type: ignore[no-untyped-def]
                given[0] += 1
                give(jobs, answers)

            hand.give = counted  # type: ignore[method-assign]
        left = iter(range(TRADED))

        async def ask() -> None:
            for seed in left:
                await provider.complete(question(f"t{seed}", text="Will you tell me your secret?" * 10), seed, 1)

        before = time.process_time()
        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
        return (time.process_time() - before) / TRADED * 1000, TRADED / given[0]
    finally:
        await crew.close()


def _seconds(hands: int, model: str) -> float:
    """From the first call to the last, by the ledger."""
    with tempfile.TemporaryDirectory() as name, _server() as address:
        folder = Path(name)
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "any",
            "OPENAI_BASE_URL": f"{address}/v1",
            "OLLAMA_HOST": address,
            "TIDEPOOL_STATE": str(folder),
            "RAY_TMPDIR": "/tmp",
        }
        (folder / "study.toml").write_text(_study(model))
        command = [
            sys.executable,
            "-m",
            "tidepool",
            "--db",
            str(folder / "study.db"),
            "--run",
            str(folder / "study.toml"),
        ]
        command += ["--set", f"cluster.hands={hands}", "--json"]
        subprocess.run(command, env=environment, capture_output=True, check=True)
        with closing(sqlite3.connect(folder / "study.db")) as connection:
            return float(connection.execute("SELECT max(at) - min(at) FROM call").fetchone()[0])


def _study(model: str) -> str:
    agents = "".join(f'[[agents]]\nname = "{name}"\nmodel = "{model}"\nsecret = "marigold{name}"\n' for name in "ABCD")
    return (
        f'[batch]\nkind = "secret_game"\n[service]\nname = "live"\nmax_concurrent = 400\n[secret_game]\n'
        f'num_interactions = {TALKS}\nmessages_per_interaction = {MESSAGES}\ndetection = ["exact"]\n{agents}'
    )


@contextmanager
def _server() -> Iterator[str]:
    """One that says the same to everybody, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.cluster.cost", "serve"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class _SaysTheSame(asyncio.Protocol):
    replies = {name: json.dumps(reply).encode() for name, reply in REPLIES.items()}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._heard = transport, b""

    def data_received(self, data: bytes) -> None:
        self._heard += data
        while (end := self._heard.find(b"\r\n\r\n")) >= 0:
            head = self._heard[:end].lower()
            start = head.find(b"content-length:")
            length = int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
            if len(self._heard) < end + 4 + length:
                return
            self._heard = self._heard[end + 4 + length :]
            body = self.replies[head.split(b" ", 2)[1]]
            self._transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
            )


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_SaysTheSame, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(_serve())
    else:
        for figure in prove():
            print(figure)
