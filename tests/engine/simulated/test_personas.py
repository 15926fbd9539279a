from pathlib import Path

import pytest

from tests.engine.simulated.playing import NAMED, rates
from tidepool.engine.simulated.secret_game import PERSONAS

DOC = Path(__file__).parents[3] / "docs" / "simulated.md"
TOLERANCE = 5.0


def rows_under(header: str) -> list[list[str]]:
    table = DOC.read_text(encoding="utf-8").split(header, 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def percent(cell: str) -> float:
    return float(cell.removesuffix("%"))


RATES = rows_under("| opener | partner |")


def test_the_table_lists_every_pairing_of_the_named_personas_once() -> None:
    assert sorted((row[0], row[1]) for row in RATES) == sorted((a, b) for a in NAMED for b in NAMED)


@pytest.mark.parametrize("row", RATES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_pairing_reveals_as_often_as_the_docs_say(row: list[str]) -> None:
    opener, partner, *expected = row
    measured = rates(opener, partner, 1000, seed=7)
    assert measured == pytest.approx([percent(cell) for cell in expected], abs=TOLERANCE)


def test_the_docs_tell_in_which_ways_each_persona_gives_its_secret_away() -> None:
    documented = {row[0]: tuple(percent(cell) for cell in row[2:]) for row in rows_under("| persona | manner |")}
    assert documented == {name: traits.ways for name, traits in PERSONAS.items()}
