"""Which responder answers under which model name. A name that is nobody's is a persona of the secret game.

`rewriter` and `judge` serve several kinds of study: such a name has several responders, told apart by the system prompt
each one `recognises`. The first of them answers what nobody recognises.
"""

from collections.abc import Sequence
from functools import cache, lru_cache

from tidepool.engine.call import Call, Message
from tidepool.engine.registries import load_place
from tidepool.engine.simulated.base import Responder, SimulatedReply

RESPONDERS: dict[str, tuple[str, ...]] = {
    "filler": ("responders:FILLER",),
    "solver": ("solver:SOLVER",),
    "solver-small": ("solver:SOLVER",),
    "solver-large": ("solver:SOLVER",),
    "solver-planted": ("solver:SOLVER",),
    "flat-solver": ("solver:SOLVER",),
    "persona": ("simulation:PERSONA",),
    "encoder": ("mutation:ENCODER",),
    "target": ("mutation:TARGET",),
    "rewriter": ("rewriter:REWRITER", "mutation:REWRITER"),
    "judge": ("simulation:JUDGE", "mutation:JUDGE", "secret_game:JUDGE", "rewriter:JUDGE"),
}
"""model name → responders, as module:name in this package"""
PLAYER = "secret_game:PLAYER"

_FILLER_LENGTH = 300
_SENTENCE = "the tide comes in and the tide goes out "
_FILLER = (_SENTENCE * (_FILLER_LENGTH // len(_SENTENCE) + 1))[: _FILLER_LENGTH - 20]


def fill(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    """For measurements: three hundred characters that differ by seed and cost next to nothing to make."""
    return SimulatedReply(f"{seed:020d}{_FILLER}")


FILLER = Responder(fill)


def responder_for(call: Call) -> Responder:
    """The responder that answers a call."""
    responders = _responders(call.model_name)
    return responders[0] if len(responders) == 1 else _recognised(call.model_name, call.system)


def reading_of(call: Call) -> object:
    """All that the responder takes from a request. One that does not say is taken to read everything."""
    reads = responder_for(call).reads
    return reads(call.model_name, call.system, call.messages) if reads else call


@cache
def _responders(model_name: str) -> list[Responder]:
    return [load_place(f"{__package__}.{place}") for place in RESPONDERS.get(model_name, (PLAYER,))]


@lru_cache(maxsize=1024)
def _recognised(model_name: str, system: str) -> Responder:
    responders = _responders(model_name)
    return next((responder for responder in responders if responder.recognises(system)), responders[0])
