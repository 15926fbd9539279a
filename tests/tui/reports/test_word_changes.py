"""What became of a text, word by word."""

import pytest

from tidepool.tui.drawing.text import MOST_WORDS, changes


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("a b c", "a b c", [("kept", "a b c")]),
        ("a b c", "a x c", [("kept", "a"), ("gone", "b"), ("new", "x"), ("kept", "c")]),
        ("a b", "a b c", [("kept", "a b"), ("new", "c")]),
        ("", "a", [("new", "a")]),
        ("a " * (MOST_WORDS + 1), "b", [("new", "b")]),
    ],
)
def test_words_are_kept_gone_or_new(before: str, after: str, told: list[tuple[str, str]]) -> None:
    assert list(changes(before, after)) == told
