"""Which voice answers under which name. A name that is nobody's is a persona of the secret game."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

from engine.call import Call
from engine.providers.simulated.spoken import Spoken

Voice = Callable[[Call, int], Spoken]

VOICES: dict[str, str] = {"filler": "filler_voice"}
"""model name → module of this package with `speak(model_name, system, messages, seed)`"""

GAME_VOICE = "game_voice"


def voice_for(call: Call) -> Voice:
    return _voice(call.model_name)


@cache
def _voice(model_name: str) -> Voice:
    speak = import_module(f"engine.providers.simulated.{VOICES.get(model_name, GAME_VOICE)}").speak

    def voice(call: Call, seed: int) -> Spoken:
        spoken: Spoken = speak(model_name, call.system, call.messages, seed)
        return spoken

    return voice
