"""What a batch of simulations will take, before anything is called: as expected, and at most."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from math import comb

from tidepool.engine.call import TOKENS_PER_MESSAGE, Call
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import FrozenConfig, reasoning_of
from tidepool.engine.library.entities import Entity
from tidepool.engine.runtime.services import groups_of
from tidepool.engine.stopping.stages import stop_notes, units_at_a_time
from tidepool.engine.studies.planned_calls import (
    EXPECTED,
    MOST,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    reasoning_notes,
)
from tidepool.engine.studies.simulation.casting import cast_of, settings_of
from tidepool.engine.studies.simulation.config import SimulationSettings
from tidepool.engine.studies.simulation.prompts import OPENING, Setting, enact, enacted_system, judgement, narrate
from tidepool.engine.studies.simulation.story import JUDGE_TOKENS

MESSAGE, THOUGHTFUL = UsualTokens(60, 36), UsualTokens(90, 48)
"""a message usually has, without and with a private thought"""
RATING = UsualTokens(60, 13)
NAME_TOKENS = 4
"""of a name before what is said, expected"""
MOST_REQUESTS = 200
"""entities whose first requests are looked at"""
SAMPLED = 40
"""entities whose portraits are measured: some of all for the expected, the longest for the most"""


def plan(config: FrozenConfig) -> Plan:
    settings = settings_of(config)
    units, models = settings.num_simulations, models_of(settings)
    groups = groups_of(units, units_at_a_time(config, models, units))
    calls = tuple(replace(planned, rounds=groups) for planned in _SimulationPlan(config, EXPECTED).calls())
    tokens = (THOUGHTFUL if settings.thoughts else MESSAGE).by(resolve_model(settings.model))
    notes = (
        f"A message is expected to have {tokens} tokens.",
        *reasoning_notes(settings),
        *stop_notes(config, models, units),
    )
    return Plan(settings.num_simulations, calls, notes, at_most=tuple(_SimulationPlan(config, MOST).calls()))


def models_of(settings: SimulationSettings) -> tuple[str, ...]:
    judge = (settings.judge.model,) if settings.judge else ()
    return tuple(resolve_model(model) for model in (settings.model, *judge))


def first_requests(config: FrozenConfig) -> Iterator[Call]:
    """What each entity is asked first, or the narrator of a scene; and what the judge is asked about a silent talk."""
    settings = settings_of(config)
    setting = Setting(settings.context, settings.language, settings.thoughts)
    sampling = {"temperature": settings.temperature, "max_tokens": settings.max_tokens, **reasoning_of(settings)}
    model, size = resolve_model(settings.model), settings.interaction_size
    cast = [member.entity for member in cast_of(config)][:MOST_REQUESTS]
    names = [entity.name for entity in cast]
    for place, entity in enumerate(cast):
        if settings.style == "narrated":
            prompt = narrate((cast[place:] + cast[:place])[:size], setting, settings.n_turns)
        else:
            prompt = enact(entity, (names[place + 1 :] + names[:place])[: size - 1], setting, ())
        yield Call("t1", 1, model, prompt.messages, prompt.system, **sampling)
    if judge := settings.judge:
        question = judgement(judge.question, (judge.scale[0], judge.scale[1]), settings.context, names[0], "")
        yield Call("judge", 2, resolve_model(judge.model), question.messages, question.system)


class _SimulationPlan:
    """The same calls by either sizing."""

    def __init__(self, config: FrozenConfig, sizing: Sizing) -> None:
        self._settings = settings_of(config)
        self._sizing = sizing
        self._model = resolve_model(self._settings.model)
        self._usual = THOUGHTFUL if self._settings.thoughts else MESSAGE
        self._setting = Setting(self._settings.context, self._settings.language, self._settings.thoughts)
        cast = [member.entity for member in cast_of(config)]
        self._entities = _measured(cast, max(SAMPLED, self._settings.interaction_size), worst=sizing.worst)
        self._names = nlargest(self._settings.interaction_size, (entity.name for entity in cast), key=_bytes)
        names = sizing.longest(f"{name}: " for name in self._names)
        self._line = sizing.read_again(self._model, self._usual, self._settings.max_tokens) + names
        """of a message that is heard"""

    def calls(self) -> Iterator[PlannedCalls]:
        messages = list(self._enacted() if self._settings.style == "enacted" else self._narrated())
        yield from messages
        if self._settings.judge:
            yield self._judged(len(messages) + 1)

    def _enacted(self) -> Iterator[PlannedCalls]:
        settings, sizing = self._settings, self._sizing
        partners = self._names[: settings.interaction_size - 1]
        prompt = sizing.longest(enacted_system(entity, partners, self._setting) for entity in self._entities)
        prompt += sizing.text(OPENING) + TOKENS_PER_MESSAGE
        reply = sizing.reply(self._model, self._usual, settings.max_tokens, settings)
        for wave in range(1, _messages_each(settings) + 1):
            history = (wave - 1) * (self._line + TOKENS_PER_MESSAGE)
            yield PlannedCalls(wave, self._model, settings.num_simulations, prompt + history, reply)

    def _narrated(self) -> Iterator[PlannedCalls]:
        settings, sizing = self._settings, self._sizing
        cast = self._entities[: settings.interaction_size]
        prompt = narrate(cast, self._setting, settings.n_turns, ("",))
        first, _, again = (sizing.text(message.text) + TOKENS_PER_MESSAGE for message in prompt.messages)
        messages = settings.interaction_size * settings.n_turns
        scene = UsualTokens(
            messages * (self._usual.of_a_model + NAME_TOKENS), messages * (self._usual.simulated + NAME_TOKENS)
        )
        reply = sizing.reply(self._model, scene, settings.max_tokens * messages, settings)
        per_scene = sizing.read_again(self._model, scene, settings.max_tokens * messages) + TOKENS_PER_MESSAGE + again
        for wave in range(1, settings.simulation_rounds + 1):
            tokens = sizing.text(prompt.system) + first + (wave - 1) * per_scene
            yield PlannedCalls(wave, self._model, settings.num_simulations, tokens, reply)

    def _judged(self, wave: int) -> PlannedCalls:
        settings, sizing, judge = self._settings, self._sizing, self._settings.judge
        assert judge is not None
        prompt = judgement(judge.question, (judge.scale[0], judge.scale[1]), settings.context, self._names[0], "")
        tokens = sizing.text(prompt.system) + sizing.text(prompt.messages[0].text) + TOKENS_PER_MESSAGE
        model = resolve_model(judge.model)
        calls = settings.num_simulations * settings.interaction_size
        line = self._line
        if settings.thoughts and not sizing.worst:  # the judge hears a message without its thought
            line = min(line, MESSAGE.by(self._model) + NAME_TOKENS)
        transcript = _messages_each(settings) * (line + 1)
        reply = sizing.reply(model, RATING, JUDGE_TOKENS, settings)
        return PlannedCalls(wave, model, calls, tokens + transcript, reply)


def _measured(cast: Sequence[Entity], count: int, *, worst: bool) -> list[Entity]:
    """Some of the cast, spread over it; or those of whom there is most to say."""
    if worst:
        return nlargest(count, cast, key=lambda entity: _bytes(str(entity.as_record())))
    return list(cast[:: max(1, len(cast) // count)])


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _messages_each(settings: SimulationSettings) -> int:
    return settings.interaction_size * settings.n_turns * settings.simulation_rounds


def shape(config: FrozenConfig) -> list[str]:
    """How many could meet, and how many do."""
    settings = settings_of(config)
    entities, size, wanted = len(config.entities), settings.interaction_size, settings.num_simulations
    possible = comb(entities, size)
    repeats = "each at most once" if wanted <= possible else f"each about {wanted / possible:,.1f} times"
    return [f"C({entities},{size}) = {possible:,} combinations possible, {wanted:,} run: {repeats}"]
