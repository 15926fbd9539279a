"""Query mutation as a study: its declaration, and what is taken in before a batch begins."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.studies.kinds import KindSpec, LazyModules
from tidepool.storage.transfer.tables import ExportContents, steps_table

if TYPE_CHECKING:
    from tidepool.engine.config.sections import Config

_LAZY = LazyModules(__package__)


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.mutation.inputs import settings_of, with_files

    return config.model_copy(update={"settings": with_files(settings_of(config), folder)})


KIND = KindSpec(
    name="mutation",
    title="Mutation",
    summary="a learner finds out which rewriting of a query helps",
    units="episodes",
    settings=_LAZY.value("config", "MutationSettings"),
    freeze=freeze,
    plan=_LAZY.function("plan", "plan"),
    play=_LAZY.function("story", "play"),
    statistics=_LAZY.function("statistics", "statistics"),
    differences=_LAZY.function("statistics", "differences"),
    outcomes=_LAZY.function("statistics", "outcomes"),
    report=_LAZY.module("report"),
    glimpse=_LAZY.function("report", "MutationGlimpse"),
    methods=_LAZY.function("methods", "methods"),
    formats=_LAZY.function("policy", "formats"),
    contents=ExportContents(
        views=("messages", "training"), beside_units=("training",), tables=(steps_table,), details="episode"
    ),
    shape=_LAZY.function("plan", "shape"),
    files=("queries", "policy"),
    filled_in=("query_list", "policy_content"),
    roles={"target": "target", "mutator": "rewriter", "judge": "judge", "encoder": "encoder"},
    idle_roles=lambda section: (
        *(() if section.get("reward") == "judge" else ("judge",)),
        *(("encoder",) if section.get("encoder") == "hashing" else ()),
    ),
)
