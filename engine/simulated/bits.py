"""64 well-mixed bits of a seed (splitmix64): far cheaper than a Random where a responder has a dozen choices."""

_MASK = (1 << 64) - 1


def mixed(seed: int) -> int:
    bits = (seed + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
