"""Plays the simulations of a batch, enacted or narrated, with their judges; and branches of enacted ones.

In an enacted simulation each entity speaks by its own request. A narrated scene is one request, so it has no turn to branch from.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from tidepool.engine.answer_forms import levels_of, read_rating
from tidepool.engine.call import Call, Reply, stream
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import FrozenConfig, reasoning_of
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.runtime.unit import Unit, UnitPlan
from tidepool.engine.studies.branches import FanOut, OriginTalk, Story
from tidepool.engine.studies.conversation import ask_judge
from tidepool.engine.studies.simulation.casting import CastMember, cast_of, combinations, settings_of
from tidepool.engine.studies.simulation.config import Judge
from tidepool.engine.studies.simulation.prompts import (
    ScenePrompt,
    Setting,
    Span,
    Speech,
    SpokenLine,
    enact,
    judgement,
    narrate,
    split_reply,
    split_scene,
    transcript,
    without_thoughts,
)
from tidepool.storage.queries.conversations import TalkRow
from tidepool.storage.states import FinishReason

JUDGE_TOKENS = 200
SCENE = "(scene)"
"""the speaker of a narrated round in which no name was found"""


class Stage:
    """The simulations of a batch, and their shared settings."""

    def __init__(self, config: FrozenConfig, fan_out: FanOut) -> None:
        self.settings = settings_of(config)
        self.setting = Setting(self.settings.context, self.settings.language, self.settings.thoughts)
        self.model = resolve_model(self.settings.model)
        self.judge_model = resolve_model(self.settings.judge.model) if self.settings.judge else None
        self.fan_out = fan_out
        self.total = self.settings.num_simulations
        self.turns = self.settings.n_turns * self.settings.simulation_rounds
        self.cast = cast_of(config)
        self._members = {member.id: member for member in self.cast}
        self._seed = config.batch.seed

    def conversations(self, count: int) -> "Iterator[tuple[int, EntityConversation]]":
        """With their sequence numbers. A batch with fewer simulations draws different ones."""
        for combination in combinations(len(self.cast), self.settings.interaction_size, count, self._seed):
            members = [self.cast[place] for place in combination.members]
            if self.settings.speaking_order == "shuffled":
                stream(self._seed, "speaking order", combination.sequence_number).shuffle(members)
            yield combination.sequence_number, EntityConversation(self, tuple(members), combination.replicate)

    def plans(self) -> Iterator[UnitPlan]:
        kind = {1: "solo", 2: "dyadic"}.get(self.settings.interaction_size, "group")
        for number, talk in self.conversations(self.total):
            yield UnitPlan(number, talk.play, talk.names, interaction_type=kind, details=talk.details)

    def story(self, talk: OriginTalk) -> Story:
        try:
            members = tuple(self._members[entity_id] for entity_id in talk.details["entity_ids"])
            return EntityConversation(self, members, int(talk.details.get("replicate", 0))).play
        except (KeyError, TypeError):
            raise FileError(
                f"The participants of conversation {talk.number} cannot be read: the file was changed."
            ) from None

    def measured(self, talk: OriginTalk, at: str, texts: Mapping[str, str], result: Any) -> dict[str, float | None]:
        """The speaker's rating, and the mean of the others'. `result` holds the ratings in speaking order."""
        if not result:
            return {}
        speaker = int(at.partition(".")[2]) - 1
        others = [rating for place, rating in enumerate(result) if place != speaker and rating is not None]
        means = {"others_rating": fmean(others) if others else None} if len(result) > 1 else {}
        return {"speaker_rating": result[speaker], **means}


@dataclass(frozen=True, slots=True)
class EntityConversation:
    stage: Stage
    cast: tuple[CastMember, ...]
    """in the order in which they speak"""
    replicate: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(member.entity.name for member in self.cast)

    @property
    def details(self) -> str:
        """What the file stores of it besides the names."""
        ids = [member.id for member in self.cast]
        return json.dumps({"entity_ids": ids, "replicate": self.replicate}, ensure_ascii=False)

    async def play(self, unit: Unit) -> list[float | None]:
        """Returns the judge's ratings in speaking order; none without a judge."""
        enacting = self.stage.settings.style == "enacted"
        talk = await (self._enact(unit) if enacting else self._narrate(unit))
        if not self.stage.judge_model:
            return []
        return await self.stage.fan_out.all(self._judge(unit, place, talk) for place in range(1, len(self.cast) + 1))

    # -- enacted -----------------------------------------------------------------------------------------

    async def _enact(self, unit: Unit) -> list[SpokenLine]:
        talk: list[SpokenLine] = []
        for turn in range(1, self.stage.turns + 1):
            for place, member in enumerate(self.cast, 1):
                step, name = f"t{turn}.{place}", member.entity.name
                others = [other for other in self.names if other != name]
                prompt = enact(member.entity, others, self.stage.setting, talk)
                wave = (turn - 1) * len(self.cast) + place
                reply = await unit.ask(self._call(step, wave, prompt, speaker=name, turn=turn))
                speech = split_reply(reply.text, name, others, self.stage.settings.thoughts)
                if speech.text != Span(0, len(reply.text)) and not unit.settled:
                    unit.ledger.put_lines(unit.number, [stored_line(speech, step, 0, turn)])
                talk.append(_line(speech, reply.text))
        return talk

    def _call(self, step: str, wave: int, prompt: ScenePrompt, **more: Any) -> Call:
        """A call to the entities' model, with the changes in `more`."""
        settings = self.stage.settings
        defaults = {"model": self.stage.model, "temperature": settings.temperature, "max_tokens": settings.max_tokens}
        options: dict[str, Any] = {**defaults, **reasoning_of(settings), **more}
        return Call(step=step, wave=wave, messages=prompt.messages, system=prompt.system, **options)

    # -- narrated ----------------------------------------------------------------------------------------

    async def _narrate(self, unit: Unit) -> list[SpokenLine]:
        scenes: list[str] = []
        talk: list[SpokenLine] = []
        settings, entities = self.stage.settings, [member.entity for member in self.cast]
        most = settings.max_tokens * len(entities) * settings.n_turns
        for number in range(1, settings.simulation_rounds + 1):
            step = f"r{number}"
            prompt = narrate(entities, self.stage.setting, settings.n_turns, scenes)
            reply = await unit.ask(self._call(step, number, prompt, max_tokens=most))
            speeches = read_scene(reply.text, self.names, self.stage.setting.thoughts)
            if not unit.settled:
                turns = _turns_of(speeches, number, settings.n_turns)
                numbered = enumerate(zip(speeches, turns, strict=True))
                unit.ledger.put_lines(
                    unit.number, [stored_line(speech, step, place, turn) for place, (speech, turn) in numbered]
                )
            scenes.append(reply.text)
            talk += (_line(speech, reply.text) for speech in speeches)
        return talk

    # -- judged ------------------------------------------------------------------------------------------

    async def _judge(self, unit: Unit, place: int, talk: Sequence[SpokenLine]) -> float | None:
        judge, name = self.stage.settings.judge, self.names[place - 1]
        assert judge is not None
        scale = (judge.scale[0], judge.scale[1])

        def read(reply: Reply) -> float | None:
            cut = reply.finish_reason == FinishReason.CUT
            return read_rating(reply.text, scale, cut=cut, levels=levels_of(scale))

        return await ask_judge(
            unit,
            lambda: self._question(judge, place, talk),
            read,
            lambda rating: unit.ledger.put_judgement(unit.number, place=place, entity=name, rating=rating),
        )

    def _question(self, judge: Judge, place: int, talk: Sequence[SpokenLine]) -> Call:
        settings, speaker = self.stage.settings, self.names[place - 1]
        lines = [line._replace(text=without_thoughts(line.text)) for line in talk] if settings.thoughts else talk
        scale = (judge.scale[0], judge.scale[1])
        prompt = judgement(judge.question, scale, settings.context, speaker, transcript(lines))
        before = self.stage.turns * len(self.cast) if settings.style == "enacted" else settings.simulation_rounds
        judging = {"model": self.stage.judge_model, "temperature": 0.0, "max_tokens": JUDGE_TOKENS}
        return self._call(f"judge.{place}", 1 + before, prompt, **judging, speaker=speaker, form="rating", scale=scale)


def read_scene(scene: str, names: Sequence[str], thoughts: bool) -> list[Speech]:
    """A round by speaker. Without a name, the text belongs to the only entity, or to none, so that no text is lost."""
    if speeches := split_scene(scene, names, thoughts):
        return speeches
    if len(names) == 1:
        return [split_reply(scene, names[0], (), thoughts)]
    return [Speech(SCENE, Span(0, len(scene)))]


def _turns_of(speeches: Sequence[Speech], number: int, n_turns: int) -> Iterator[int]:
    """A speaker's first message of a round is in its first turn, and so on. Extra messages are in the last turn."""
    counts: dict[str, int] = {}
    for speech in speeches:
        counts[speech.speaker] = counts.get(speech.speaker, 0) + 1
        yield (number - 1) * n_turns + min(counts[speech.speaker], n_turns)


def _line(speech: Speech, reply: str) -> SpokenLine:
    return SpokenLine(speech.speaker, speech.text.of(reply), speech.thought.of(reply) if speech.thought else None)


def stored_line(speech: Speech, step: str, position: int, turn: int) -> dict[str, Any]:
    """The message as spans of its reply, so that the text is stored once."""
    thought = speech.thought
    return {
        "step": step,
        "position": position,
        "turn": turn,
        "speaker": speech.speaker,
        "start": speech.text.start,
        "length": speech.text.end - speech.text.start,
        "thought_start": thought.start if thought else None,
        "thought_length": thought.end - thought.start if thought else None,
    }


def steps(config: FrozenConfig) -> list[str]:
    settings = settings_of(config)
    if settings.style != "enacted":
        raise UsageError(
            "Each scene of a narrated simulation is one request, so there is no turn to resample. Branch a batch "
            'with style = "enacted".'
        )
    turns = range(1, settings.n_turns * settings.simulation_rounds + 1)
    return [f"t{turn}.{place}" for turn in turns for place in range(1, settings.interaction_size + 1)]


def earlier(
    connection: sqlite3.Connection, batch_number: int, config: FrozenConfig, talks: Sequence[TalkRow]
) -> list[dict[str, Any]]:
    """Simulations do not remember each other."""
    return []


def stage(config: FrozenConfig, earlier: Sequence[Mapping[str, Any]], fan_out: FanOut) -> Stage:
    return Stage(config, fan_out)
