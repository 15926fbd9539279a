"""The simulated encoder: the hashing encoder's vectors, as a model encoder would send them."""

from collections.abc import Sequence

from tidepool.engine.call import Message, packed_vectors
from tidepool.engine.simulated.reply import SimulatedReply
from tidepool.engine.studies.mutation.rewards import HashingEncoder

_DIMENSIONS = 64


def speak(model_name: str, system: str, messages: Sequence[Message], seed: int) -> SimulatedReply:
    vectors = HashingEncoder(_DIMENSIONS).encode([message.text for message in messages])
    return SimulatedReply(packed_vectors(vectors.tolist()))
