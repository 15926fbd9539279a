"""The four kinds of study, each a folder with the same outline. Who learned one knows four.

engine/KIND/config.py       the section of the config that carries the kind's name
engine/KIND/study.py        the functions below
engine/KIND/*.py            pure domain rules
"""

import sqlite3
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from tidepool.engine.config.sections import Config, Section
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.plan import Plan

KINDS = ("secret_game", "simulation", "evolution", "mutation")


class Kind(Protocol):
    SETTINGS: type[Section]

    def freeze(self, config: Config, folder: Path) -> Config:
        """Checks what the config's types cannot, and takes in every file it names: resume needs nothing else."""

    def models(self, config: Config) -> set[str]:
        """Every PROVIDER:MODEL the study may call."""

    def plan(self, config: Config) -> Plan:
        """Units, waves, calls and tokens, before anything is called."""

    async def play(self, run: BatchRun) -> None:
        """The study itself."""

    def statistics(self, connection: sqlite3.Connection, batch: Mapping[str, Any], config: Config) -> dict[str, Any]:
        """The contract's `statistics`, from the file alone."""


def load_kind(name: str) -> Kind:
    if name not in KINDS:  # it may come from a stranger's file
        raise UsageError(f"{name!r} is no kind of study; known are {', '.join(KINDS)}.")
    return cast(Kind, import_module(f"tidepool.engine.studies.{name}.study"))
