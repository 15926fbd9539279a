"""The story of one conversation: two agents take turns, each heard from its own side."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from engine.call import Call, Message
from engine.config import Agent, Config
from engine.presets import resolve_model
from engine.secret_game.config import SecretGameSettings
from engine.secret_game.detectors.detection import Reveal, judge_talk
from engine.secret_game.pairing import Meeting
from engine.secret_game.prompts import Briefing, opening_line, rules_text, system_prompt
from engine.secret_game.scoring import sides, standard_points
from engine.tide import Unit

Talk = list[tuple[int, str]]
"""(side, text): side 0 opened"""


@dataclass(frozen=True, slots=True)
class Cast:
    """What every conversation of a batch shares."""

    agents: Mapping[str, Agent]
    models: Mapping[str, str]
    settings: SecretGameSettings
    rules: str
    scoring: Mapping[str, float]
    detectors: tuple[str, ...]

    @classmethod
    def of(cls, config: Config) -> "Cast":
        settings = cast(SecretGameSettings, config.settings)
        scoring = settings.scoring.model_dump()
        target = settings.targeted_secret if settings.announce_target else None
        return cls(
            agents={agent.name: agent for agent in config.agents},
            models={agent.name: resolve_model(agent.model) for agent in config.agents},
            settings=settings,
            rules=rules_text(settings.mode, scoring, target),
            scoring=scoring,
            detectors=tuple(name for name in settings.detection if name != "judge"),
        )


@dataclass(frozen=True, slots=True)
class Conversation:
    cast: Cast
    meeting: Meeting

    async def talk(self, unit: Unit) -> None:
        talk: Talk = []
        for turn in range(1, self.cast.settings.messages_per_interaction + 1):
            side = (turn - 1) % 2
            reply = await unit.ask(self._call(side, turn, talk))
            talk.append((side, reply.text))
        if not unit.settled:
            self._keep(unit, talk)

    def _call(self, side: int, turn: int, talk: Talk) -> Call:
        """What one side is asked: its own words are `assistant`, the partner's are `user`."""
        names = (self.meeting.opener, self.meeting.partner)
        name, partner = names[side], names[1 - side]
        agent = self.cast.agents[name]
        heard = [Message("assistant" if speaker == side else "user", text) for speaker, text in talk]
        if side == 0:
            heard.insert(0, Message("user", opening_line(partner)))
        return Call(
            step=f"t{turn}",
            wave=turn,
            model=self.cast.models[name],
            messages=tuple(heard),
            system=system_prompt(
                Briefing(
                    agent=name,
                    partner=partner,
                    secret=agent.secret,
                    rules=self.cast.rules,
                    messages_left=self.cast.settings.messages_per_interaction - turn + 1,
                    instructions=agent.instructions,
                )
            ),
            temperature=agent.temperature,
            max_tokens=agent.max_tokens,
            speaker=name,
            turn=turn,
        )

    def _keep(self, unit: Unit, talk: Talk) -> None:
        names = (self.meeting.opener, self.meeting.partner)
        secrets = {side: self.cast.agents[name].secret for side, name in enumerate(names)}
        reveals: dict[int, Reveal | None] = judge_talk(
            talk, secrets, self.cast.detectors, self.cast.settings.fuzzy_threshold
        )
        played = sides(*names, reveals[0] is not None, reveals[1] is not None)
        for number, side in enumerate(played):
            reveal = reveals[number]
            unit.ledger.put_outcome(
                unit.number,
                side=number,
                mode=self.cast.settings.mode,
                game=self.meeting.game,
                agent=side.agent,
                opponent=side.opponent,
                revealed=side.revealed,
                obtained=side.obtained,
                detector=reveal.detector if reveal else None,
                turn=reveal.turn if reveal else None,
                start=reveal.start if reveal else None,
                end=reveal.end if reveal else None,
                score=standard_points(side.revealed, side.obtained, self.cast.scoring),
            )
