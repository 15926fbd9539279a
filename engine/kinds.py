"""The kinds of study: their names, and the classes that implement them.

A kind has a running half, a `Study`, which freezes, plans and runs a config, and a reading half, `Results`, which reports the
results of a batch. Reading a file loads no code that runs a study, and a run loads no report. An installed package adds a
kind under the entry-point group `tidepool.kinds`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from tidepool.engine.errors import UsageError
from tidepool.engine.registries import KINDS, load_place

if TYPE_CHECKING:
    from tidepool.engine.config.section import Section
    from tidepool.engine.studies.results import Results
    from tidepool.engine.studies.study import Study

__all__ = ["KINDS", "Kind", "load_kind"]

Place = str
"""a class, as "module:name" """


@dataclass(frozen=True, kw_only=True)
class Kind:
    name: str
    """the value of `batch.kind` and the name of the kind's own section"""
    title: str
    """the name for people"""
    summary: str
    """one sentence without a capital: what such a study does"""
    units: str
    """the name of its units, in the plural"""
    settings_class: "type[Section] | Place"
    """the section of the config with the kind's name"""
    study_class: "type[Study] | Place"
    results_class: "type[Results] | Place" = "tidepool.engine.studies.results:Results"
    talks: bool = False
    """its units are conversations: messages are read in turn, and a wave is a message's position"""
    people: Literal["agents", "entities"] | None = None
    """the list of participants in the config"""
    roles: Mapping[str, str] = field(default_factory=dict)
    """keys of its section that name models, each with its role; `agents` is the config's own list"""
    idle_roles: Callable[[Mapping[str, Any]], Sequence[str]] = lambda section: ()
    """keys of `roles` whose model is not called, by the section's other values; the section may be malformed"""
    files: tuple[str, ...] = ()
    """keys of its section that may name a file"""
    filled_in: tuple[str, ...] = ()
    """keys of its section that Tidepool writes when a batch starts"""

    @cached_property
    def settings(self) -> "type[Section]":
        return cast("type[Section]", _loaded(self.settings_class))

    def load(self, folder: Path, written: Mapping[str, Any], *, chosen: bool = False) -> None:
        """Loads code beside a config with this section. `chosen`: the user named the code. Only kinds in Python files have code."""

    def settings_for(self, written: Mapping[str, Any]) -> "type[Section]":
        """The class of the section with these keys."""
        return self.settings

    @cached_property
    def study(self) -> "type[Study]":
        """The running half: `kind.study(config)` is one study."""
        return cast("type[Study]", _loaded(self.study_class))

    @cached_property
    def results(self) -> "Results":
        """The reading half."""
        return cast("type[Results]", _loaded(self.results_class))()


def _loaded(item: Any) -> Any:
    return load_place(item) if isinstance(item, str) else item


def load_kind(name: str) -> Kind:
    if name not in KINDS:  # it may come from an untrusted file
        raise UsageError(
            f"{name!r} is not a known kind of study, or needs a package that is not installed here. Known kinds are {', '.join(KINDS)}."
        )
    kind: Kind = KINDS[name]
    return kind


_STUDIES = "tidepool.engine.studies"

SECRET_GAME = Kind(
    name="secret_game",
    title="Secret game",
    summary="agents with secrets converse in pairs: who reveals, who obtains?",
    units="conversations",
    settings_class=f"{_STUDIES}.secret_game.config:SecretGameSettings",
    study_class=f"{_STUDIES}.secret_game.study:SecretGame",
    results_class=f"{_STUDIES}.secret_game.results:GameResults",
    talks=True,
    people="agents",
    roles={"agents": "agents", "judge": "judge"},
    idle_roles=lambda section: () if "'judge'" in str(section.get("detection")) else ("judge",),
)
SIMULATION = Kind(
    name="simulation",
    title="Simulation",
    summary="personas meet in a context, alone, in pairs or in groups",
    units="simulations",
    settings_class=f"{_STUDIES}.simulation.config:SimulationSettings",
    study_class=f"{_STUDIES}.simulation.study:Simulation",
    results_class=f"{_STUDIES}.simulation.results:SimulationResults",
    talks=True,
    people="entities",
    roles={"model": "entities", "judge": "judge"},
    files=("context_file", "entity_file"),
)
EVOLUTION = Kind(
    name="evolution",
    title="Evolution",
    summary="a population of prompts improves on a set of problems",
    units="genomes",
    settings_class=f"{_STUDIES}.evolution.config:EvolutionSettings",
    study_class=f"{_STUDIES}.evolution.study:Evolution",
    results_class=f"{_STUDIES}.evolution.results:EvolutionResults",
    files=("problems", "judge_from"),
    filled_in=("frozen", "scorer_sha256"),
    roles={"model": "solver", "models": "solver", "mutator": "rewriter", "judge": "judge"},
    idle_roles=lambda section: (
        *(("mutator",) if section.get("strategy") == "random" else ()),
        *(() if "judge" in (section.get("task"), section.get("unclear")) and not section.get("scorer") else ("judge",)),
    ),
)
MUTATION = Kind(
    name="mutation",
    title="Mutation",
    summary="a learner finds out which rewrites of a query help",
    units="episodes",
    settings_class=f"{_STUDIES}.mutation.config:MutationSettings",
    study_class=f"{_STUDIES}.mutation.study:Mutation",
    results_class=f"{_STUDIES}.mutation.results:MutationResults",
    files=("queries", "policy"),
    filled_in=("query_list", "policy_content"),
    roles={"target": "target", "mutator": "rewriter", "judge": "judge", "encoder": "encoder"},
    idle_roles=lambda section: (
        *(() if section.get("reward") == "judge" else ("judge",)),
        *(("encoder",) if section.get("encoder") == "hashing" else ()),
    ),
)
