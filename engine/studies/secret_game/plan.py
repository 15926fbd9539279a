"""What a secret game will take, before anything is called: calls by wave and model, tokens by what they are told."""

from collections.abc import Iterator
from dataclasses import replace
from math import comb

from tidepool.engine.config.frozen import FrozenConfig
from tidepool.engine.config.presets import resolve_model
from tidepool.engine.config.sections import Agent, reasoning_of
from tidepool.engine.prices import expected_tokens
from tidepool.engine.studies.planned_calls import REASONING_NOTE, Plan, PlannedCalls, merged
from tidepool.engine.studies.secret_game.casting import Cast, Part, schedule_of, settings_of
from tidepool.engine.studies.secret_game.secrets.examination import warnings_about
from tidepool.engine.studies.secret_game.story import judge_call
from tidepool.engine.studies.secret_game.succession import Succession, succession_of
from tidepool.engine.studies.secret_game.tally import tally_of

TOKENS_OF_A_MESSAGE = 60
"""output tokens a message is taken to have"""
TOKENS_OF_A_VERDICT = 30
MESSAGE_OVERHEAD = 8


def plan(config: FrozenConfig) -> Plan:
    players, schedule = Cast.of(config), schedule_of(config)
    length = players.settings.messages_per_interaction
    tally, succession = tally_of(schedule), succession_of(players, schedule, config.service)
    calls: list[PlannedCalls] = []
    for name, agent in players.agents.items():
        opened, answered = tally.opened[name], tally.answered[name]
        talks = opened + answered
        remembered = tally.heard_before[name] * length / talks if talks and players.remembers(name) else 0.0
        calls += _messages(players, agent, opened, answered, int(remembered))
    spread = [part for planned in merged(calls) for part in _in_rounds(planned, succession)]
    spread += _verdicts(players, schedule.total, succession)
    return Plan(schedule.total, tuple(spread), tuple(_notes(players)), warnings_about(config))


def _in_rounds(planned: PlannedCalls, succession: Succession) -> Iterator[PlannedCalls]:
    """The part that waits for nobody, and the part that is asked round after round."""
    free = round(planned.calls * succession.share_free)
    if free:
        yield replace(planned, calls=free, rounds=succession.groups)
    if free < planned.calls:
        yield replace(planned, calls=planned.calls - free, rounds=succession.rounds)


def _messages(players: Cast, agent: Agent, opened: int, answered: int, remembered: int) -> Iterator[PlannedCalls]:
    """`remembered`: messages of earlier talks that stand before this one, on average."""
    length = players.settings.messages_per_interaction
    told = expected_tokens(players.prompt(Part(agent, agent.name, agent.secret, None), length, None))
    output = min(agent.max_tokens, TOKENS_OF_A_MESSAGE)
    reasoned = reasoning_of(agent).get("max_reasoning_tokens", 0)
    for turn in range(1, length + 1):
        count = opened if turn % 2 else answered
        if count:
            heard = (turn + remembered) * (output + MESSAGE_OVERHEAD)
            yield PlannedCalls(turn, resolve_model(agent.model), count, told + heard, output + reasoned)


def _verdicts(players: Cast, conversations: int, succession: Succession) -> Iterator[PlannedCalls]:
    if players.judge_model is None:
        return
    length = players.settings.messages_per_interaction
    part = Part(next(iter(players.agents.values())), "", "", None)
    call = judge_call(players.judge_model, "", length + 1, [], 0, part, players.settings)
    asked = expected_tokens(call.system + call.messages[0].text) + length * (TOKENS_OF_A_MESSAGE + MESSAGE_OVERHEAD)
    verdicts = conversations * min(2, length)
    planned = PlannedCalls(
        length + 1, players.judge_model, verdicts, asked, TOKENS_OF_A_VERDICT + call.max_reasoning_tokens
    )
    for one in _in_rounds(planned, succession):
        yield from _after_rounds(one, min(one.rounds, succession.groups))


def _after_rounds(verdicts: PlannedCalls, last: int) -> Iterator[PlannedCalls]:
    """The next round does not wait for the judge, so its first messages leave with the verdicts on the round before."""
    alone = round(last * verdicts.together)
    yield replace(verdicts, calls=alone, rounds=last)
    if verdicts.rounds > last:
        yield replace(verdicts, calls=verdicts.calls - alone, rounds=verdicts.rounds - last, joins=1)


def _notes(players: Cast) -> Iterator[str]:
    yield f"A message is taken to have {TOKENS_OF_A_MESSAGE} tokens."
    if room := max(reasoning_of(agent).get("max_reasoning_tokens", 0) for agent in players.agents.values()):
        yield REASONING_NOTE.format(room)
    if players.judge_model:
        yield f"A verdict of the judge is taken to have {TOKENS_OF_A_VERDICT} tokens."
    if players.linked:
        yield "Rounds of a game follow one another, so a provider batch holds one message position of one round."


def shape(config: FrozenConfig) -> list[str]:
    """How many could meet."""
    agents = len(config.agents)
    if settings_of(config).pairing == "ordered":
        return [f"{agents:,} agents: {agents:,}² = {agents**2:,} ordered pairs"]
    return [f"{agents:,} agents: C({agents},2) = {comb(agents, 2):,} pairs"]
