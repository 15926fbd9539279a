"""Describes a kind of study to the engine. Each kind declares `KIND` in its `study.py`; all kinds share this interface.

A kind of an installed package is a `KindSpec` under the entry-point group `tidepool.kinds`.
"""

import sqlite3
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tidepool.engine.errors import UsageError
from tidepool.engine.exports.request import Exporter
from tidepool.engine.registries import KINDS
from tidepool.engine.results.blocks import KindReport
from tidepool.storage.transfer.tables import PLAIN, ExportContents

if TYPE_CHECKING:
    from tidepool.engine.branching.talks import BranchKind
    from tidepool.engine.call import Call
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import Config, FrozenConfig
    from tidepool.engine.config.stored import StoredConfig
    from tidepool.engine.design.outcomes import KindOutcomes
    from tidepool.engine.results.blocks import KindMethods
    from tidepool.engine.results.glimpse import Glimpse
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.stopping.rules import StopTarget
    from tidepool.engine.studies.plan import Plan

__all__ = ["KINDS", "KindSpec", "LazyModules", "load_kind"]


class LazyModules:
    """Modules of a kind, loaded when they are used: listing kinds and reading results stay quick."""

    def __init__(self, package: str) -> None:
        self._package = package

    def module(self, name: str) -> Callable[[], Any]:
        return lambda: import_module(f"{self._package}.{name}")

    def value(self, module: str, name: str) -> Callable[[], Any]:
        return lambda: getattr(self.module(module)(), name)

    def function(self, module: str, name: str) -> Callable[..., Any]:
        return lambda *arguments: self.value(module, name)()(*arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """A kind needs a section, a plan and a story; the rest has defaults that fit a small study."""

    name: str
    """as `batch.kind` and the kind's own section are written"""
    title: str
    """the same for people"""
    summary: str
    """one sentence without a capital: what such a study does"""
    units: str
    """what its units are called, in the plural"""
    settings: "Callable[[], type[Section]]"
    """The section that carries the kind's name, loaded when a config is read: what only reads results does without."""
    plan: "Callable[[FrozenConfig], Plan]"
    """Units, waves, calls and tokens, before anything is called."""
    play: "Callable[[BatchRun], Coroutine[Any, Any, None]]"
    """The study itself."""
    freeze: "Callable[[Config, Path | None], Config]" = lambda config, folder: config
    """Checks what the config's types cannot, and takes in every file it names: resume needs nothing else.

    Relative paths start in the folder. Without one the config comes out of a batch, and naming a file is an error.
    """
    code: "Callable[[FrozenConfig], tuple[str, ...]]" = lambda config: ()
    """What it runs on this machine that is no part of Tidepool or of an installed package, in words: asked about before a
    batch of a stranger's file goes on."""
    find_code: "Callable[[FrozenConfig, Sequence[Path]], None]" = lambda config, folders: None
    """Looks for that code in these folders, and raises before anything is bought where it cannot be run. Called for a batch
    of the user's own alone."""
    statistics: "Callable[[sqlite3.Connection, Mapping[str, Any], StoredConfig], dict[str, Any]]" = (
        lambda connection, batch, config: {}
    )
    """The `statistics` of the JSON summary, from the file alone; of the config its plain values, or all of it checked."""
    first_requests: "Callable[[FrozenConfig], Iterable[Call]] | None" = None
    """What participants and judge are first asked: a plan warns if simulated models read no difference between cells."""
    differences: Callable[[sqlite3.Connection, Sequence[sqlite3.Row]], list[dict[str, Any]]] | None = None
    """Batch against batch: is the difference more than chance?"""
    outcomes: "Callable[[], KindOutcomes] | None" = None
    """What designs compare: figures of a talk or of a batch, loaded when they are asked for; None: a design of this kind runs,
    and has no effects."""
    report: Callable[[], KindReport] | None = None
    """Statistics as a list of neutral blocks, loaded when they are shown; None shows all figures as they are."""
    methods: "Callable[[Mapping[str, Any], StoredConfig, Mapping[str, Any], sqlite3.Connection], KindMethods] | None" = None
    """How it was done, in sentences for a paper: of the batch, its config, its statistics and its file."""
    glimpse: "Callable[[], Glimpse] | None" = None
    """A count of what a batch has come to so far; None: only its progress is seen as it runs."""
    formats: Callable[[], Mapping[str, Exporter]] = dict
    """Formats that the kind exports its own way, or alone."""
    contents: ExportContents = PLAIN
    branches: "Callable[[], BranchKind] | None" = None
    """How its talks are gone on with from one turn (`branches.py`); None: they cannot be"""
    shape: "Callable[[FrozenConfig], list[str]]" = lambda config: []
    """The arithmetic behind the number of units, in words."""
    stopping: "Callable[[FrozenConfig], StopTarget] | None" = None
    """What a stop rule watches; raises where [stop] cannot be kept. None: batches of the kind take no [stop]."""
    talks: bool = False
    """its units are conversations: their messages are read in turn, and a wave is a message's position"""
    people: Literal["agents", "entities"] | None = None
    """which list of the config says who takes part"""
    roles: Mapping[str, str] = field(default_factory=dict)
    """which key of its section names the model of which role, as people are told; `agents` are the config's own list"""
    idle_roles: Callable[[Mapping[str, Any]], Sequence[str]] = lambda section: ()
    """which of these keys name a model that is not called, by the section's other values; the section may be malformed"""
    files: tuple[str, ...] = ()
    """keys of its section that may name a file"""
    filled_in: tuple[str, ...] = ()
    """keys of its section that Tidepool writes itself when a batch starts"""

    def models(self, config: "FrozenConfig") -> set[str]:
        """Every PROVIDER:MODEL the study may call."""
        from tidepool.engine.config.section import models_named

        models = models_named(config.settings, self.idle_roles(dict(config.settings)))
        return models.union(*map(models_named, config.agents)) if self.people == "agents" else models


def load_kind(name: str) -> KindSpec:
    if name not in KINDS:  # it may come from a stranger's file
        raise UsageError(
            f"{name!r} is no kind of study, or needs a package that is not installed here; known are {', '.join(KINDS)}."
        )
    kind: KindSpec = KINDS[name]
    return kind
