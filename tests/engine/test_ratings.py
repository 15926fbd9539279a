import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.answer_forms import levels_of, read_rating


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("Rating: 4\nReason: she agrees 3 times.", 4),
        ("**Rating:** 4", 4),
        ('{"rating": 4, "reason": "…"}', 4),
        ("My rating is 4.", 4),
        ("rating = 3.5", 3.5),
        ("Rating: 3,5", 3.5),
        ("Rating: 4/5", 4),
        ("I would give it 4 out of 5.", 4),
        ("4/5", 4),
        ("On a scale of 1 to 5 I would say 2.", 2),
        ("On a scale from 1–5: 2", 2),
        ("4", 4),
        ("4.", 4),
        ("Rating: 4. I repeat, rating: 4", 4),
        ("Rating: 7", None),
        ("Rating: 0", None),
        ("Rating: 2. No, rating: 4", None),
        ("Rating: 4-5", None),
        ("Between 3 and 4", None),
        ("Maybe 2, maybe 3.", None),
        ("80%", None),
        ("She agrees.", None),
        ("", None),
        ("In 2024 nobody would say so", None),
        ("Rating: four", None),
    ],
)
def test_a_verdict_is_read_or_missing_never_guessed(reply: str, rating: float | None) -> None:
    assert read_rating(reply, (1, 5)) == rating


@pytest.mark.parametrize(
    ("scale", "levels"),
    [
        ((1, 5), (1, 2, 3, 4, 5)),
        ((-2.0, 2.0), (-2, -1, 0, 1, 2)),
        ((0, 10), tuple(range(11))),
        ((0, 1), ()),
        ((0, 100), ()),
        ((0.5, 5), ()),
        ((float("nan"), 5), ()),
        ((1, float("inf")), ()),
    ],
)
def test_only_a_likert_scale_has_levels(scale: tuple[float, float], levels: tuple[int, ...]) -> None:
    assert levels_of(scale) == levels


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("Rating: 4", 4),
        ('{"rating": 4}', 4),
        ("Rating: 1.5", None),
        ('{"rating": 1.5}', None),
        ('{"rating": -1}', None),
        ("Rating: −1", None),
        ("Rating: 6", None),
    ],
)
def test_what_is_no_level_of_a_likert_scale_is_missing(reply: str, rating: float | None) -> None:
    assert read_rating(reply, (1, 5), levels=levels_of((1, 5))) == rating


def test_a_scale_may_go_below_nought() -> None:
    assert read_rating("Rating: -2", (-2, 2)) == -2
    assert read_rating("Rating: −2", (-2, 2)) == -2
    assert read_rating("-1", (-2, 2)) == -1


@given(st.text(), st.integers(-10, 10), st.integers(0, 20))
def test_whatever_a_judge_writes_a_rating_lies_on_the_scale(reply: str, low: int, width: int) -> None:
    rating = read_rating(reply, (low, low + width))
    assert rating is None or low <= rating <= low + width


@given(st.integers(-100, 100), st.integers(0, 100))
def test_a_rating_as_asked_for_is_always_read(low: int, above: int) -> None:
    assert read_rating(f"Rating: {low + above}\nReason: it is so.", (low, low + 100)) == low + above
