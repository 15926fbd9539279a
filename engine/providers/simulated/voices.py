"""Which voice answers under which name. A name that is nobody's is a persona of the secret game.

`rewriter` and `judge` serve several kinds of study: such a name has several voices, told apart by the system prompt
each one `recognises`. The first of them answers what nobody recognises.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from types import ModuleType

from engine.call import Call
from engine.providers.simulated.spoken import Spoken

Voice = Callable[[Call, int], Spoken]

VOICES: dict[str, tuple[str, ...]] = {
    "filler": ("filler_voice",),
    "solver": ("solver_voice",),
    "solver-small": ("solver_voice",),
    "solver-large": ("solver_voice",),
    "flat-solver": ("solver_voice",),
    "persona": ("persona_voice",),
    "encoder": ("encoder_voice",),
    "target": ("target_voice",),
    "rewriter": ("rewriter_voice", "query_rewriter_voice"),
    "judge": ("talk_judge_voice", "answer_judge_voice", "game_judge_voice"),
}
"""model name → modules of this package with `speak(model_name, system, messages, seed)`"""

GAME_VOICE = "game_voice"


def voice_for(call: Call) -> Voice:
    return _voice(call.model_name)


@cache
def _voice(model_name: str) -> Voice:
    names = VOICES.get(model_name, (GAME_VOICE,))
    voices = [import_module(f"engine.providers.simulated.{name}") for name in names]
    if len(voices) == 1:
        return _speaking(model_name, lambda system: voices[0])

    @lru_cache(maxsize=256)
    def asked(system: str) -> ModuleType:
        return next((voice for voice in voices if voice.recognises(system)), voices[0])

    return _speaking(model_name, asked)


def _speaking(model_name: str, asked: Callable[[str], ModuleType]) -> Voice:
    def voice(call: Call, seed: int) -> Spoken:
        spoken: Spoken = asked(call.system).speak(model_name, call.system, call.messages, seed)
        return spoken

    return voice
