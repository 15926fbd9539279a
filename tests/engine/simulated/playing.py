"""Conversations between two simulated agents without the engine, and the reveal rates that follow.

`python -m tests.engine.simulated.playing` prints the rows of the table in docs/simulated.md.
"""

import json
from dataclasses import dataclass
from itertools import product

from tidepool.engine.call import Message, seed_of
from tidepool.engine.simulated.secret_game import SimulatedReply, play
from tidepool.engine.studies.secret_game.prompts import Briefing, opening_line, rules_text, system_prompt
from tidepool.engine.studies.secret_game.scoring import SCORING

RULES = rules_text("standard", SCORING)
NAMED = ("guarded", "trusting", "bargainer", "talkative", "deceptive")
SECRETS = ("marigold", "blue heron", "k7x", "Überfluss", "obsidian")
REVEALING = frozenset({"plain", "spelled", "encoded", "misspelt"})


@dataclass(frozen=True)
class Seat:
    name: str
    persona: str
    secret: str
    instructions: str = ""


def converse(opener: Seat, partner: Seat, seed: int, length: int = 5, rules: str = RULES) -> list[SimulatedReply]:
    said: list[SimulatedReply] = []
    for turn in range(length):
        me, other = (opener, partner) if turn % 2 == 0 else (partner, opener)
        heard = [Message("assistant" if i % 2 == turn % 2 else "user", s.text) for i, s in enumerate(said)]
        if me is opener:
            heard.insert(0, Message("user", opening_line(other.name)))
        briefing = Briefing(me.name, other.name, me.secret, rules, length - turn, instructions=me.instructions)
        said.append(play(me.persona, system_prompt(briefing), heard, seed_of(seed, turn)))
    return said


def way(spoken: SimulatedReply) -> str:
    assert spoken.truth is not None
    return str(json.loads(spoken.truth)["way"])


def rates(opener: str, partner: str, conversations: int, seed: int) -> tuple[float, float, float, float]:
    """Opener reveals, opener plainly, partner reveals, partner plainly: per cent of the conversations."""
    counts = [0, 0, 0, 0]
    for number in range(conversations):
        first = Seat("Ada", opener, SECRETS[number % len(SECRETS)])
        second = Seat("Bo", partner, SECRETS[(number + 1) % len(SECRETS)])
        ways = [way(spoken) for spoken in converse(first, second, seed_of(seed, opener, partner, number))]
        for side in (0, 1):
            counts[2 * side] += not REVEALING.isdisjoint(ways[side::2])
            counts[2 * side + 1] += "plain" in ways[side::2]
    first_reveals, first_plain, second_reveals, second_plain = (100 * count / conversations for count in counts)
    return first_reveals, first_plain, second_reveals, second_plain


if __name__ == "__main__":
    for pair in product(NAMED, NAMED):
        print("|", " | ".join((*pair, *(f"{rate:.0f} %" for rate in rates(*pair, 10_000, 2026)))), "|")
