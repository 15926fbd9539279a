"""A responder for measurements: three hundred characters that differ by seed and cost next to nothing to make."""

from collections.abc import Sequence

from tidepool.engine.call import Message
from tidepool.engine.simulated.reply import SimulatedReply

_LENGTH = 300
_SENTENCE = "the tide comes in and the tide goes out "
_TEXT = (_SENTENCE * (_LENGTH // len(_SENTENCE) + 1))[: _LENGTH - 20]


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    return SimulatedReply(f"{seed:020d}{_TEXT}")
