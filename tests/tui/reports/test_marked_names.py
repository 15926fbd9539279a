"""Who speaks to whom in so many cells, whatever they are called."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tidepool.engine.results.blocks import places_of
from tidepool.tui.app.widgets.rows import marked_names

NAMES = st.lists(st.text(max_size=30), max_size=4)


@given(NAMES, st.integers(0, 60), st.booleans())
def test_they_take_exactly_their_room(names: list[str], width: int, marked: bool) -> None:
    pieces = marked_names(names, places_of(names) if marked else {}, width)
    assert cell_len("".join(text for text, _ in pieces)) == width


def test_each_has_glyph_and_colour_and_what_is_cut_keeps_them() -> None:
    places = places_of(["Ada", "Bob"])
    whole = [piece for piece in marked_names(["Bob", "Ada"], places, 20) if piece[1]]
    assert whole == [("■ Bob", "who-1"), ("● Ada", "who-0")]
    cut = marked_names(["Bob", "Ada"], places, 10)
    assert "".join(text for text, _ in cut) == "■ Bob → ●…" and cut[2] == ("●…", "who-0")
