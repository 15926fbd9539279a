"""What a secret game will take, before anything is called: calls by wave and model, tokens by what they are told.

How many calls there are is known. How long they are is not: each is sized as expected, and as long as it can be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, comb

from tidepool.engine.call import TOKENS_PER_MESSAGE, Call
from tidepool.engine.config.sections import Agent, FrozenConfig, reasoning_of
from tidepool.engine.stopping.stages import stop_notes, units_at_a_time
from tidepool.engine.studies.planned_calls import (
    EXPECTED,
    MOST,
    REASONING_NOTE,
    Plan,
    PlannedCalls,
    Sizing,
    UsualTokens,
    merged,
)
from tidepool.engine.studies.secret_game.casting import (
    Cast,
    HeldSecrets,
    Role,
    Succession,
    schedule_of,
    settings_of,
    succession_of,
)
from tidepool.engine.studies.secret_game.pairing import ScheduleTally, tally_of
from tidepool.engine.studies.secret_game.prompts import EarlierConversation, memory_messages
from tidepool.engine.studies.secret_game.secrets import warnings_about
from tidepool.engine.studies.secret_game.story import VERDICT_TOKENS, judge_call

MESSAGE = UsualTokens(60, 23)
VERDICT = UsualTokens(30, 12)
MOST_REQUESTS = 200
"""agents whose first requests are looked at"""
JSON_TOKENS = 12
"""around a message in the transcript that a judge reads"""


def plan(config: FrozenConfig) -> Plan:
    players, schedule = Cast.of(config), schedule_of(config)
    tally = tally_of(schedule)
    succession = succession_of(players, schedule, units_at_a_time(config, players.model_names, schedule.total))
    expected, most = (_GamePlan(players, tally, sizing) for sizing in (EXPECTED, MOST))
    spread = [piece for planned in merged(expected.messages()) for piece in _in_rounds(planned, succession)]
    for verdicts in expected.verdicts(schedule.total):
        for verdict_round in _in_rounds(verdicts, succession):
            spread += _after_rounds(verdict_round, min(verdict_round.rounds, succession.groups))
    worst = (*most.messages(), *most.verdicts(schedule.total))
    notes = (*_notes(players), *stop_notes(config, players.model_names, schedule.total))
    return Plan(schedule.total, tuple(spread), notes, warnings_about(config), at_most=worst)


def first_requests(config: FrozenConfig) -> Iterator[Call]:
    """What each agent is asked if it opens a conversation."""
    players = Cast.of(config)
    names, settings = list(players.agents), players.settings
    held = () if players.keeps_secrets else None
    for place, name in enumerate(names[:MOST_REQUESTS]):
        agent, scenario = players.agents[name], 0 if settings.scenarios else None
        start, _ = players.fresh(name, names[(place + 1) % len(names)], scenario)
        prompt = players.prompt(start.role, settings.messages_per_interaction, held)
        sampling = {"temperature": agent.temperature, "max_tokens": agent.max_tokens, **reasoning_of(agent)}
        yield Call("t1", 1, players.models[name], start.before, prompt, **sampling)


@dataclass(frozen=True)
class _GamePlan:
    """The same calls by either sizing."""

    players: Cast
    tally: ScheduleTally
    sizing: Sizing

    @cached_property
    def _length(self) -> int:
        return self.players.settings.messages_per_interaction

    @cached_property
    def _message_tokens(self) -> Mapping[str, int]:
        """A message of each agent, as it is read again by somebody."""
        return {
            name: self.sizing.read_again(self.players.models[name], MESSAGE, agent.max_tokens) + TOKENS_PER_MESSAGE
            for name, agent in self.players.agents.items()
        }

    @cached_property
    def _partner_tokens(self) -> int:
        """A message of some partner."""
        sizes = self._message_tokens.values()
        return max(sizes) if self.sizing.worst else sum(sizes) // len(sizes)

    @cached_property
    def _partner(self) -> str:
        return max(self.players.agents, key=_bytes)

    def messages(self) -> Iterator[PlannedCalls]:
        for name, agent in self.players.agents.items():
            opened, answered = self.tally.opened[name], self.tally.answered[name]
            if opened + answered:
                before = self.tally.earlier_talks[name] / (opened + answered) if self.players.remembers(name) else 0.0
                yield from self._of(agent, opened, answered, before)

    def _of(self, agent: Agent, opened: int, answered: int, talks_before: float) -> Iterator[PlannedCalls]:
        """`talks_before`: earlier talks that it remembers, on average."""
        model = self.players.models[agent.name]
        prompt = self.sizing.longest(self._prompts(agent))
        reply = self.sizing.reply(model, MESSAGE, agent.max_tokens, agent)
        earlier = ceil(talks_before * self._remembered(agent))
        for turn in range(1, self._length + 1):
            opens = bool(turn % 2)
            if count := opened if opens else answered:
                scene = self._scene(opens=opens, remembers=talks_before > 0)
                talk = (turn - 1) // 2 * self._message_tokens[agent.name] + turn // 2 * self._partner_tokens
                yield PlannedCalls(turn, model, count, prompt + scene + earlier + talk, reply)

    def _prompts(self, agent: Agent) -> Iterator[str]:
        """What it may be told: with each scenario's words, and holding whatever it may hold."""
        scenarios = self.players.settings.scenarios
        for place, scenario in enumerate(scenarios):
            for secret in (scenario.opener_secret, scenario.partner_secret):
                yield self.players.prompt(Role(agent, self._partner, secret, place), self._length, None)
        if not scenarios:
            role = Role(agent, self._partner, agent.secret, None)
            yield self.players.prompt(role, self._length, self._held())

    def _held(self) -> HeldSecrets:
        """Half of the others' secrets, or all."""
        if not self.players.keeps_secrets:
            return None
        secrets = tuple(self.players.secrets.values())
        return secrets if self.sizing.worst else secrets[: len(secrets) // 2]

    def _remembered(self, agent: Agent) -> int:
        """One earlier talk."""
        (head, *_) = memory_messages((EarlierConversation(self._partner, ()),), self._partner, opens=True)
        own, partners = self._message_tokens[agent.name], self._partner_tokens
        each = self._length * max(own, partners) if self.sizing.worst else self._length * (own + partners) // 2
        return self.sizing.text(head.text) + TOKENS_PER_MESSAGE + each

    def _scene(self, *, opens: bool, remembers: bool) -> int:
        if not (opens or remembers):
            return 0
        (line,) = memory_messages((), self._partner, opens=True)
        return self.sizing.text(line.text) + TOKENS_PER_MESSAGE

    def verdicts(self, conversations: int) -> Iterator[PlannedCalls]:
        if (model := self.players.judge_model) is None:
            return
        secrets = list(self.players.secrets.values())
        for scenario in self.players.settings.scenarios:
            secrets += (scenario.opener_secret, scenario.partner_secret)
        role = Role(next(iter(self.players.agents.values())), "", max(secrets, key=_bytes), None)
        call = judge_call(model, "", self._length + 1, [], 0, role, self.players.settings)
        prompt = self.sizing.text(call.system) + self.sizing.text(call.messages[0].text) + TOKENS_PER_MESSAGE
        prompt += self._length * (self._partner_tokens - TOKENS_PER_MESSAGE + self.sizing.text("x" * 4 * JSON_TOKENS))
        reply = self.sizing.reply(model, VERDICT, VERDICT_TOKENS, self.players.settings)
        yield PlannedCalls(self._length + 1, model, conversations * min(2, self._length), prompt, reply)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _in_rounds(planned: PlannedCalls, succession: Succession) -> Iterator[PlannedCalls]:
    """The part that waits for nobody, and the part that is asked round after round."""
    free = round(planned.calls * succession.share_free)
    if free:
        yield replace(planned, calls=free, rounds=succession.groups)
    if free < planned.calls:
        yield replace(planned, calls=planned.calls - free, rounds=succession.rounds)


def _after_rounds(verdicts: PlannedCalls, last: int) -> Iterator[PlannedCalls]:
    """The next round does not wait for the judge, so its first messages leave with the verdicts on the round before."""
    alone = round(last * verdicts.together)
    yield replace(verdicts, calls=alone, rounds=last)
    if verdicts.rounds > last:
        yield replace(verdicts, calls=verdicts.calls - alone, rounds=verdicts.rounds - last, joins=1)


def _notes(players: Cast) -> Iterator[str]:
    usual = sorted({MESSAGE.by(model) for model in players.models.values()})
    yield f"A message is expected to have {' or '.join(map(str, usual))} tokens."
    if reasoning := max(reasoning_of(agent).get("max_reasoning_tokens", 0) for agent in players.agents.values()):
        yield REASONING_NOTE.format(reasoning)
    if players.judge_model:
        yield f"A verdict of the judge is expected to have {VERDICT.by(players.judge_model)} tokens."
    if players.linked:
        yield "Rounds of a game follow one another, so a provider batch holds one message position of one round."


def shape(config: FrozenConfig) -> list[str]:
    """How many could meet."""
    agents = len(config.agents)
    if settings_of(config).pairing == "ordered":
        return [f"{agents:,} agents: {agents:,}² = {agents**2:,} ordered pairs"]
    return [f"{agents:,} agents: C({agents},2) = {comb(agents, 2):,} pairs"]
