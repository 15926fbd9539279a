"""Tidepool from Python: names are loaded when they are first used, so that importing costs nothing."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Agent": "tidepool.engine.config.sections",
    "Config": "tidepool.engine.config.sections",
    "Service": "tidepool.engine.config.sections",
    "load_config": "tidepool.engine.config.loading",
    "run_batch": "tidepool.engine.run",
    "resume_batch": "tidepool.engine.run",
    "Evolution": "tidepool.engine.studies.evolution.config",
    "Mutation": "tidepool.engine.studies.mutation.config",
    "SecretGame": "tidepool.engine.studies.secret_game.config",
    "Simulation": "tidepool.engine.studies.simulation.config",
    "Entity": "tidepool.engine.library.entities",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tidepool' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
