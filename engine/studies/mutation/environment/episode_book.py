"""Episodes as units of the batch: opened with their first call, closed with what came of each step.

A unit's transcript is its calls: the rewritten query under the name of its operator, the answer under `target`.
What was rewarded, masked or fell back is kept in the unit's details.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidepool.engine.call import Call
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.mutation.environment.environments import Outcome, Step
from tidepool.engine.studies.mutation.environment.transport import CallPlace

TARGET = "target"
LEFT = "left"


@dataclass(slots=True)
class OpenEpisode:
    unit: Unit
    player: str
    steps: list[Step] = field(default_factory=list)
    rewrites: dict[int, str] = field(default_factory=dict)
    """the mutator's replies by step: the query is a part of each"""
    since: int = 0
    """its first step in this unit"""
    left: bool = False
    """whoever leads the study went another way"""


class EpisodeBook:
    def __init__(self, run: BatchRun) -> None:
        self._run = run
        self._phase = ""
        self._players: Sequence[str] = ()
        self._open: dict[int, OpenEpisode] = {}
        self.opened = 0
        """units so far"""

    def begin(self, phase: str, players: Sequence[str]) -> None:
        """A phase of the study, and who plays in each of its environments."""
        self._phase, self._players = phase, players

    def open(self, place: CallPlace, call: Call) -> Unit:
        """The unit of the episode to which the call belongs."""
        if place.serial not in self._open:
            player = self._players[place.environment]
            self._open[place.serial] = OpenEpisode(self._new_unit(place.serial, player), player)
        return self._open[place.serial].unit

    def _new_unit(self, number: int, player: str) -> Unit:
        self.opened += 1
        return self._run.open_unit(number, participants=(player,), interaction_type=self._phase)

    def note_rewrite(self, serial: int, step: int, reply: str) -> None:
        self._open[serial].rewrites[step] = reply

    def take(self, outcome: Outcome) -> None:
        for step in filter(None, outcome.steps):
            self._open[step.serial].steps.append(step)
            if step.ended:
                self._close(step.serial)

    def close_rest(self) -> None:
        """Episodes that the end of the budget cut short."""
        for serial in list(self._open):
            self._close(serial)

    def _close(self, serial: int) -> None:
        self._end(self._open.pop(serial))

    def _end(self, episode: OpenEpisode) -> None:
        unit, here = episode.unit, episode.steps[episode.since :]
        if not unit.settled:
            self._run.ledger.put_lines(unit.number, [line for step in here if (line := _line(episode, step))])
        self._run.close_unit(unit, details=json.dumps(_details(episode, self._phase), ensure_ascii=False))


def _line(episode: OpenEpisode, step: Step) -> dict[str, object] | None:
    """The rewritten query as a part of the mutator's reply."""
    reply = episode.rewrites.get(step.index)
    if reply is None or step.fell_back:
        return None
    start = reply.find(step.after)
    whole = start < 0
    return {
        "step": rewrite_step(step.index),
        "position": 0,
        "turn": 2 * step.index + 1,
        "speaker": step.operator,
        "start": 0 if whole else start,
        "length": len(reply) if whole else len(step.after),
    }


def rewrite_step(index: int) -> str:
    return f"s{index + 1}/rewrite"


def _details(episode: OpenEpisode, phase: str) -> dict[str, object]:
    if not episode.steps:
        nothing: dict[str, object] = {"query": "", "reference": "", "kind": "", "steps": [], "mean_reward": None}
        return {"phase": phase, "player": episode.player, **nothing, "ended": LEFT}
    last = episode.steps[-1]
    rewards = [step.reward for step in episode.steps if step.reward is not None]
    return {
        "phase": phase,
        "player": episode.player,
        "query": last.query.text,
        "reference": last.query.reference,
        "kind": last.query.kind,
        "steps": [
            {"operator": step.operator, "reward": step.reward, "fell_back": step.fell_back} for step in episode.steps
        ],
        "mean_reward": sum(rewards) / len(rewards) if rewards else None,
        "ended": LEFT if episode.left else _ending(last),
        **({"since": episode.since, "asked": episode.steps[episode.since - 1].after} if episode.since else {}),
    }


def _ending(last: Step) -> str:
    if last.masked:
        return "lost"
    return "success" if last.terminated else "length" if last.truncated else "budget"
