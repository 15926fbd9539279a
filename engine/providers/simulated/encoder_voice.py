"""The simulated encoder: the hashing encoder's vectors, as a model encoder would send them."""

import json
from collections.abc import Sequence

from engine.call import Message
from engine.mutation.encoders import HashingEncoder
from engine.providers.simulated.spoken import Spoken

_DIMENSIONS = 64
_DIGITS = 5


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> Spoken:
    vectors = HashingEncoder(_DIMENSIONS).encode([message.text for message in messages])
    return Spoken(json.dumps([[round(float(number), _DIGITS) for number in vector] for vector in vectors]))
