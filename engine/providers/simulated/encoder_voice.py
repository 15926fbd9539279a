"""The simulated encoder: the hashing encoder's vectors, as a model encoder would send them."""

from collections.abc import Sequence

from engine.call import Message
from engine.mutation.encoders import HashingEncoder
from engine.providers.simulated.spoken import Spoken
from engine.vectors import packed_vectors

_DIMENSIONS = 64


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> Spoken:
    vectors = HashingEncoder(_DIMENSIONS).encode([message.text for message in messages])
    return Spoken(packed_vectors(vectors.tolist()))
