"""Who is who by colour and glyph: distinct, readable on any ground, the same whoever speaks first."""

import pytest

from tidepool.engine.results.blocks import CONTRAST, INKS, contrast_of, glyph_of, ink_of, places_of


@pytest.mark.parametrize("ground", [(12, 21, 23), (255, 255, 255), (251, 250, 247), (40, 42, 54), (253, 246, 227)])
def test_every_mark_stands_out_from_its_ground_and_no_two_of_seventy_are_alike(ground: tuple[int, int, int]) -> None:
    assert all(contrast_of(ink_of(place, ground), ground) >= CONTRAST for place in range(len(INKS)))
    assert len({(glyph_of(place), ink_of(place, ground)) for place in range(70)}) == 70


def test_a_place_depends_on_who_takes_part_and_on_nothing_else() -> None:
    assert places_of(["Cleo", "Ada", "Bob", "Ada"]) == {"Ada": 0, "Bob": 1, "Cleo": 2}
