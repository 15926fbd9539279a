"""`tidepool api` under many hands at once, on long batches, under every request its document allows, and at its end.

    python -m benchmarks.api_load

Fifty clients create, read, stop, resume and delete batches beside one that runs; then nothing is an error of the server,
no batch is lost, all who look see the same states, and nothing was bought twice. schemathesis runs all its phases with all
its checks; that entities of the library must exist, and models be known, its document cannot say, so 400 is an answer.
"""

import asyncio
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tidepool.engine.bench import Measurement, at_least, at_most

ROOT = Path(__file__).parent.parent
PATH = "/api/batch-simulations"
CLIENTS = 50
ACTS = 12
"""of each client"""
LONG = 30_000
TOKEN = "of this proof"
SCHEMATHESIS = """[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409"]
"""


@dataclass(frozen=True, slots=True)
class Served:
    folder: Path
    database: Path
    process: "subprocess.Popen[str]"
    address: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}"}

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0

    def tidepool(self, *words: str) -> str:
        return subprocess.run(
            _command(self.database, *words), env=_environment(self.folder), capture_output=True, text=True, check=True
        ).stdout

    def ended(self, number: signal.Signals) -> float:
        """How long it took to go."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(60)
        return time.monotonic() - began


def _command(database: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "tidepool", "--db", str(database), *words]


def _environment(folder: Path) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "TIDEPOOL_STATE": str(folder / "state"), "TIDEPOOL_API_TOKEN": TOKEN}
    return {**os.environ, **own, "TIDEPOOL_SELLER": str(folder / "seller")}


@contextmanager
def served() -> Iterator[Served]:
    folder = Path(tempfile.mkdtemp(prefix="tidepool-load-"))
    database, environment = folder / "study.db", _environment(folder)
    generate = _command(database, "entities", "generate", "--type", "human", "-n", "6", "--seed", "1")
    subprocess.run(generate, env=environment, check=True, stdout=subprocess.DEVNULL)
    command = _command(database, "api", "--port", "0", "--at-once", "2")
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found
        try:
            yield Served(folder, database, process, found[0])
        finally:
            process.kill()
            _end_batches(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _end_batches(folder: Path) -> None:
    """Those that were asked for go on without the API, and schemathesis asks for the largest there may be."""
    named = subprocess.run(["pgrep", "-f", f"{folder}/study.db --resume"], capture_output=True, text=True, check=False)
    for number in named.stdout.split():
        os.kill(int(number), signal.SIGKILL)


def new(number: int = 4, **more: Any) -> dict[str, Any]:
    whole = {"name": "x", "context": "A mill", "entity_ids": ["*"], "interaction_size": 2, "num_simulations": number}
    return {**whole, **more}


# -- many hands --------------------------------------------------------------------------------------------


async def hands(api: Served) -> tuple[Counter[int], set[str]]:
    """What was answered, and the ids that were made and not deleted."""
    codes: Counter[int] = Counter()
    made: set[str] = set()
    gone: set[str] = set()
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=api.address, headers=api.headers, timeout=120, limits=limits) as client:
        slow = {"name": "live", "requests_per_minute": 600}
        runs = (await client.post(PATH, json=new(60, service=slow))).json()["data"]["id"]
        made.add(runs)

        async def ask(method: str, path: str, **more: Any) -> httpx.Response:
            response = await client.request(method, path, **more)
            codes[response.status_code] += 1
            return response

        async def one(number: int) -> None:
            rng = random.Random(number)
            for _ in range(ACTS):
                act, some = rng.choice("clrrggsseuuudd"), rng.choice(sorted(made))
                if act == "c":
                    answer = await ask("POST", PATH, json=new(rng.randint(1, 6), service=slow))
                    made.add(answer.json()["data"]["id"])
                elif act == "d" and some != runs:
                    if (await ask("DELETE", f"{PATH}/{some}")).status_code == 200:
                        gone.add(some)
                elif act in "su":
                    await ask("POST", f"{PATH}/{some}/{'stop' if act == 's' else 'resume'}")
                else:
                    way = {"l": f"{PATH}?include_simulations=true", "e": f"{PATH}/{some}/export"}
                    await ask("GET", way.get(act, f"{PATH}/{some}"))

        await asyncio.gather(*(one(number) for number in range(CLIENTS)))
        await _settled(client)
    return codes, made - gone


async def _settled(client: httpx.AsyncClient) -> None:
    """All that stopped is resumed until all is completed."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        states = {one["id"]: one["status"] for one in (await client.get(f"{PATH}?limit=1000")).json()["data"]}
        if all(state == "completed" for state in states.values()):
            return
        for batch_id, state in states.items():
            if state not in ("completed", "in_progress", "pending"):
                await client.post(f"{PATH}/{batch_id}/resume")
        await asyncio.sleep(0.5)


def _many_hands(api: Served) -> Iterator[Measurement]:
    codes, wanted = asyncio.run(hands(api))
    listed = httpx.get(f"{api.address}{PATH}?limit=1000", headers=api.headers).json()["data"]
    seen = {one["id"]: one["status"] for one in listed}
    told = {one["id"]: one["status"] for one in json.loads(api.tidepool("list", "--json"))}
    with closing(sqlite3.connect(api.database)) as connection:
        viewed = dict(connection.execute("SELECT id, status FROM batches").fetchall())
        twice = connection.execute("SELECT sum(bought - (calls - cached)) FROM progress").fetchone()[0]
    answers = ", ".join(f"{count} × {code}" for code, count in sorted(codes.items()))
    yield at_least("requests of fifty clients beside a running batch", sum(codes.values()), "", 500, answers)
    yield at_most("server errors", sum(count for code, count in codes.items() if code >= 500), "", 0)
    yield at_most("batches lost, or back from the dead", len(wanted ^ set(seen)), "", 0, f"{len(seen)} left")
    yield at_most("batches whose states disagree in API, list and view", _differing(seen, told, viewed), "", 0)
    yield at_most("batches that did not come to their end", sum(one != "completed" for one in seen.values()), "", 0)
    yield at_most("calls bought twice", float(twice), "", 0)


def _differing(*views: dict[str, str]) -> int:
    return sum(len({view.get(batch_id) for view in views}) > 1 for batch_id in set().union(*views))


# -- long batches ------------------------------------------------------------------------------------------


def _long(api: Served) -> Iterator[Measurement]:
    with httpx.Client(base_url=api.address, headers=api.headers, timeout=600) as client:
        small = client.post(PATH, json=new(10)).json()["data"]["id"]
        _completed(client, small)
        client.get(f"{PATH}?include_simulations=true")
        before = api.megabytes()
        long = client.post(PATH, json=new(LONG, service={"name": "live", "max_concurrent": 500})).json()["data"]["id"]
        _completed(client, long)
        sizes = []
        for address in (f"{PATH}/{long}?limit=10000", f"{PATH}?include_simulations=true", f"{PATH}/{long}/export"):
            with client.stream("GET", address) as response:
                sizes.append(sum(map(len, response.iter_raw())))
        pages, address = 0, f"{PATH}/{long}?limit=10000"
        while address:
            response = client.get(address)
            pages += len(response.json()["data"]["simulations"])
            address = response.headers.get("link", "").partition(">")[0].removeprefix("<")
        grown = api.megabytes() - before
    yield at_most(
        f"growth of the API's memory over a batch of {LONG:,}", grown, "MB", 60, f"{sum(sizes) >> 20} MB sent"
    )
    yield at_least("simulations found by following the pages", pages, "", LONG)


def _completed(client: httpx.Client, batch_id: str) -> None:
    while client.get(f"{PATH}/{batch_id}?include_simulations=false").json()["data"]["status"] != "completed":
        time.sleep(0.3)


# -- schemathesis, and the end -----------------------------------------------------------------------------


def _schemathesis(api: Served) -> Iterator[Measurement]:
    (api.folder / "schemathesis.toml").write_text(SCHEMATHESIS)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{api.address}/openapi.json", "--no-color"),
            *("-H", f"Authorization: Bearer {TOKEN}", "--checks", "all", "--max-examples", "25", "--seed", "1"),
            *("--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"),
        ],
        cwd=api.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    cases = re.search(r"([\d,]+) generated(?:, ([\d,]+) found)?", done.stdout)
    assert cases, done.stdout + done.stderr
    yield at_least("requests made by schemathesis, all phases and checks", int(cases[1].replace(",", "")), "", 500)
    found = re.findall(r"^- (ST.*)$", done.stdout, re.MULTILINE)
    failed = int((cases[2] or "0").replace(",", "")) or int(done.returncode != 0)
    yield at_most("requests that failed a check", failed, "", 0, "; ".join(found[:3]))


def _end(api: Served) -> Iterator[Measurement]:
    """With a batch under way, a body that never comes, and an answer that nobody reads."""
    import socket

    with httpx.Client(base_url=api.address, headers=api.headers, timeout=60) as client:
        slow = {"name": "live", "requests_per_minute": 120}
        runs = client.post(PATH, json=new(500, service=slow, seed=7)).json()["data"]["id"]
        while client.get(f"{PATH}/{runs}?include_simulations=false").json()["data"]["status"] != "in_progress":
            time.sleep(0.2)
        place = ("127.0.0.1", int(api.address.rpartition(":")[2]))
        with socket.create_connection(place) as body, socket.create_connection(place) as reader:
            head = f"HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            body.sendall(f"POST {PATH} {head}Content-Length: 9\r\n\r\n".encode())
            reader.sendall(f"GET {PATH}?include_simulations=true&limit=1000 {head}\r\n".encode())
            time.sleep(1)
            seconds = api.ended(signal.SIGTERM)
    began = _calls(api)
    deadline = time.monotonic() + 30
    while _calls(api) <= began and time.monotonic() < deadline:
        time.sleep(0.2)
    yield at_most("SIGTERM with three connections and a batch under way", seconds, "s", 3)
    yield at_least("calls of that batch after the API was gone", _calls(api) - began, "", 1)
    api.tidepool("stop", runs)


def _calls(api: Served) -> int:
    with closing(sqlite3.connect(api.database)) as connection:
        return int(connection.execute("SELECT count(*) FROM call").fetchone()[0])


def prove() -> Iterator[Measurement]:
    with served() as api:
        yield from _many_hands(api)
    with served() as api:
        yield from _schemathesis(api)
    with served() as api:
        yield from _long(api)
        yield from _end(api)


if __name__ == "__main__":
    for figure in prove():
        print(figure)
