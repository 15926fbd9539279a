"""What a batch of simulations will take, before anything is called."""

from collections.abc import Iterator
from dataclasses import replace
from math import comb

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.core.services import groups_of
from tidepool.engine.prices import expected_tokens
from tidepool.engine.studies.planned_calls import Plan, PlannedCalls, with_reasoning
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.config import SimulationSettings
from tidepool.engine.studies.simulation.prompts import Setting, enacted_system, judgement, narrated
from tidepool.engine.studies.simulation.story import JUDGE_TOKENS

TOKENS_OF_A_MESSAGE = 60
"""a message is taken to have, for plans"""


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    message = min(settings.max_tokens, TOKENS_OF_A_MESSAGE)
    spoken = list((_enacted_calls if settings.style == "enacted" else _narrated_calls)(config, message))
    judged = _judge_calls(config, message, wave=len(spoken) + 1) if settings.judge else []
    groups = groups_of(settings.num_simulations, config.service)
    calls = tuple(replace(planned, rounds=groups) for planned in (*spoken, *judged))
    notes = (f"A message is taken to have {TOKENS_OF_A_MESSAGE} tokens.",)
    return with_reasoning(Plan(settings.num_simulations, calls, notes), settings)


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


def shape(config: FrozenConfig) -> list[str]:
    """How many could meet, and how many do."""
    settings = settings_of(config)
    entities, size, wanted = len(config.entities), settings.interaction_size, settings.num_simulations
    possible = comb(entities, size)
    repeats = "each at most once" if wanted <= possible else f"each about {wanted / possible:,.1f} times"
    return [f"C({entities},{size}) = {possible:,} combinations possible, {wanted:,} run: {repeats}"]
