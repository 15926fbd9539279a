"""The kind of study of a class in a Python file: loads the file, freezes the settings, plans, runs, branches and reports.

A batch stores the settings, the measures, and the file's text with its hash. Reading results needs neither the file nor its
code. The text is only for readers and never runs. A resume needs a file with the same hash.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import iscoroutinefunction
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from pydantic import ConfigDict, Field

from tidepool.engine.call import Call, seed_of
from tidepool.engine.config import ceilings
from tidepool.engine.config.section import Section, models_at
from tidepool.engine.config.sections import Config, FrozenConfig, ModelName
from tidepool.engine.config.toml_files import read_text
from tidepool.engine.errors import NotTrusted, UsageError
from tidepool.engine.inference.measures import Outcome, Sections
from tidepool.engine.kinds import Kind
from tidepool.engine.registries import CUSTOM_MODULE, blame_code, custom_names
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import EXPECTED, MOST, Plan, Sizing, UsualTokens, merged
from tidepool.engine.runtime.services import groups_of, units_at_a_time
from tidepool.engine.runtime.unit import Unit as RunUnit
from tidepool.engine.runtime.unit import UnitPlan
from tidepool.engine.studies.branches import FanOut, OriginTalk, Story
from tidepool.engine.studies.conversation import OneByOne, Rehearsal, rehearse
from tidepool.engine.studies.custom import LOADED, NEWEST, MeasureOf, Study, agents_of, digest_of, play_unit
from tidepool.engine.studies.results import Results
from tidepool.engine.studies.study import Study as StudyRun
from tidepool.engine.trust.record import trust_record

REPLY, FORM = UsualTokens(60, 30), UsualTokens(30, 12)
REHEARSED = 50
"""units that a plan plays with replies of the usual length"""


# -- loading ---------------------------------------------------------------------------------------------------------


def load_class(kind: str, folder: Path) -> type[Study]:
    """Runs the file of a kind, which is in this folder, and returns its class."""
    file, name = custom_names(kind)
    text = read_text(folder / file)
    key = kind, digest_of(text)
    if key not in LOADED:
        module_name = f"{CUSTOM_MODULE}{Path(file).stem}_{key[1][:8]}"
        module = sys.modules[module_name] = ModuleType(module_name)
        module.__file__ = str(folder / file)
        try:
            exec(compile(text, module.__file__, "exec"), vars(module))  # exactly the text that was hashed
        except Exception as error:
            raise blame_code(error) or UsageError(
                f"{folder / file} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        found = getattr(module, name, None)
        if not (isinstance(found, type) and issubclass(found, Study)):
            classes = {name: one for name, one in vars(module).items() if isinstance(one, type) and one is not Study}
            known = ", ".join(name for name, one in classes.items() if issubclass(one, Study)) or "none"
            raise UsageError(
                f"{folder / file} has no study {name}. A study is a subclass of tidepool.Study. It has: {known}."
            )
        if not iscoroutinefunction(found.play):
            raise UsageError(f"{folder / file}: {name} needs `async def play(self, unit)`.")
        LOADED[key] = found
    NEWEST[kind] = LOADED[key], text
    return LOADED[key]


def load_version(kind: str, wanted: str, folders: Sequence[Path]) -> None:
    """Loads the file with this hash from the first folder that has it."""
    if (kind, wanted) in LOADED:
        return
    file, _ = custom_names(kind)
    found = [folder for folder in dict.fromkeys(folders) if (folder / file).is_file()]
    for folder in found:
        if digest_of(read_text(folder / file)) == wanted:
            load_class(kind, folder)
            return
    where = ", ".join(str(folder / file) for folder in found)
    missing = f"there is no {file} in {', '.join(map(str, dict.fromkeys(folders)))}"
    raise UsageError(
        f"This batch needs {file} as it was (sha256 {wanted[:16]}...), but {f'{where} has changed since' if found else missing}. "
        "Restore that version. Or start a new run, which takes the stored replies from the cache."
    )


def allow(path: Path, *, chosen: bool) -> None:
    """Raises unless the user has chosen to run this file, now or before. A config from another person may name it."""
    place = str(path.absolute())
    if not path.is_file():
        raise UsageError(
            f"The config needs {path}, which does not exist. A config of a stored batch has its text in the key source."
        )
    if chosen:
        trust_record().mark_trusted({place: place})
    elif not trust_record().knows(place, place):
        raise NotTrusted(
            f"The config runs the code in {path}, which you have not run before. It can read your keys and files. If you trust it, "
            f"allow it once with `tidepool plan {path}`."
        )


# -- the config ------------------------------------------------------------------------------------------------------


class CustomSettings(Section):
    """The section as a batch stores it. Its other keys are the settings of the class."""

    model_config = ConfigDict(extra="allow")

    models: dict[str, ModelName] = Field(default_factory=dict)
    """settings that name models"""
    measures: list[dict[str, Any]] = Field(default_factory=list)
    source: str = Field(default="", max_length=ceilings.FILE_BYTES)
    source_sha256: str = ""


def is_frozen(section: Mapping[str, Any]) -> bool:
    return "source_sha256" in section


class CustomStudy(StudyRun[CustomSettings]):
    """The running half."""

    independent = True

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        if isinstance(config.settings, CustomSettings):
            return config
        kind = config.batch.kind
        study_class, text = NEWEST[kind]
        agents = config.agents or study_class.model_fields["agents"].get_default(call_default_factory=True)
        own = config if config.agents else config.model_copy(update={"agents": list(agents)})
        names = [agent.name for agent in own.agents]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"Two agents are called {twice!r}. Give each agent a different name.", ("agents",))
        values = own.settings.model_dump(mode="json")
        models = {str(where[0]): name for where, name in models_at(own.settings) if len(where) == 1}
        settings = CustomSettings(
            **values,
            models=models,
            measures=[_as_json(measure) for measure in study_class.measures],
            source=text,
            source_sha256=digest_of(text),
        )
        return own.model_copy(update={"settings": settings})

    @cached_property
    def instance(self) -> Study:
        """The user's own object, with the settings of the batch."""
        kind = self.config.batch.kind
        study_class = LOADED.get((kind, self.settings.source_sha256))
        if study_class is None:
            raise UsageError(f"The code of {kind} is not loaded. Run the study from the folder of its file.")
        values = {**(self.settings.model_extra or {}), **self.settings.models}
        return study_class(**values, agents=list(self.config.agents), seed=self.config.batch.seed)

    @cached_property
    def items(self) -> list[tuple[int, Any]]:
        return list(self.instance.items())

    def code(self) -> tuple[str, ...]:
        file, name = custom_names(self.config.batch.kind)
        digest = self.settings.source_sha256[:16]
        return (f"the study {name} in {file} (sha256 {digest}...), which can read your keys and files",)

    def find_code(self, folders: Sequence[Path]) -> None:
        load_version(self.config.batch.kind, self.settings.source_sha256, folders)

    # -- plan and run ------------------------------------------------------------------------------------

    def plan(self) -> Plan:
        total = len(self.items)
        if not total:
            raise UsageError(f"{type(self.instance).__name__}.units() has no units.")
        groups = groups_of(total, units_at_a_time(self.config, self.config.models(), total))
        expected, most = (merged(self._rehearsed(sizing).planned(total)) for sizing in (EXPECTED, MOST))
        notes = (
            f"{min(total, REHEARSED):,} units were played with made-up replies. A unit that decides by its replies may differ.",
        )
        return Plan(total, tuple(replace(one, rounds=groups) for one in expected), notes, at_most=most)

    def _rehearsed(self, sizing: Sizing) -> Rehearsal:
        rehearsal = Rehearsal(sizing, lambda call: FORM if call.form else REPLY)
        for number, item in self.items[:: -(-len(self.items) // REHEARSED)]:
            self._rehearse(rehearsal.play, number, item)
        return rehearsal

    def _rehearse(self, play: Callable[[Story], Any], number: int, item: Any) -> None:
        async def story(unit: RunUnit) -> None:
            await play_unit(self.instance, unit, number, item, self._seed(number), OneByOne())

        try:
            play(story)
        except UsageError as error:
            raise blame_code(error) or error from error
        except AssertionError:
            raise UsageError("A plan needs units that wait only for unit.ask and tidepool.gather.") from None
        except Exception as error:
            raise UsageError(f"With a made-up reply, play() fails. {blame_code(error) or error}") from error

    def _seed(self, number: int) -> int:
        return seed_of(self.config.batch.seed, number, "play")

    async def play(self, run: BatchRun) -> None:
        run.expect_units(len(self.items))
        await run.units(
            UnitPlan(
                number,
                self.story(run, number, item, self._seed(number)),
                [agent.name for agent in agents_of(item)],
                details=json.dumps({"seed": self._seed(number)}),
            )
            for number, item in self.items
        )

    def story(self, fan_out: FanOut, number: int, item: Any, seed: int, *, stores: bool = True) -> Story:
        async def story(unit: RunUnit) -> Mapping[str, float | None]:
            return (await play_unit(self.instance, unit, number, item, seed, fan_out, stores=stores)).measured

        return story

    def shape(self) -> list[str]:
        return [f"{len(self.items):,} units of {custom_names(self.config.batch.kind)[1]}"]


class CustomBranches:
    """Continues conversations from one message. Only messages of agents can be resampled."""

    def steps(self, config: FrozenConfig) -> list[str]:
        study, steps = CustomStudy(config), list[str]()
        number, item = study.items[0]
        agents = {agent.name for agent in study.config.agents}

        def answer(call: Call) -> str:
            steps.extend([call.step] if call.speaker in agents else [])
            return ""

        rehearse(study.story(OneByOne(), number, item, 0), answer, number)
        return steps

    def earlier(self, *_: object) -> list[dict[str, Any]]:
        """Conversations do not remember each other."""
        return []

    def stage(self, config: FrozenConfig, earlier: Sequence[Mapping[str, Any]], fan_out: FanOut) -> "CustomStage":
        return CustomStage(CustomStudy(config), fan_out)


@dataclass(frozen=True, slots=True)
class CustomStage:
    study: CustomStudy
    fan_out: FanOut

    def story(self, talk: OriginTalk) -> Story:
        item = dict(self.study.items).get(talk.number)
        return self.study.story(self.fan_out, talk.number, item, int(talk.details.get("seed", 0)), stores=False)

    def measured(self, talk: OriginTalk, at: str, texts: Mapping[str, str], result: Any) -> Mapping[str, float | None]:
        return cast("Mapping[str, float | None]", result)


CustomStudy.branches = CustomBranches()


# -- results -----------------------------------------------------------------------------------------------------------


def _as_json(measure: MeasureOf) -> dict[str, Any]:
    low, high = measure.bounds
    ends = {} if low == -high else {"bounds": [low, high]}
    return {"name": measure.name, "words": measure.words, "of": measure.of, "unit": measure.unit, **ends}


class CustomResults(Results):
    """Results of the measures that the batch stores. The file may be untrusted, so unreadable entries are left out."""

    def measures(self, sections: Sections) -> list[Outcome]:
        own = next((one for name, one in sections.items() if isinstance(one, Mapping) and "source_sha256" in one), {})
        return list(_outcomes(own.get("measures"), sections.get("agents")))

    def branch_measures(self, sections: Sections) -> Sequence[Outcome]:
        return self.measures(sections)


def _outcomes(measures: object, agents: object) -> Iterator[Outcome]:
    names = (
        [str(agent["name"]) for agent in agents if isinstance(agent, Mapping) and "name" in agent]
        if isinstance(agents, list)
        else []
    )
    for measure in measures if isinstance(measures, list) else ():
        if not isinstance(measure, Mapping) or not isinstance(name := measure.get("name"), str):
            continue
        words = str(measure.get("words") or name)
        bounds = measure.get("bounds")
        more: dict[str, Any] = {"unit": str(measure.get("unit") or "")}
        if isinstance(bounds, list) and len(bounds) == 2 and all(isinstance(end, int | float) for end in bounds):
            more["bounds"] = (float(bounds[0]), float(bounds[1]))
        if measure.get("of") == "agent":
            yield from (
                Outcome(name=f"{name} of {agent}", words=f"{words}, {agent}", about=f"agents.{agent}", **more)
                for agent in names
            )
        else:
            yield Outcome(name=name, words=words, **more)


# -- the kind ----------------------------------------------------------------------------------------------------------


class CustomKind(Kind):
    """A kind whose settings are those of its class once the file is loaded."""

    def load(self, folder: Path, written: Mapping[str, Any], *, chosen: bool = False) -> None:
        allow(folder / custom_names(self.name)[0], chosen=chosen)
        if is_frozen(written):
            load_version(self.name, str(written["source_sha256"]), [folder])
        else:
            load_class(self.name, folder)

    def settings_for(self, written: Mapping[str, Any]) -> type[Section]:
        loaded = self.name in NEWEST and not is_frozen(written)
        return NEWEST[self.name][0].settings_type if loaded else CustomSettings


def custom_kind(name: str) -> Kind:
    """The kind of `file.py:Class`. It loads no file."""
    return CustomKind(
        name=name,
        title=custom_names(name)[1],
        summary=f"a study of your own, in {custom_names(name)[0]}",
        units="conversations",
        settings_class=CustomSettings,
        study_class=CustomStudy,
        results_class=CustomResults,
        talks=True,
        people="agents",
        filled_in=tuple(CustomSettings.model_fields),
    )
