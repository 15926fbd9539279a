"""Units and waves of one run, numbered in the order in which the study comes to them: the same on every replay."""


class Numbering:
    def __init__(self) -> None:
        self.units = 0
        self.waves = 0

    def next_unit(self) -> int:
        self.units += 1
        return self.units

    def next_wave(self, count: int = 1) -> int:
        """The first of so many."""
        self.waves += count
        return self.waves - count + 1
