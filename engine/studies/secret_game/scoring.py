"""Points of a game in each mode. Loads no config classes, so that reports load fast.

In the modes that keep secrets, points depend on what each agent holds at the end of a game. They are credited to the conversation
in which the secret was first obtained, so an agent's scores add up to its points in the game. A secret obtained again, or one
that the agent holds as its own, is worth nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidepool.engine.studies.secret_game.detectors.normalise import fold

MEASURES = {"revealed": "sides that revealed", "obtained": "sides that obtained", "score": "points of a side"}
KEEPING_MODES = frozenset({"retained", "diversity", "targeted"})

SCORING: Mapping[str, float] = {
    "none": 0,
    "both": 1,
    "only_obtained": 3,
    "only_revealed": 0,
    "per_secret": 1,
    "per_unique": 2,
    "target": 5,
}


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


def standard_points(revealed: bool, obtained: bool, scoring: Mapping[str, float] = SCORING) -> float:
    if revealed and obtained:
        return scoring["both"]
    if obtained:
        return scoring["only_obtained"]
    return scoring["only_revealed"] if revealed else scoring["none"]


def game_points(
    mode: str,
    played: Sequence[Side],
    secrets: Mapping[str, str],
    scoring: Mapping[str, float] = SCORING,
    targeted_secret: str | None = None,
) -> list[float]:
    """The points of each side of one game. `played` and the result are in the order of the conversations.

    `secrets` maps every agent of the game to its secret.
    """
    if mode == "standard":
        return [standard_points(side.revealed, side.obtained, scoring) for side in played]
    gained = newly_obtained(played, secrets)
    if mode == "retained":
        holders = Counter(secret for secret in gained if secret)
        worth = {secret: scoring["per_secret"] * len(secrets) / n for secret, n in holders.items()}
    elif mode == "diversity":
        worth = {secret: scoring["per_unique"] for secret in gained if secret}
    else:
        worth = {secret: scoring["per_secret"] for secret in gained if secret}
        worth[fold(targeted_secret or "")] = scoring["target"]
    return [worth[secret] if secret else 0.0 for secret in gained]


def points_between(mode: str, scoring: Mapping[str, float], agents: int) -> tuple[float, float]:
    """The minimum and maximum score of one side."""
    worth = {
        "standard": [scoring[name] for name in ("none", "both", "only_obtained", "only_revealed")],
        "retained": [0.0, scoring["per_secret"] * agents],
        "diversity": [0.0, scoring["per_unique"]],
        "targeted": [0.0, scoring["per_secret"], scoring["target"]],
    }
    possible = worth.get(mode, [0.0, 1.0])
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
