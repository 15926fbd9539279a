"""Which responder answers under which name. A name that is nobody's is a persona of the secret game.

`rewriter` and `judge` serve several kinds of study: such a name has several responders, told apart by the system prompt
each one `recognises`. The first of them answers what nobody recognises.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from types import ModuleType

from tidepool.engine.call import Call
from tidepool.engine.registries import load_place
from tidepool.engine.simulated.reply import SimulatedReply

Responder = Callable[[Call, int], SimulatedReply]

RESPONDERS: dict[str, tuple[str, ...]] = {
    "filler": ("filler",),
    "solver": ("evolution.solver",),
    "solver-small": ("evolution.solver",),
    "solver-large": ("evolution.solver",),
    "solver-planted": ("evolution.solver",),
    "flat-solver": ("evolution.solver",),
    "persona": ("simulation.persona",),
    "encoder": ("mutation.encoder",),
    "target": ("mutation.target",),
    "rewriter": ("evolution.prompt_rewriter", "mutation.query_rewriter"),
    "judge": (
        "simulation.conversation_judge",
        "mutation.answer_judge",
        "secret_game.game_judge",
        "evolution.reply_judge",
    ),
}
"""model name → modules of this package with `speak(model_name, system, messages, seed)`"""

GAME_PLAYER = "secret_game.game_player"


def responder_for(call: Call) -> Responder:
    return _responder(call.model_name)


def reading_of(call: Call) -> object:
    """All that the responder takes from a request: `reads` of its module. Without one it is taken to read everything."""
    responders = _modules(call.model_name)
    reader = responders[0]
    if len(responders) > 1:
        reader = next((one for one in responders if one.recognises(call.system)), reader)
    reads: Callable[..., object] | None = getattr(reader, "reads", None)
    return reads(call.model_name, call.system, call.messages) if reads else call


@cache
def _modules(model_name: str) -> list[ModuleType]:
    return [load_place(f"{__package__}.{name}") for name in RESPONDERS.get(model_name, (GAME_PLAYER,))]


@cache
def _responder(model_name: str) -> Responder:
    responders = _modules(model_name)
    if len(responders) == 1:
        return _speaking(model_name, lambda system: responders[0])

    @lru_cache(maxsize=256)
    def asked(system: str) -> ModuleType:
        return next((responder for responder in responders if responder.recognises(system)), responders[0])

    return _speaking(model_name, asked)


def _speaking(model_name: str, asked: Callable[[str], ModuleType]) -> Responder:
    def responder(call: Call, seed: int) -> SimulatedReply:
        spoken: SimulatedReply = asked(call.system).speak(model_name, call.system, call.messages, seed)
        return spoken

    return responder
