"""Whoever a block tells of, each has the mark of their place among all who take part."""

from tidepool.engine.reports.blocks import Figure, Heat, Named, Series, Table, Words
from tidepool.engine.reports.figures import assign_places

PEOPLE = ("Ada", "Bob", "Cleo", "Dan")


def test_somebody_who_met_nobody_shifts_no_one() -> None:
    """Ada sat out: what tells of the others numbers them from nought."""
    words = Words("as it was")
    table = Table("agents", ("agent", "talks"), ((Named("Bob", 0), 3), (Named("Dan", 2), 4)))
    bars = Figure("bars", "who", (Series("revealed", (1.0, 2.0)),), labels=("Cleo", "Bob"), places=(1, 0))
    heat = Heat("pairs", ("Bob", "Dan"), ("Bob", "Dan"), ((None, 1.0), (2.0, None)), places=(0, 1))
    shown = assign_places((words, table, bars, heat), PEOPLE)
    assert shown[0] == words
    assert shown[1].rows == ((Named("Bob", 1), 3), (Named("Dan", 3), 4))  # type: ignore[union-attr]
    assert shown[2].places == (2, 1)  # type: ignore[union-attr]
    assert shown[3].places == (1, 3)  # type: ignore[union-attr]
