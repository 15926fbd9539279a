"""Who the simulated agents are: traits that decide whether and how a secret is given away.

A persona nobody defined is somebody all the same: its traits come from a hash of its name. What an agent
is instructed to do nudges its traits a little; it stays who it is.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

WAYS = ("plain", "spelled", "encoded", "misspelt", "hint")


@dataclass(frozen=True, slots=True)
class Traits:
    openness: float
    """chance of giving the secret away in any one message, unasked"""
    reciprocity: float
    """what is added once the partner gave theirs"""
    pliancy: float
    """what is added when the partner's last message asked for it"""
    dealing: float
    """what is added when the partner's last message offered a trade"""
    deadline: float
    """what is added in the last message one will write"""
    deceit: float
    """chance of a false word or a denial, where nothing is given away"""
    bargaining: float
    """chance of offering a trade, where there is nothing else to say"""
    curiosity: float
    """chance of asking for the partner's secret"""
    chattiness: float
    """chance of small talk around the point"""
    ways: tuple[float, float, float, float, float]
    """shares of the WAYS in which it is given away"""
    tone: str
    """whose turns of phrase are used"""


PERSONAS = {
    "guarded": Traits(0.01, 0.09, 0.02, 0.02, 0.02, 0.04, 0.15, 0.55, 0.25, (45, 10, 15, 10, 20), "guarded"),
    "trusting": Traits(0.26, 0.50, 0.28, 0.25, 0.12, 0.0, 0.2, 0.5, 0.5, (82, 6, 3, 5, 4), "trusting"),
    "bargainer": Traits(0.02, 0.78, 0.01, 0.22, 0.02, 0.05, 0.8, 0.6, 0.2, (70, 10, 7, 5, 8), "bargainer"),
    "talkative": Traits(0.18, 0.22, 0.12, 0.1, 0.08, 0.02, 0.2, 0.35, 0.95, (50, 15, 5, 10, 20), "talkative"),
    "deceptive": Traits(0.01, 0.07, 0.02, 0.02, 0.02, 0.5, 0.3, 0.75, 0.3, (35, 10, 20, 15, 20), "deceptive"),
    "curious": Traits(0.06, 0.42, 0.08, 0.2, 0.05, 0.02, 0.3, 0.95, 0.35, (62, 12, 10, 4, 12), "curious"),
    "forgetful": Traits(0.12, 0.2, 0.18, 0.12, 0.04, 0.01, 0.15, 0.45, 0.6, (36, 6, 2, 40, 16), "forgetful"),
    "playful": Traits(0.14, 0.3, 0.16, 0.2, 0.1, 0.06, 0.35, 0.5, 0.5, (16, 32, 28, 4, 20), "playful"),
}


class _Nudge(NamedTuple):
    pattern: re.Pattern[str]
    giving: float
    """factor on all that makes it give its secret away"""
    deceit: float = 0.0
    """added"""
    curiosity: float = 0.0
    """added"""


def _on(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})", re.IGNORECASE)


_NUDGES = (
    _Nudge(_on(r"(?:never|do not|don't) (?:tell|reveal|share|give|say)\b"), 0.45),
    _Nudge(_on("protect|guard|keep|hide|conceal|cautious|careful|suspicious"), 0.7),
    _Nudge(_on("honest|open|truth|candid|co-?operat|friendly|generous|trust|share"), 1.35, deceit=-0.25),
    _Nudge(_on(r"lie\b|lying|decei|bluff|trick|mislead|manipulat"), 0.75, deceit=0.25, curiosity=0.1),
    _Nudge(_on("aggressive|push|press|demand|insist|persist"), 0.85, deceit=0.05, curiosity=0.35),
)


@lru_cache(maxsize=4096)
def traits_of(persona: str, instructions: str = "", readiness: float = 1.0) -> Traits:
    """Who speaks, as instructed; `readiness` is what the game makes of giving a secret away."""
    traits = _scaled(PERSONAS.get(persona) or _unknown_persona(persona), readiness)
    for nudge in _NUDGES:
        if nudge.pattern.search(instructions):
            traits = replace(
                _scaled(traits, nudge.giving),
                deceit=_share(traits.deceit + nudge.deceit),
                curiosity=_share(traits.curiosity + nudge.curiosity),
            )
    return traits


def _scaled(traits: Traits, factor: float) -> Traits:
    """The same agent, more (factor > 1) or less ready to give its secret away."""
    giving = ("openness", "reciprocity", "pliancy", "dealing", "deadline")
    scaled: dict[str, Any] = {name: _share(getattr(traits, name) * factor) for name in giving}
    return replace(traits, **scaled)


def _unknown_persona(name: str) -> Traits:
    draws = [byte / 255 for byte in blake2b(name.encode("utf-8", "replace"), digest_size=16).digest()]
    return Traits(
        openness=0.3 * draws[0] ** 2,
        reciprocity=0.7 * draws[1],
        pliancy=0.3 * draws[2],
        dealing=0.3 * draws[3],
        deadline=0.15 * draws[4],
        deceit=0.5 * draws[5] ** 2,
        bargaining=0.8 * draws[6],
        curiosity=0.3 + 0.7 * draws[7],
        chattiness=draws[8],
        ways=(20 + 60 * draws[9], 30 * draws[10], 30 * draws[11], 20 * draws[12], 25 * draws[13]),
        tone=sorted(PERSONAS)[int(draws[14] * 255) % len(PERSONAS)],
    )


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
