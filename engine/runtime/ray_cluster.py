"""Workers as actors of a Ray cluster. Only this module imports Ray.

By default, Ray delivers an actor's task at most once, as paid requests need. Token authentication is on and usage
statistics are off unless the user's environment sets them. Nothing that a dashboard could show contains a key.
A cluster that is started here listens on loopback only, and other users cannot read its files.
"""

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from secrets import token_hex
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from tidepool.engine.config.cluster import Cluster
from tidepool.engine.errors import UsageError
from tidepool.engine.runtime.worker import Worker
from tidepool.engine.runtime.worker_pool import AwaitStop, WorkerPool, first_line

ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # A busy machine needs longer than Ray's default timeout.
    "RAY_agent_register_timeout_ms": "120000",
    "RAY_raylet_start_wait_time_s": "120",
}
START_SECONDS = 60.0
CONNECT_SECONDS = 10.0
LEAST_STORE = 80_000_000
"""bytes; nothing is stored in Ray's object store, and this is the minimum size"""
_OWN_NAMES = {"cpu": "num_cpus", "gpu": "num_gpus", "memory": "memory"}


async def start_workers(cluster: Cluster, await_stop: AwaitStop | None = None) -> WorkerPool:
    """Starts the workers of a config. Raises UsageError if there is no such cluster, or no room in it."""
    ray_cluster = RayCluster(cluster)
    workers = WorkerPool(ray_cluster, cluster.hands)
    try:
        await ray_cluster.join()
        await workers.gather(await_stop)
    except BaseException:
        await workers.close()
        raise
    return workers


class RayCluster:
    start_seconds = START_SECONDS

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._actor: Any = None
        self._undo = ExitStack()
        # Ray's processes end with the thread that started them, so this thread stays until they shut down.
        self._thread = ThreadPoolExecutor(1, "ray")

    async def join(self) -> None:
        if find_spec("ray") is None:
            raise UsageError(
                'Workers need Ray. Run pip install "tidepool-lab[cluster]" on every node, or run without workers: --set cluster.hands=0.',
                ("cluster",),
            )
        await self._refuse_unreachable()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._join)

    async def _refuse_unreachable(self) -> None:
        """Checks the address first, since Ray waits for minutes if no server listens."""
        host, _, port = self._cluster.ray.rpartition(":")
        if not host:
            return
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except (OSError, TimeoutError) as error:
            reason = "no answer in time" if isinstance(error, TimeoutError) else first_line(error)
            raise UsageError(_not_joined(self._cluster.ray, reason), ("cluster", "ray")) from None
        writer.close()

    async def start(self) -> "RayWorker":
        return RayWorker(self._actor.remote())

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._undo.close)
        self._thread.shutdown(wait=False)

    def _options(self) -> dict[str, Any]:
        needs = {"cpu": 1.0, **self._cluster.resources}
        options: dict[str, Any] = {_OWN_NAMES[name]: amount for name, amount in needs.items() if name in _OWN_NAMES}
        options["resources"] = {name: amount for name, amount in needs.items() if name not in _OWN_NAMES}
        return options

    def _join(self) -> None:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        import ray

        logging.getLogger("ray").setLevel(logging.ERROR)  # importing Ray changes the level
        if not ray.is_initialized():
            try:
                ray.init(**self._init_options(), log_to_driver=False, configure_logging=False)
            except Exception as error:
                raise UsageError(_not_joined(self._cluster.ray, first_line(error)), ("cluster", "ray")) from error
            self._undo.callback(ray.shutdown)
        # The pool restarts lost workers, since it knows their calls. Ray restarts and repeats nothing itself.
        fixed = {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": 100, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(Worker).options(**fixed, **self._options())

    def _init_options(self) -> dict[str, Any]:
        if self._cluster.ray != "local":
            return {"address": self._cluster.ray}
        per_worker = self._options()
        workers = self._cluster.hands
        resources: dict[str, Any] = {name: amount * workers for name, amount in per_worker["resources"].items()}
        return {
            "address": "local",
            "num_cpus": max(1, round(per_worker["num_cpus"] * workers)),
            "resources": resources or None,
            "include_dashboard": False,
            "object_store_memory": LEAST_STORE,
            "_temp_dir": self._make_private(),
        }

    def _make_private(self) -> str:
        """Prepares a start for this user alone, and returns the folder for Ray's session. By default, Ray listens on all
        interfaces, writes its token to a file that all users can read, and opens its session folder to all of them."""
        # Private, because Ray has no public option for it. A public single-user mode would replace all three.
        from ray._common.utils import get_default_system_temp_dir
        from ray._private import ray_constants
        from ray._raylet import AuthenticationTokenLoader  # type: ignore[attr-defined]

        # On Linux `ray.init` replaces a loopback address by that of a network interface unless this constant is False, as it
        # is on macOS. A public option to bind to loopback would replace this; `test_ray` checks the sockets.
        self._undo.callback(setattr, ray_constants, "ENABLE_RAY_CLUSTER", ray_constants.ENABLE_RAY_CLUSTER)
        ray_constants.ENABLE_RAY_CLUSTER = False
        if not os.environ.get("RAY_AUTH_TOKEN"):
            forget = AuthenticationTokenLoader.instance().reset_cache  # Ray caches the token for the whole process
            self._undo.callback(forget)
            self._undo.callback(os.environ.pop, "RAY_AUTH_TOKEN", None)
            os.environ["RAY_AUTH_TOKEN"] = token_hex(32)
            forget()
        folder = mkdtemp(prefix="ray-", dir=get_default_system_temp_dir())
        self._undo.callback(self._remove, folder)
        return f"{folder}/s"  # Ray opens this folder to all users; its parent stays closed

    def _remove(self, folder: str) -> None:
        if self._actor is not None:  # keep the logs of a failed start, which its error names
            rmtree(folder, ignore_errors=True)


class RayWorker:
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def call(self, method: str, *arguments: Any) -> Any:
        return await getattr(self._actor, method).remote(*arguments)

    def kill(self) -> None:
        import ray

        if ray.is_initialized():
            ray.kill(self._actor)


def _not_joined(place: str, why: str) -> str:
    if place == "local":
        return f"Ray could not be started on this machine: {why}"
    fault = "This machine is not a node of a Ray cluster" if place == "auto" else f"{place} cannot be joined"
    return (
        f"{fault} ({why}). Start a cluster with `ray start --head`, or join one with `ray start --address=HOST:PORT`, on this "
        'machine too, with the same ~/.ray/auth_token on all nodes. To use this machine alone, set ray = "local".'
    )
