"""Small mutation studies, and what their files say."""

import json
from pathlib import Path
from typing import Any

from tests.support.state import query
from tidepool import Mutation
from tidepool.engine.config.sections import Providers, Service, SimulatedSettings

SMALL: dict[str, Any] = {"num_processes": 4, "num_steps": 8, "num_env_steps": 64, "repeats": 1, "heldout": 0.05}

MAX_CONCURRENT = 32


def mutation(
    *, service: str = "live", max_concurrent: int = 32, simulated: dict[str, Any] | None = None, **settings: Any
) -> Mutation:
    return Mutation(
        service=Service(name=service, max_concurrent=max_concurrent, batch_from=0),
        providers=Providers(simulated=SimulatedSettings(**(simulated or {}))),
        **{**SMALL, **settings},
    )


def written(folder: Path, more: str = "", **settings: Any) -> Path:
    """The same as a file a user would write; `more` is TOML of other sections."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in {**SMALL, **settings}.items()]
    path = folder / "mutation.toml"
    path.write_text(
        f'[batch]\nkind = "mutation"\n[service]\nname = "live"\nmax_concurrent = {MAX_CONCURRENT}\n[mutation]\n'
        + "\n".join(lines)
        + f"\n{more}\n"
    )
    return path


def finding(database: Path, name: str) -> Any:
    rows = query(database, "SELECT content FROM finding WHERE name = ? ORDER BY batch_number DESC", name)
    return json.loads(rows[0][0]) if rows else None


def policy_of(database: Path) -> str:
    content: str = finding(database, "policy")["safetensors"]
    return content


def episodes(database: Path) -> list[dict[str, Any]]:
    rows = query(
        database,
        "SELECT u.sequence_number, u.status, u.interaction_type, u.details FROM unit u "
        "WHERE u.sequence_number > 0 ORDER BY u.id",
    )
    return [
        {"number": number, "status": status, "type": kind, **json.loads(details or "{}")}
        for number, status, kind, details in rows
    ]
