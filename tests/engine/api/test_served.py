"""`tidepool api` as it is served: a process of its own, batches in others, and the documented commands."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.engine.api.test_app import PATH, body
from tests.support.command import ROOT, Tidepool, until
from tests.support.state import query

TOKEN = "of this test"
SLOW = {"name": "live", "requests_per_minute": 120}


@contextmanager
def served(tidepool: Tidepool, ended_by: signal.Signals = signal.SIGKILL) -> Iterator[httpx.Client]:
    """The API on a free port; ended as a machine would, or by a friendlier signal."""
    with tidepool.start("api", "--port", "0", TIDEPOOL_API_TOKEN=TOKEN) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"serving (http://127\.0\.0\.1:\d+)/docs", line)
        assert found, line + process.stderr.read()
        try:
            bearer = {"Authorization": f"Bearer {TOKEN}"}
            with httpx.Client(base_url=found[1], headers=bearer, timeout=30) as client:
                yield client
        finally:
            process.send_signal(ended_by)
            assert process.wait(30) in (0, -ended_by)
            assert "Traceback" not in process.stderr.read()


def status(client: httpx.Client, batch_id: str) -> str:
    answer = client.get(f"{PATH}/{batch_id}", params={"include_simulations": False})
    return str(answer.json()["data"]["status"])


@pytest.mark.slow
def test_a_batch_outlives_the_api_that_started_it(tidepool: Tidepool, database: Path) -> None:
    tidepool("entities", "generate", "-n", "4")
    with served(tidepool) as client:
        batch_id = client.post(PATH, json=body(["*"], num_simulations=50, service=SLOW)).json()["data"]["id"]
        other_id = client.post(PATH, json=body(["*"], model="ollama:nothing")).json()["data"]["id"]
        until(lambda: query(database, "SELECT count(*) FROM call")[0][0] > 1)
        until(lambda: status(client, other_id) == "failed")
    answered = query(database, "SELECT count(*) FROM call")[0][0]
    with served(tidepool) as client:
        assert status(client, batch_id) == "in_progress"
        until(lambda: query(database, "SELECT count(*) FROM call")[0][0] > answered)
        assert client.delete(f"{PATH}/{batch_id}").status_code == 409
        assert client.post(f"{PATH}/{batch_id}/stop").status_code == 202
        until(lambda: status(client, batch_id) == "interrupted")
        assert client.delete(f"{PATH}/{batch_id}").status_code == 200
        assert client.get(f"{PATH}/{other_id}").json()["data"]["reason"], "it could not start, and says why"
        assert client.delete(f"{PATH}/{other_id}").status_code == 200
        assert client.get(PATH).json() == {"status": "success", "data": []}


@pytest.mark.skipif(shutil.which("curl") is None, reason="the documented commands use curl")
def test_the_documented_commands_run_as_they_stand(tidepool: Tidepool, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/api.md").read_text(), re.DOTALL | re.MULTILINE)
    before, sequence = blocks
    assert tidepool(*before.splitlines()[0].split()[1:]).returncode == 0
    with served(tidepool, ended_by=signal.SIGTERM) as client:

        def shell(script: str) -> "subprocess.CompletedProcess[str]":
            script = script.replace("http://127.0.0.1:8765", str(client.base_url).rstrip("/"))
            command = ["sh", "-eu", "-c", script]
            environment = {**os.environ, "TIDEPOOL_API_TOKEN": TOKEN}
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
            )
            assert done.returncode == 0, done.stderr
            return done

        done = shell(sequence)
        assert done.stdout.count('"status":"success"') == 4
        assert '"message":"Batch' in done.stdout
        assert client.get(PATH).json()["data"] == []
    assert (tmp_path / "results.json").read_text().startswith('{"batch"')
    assert (tmp_path / "simulations.csv").read_text().startswith("Simulation ID,")


def test_the_extra_is_named_where_it_is_missing(tidepool: Tidepool) -> None:
    blocked = "import sys; sys.modules['uvicorn'] = None; from tidepool.tui.command.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", blocked, "--db", str(tidepool.database), "api"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2 and "tidepool-lab[api]" in done.stderr
