"""Random streams by address: hash(batch seed, address), so no draw depends on who ran first."""

from hashlib import blake2b
from random import Random


def seed_of(seed: int, *address: object) -> int:
    """A 63-bit number that belongs to this address of a batch with this seed, on every machine."""
    text = "\x1f".join((str(seed), *map(str, address)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def stream(seed: int, *address: object) -> Random:
    return Random(seed_of(seed, *address))
