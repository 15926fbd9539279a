"""Entity simulations as a study: who meets whom, and what comes out of it."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.model_fields import models_named
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.config.sections import Config
from tidepool.engine.core.batch_run import BatchRun
from tidepool.engine.core.unit import UnitPlan
from tidepool.engine.prices import expected_tokens
from tidepool.engine.streams import stream
from tidepool.engine.studies.plan import Plan, PlannedCalls
from tidepool.engine.studies.simulation.casting import CastMember, cast_of, settings_of, taken_in
from tidepool.engine.studies.simulation.combinations import Combination, combinations, combinations_possible
from tidepool.engine.studies.simulation.config import SimulationSettings
from tidepool.engine.studies.simulation.measures import SpeechTally
from tidepool.engine.studies.simulation.prompts import Setting, enacted_system, judgement, narrated
from tidepool.engine.studies.simulation.statistics import simulation_statistics
from tidepool.engine.studies.simulation.story import JUDGE_TOKENS, Stage, conversation_of
from tidepool.storage.units import units_in_pages

SETTINGS = SimulationSettings

TOKENS_OF_A_MESSAGE = 60
"""a message is taken to have, for plans"""


def freeze(config: Config, folder: Path | None) -> Config:
    return taken_in(config, folder)


def models(config: FrozenConfig) -> set[str]:
    return models_named(config.settings)


# -- plan ------------------------------------------------------------------------------------------------


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    message = min(settings.max_tokens, TOKENS_OF_A_MESSAGE)
    spoken = list((_enacted_calls if settings.style == "enacted" else _narrated_calls)(config, message))
    judged = _judge_calls(config, message, wave=len(spoken) + 1) if settings.judge else []
    notes = (f"A message is taken to have {TOKENS_OF_A_MESSAGE} tokens.",)
    return Plan(settings.num_simulations, (*spoken, *judged), notes)


def _enacted_calls(config: FrozenConfig, message: int) -> Iterator[PlannedCalls]:
    settings, model = settings_of(config), resolve_model(settings_of(config).model)
    cast = cast_of(config)[: settings.interaction_size]
    partners = [member.entity.name for member in cast[1:]]
    system = expected_tokens(enacted_system(cast[0].entity, partners, _setting(settings)))
    for wave in range(1, _messages_each(settings) + 1):
        yield PlannedCalls(wave, model, settings.num_simulations, system + wave * (message + 8), message)


def _narrated_calls(config: FrozenConfig, message: int) -> Iterator[PlannedCalls]:
    settings, model = settings_of(config), resolve_model(settings_of(config).model)
    cast = [member.entity for member in cast_of(config)[: settings.interaction_size]]
    prompt = narrated(cast, _setting(settings), settings.n_turns)
    asked = expected_tokens(prompt.system) + expected_tokens(prompt.messages[0].text)
    scene = message * settings.interaction_size * settings.n_turns
    for wave in range(1, settings.simulation_rounds + 1):
        yield PlannedCalls(wave, model, settings.num_simulations, asked + (wave - 1) * (scene + 40), scene)


def _judge_calls(config: FrozenConfig, message: int, wave: int) -> list[PlannedCalls]:
    settings = settings_of(config)
    judge = settings.judge
    assert judge is not None
    prompt = judgement(judge.question, (judge.scale[0], judge.scale[1]), settings.context, "", "")
    asked = expected_tokens(prompt.system) + expected_tokens(prompt.messages[0].text)
    heard = asked + _messages_each(settings) * (message + 4)
    calls = settings.num_simulations * settings.interaction_size
    return [PlannedCalls(wave, resolve_model(judge.model), calls, heard, min(JUDGE_TOKENS, TOKENS_OF_A_MESSAGE))]


def _messages_each(settings: SimulationSettings) -> int:
    return settings.interaction_size * settings.n_turns * settings.simulation_rounds


def _setting(settings: SimulationSettings) -> Setting:
    return Setting(settings.context, settings.language, settings.thoughts)


# -- play ------------------------------------------------------------------------------------------------


async def play(run: BatchRun) -> None:
    settings = settings_of(run.config)
    run.expect_units(settings.num_simulations)
    stage = Stage.of(run.config, run.all)
    await run.units(_units(run.config, stage, cast_of(run.config)))


def _units(config: FrozenConfig, stage: Stage, cast: Sequence[CastMember]) -> Iterator[UnitPlan]:
    settings, seed = settings_of(config), config.batch.seed
    kind = interaction_type(settings.interaction_size)
    for combination in combinations(len(cast), settings.interaction_size, settings.num_simulations, seed):
        meeting = conversation_of(stage, cast, combination, _speaking_order(settings, combination, seed))
        yield UnitPlan(
            combination.sequence_number,
            meeting.play,
            participants=meeting.names,
            interaction_type=kind,
            details=meeting.details,
        )


def _speaking_order(settings: SimulationSettings, combination: Combination, seed: int) -> list[int]:
    order = list(range(len(combination.members)))
    if settings.speaking_order == "shuffled":
        stream(seed, "speaking order", combination.sequence_number).shuffle(order)
    return order


def interaction_type(size: int) -> str:
    return {1: "solo", 2: "dyadic"}.get(size, "group")


# -- statistics ------------------------------------------------------------------------------------------


def statistics(connection: sqlite3.Connection, batch: Mapping[str, Any], config: FrozenConfig) -> dict[str, Any]:
    settings, cast = settings_of(config), cast_of(config)
    possible = combinations_possible(len(cast), settings.interaction_size)
    entities = [member.entity for member in cast]
    return simulation_statistics(
        _tally(connection, batch["number"]), entities, possible, settings.judge, config.batch.seed
    )


def _tally(connection: sqlite3.Connection, batch_number: int) -> SpeechTally:
    tally = SpeechTally()
    for unit in units_in_pages(connection, batch_number):
        if unit.status == "completed":
            said = ((message.speaker, message.content) for message in unit.messages)
            tally.completed(unit.interaction_type or "", unit.participants, said, unit.ratings)
        else:
            tally.unfinished(unit.interaction_type or "", unit.status)
    return tally
