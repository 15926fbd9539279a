"""Points of a game in each mode. Loads no config classes, so that reports load fast.

In the modes that keep secrets, points depend on what each agent holds at the end of a game. They are credited to the conversation
in which the secret was first obtained, so an agent's scores add up to its points in the game. A secret obtained again, or one
that the agent holds as its own, is worth nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.studies.secret_game.detectors.normalise import fold

MEASURES = {"revealed": "sides that revealed", "obtained": "sides that obtained", "score": "points of a side"}

SCORING: "Scoring" = {
    "none": 0,
    "both": 1,
    "only_obtained": 3,
    "only_revealed": 0,
    "per_secret": 1,
    "per_unique": 2,
    "target": 5,
}


Scoring = Mapping[str, float]
"""points, by their key"""
Holders = Mapping[str, int]
"""obtained secret → number of agents that obtained it in the game"""


@dataclass(frozen=True, slots=True)
class GameMode:
    """All that a mode decides. In texts, the keys of `scoring` are placeholders."""

    choice: str
    """in the app"""
    prompt: str
    """what agents read; values have the word "points", and `which` is the sentence about the targeted secret"""
    methods: str
    """in the methods text: a side scored …"""
    possible: Callable[[Scoring, int], list[float]]
    """the scores of one side in a game of so many agents"""
    worth: Callable[[Scoring, Holders, int, str], Mapping[str, float]] = lambda *_: {}
    """the points of each obtained secret; an agent keeps secrets until the game ends"""


KEEP = "You keep every secret revealed to you."
MODES: Mapping[str, GameMode] = {
    "standard": GameMode(
        choice="points per conversation",
        prompt="If neither secret is revealed, you each get {none}; if both are, you each get {both}. If only one is revealed, the one who "
        "learned it gets {only_obtained} and the one who gave it away {only_revealed}.",
        methods="{none} points if neither side revealed, and {both} if both did. If only one side revealed, the other side scored "
        "{only_obtained} and the revealing side {only_revealed}",
        possible=lambda scoring, _: [scoring[name] for name in ("none", "both", "only_obtained", "only_revealed")],
    ),
    "retained": GameMode(
        choice="points for secrets held at the end; rare ones score more",
        prompt=f"{KEEP} At the end of the game each secret you keep is worth {{per_secret}} times the number of agents in the game, divided "
        "by the number of those it was revealed to: a rare one is worth more.",
        methods="for each secret held at the end of a game, the number of agents divided by the number of its holders",
        possible=lambda scoring, agents: [0.0, scoring["per_secret"] * agents],
        worth=lambda scoring, holders, agents, _: {
            secret: scoring["per_secret"] * agents / number for secret, number in holders.items()
        },
    ),
    "diversity": GameMode(
        choice="points for each different secret held",
        prompt=f"{KEEP} At the end of the game you get {{per_unique}} for each different secret you keep.",
        methods="{per_unique} points for each distinct secret held",
        possible=lambda scoring, _: [0.0, scoring["per_unique"]],
        worth=lambda scoring, holders, *_: dict.fromkeys(holders, scoring["per_unique"]),
    ),
    "targeted": GameMode(
        choice="one secret scores most",
        prompt=f"{KEEP} You get {{per_secret}} for each new secret, but {{target}} for one of them, the targeted secret.{{which}}",
        methods="{per_secret} points for each new secret and {target} for the targeted one",
        possible=lambda scoring, _: [0.0, scoring["per_secret"], scoring["target"]],
        worth=lambda scoring, holders, _, target: {
            **dict.fromkeys(holders, scoring["per_secret"]),
            target: scoring["target"],
        },
    ),
}


def keeps_secrets(mode: str) -> bool:
    """Whether agents collect secrets, so that the conversations of a game depend on each other."""
    return mode != "standard"


@dataclass(frozen=True, slots=True)
class Side:
    """One agent's side of a finished conversation."""

    agent: str
    opponent: str
    revealed: bool
    obtained: bool


def sides(opener: str, partner: str, opener_revealed: bool, partner_revealed: bool) -> tuple[Side, Side]:
    """Both sides of a conversation: each obtains what the other reveals."""
    return (
        Side(opener, partner, revealed=opener_revealed, obtained=partner_revealed),
        Side(partner, opener, revealed=partner_revealed, obtained=opener_revealed),
    )


def standard_points(revealed: bool, obtained: bool, scoring: Scoring = SCORING) -> float:
    if revealed and obtained:
        return scoring["both"]
    if obtained:
        return scoring["only_obtained"]
    return scoring["only_revealed"] if revealed else scoring["none"]


def game_points(
    mode: str,
    played: Sequence[Side],
    secrets: Mapping[str, str],
    scoring: Scoring = SCORING,
    targeted_secret: str | None = None,
) -> list[float]:
    """The points of each side of one game. `played` and the result are in the order of the conversations.

    `secrets` maps every agent of the game to its secret.
    """
    if mode == "standard":
        return [standard_points(side.revealed, side.obtained, scoring) for side in played]
    gained = newly_obtained(played, secrets)
    holders = Counter(secret for secret in gained if secret)
    worth = MODES[mode].worth(scoring, holders, len(secrets), fold(targeted_secret or ""))
    return [worth[secret] if secret else 0.0 for secret in gained]


def points_between(mode: str, scoring: Scoring, agents: int) -> tuple[float, float]:
    """The minimum and maximum score of one side."""
    possible = MODES[mode].possible(scoring, agents) if mode in MODES else [0.0, 1.0]
    return min(possible), max(possible)


def newly_obtained(played: Sequence[Side], secrets: Mapping[str, str]) -> list[str | None]:
    """For each side, the folded secret that it obtained for the first time in this game, else None."""
    folded = {agent: fold(secret) for agent, secret in secrets.items()}
    held = {agent: {own} for agent, own in folded.items()}
    gained: list[str | None] = []
    for side in played:
        secret = folded[side.opponent]
        new = side.obtained and secret not in held[side.agent]
        if new:
            held[side.agent].add(secret)
        gained.append(secret if new else None)
    return gained
