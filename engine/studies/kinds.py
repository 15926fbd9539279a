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

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.sections import Config, Section
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.plan import Plan

KINDS = ("secret_game", "simulation", "evolution", "mutation")


class Kind(Protocol):
    SETTINGS: type[Section]

    def freeze(self, config: Config, folder: Path | None) -> Config:
        """Checks what the config's types cannot, and takes in every file it names: resume needs nothing else.

        Relative paths start in the folder. Without one the config comes out of a batch, and naming a file is an error.
        """

    def models(self, config: FrozenConfig) -> set[str]:
        """Every PROVIDER:MODEL the study may call."""

    def plan(self, config: FrozenConfig) -> Plan:
        """Units, waves, calls and tokens, before anything is called."""

    async def play(self, run: BatchRun) -> None:
        """The study itself."""

    def statistics(
        self, connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig
    ) -> dict[str, Any]:
        """The contract's `statistics`, from the file alone."""


def load_kind(name: str) -> Kind:
    if name not in KINDS:  # it may come from a stranger's file
        raise UsageError(f"{name!r} is no kind of study; known are {', '.join(KINDS)}.")
    return cast(Kind, import_module(f"tidepool.engine.studies.{name}.study"))
