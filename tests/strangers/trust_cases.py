"""Files that would have this machine's keys, calls, files and processes for themselves."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.strangers.case import Case, Forge, Forgery

VICTIM = "victim"
"""a folder beside the file that is none of its business"""


def _asks(**provider: Any) -> Forge:
    """The study goes on, with models of a server that the file names."""

    def forge(forgery: Forgery) -> None:
        server = forgery.server

        def change(config: dict[str, Any]) -> None:
            name = provider.get("name", "openai")
            settings = {key: _filled(value, server) for key, value in provider.items() if key != "name"}
            config["providers"].setdefault(name, {}).update(settings)
            for agent in config["agents"]:
                agent["model"] = f"{name}:gpt-4o-mini"
            if "simulation" in config:
                config["simulation"]["model"] = f"{name}:gpt-4o-mini"

        forgery.configured(change)
        forgery.sql(
            "UPDATE batch SET status = 'interrupted', simulated = 0; DELETE FROM call; UPDATE unit SET status = 'in_progress'"
        )

    return forge


def _filled(value: Any, server: str) -> Any:
    if isinstance(value, list):
        return [_filled(one, server) for one in value]
    return value.replace("SERVER", server) if isinstance(value, str) else value


def _and(*forges: Forge) -> Forge:
    def forge(forgery: Forgery) -> None:
        for one in forges:
            one(forgery)

    return forge


def _here(forgery: Forgery) -> None:
    forgery.run("UPDATE batch SET host = ?, status = 'in_progress', imported = 0", socket.gethostname())


def _queued(forgery: Forgery) -> None:
    forgery.sql("UPDATE batch SET status = 'pending', reason = 'queued'")


def _bought(forgery: Forgery) -> None:
    """Provider batches of the user's account that the file says are its own."""
    forgery.sql(
        "UPDATE provider_batch SET state = 'created', remote_id = 'batch_of_the_user'; UPDATE batch SET status = 'in_progress'"
    )


def _lock_of(forgery: Forgery) -> Path:
    return forgery.path.with_name(f"{forgery.path.name}-{forgery.value('SELECT id FROM batch')}.lock")


def _lock_is_link(forgery: Forgery) -> None:
    victim = forgery.path.parent / VICTIM
    victim.write_text("the user's own")
    _lock_of(forgery).symlink_to(victim)
    forgery.sql("UPDATE batch SET status = 'in_progress'")
    _here(forgery)


def _lock_is_folder(forgery: Forgery) -> None:
    _lock_of(forgery).mkdir()
    _here(forgery)


def _lock_is_fifo(forgery: Forgery) -> None:
    os.mkfifo(_lock_of(forgery))
    _here(forgery)


def _limits(arguments: dict[str, str]) -> Forge:
    """Words of control that were taken already, as a resume once read them."""

    def forge(forgery: Forgery) -> None:
        text = json.dumps({key: _filled(value, forgery.server) for key, value in arguments.items()})
        forgery.run(
            "INSERT INTO control (batch_number, at, command, arguments, taken_at) VALUES (1, 1.0, 'limits', ?, 1.0)",
            text,
        )

    return forge


_SERVER = _asks(base_url="SERVER/v1")
_CASES: dict[str, tuple[str, Forge]] = {
    "a base_url of its own": ("game", _SERVER),
    "a base_url of its own, in a panel": ("talks", _SERVER),
    "a base_url, forged as this machine's": ("game", _and(_SERVER, _here)),
    "a base_url, queued": ("talks", _and(_SERVER, _queued)),
    "hosts of its own": ("game", _asks(name="ollama", hosts=["SERVER"])),
    "a key of another name": ("game", _asks(name="lab", like="openai", base_url="SERVER/v1", api_key_env="ANTHROPIC_API_KEY")),
    "a home of the user as a key": ("game", _asks(name="lab", like="openai", base_url="SERVER/v1", api_key_env="HOME")),
    "a pool with a server of its own": ("game", _asks(name="lab", like="anthropic", hosts=["SERVER", "SERVER/x"], api_key_env="OPENAI_API_KEY")),
    "Anthropic at another address": ("game", _asks(name="anthropic", base_url="SERVER")),
    "the provider's own address and a paid model": ("game", _asks()),
    "queued by its own words": ("queued", _queued),
    "provider batches of the user's account": ("ordered", _bought),
    "provider batches at a server of its own": ("ordered", _and(_SERVER, _bought)),
    "a lock that is a link": ("game", _lock_is_link),
    "a lock that is a folder": ("game", _lock_is_folder),
    "a lock that is a pipe": ("game", _lock_is_fifo),
    "a trust record beside it": ("game", _and(_SERVER, lambda forgery: (forgery.path.parent / "trust.json").write_text("{}"))),
    "a command to start": ("game", _asks(name="lab", like="openai", base_url="SERVER/v1", batch_command="touch owned")),
    "words that stop": ("paused", lambda forgery: forgery.sql("INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 1.0, 'stop', '{}')")),
    "words that change limits": ("paused", lambda forgery: forgery.sql("INSERT INTO control (batch_number, at, command, arguments) VALUES (1, 1.0, 'limits', '{\"max_concurrent\": -1, \"budget_usd\": 1e18}')")),
    "limits that name a server": ("paused", _limits({"providers.openai.base_url": "SERVER/v1", "providers.openai.api_key_env": "ANTHROPIC_API_KEY"})),
    "limits that name a cluster": ("paused", _limits({"cluster.ray": "127.0.0.1:6379"})),
    "a kind of another batch": ("game", lambda forgery: forgery.sql("UPDATE batch SET kind = 'evolution', status = 'interrupted'")),
}  # fmt: skip


def cases() -> Iterator[Case]:
    for name, (base, forge) in _CASES.items():
        yield Case("trust", name, base, forge)
