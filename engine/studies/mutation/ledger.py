"""Episodes in the ledger: requests as calls of the batch, episodes as its units.

Calls are sent once, committed, and replayed when a batch is resumed. The wave number is that of the environment step and stage.
The calls of an episode belong to its unit, which opens with the first call and closes with the outcome of each step. The single
embedding request of a step belongs to the study itself. A unit's transcript is its calls: the rewritten query under the name of
its operator, the answer under `target`. Rewards, masked steps and fallbacks are stored in its details.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tidepool.engine.call import Call, Message
from tidepool.engine.config.endpoints import resolve_model
from tidepool.engine.config.sections import reasoning_of
from tidepool.engine.errors import CallFailed
from tidepool.engine.runtime.batch_run import BatchRun
from tidepool.engine.runtime.unit import Unit
from tidepool.engine.studies.mutation.config import HASHING, MutationSettings
from tidepool.engine.studies.mutation.environment import ANSWER, JUDGE, REWRITE, Episode, Outcome, PromptRequest, Step
from tidepool.engine.studies.mutation.rewards import HashingEncoder, Vectors, read_vectors

TARGET = "target"
TRAINING, HELDOUT = "training", "heldout"
"""phases"""


@dataclass(slots=True)
class OpenEpisode:
    unit: Unit
    player: str
    steps: list[Step] = field(default_factory=list)
    rewrites: dict[int, str] = field(default_factory=dict)
    """the mutator's replies by step: each contains the rewritten query"""


class EpisodeRecorder:
    def __init__(self, run: BatchRun) -> None:
        self._run = run
        self._phase = ""
        self._players: Sequence[str] = ()
        self._open: dict[int, OpenEpisode] = {}

    def begin(self, phase: str, players: Sequence[str]) -> None:
        """Begins a phase of the study, with the player of each environment."""
        self._phase, self._players = phase, players

    def open(self, episode: Episode) -> OpenEpisode:
        """Opens the episode with its own unit at its first call."""
        if episode.serial not in self._open:
            player = self._players[episode.environment]
            unit = self._run.open_unit(episode.serial, participants=(player,), interaction_type=self._phase)
            self._open[episode.serial] = OpenEpisode(unit, player)
        return self._open[episode.serial]

    def take(self, outcome: Outcome) -> None:
        for step in filter(None, outcome.steps):
            self._open[step.serial].steps.append(step)
            if step.ended:
                self._close(step.serial)

    def close_rest(self) -> None:
        """Closes episodes that the end of the budget cut short."""
        for serial in list(self._open):
            self._close(serial)

    def _close(self, serial: int) -> None:
        episode = self._open.pop(serial)
        unit = episode.unit
        if not unit.settled:
            self._run.ledger.put_lines(unit.number, [line for step in episode.steps if (line := _line(episode, step))])
        details = _details(episode, self._phase)
        if self._phase == HELDOUT:
            unit.measure("reward", details["mean_reward"], of=episode.player, cluster=details["query"])
        self._run.close_unit(unit, details=json.dumps(details, ensure_ascii=False))


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


def _details(episode: OpenEpisode, phase: str) -> dict[str, Any]:
    last = episode.steps[-1]
    rewards = [step.reward for step in episode.steps if step.reward is not None]
    ended = "success" if last.terminated else "length" if last.truncated else "budget"
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
        "ended": "lost" if last.masked else ended,
    }


EMBED = "embed"
JUDGE_TOKENS = 20
FORMS = {REWRITE: "query", JUDGE: "score"}


def stages_of(settings: MutationSettings) -> list[str]:
    """The stages of an environment step, in order, from the observation to the reward."""
    seeing = [EMBED] if settings.encoder != HASHING else []
    return [*seeing, REWRITE, ANSWER, *([JUDGE] if settings.reward == "judge" else [])]


class LedgerTransport:
    def __init__(self, run: BatchRun, settings: MutationSettings, recorder: EpisodeRecorder) -> None:
        self._run = run
        self._settings = settings
        self._recorder = recorder
        self._stages = stages_of(settings)
        self._models = {
            REWRITE: resolve_model(settings.mutator),
            ANSWER: resolve_model(settings.target),
            JUDGE: resolve_model(settings.judge) if settings.reward == "judge" else "",
        }
        self._hashing = HashingEncoder() if settings.encoder == HASHING else None
        self._dimensions = 0
        self.fresh = False
        """whether any request was not in the ledger"""

    async def ask(self, stage: str, moment: int, requests: Sequence[PromptRequest]) -> Sequence[str | None]:
        wave = self._wave(stage, moment)
        calls = [(self._recorder.open(request.episode), self._call(stage, wave, request)) for request in requests]
        replies = await self._run.all([self._reply(episode.unit, call) for episode, call in calls])
        if stage == REWRITE:
            for request, (episode, _), reply in zip(requests, calls, replies, strict=True):
                if reply is not None:
                    episode.rewrites[request.episode.steps] = reply
        return replies

    async def embed(self, name: str, moment: int, texts: Sequence[str], *, needed: bool = False) -> Vectors | None:
        if self._hashing is not None:
            return self._hashing.encode(texts)
        for attempt in count(1):
            step = f"{name}/embed" if attempt == 1 else f"{name}/embed/{attempt}"
            call = Call(
                step=step,
                wave=self._wave(EMBED, moment),
                model=resolve_model(self._settings.encoder),
                messages=tuple(Message("user", text) for text in texts),
                max_tokens=0,
                operation=EMBED,
            )
            replayed = self._run.study.remembers(call.step)
            reply = await self._reply(self._run.study, call)
            vectors = None if reply is None else self._read(reply, len(texts))
            if vectors is not None or not needed or not replayed:
                break
        return vectors

    def _read(self, reply: str, texts: int) -> Vectors | None:
        """All vectors of a study must have the same length; others are rejected."""
        vectors = read_vectors(reply, texts)
        if vectors is None or (self._dimensions and vectors.shape[1] != self._dimensions):
            return None
        self._dimensions = vectors.shape[1]
        return vectors

    def _wave(self, stage: str, moment: int) -> int:
        return (moment - 1) * len(self._stages) + self._stages.index(stage) + 1

    async def _reply(self, unit: Unit, call: Call) -> str | None:
        """None: failed for good. It counts as missing, and the rules of the episode decide about the step."""
        self.fresh = self.fresh or not unit.remembers(call.step)
        try:
            return (await unit.ask(call)).text
        except CallFailed:
            return None

    def _call(self, stage: str, wave: int, request: PromptRequest) -> Call:
        step = request.episode.steps
        names = {REWRITE: rewrite_step(step), ANSWER: f"s{step + 1}/answer", JUDGE: f"s{step + 1}/judge"}
        return Call(
            step=names[stage],
            wave=wave,
            model=self._models[stage],
            messages=(Message("user", request.text),),
            system=request.system,
            temperature=0.0 if stage == JUDGE else self._settings.temperature,
            max_tokens=JUDGE_TOKENS if stage == JUDGE else self._settings.max_tokens,
            speaker=TARGET if stage == ANSWER else None,
            turn=2 * step + 2 if stage == ANSWER else None,
            form=FORMS.get(stage, ""),
            **reasoning_of(self._settings),
        )
