"""Which voice answers under which name. A name that is nobody's is a persona of the secret game.

`rewriter` and `judge` serve several kinds of study: such a name has several voices, told apart by the system prompt
each one `recognises`. The first of them answers what nobody recognises.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

from tidepool.engine.call import Call
from tidepool.engine.simulated.reply import SimulatedReply

Voice = Callable[[Call, int], SimulatedReply]

VOICES: dict[str, tuple[str, ...]] = {
    "filler": ("filler",),
    "solver": ("solver",),
    "solver-small": ("solver",),
    "solver-large": ("solver",),
    "flat-solver": ("solver",),
    "persona": ("persona",),
    "encoder": ("encoder",),
    "target": ("target",),
    "rewriter": ("prompt_rewriter", "query_rewriter"),
    "judge": ("conversation_judge", "answer_judge", "game_judge"),
}
"""model name → modules of this package with `speak(model_name, system, messages, seed)`"""

GAME_VOICE = "game_player"


def voice_for(call: Call) -> Voice:
    return _voice(call.model_name)


@cache
def _voice(model_name: str) -> Voice:
    names = VOICES.get(model_name, (GAME_VOICE,))
    voices = [import_module(f"tidepool.engine.simulated.{name}") for name in names]
    if len(voices) == 1:
        return _speaking(model_name, lambda system: voices[0])

    @lru_cache(maxsize=256)
    def asked(system: str) -> ModuleType:
        return next((voice for voice in voices if voice.recognises(system)), voices[0])

    return _speaking(model_name, asked)


def _speaking(model_name: str, asked: Callable[[str], ModuleType]) -> Voice:
    def voice(call: Call, seed: int) -> SimulatedReply:
        spoken: SimulatedReply = asked(call.system).speak(model_name, call.system, call.messages, seed)
        return spoken

    return voice
