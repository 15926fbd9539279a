"""A branch is a batch of its kind with another plan, story and report: whoever has a batch in hand finds its kind here."""

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidepool.engine.branching.talks import Origin, read_origin
from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec, load_kind
from tidepool.storage.file import reading
from tidepool.storage.transfer.tables import ExportTable

if TYPE_CHECKING:
    from tidepool.engine.branching.talks import Branch
    from tidepool.engine.config.sections import FrozenConfig
    from tidepool.engine.config.stored import StoredConfig
    from tidepool.engine.results.blocks import KindMethods
    from tidepool.engine.runtime.batch_run import BatchRun
    from tidepool.engine.studies.plan import Plan

Batch = Mapping[str, Any] | sqlite3.Row


def kind_of(batch: Batch) -> KindSpec:
    """For who reads what came out."""
    kind = load_kind(batch["kind"])
    origin = read_origin(batch["origin"])
    return kind if origin is None or kind.branches is None else _read_as_branch(kind, origin)


def kind_to_run(batch: Batch, path: Path) -> KindSpec:
    """For who plans or plays it: what it goes on from is in its file."""
    kind = load_kind(batch["kind"])
    if batch["origin"] is None:
        return kind

    def plan(config: "FrozenConfig") -> "Plan":
        from tidepool.engine.branching.talks import branch_in

        with reading(path) as connection:
            return _plan(kind, config, branch_in(connection, batch["number"]))

    return replace(kind, plan=plan, play=_player(kind), stopping=None)


def branching(kind: KindSpec, branch: "Branch") -> KindSpec:
    """For a branch that is not in any file yet."""
    return replace(kind, plan=lambda config: _plan(kind, config, branch), play=_player(kind), stopping=None)


def _plan(kind: KindSpec, config: "FrozenConfig", branch: "Branch") -> "Plan":
    from tidepool.engine.branching.replay import plan_of

    assert kind.branches is not None
    return plan_of(kind.branches(), config, branch)


def _player(kind: KindSpec) -> Any:
    async def play(run: "BatchRun") -> None:
        from tidepool.engine.branching.replay import play

        assert kind.branches is not None
        await play(run, kind.branches())

    return play


def _read_as_branch(kind: KindSpec, origin: Origin) -> KindSpec:
    assert kind.branches is not None
    branch_kind = kind.branches

    def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: "StoredConfig") -> dict[str, Any]:
        from tidepool.engine.branching.results import statistics

        return statistics(connection, batch, config, branch_kind(), origin)

    def methods(*ignored: object) -> "KindMethods":
        from tidepool.engine.branching.results import methods

        return methods(origin)

    def redraws(connection: sqlite3.Connection, batch: sqlite3.Row) -> ExportTable:
        from tidepool.engine.branching.results import redraws

        return redraws(batch["number"], origin)

    contents = replace(kind.contents, tables=(*kind.contents.tables, redraws))
    return replace(
        kind, statistics=statistics, report=branch_report, methods=methods, differences=None, contents=contents
    )


def branch_report() -> KindReport:
    from tidepool.engine.branching import results

    return results
