import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.studies.evolution.tasks.numbers import whole_number
from tidepool.engine.studies.evolution.tasks.task import match

NUMBERS = [
    ("#### 42", "42"),
    ("3 + 4 = 7, so 7.\n#### 7", "7"),
    ("####7", "7"),
    ("#### 1,234,567", "1234567"),
    ("#### $18.00", "18"),
    ("#### 18 dollars", "18"),
    ("#### -3", "-3"),
    ("#### −3", "-3"),
    ("#### Answer: 12", "12"),
    ("#### **12**", "12"),
    ("#### x = 12", "12"),
    ("#### 3/4", "0.75"),
    ("#### 12%", "12"),
    ("#### 5\nWait, that is wrong.\n#### 6", "6"),
    ("#### Step 1: add 3 and 4\nThe answer is 7.", "7"),
    ("#### 1. Read the question\n\nThe answer is 9", "9"),
    ("The answer is 12. It took 3 steps.", "12"),
    ("The answer is 3.5.", "3.5"),
    ("The answer is: 12", "12"),
    ("**Answer:** 12 apples", "12"),
    ("So the answer is that she has 12 apples left over from 30? No: the answer is 8.", "8"),
    ("The answer is 3 + 4 = 7 apples.", "7"),
    (r"Thus \boxed{12} follows from 3.", "12"),
    (r"\boxed{\frac{3}{4}} of 8", "0.75"),
    (r"\boxed{\text{12}}", "12"),
    ("First 3, then 4, which makes 12", "12"),
    ("10 - 4", "4"),
    ("It falls to -4", "-4"),
    ("That costs $1,250.50", "1250.5"),
    ("It is .5 of it", "0.5"),
    ("1e3", "1000"),
    ("The answer is 7.0004", "7"),
    ("#### 0.333", "1/3"),
    ("#### forty-two", "42"),
]
WORDS = [
    ("#### Tuesday", "Tuesday"),
    ("#### **tuesday**.", "Tuesday"),
    ("The answer is Tuesday.", "tuesday"),
    ("The answer is “the lamp”.", "lamp"),
    ("The answer is yes, because all of them are.", "yes"),
    (r"So \boxed{\text{Rosa}} is second.", "Rosa"),
    ("Tuesday", "Tuesday"),
    ("On.", "on"),
    ("#### ice  cream", "Ice cream"),
]
WRONG = [
    ("#### 41", "42"),
    ("#### 42.002", "42"),
    ("#### no", "yes"),
    ("It could be Monday or Tuesday, I really cannot say which.", "Tuesday"),
    ("#### 5 or 6", "6"),
]
SILENT = [
    ("", "42"),
    ("I do not know.", "42"),
    ("####", "42"),
    (r"\boxed{", "42"),
    ("There is much to say about the days of the week.", "Tuesday"),
]


@pytest.mark.parametrize(("reply", "expected"), NUMBERS + WORDS)
def test_the_answer_is_found_and_right(reply: str, expected: str) -> None:
    assert match(reply, expected).correct


@pytest.mark.parametrize(("reply", "expected"), WRONG)
def test_another_answer_is_wrong(reply: str, expected: str) -> None:
    assert not match(reply, expected).correct


@pytest.mark.parametrize(("reply", "expected"), SILENT)
def test_a_reply_without_an_answer_gives_none(reply: str, expected: str) -> None:
    verdict = match(reply, expected, length=9)
    assert (verdict.answer, verdict.correct, verdict.length) == (None, False, 9)


def test_the_marks_rank_above_what_follows_them() -> None:
    reply = r"\boxed{3}. The answer is 2. #### 1" + "\nThat was 4 marks."
    assert match(reply, "1").answer == "1"
    assert match(reply.replace("####", ""), "1").answer == "2"
    assert match(r"\boxed{3}. That was 4 marks.", "1").answer == "3"
    assert match("That was 4 marks.", "1").answer == "4"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234", 1234),
        ("$5.50", 5.5),
        ("-3/4", -0.75),
        ("12 %", 12),
        ("3:30", None),
        ("12 cats", None),
        ("1/0", None),
    ],
)
def test_a_number_is_the_whole_text_or_none(text: str, value: float | None) -> None:
    found = whole_number(text)
    assert (found and found.value) == value


@pytest.mark.parametrize(("answer", "right"), [("0.301", True), ("0.299", True), ("0.3011", False)])
def test_the_tolerance_is_a_thousandth(answer: str, right: bool) -> None:
    assert match(answer, "0.3").correct is right


def test_equal_answers_look_equal() -> None:
    assert match("$1,200.00", "1").answer == match("1200", "1").answer == "1200"
    assert match("-0", "1").answer == match("0", "1").answer
    assert match("The Lamp.", "lamp").answer == match("lamp", "lamp").answer


@given(st.text(), st.text(min_size=1))
def test_no_reply_is_beyond_reading(reply: str, expected: str) -> None:
    for text in (reply, f"#### {reply}", f"answer is {reply}", rf"\boxed{{{reply}"):
        match(text, expected)


@given(st.integers(-(10**9), 10**9), st.sampled_from(["#### {}", "The answer is {}.", r"\boxed{{{}}}", "so {}"]))
def test_every_whole_number_is_read_back_from_every_form(number: int, form: str) -> None:
    assert match(form.format(number), str(number)).correct
    assert match(form.format(f"{number:,}"), str(number)).correct
