"""Runs and plans entity simulations."""

from dataclasses import replace
from heapq import nlargest
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING

from tidepool.engine.call import Call, most_tokens
from tidepool.engine.config.sections import Config
from tidepool.engine.errors import UsageError
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.plans import EXPECTED, MOST, Plan, Sizing, UsualTokens, merged, reasoning_notes
from tidepool.engine.runtime.services import groups_of, units_at_a_time
from tidepool.engine.studies.branches import BranchKind
from tidepool.engine.studies.conversation import OneByOne, Rehearsal, rehearsed_number
from tidepool.engine.studies.simulation import casting, story
from tidepool.engine.studies.simulation.casting import settings_of
from tidepool.engine.studies.simulation.story import EntityConversation, Stage
from tidepool.engine.studies.study import Study

if TYPE_CHECKING:
    from tidepool.engine.inference.measures import PlannedBatch
    from tidepool.engine.runtime.stop_rules import StopTarget

MESSAGE, THOUGHTFUL = UsualTokens(60, 36), UsualTokens(90, 48)
"""usual lengths of a message, without and with a private thought"""
RATING = UsualTokens(60, 13)
NAME_TOKENS = 4
"""tokens of a name before a message in a scene"""


class Simulation(Study):
    branches: BranchKind | None = story

    @classmethod
    def freeze(cls, config: Config, folder: Path | None) -> Config:
        return casting.freeze(config, folder)

    def plan(self) -> Plan:
        stage = Stage(self.config, OneByOne())
        models = (stage.model, *((stage.judge_model,) if stage.judge_model else ()))
        groups = groups_of(stage.total, units_at_a_time(self.config, models, stage.total))
        usual = f"A message is expected to have {_message(stage).by(stage.model)} tokens."
        expected = merged(_rehearse(stage, EXPECTED).planned(stage.total))
        at_most = merged(_rehearse(stage, MOST).planned(stage.total))
        notes = (usual, *reasoning_notes(stage.settings))
        return Plan(stage.total, tuple(replace(one, rounds=groups) for one in expected), notes, at_most=at_most)

    async def play(self, run: BatchRun) -> None:
        stage = Stage(run.config, run)
        run.expect_units(stage.total)
        await run.units(stage.plans())

    def shape(self) -> list[str]:
        """The number of possible combinations, and of those that run."""
        settings = settings_of(self.config)
        entities, size, wanted = len(self.config.entities), settings.interaction_size, settings.num_simulations
        possible = comb(entities, size)
        repeats = "each at most once" if wanted <= possible else f"each about {wanted / possible:,.1f} times"
        return [f"C({entities},{size}) = {possible:,} combinations possible, {wanted:,} run: {repeats}"]

    def values_planned(self) -> "PlannedBatch":
        from tidepool.engine.inference.measures import PlannedBatch, PlannedValues
        from tidepool.engine.studies.simulation.measures import RATING

        settings, names = settings_of(self.config), [member.entity.name for member in casting.cast_of(self.config)]
        size = min(settings.interaction_size, len(names))
        own = PlannedValues(settings.num_simulations * size / len(names))
        whole = PlannedValues(settings.num_simulations, size)
        return PlannedBatch(
            counted="conversations",
            outcomes={RATING: whole, **{f"{RATING} of {name}": own for name in names}},
            sizes={"simulation.num_simulations": settings.num_simulations},
            entities=len(names),
        )

    def stop_target(self) -> "StopTarget":
        raise UsageError(
            "[stop] is for secret_game. Simulations share their entities, so their ratings are not independent, and a stop rule "
            "would stop too early. Plan the number of simulations with `tidepool plan --detect`.",
            ("stop",),
        )


def _message(stage: Stage) -> UsualTokens:
    return THOUGHTFUL if stage.settings.thoughts else MESSAGE


def _rehearse(stage: Stage, sizing: Sizing) -> Rehearsal:
    message, in_scene = _message(stage), stage.settings.interaction_size * stage.settings.n_turns
    scene = UsualTokens(*(in_scene * (tokens + NAME_TOKENS) for tokens in (message.of_a_model, message.simulated)))

    def usual(call: Call) -> UsualTokens:
        return RATING if call.form else scene if call.turn is None else message

    def text(call: Call, reply: str) -> str:
        """Later requests do not contain its thought."""
        spoken = min(len(reply), 4 * MESSAGE.by(call.model))
        thoughtful = stage.settings.thoughts and call.turn is not None and not sizing.worst
        return f"*{reply[spoken:]}* {reply[:spoken]}" if thoughtful and reply[spoken:] else reply

    rehearsal = Rehearsal(sizing, usual)
    size = stage.settings.interaction_size
    number = rehearsed_number(stage.total, size * stage.turns, len(stage.cast) // size)
    talks = [talk for _, talk in stage.conversations(number)]
    if sizing.worst and number < stage.total:  # the entities with the longest texts
        members = nlargest(size, stage.cast, key=lambda member: most_tokens(str(member.as_record())))
        talks = [EntityConversation(stage, tuple(members), 1)]
    for talk in talks:
        rehearsal.play(talk.play, text=text)
    return rehearsal
