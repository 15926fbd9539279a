"""How a conversation of a secret game is gone on with from one turn.

What its agents held and remembered when it began is rebuilt from the talks of the rounds before, as they ended; nothing
that happens in a redraw reaches another. Points that are counted at the end of a game are not: a redraw has no game to end.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tidepool.engine.branching.talks import OUTCOME, Measure, OriginTalk, Story, Together
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.secret_game.casting import Cast, settings_of
from tidepool.engine.studies.secret_game.detectors.detection import find_in_talk, is_revealed
from tidepool.engine.studies.secret_game.detectors.folding import fold
from tidepool.engine.studies.secret_game.game import FinishedConversation, Game, Knowledge
from tidepool.engine.studies.secret_game.pairing import PlannedConversation
from tidepool.engine.studies.secret_game.story import Conversation
from tidepool.storage.study_rows.branches import TalkRow, concluded_talks, records_of_units

if TYPE_CHECKING:
    from tidepool.engine.runtime.batch_run import BatchRun


def steps(config: FrozenConfig) -> list[str]:
    return [f"t{turn}" for turn in range(1, settings_of(config).messages_per_interaction + 1)]


def turn_of(step: str) -> int:
    return int(step.removeprefix("t"))


def earlier(
    connection: sqlite3.Connection, batch_number: int, config: FrozenConfig, talks: Sequence[TalkRow]
) -> list[dict[str, Any]]:
    if not Cast.of(config).linked:
        return []
    before: dict[int, int] = {}
    for talk in talks:
        if talk.game is not None and talk.round is not None:
            before[talk.game] = max(talk.round, before.get(talk.game, 0))
    return list(concluded_talks(connection, batch_number, before))


class GameAsItWas(Game):
    """What agents knew when a talk of the past began. Nobody waits, and nobody learns."""

    def __init__(self, cast: Cast, earlier: Sequence[Mapping[str, Any]]) -> None:
        self._players = cast
        self._ended = [
            FinishedConversation(
                _meeting(talk["number"], talk["game"], talk["round"], talk["participants"]),
                [(place % 2, text) for place, text in enumerate(talk["said"])],
                (bool(talk["revealed"][0]), bool(talk["revealed"][1])),
            )
            for talk in earlier
        ]
        self._known: dict[tuple[str, int, int], Knowledge] = {}

    async def knowledge_of(self, agent: str, meeting: PlannedConversation) -> Knowledge | None:
        cast = self._players
        if not (cast.keeps_secrets or cast.remembers(agent)):
            return None
        place = (agent, meeting.game, meeting.round)
        if place not in self._known:
            known = self._known[place] = Knowledge(fold(cast.agents[agent].secret))
            for ended in self._ended:
                of_game = ended.meeting.game == meeting.game and ended.meeting.round < meeting.round
                if of_game and agent in (ended.meeting.opener, ended.meeting.partner):
                    known.learn(ended, agent, cast.secrets, remembers=cast.remembers(agent))
        return self._known[place]

    def finish(self, unit: Unit, finished: FinishedConversation) -> None:
        return None

    def lose(self, unit: Unit, meeting: PlannedConversation) -> None:
        return None


def _meeting(number: int, game: int | None, round: int | None, names: Sequence[str]) -> PlannedConversation:
    opener, partner = names
    return PlannedConversation(number, game or 1, round or 1, opener, partner)


@dataclass(frozen=True, slots=True)
class _Stage:
    cast: Cast
    game: GameAsItWas | None
    run: "BatchRun"

    def story(self, talk: OriginTalk) -> Story:
        return Conversation(self.cast, self.run, self._meeting(talk), self.game).play

    def kept(self, talk: OriginTalk, said: Mapping[str, str]) -> dict[str, list[bool]]:
        """Whether each side gave its secret away before the branched turn, and after it."""
        return {
            "before": self._revealed(talk, {one.step: one.text for one in talk.before}),
            "after": self._revealed(talk, said),
        }

    def _revealed(self, talk: OriginTalk, said: Mapping[str, str]) -> list[bool]:
        secrets = {side: part.secret for side, part in enumerate(self.cast.parts(self._meeting(talk)))}
        told = [((turn_of(step) - 1) % 2, text) for step, text in said.items()]
        hits = find_in_talk(told, secrets, self.cast.detectors, self.cast.settings.fuzzy_threshold)
        return [is_revealed(hits[side]) for side in (0, 1)]

    @staticmethod
    def _meeting(talk: OriginTalk) -> PlannedConversation:
        return _meeting(talk.number, talk.game, talk.round, talk.participants)


def stage(config: FrozenConfig, earlier: Sequence[Mapping[str, Any]], together: Together) -> _Stage:
    players = Cast.of(config)
    return _Stage(players, GameAsItWas(players, earlier) if players.linked else None, cast("BatchRun", together))


def measures(config: StoredConfig) -> tuple[Measure, ...]:
    return (
        Measure("speaker_revealed", "speaker reveals", (0.0, 1.0), percent=True),
        Measure("speaker_obtained", "speaker obtains", (0.0, 1.0), percent=True),
    )


def values(connection: sqlite3.Connection, batch_number: int, at: str) -> dict[int, tuple[float | None, float | None]]:
    """A side whose secret was out before the branched turn has nothing left to reveal."""
    speaker = (turn_of(at) - 1) % 2
    found = records_of_units(connection, batch_number, OUTCOME)
    return {number: (_after(kept, speaker), _after(kept, 1 - speaker)) for number, kept in found.items()}


def _after(kept: Mapping[str, Sequence[bool]], side: int) -> float | None:
    return None if kept["before"][side] else float(bool(kept["after"][side]))
