"""How a simulation is gone on with from one message. Each speaks by its own call; a scene that one call writes has no turn
to draw again."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from tidepool.engine.branching.talks import Measure, OriginTalk, Story, Together
from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.errors import FileError, UsageError
from tidepool.engine.studies.simulation.casting import CastMember, cast_of, settings_of
from tidepool.engine.studies.simulation.story import EntityConversation, Stage
from tidepool.storage.queries.conversations import TalkRow, ratings_of_units


def steps(config: FrozenConfig) -> list[str]:
    settings = settings_of(config)
    if settings.style != "enacted":
        raise UsageError(
            "The scenes of a narrated simulation are written by one call each: there is no turn to draw again. Branch a batch "
            'with style = "enacted".'
        )
    turns = range(1, settings.n_turns * settings.simulation_rounds + 1)
    return [f"t{turn}.{place}" for turn in turns for place in range(1, settings.interaction_size + 1)]


def earlier(
    connection: sqlite3.Connection, batch_number: int, config: FrozenConfig, talks: Sequence[TalkRow]
) -> list[dict[str, Any]]:
    """No simulation knows of another."""
    return []


@dataclass(frozen=True, slots=True)
class _BranchStage:
    stage: Stage
    members: Mapping[str, CastMember]

    def story(self, talk: OriginTalk) -> Story:
        try:
            cast = tuple(self.members[one] for one in talk.details["entity_ids"])
        except (KeyError, TypeError):
            raise FileError(
                f"Who took part in conversation {talk.number} is not known: its file was changed."
            ) from None
        return EntityConversation(self.stage, cast, int(talk.details.get("replicate", 0))).play

    def kept(self, talk: OriginTalk, said: Mapping[str, str]) -> Mapping[str, Any]:
        """Its judge's ratings say it all."""
        return {}


def stage(config: FrozenConfig, earlier: Sequence[Mapping[str, Any]], together: Together) -> _BranchStage:
    return _BranchStage(Stage.of(config, together.all), {member.id: member for member in cast_of(config)})


def measures(config: StoredConfig) -> tuple[Measure, ...]:
    section = config.sections["simulation"]
    if not section.get("judge"):
        return ()
    low, high = section["judge"]["scale"]
    told = [Measure("speaker_rating", "rating of the speaker", (low, high))]
    if section["interaction_size"] > 1:
        told.append(Measure("others_rating", "rating of the others", (low, high)))
    return tuple(told)


def values(connection: sqlite3.Connection, batch_number: int, at: str) -> dict[int, tuple[float | None, ...]]:
    """The speaker's rating, and the mean of the others'."""
    place = int(at.partition(".")[2])
    return {
        number: (ratings[place - 1] if place <= len(ratings) else None, _mean(ratings, place - 1))
        for number, ratings in ratings_of_units(connection, batch_number).items()
    }


def _mean(ratings: Sequence[float | None], without: int) -> float | None:
    others = [rating for place, rating in enumerate(ratings) if place != without and rating is not None]
    return fmean(others) if others else None
