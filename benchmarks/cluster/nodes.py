"""A Ray cluster of several nodes on this machine, in a process of its own: `python -m benchmarks.cluster.nodes COUNT`.

Prints its address and its nodes as one JSON line. `kill N` on its standard input ends node N (the head is 0) as a machine
ends that loses power, and `add` brings another; each is answered by a line like the first. It ends with its input.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
ROOM = 4
"""hands that a node has room for"""


class Nodes:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._said = self._hear()

    @property
    def address(self) -> str:
        return str(self._said["address"])

    @property
    def raylets(self) -> list[int]:
        """The process of each node that starts its workers; the head's first."""
        return list(self._said["raylets"])

    def kill(self, place: int) -> None:
        self._say(f"kill {place}")

    def add(self) -> None:
        self._say("add")

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        self._said = self._hear()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        heard: dict[str, Any] = json.loads(self._process.stdout.readline())
        return heard


@contextmanager
def nodes(count: int, environment: dict[str, str]) -> Iterator[Nodes]:
    """Each node has this environment, with whatever keys are in it."""
    from tidepool.engine.runtime.ray_cluster import ENVIRONMENT

    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.cluster.nodes", str(count)],
        cwd=ROOT,
        # Sockets lie in it, whose paths must be short.
        env={**environment, **ENVIRONMENT, "RAY_TMPDIR": "/tmp"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Nodes(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=60)


def serve(count: int) -> None:
    from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled
    from ray.cluster_utils import Cluster

    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints is not for who listens
    ensure_token_if_auth_enabled()
    room = {"num_cpus": ROOM, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**room, "include_dashboard": False})
    there = [cluster.head_node, *(cluster.add_node(**room) for _ in range(count - 1))]

    def tell() -> None:
        raylets = [node.all_processes["raylet"][0].process.pid for node in there]
        print(json.dumps({"address": cluster.address, "raylets": raylets}), file=said, flush=True)

    tell()
    for line in sys.stdin:
        word, _, place = line.strip().partition(" ")
        if word == "kill":
            cluster.remove_node(there.pop(int(place)), allow_graceful=False)
        elif word == "add":
            there.append(cluster.add_node(**room))
        tell()
    cluster.shutdown()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
