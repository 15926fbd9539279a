"""Tidepool from Python: names are loaded when they are first used, so that importing costs nothing."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Agent": "engine.config",
    "Config": "engine.config",
    "Service": "engine.config",
    "load_config": "engine.reading",
    "run_batch": "engine.run",
    "resume_batch": "engine.run",
    "Evolution": "engine.evolution.config",
    "Mutation": "engine.mutation.config",
    "SecretGame": "engine.secret_game.config",
    "Simulation": "engine.simulation.config",
    "Entity": "engine.simulation.entities",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
