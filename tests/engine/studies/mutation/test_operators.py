import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.mutation.operators import apply_rewrite, operator_named, read_rewrite

QUERY = "How do I boil an egg?"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<query>What is the way to boil an egg?</query>", "What is the way to boil an egg?"),
        ("Sure!\n<query>\nBoil egg how?\n</query> Hope it helps.", "Boil egg how?"),
        ("<QUERY>Boil an egg?</QUERY>", "Boil an egg?"),
        ("Boil an egg?", "Boil an egg?"),
        ('"Boil an egg?"', "Boil an egg?"),
        ("“Boil an egg?”", "Boil an egg?"),
        ("Rewritten question: Boil an egg?", "Boil an egg?"),
        ("Here is the rewritten question:\n\nBoil an egg?", "Boil an egg?"),
        ("```text\nBoil an egg?\n```", "Boil an egg?"),
        ("<query>Boil an egg?", "Boil an egg?"),
        ("Boil\x1b[31m an\n egg?", "Boil [31m an egg?"),
        ("", None),
        ("   \n", None),
        ("<query></query>", None),
        ("…?!", None),
        ("I'm sorry, I can't rewrite that.", None),
        ("I cannot help with this.", None),
        ("An essay. " * 200, None),
    ],
)
def test_a_rewrite_is_believed_only_when_it_looks_like_one(reply: str, text: str | None) -> None:
    assert read_rewrite(reply, QUERY) == text


@given(st.text(), st.text(min_size=1))
def test_no_reply_can_break_the_reading(reply: str, query: str) -> None:
    text = read_rewrite(reply, query)
    assert text is None or (text == text.strip() and "\n" not in text and "\x1b" not in text)


def test_a_lost_rewrite_falls_back_to_the_query_and_says_so() -> None:
    for reply in (None, "", "I'm sorry, no."):
        outcome = apply_rewrite(operator_named("shorten"), QUERY, reply)
        assert (outcome.text, outcome.fell_back) == (QUERY, True)
