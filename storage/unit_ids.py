"""A unit's id is `batch number << 32 | sequence number`: known before anything is written, so calls need no look-up,
a batch is a range of ids, and importing a batch is renumbering it.
"""

UNIT_BITS = 32
_SEQUENCE = (1 << UNIT_BITS) - 1


def batch_number_of(unit: int) -> int:
    return unit >> UNIT_BITS


def sequence_number_of(unit: int) -> int:
    return unit & _SEQUENCE


def unit_id(batch_number: int, sequence_number: int) -> int:
    return batch_number << UNIT_BITS | sequence_number
