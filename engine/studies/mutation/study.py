"""Query mutation as a study: its declaration, and what is taken in before a batch begins."""

from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.results.blocks import KindReport
from tidepool.engine.studies.kinds import KindSpec, deferred
from tidepool.storage.transfer.tables import ExportContents, steps_table

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.config.sections import Config, FrozenConfig

HERE = "tidepool.engine.studies.mutation"


def settings() -> "type[Section]":
    from tidepool.engine.studies.mutation.config import MutationSettings

    return MutationSettings


def freeze(config: "Config", folder: Path | None) -> "Config":
    from tidepool.engine.studies.mutation.inputs import settings_of, with_files

    return config.model_copy(update={"settings": with_files(settings_of(config), folder)})


def models(config: "FrozenConfig") -> set[str]:
    from tidepool.engine.config.section import models_named
    from tidepool.engine.studies.mutation.config import HASHING
    from tidepool.engine.studies.mutation.inputs import settings_of

    settings = settings_of(config)
    unused = {"encoder": settings.encoder == HASHING, "judge": settings.reward != "judge"}
    return models_named(settings, but=[name for name, idle in unused.items() if idle])


def report() -> KindReport:
    from tidepool.engine.studies.mutation import report

    return report


KIND = KindSpec(
    name="mutation",
    title="Mutation",
    summary="a learner finds out which rewriting of a query helps",
    units="episodes",
    settings=settings,
    freeze=freeze,
    models=models,
    plan=deferred(f"{HERE}.plan:plan"),
    play=deferred(f"{HERE}.story:play"),
    statistics=deferred(f"{HERE}.statistics:statistics"),
    differences=deferred(f"{HERE}.statistics:differences"),
    outcomes=deferred(f"{HERE}.statistics:outcomes"),
    report=report,
    glimpse=deferred(f"{HERE}.report:MutationGlimpse"),
    methods=deferred(f"{HERE}.methods:methods"),
    formats=deferred(f"{HERE}.policy:formats"),
    contents=ExportContents(
        views=("messages", "training"), beside_units=("training",), tables=(steps_table,), details="episode"
    ),
    shape=deferred(f"{HERE}.plan:shape"),
    files=("queries", "policy"),
    filled_in=("query_list", "policy_content"),
    roles={"target": "target", "mutator": "rewriter", "judge": "judge", "encoder": "encoder"},
    idle_roles=lambda section: () if section.get("reward") == "judge" else ("judge",),
)
