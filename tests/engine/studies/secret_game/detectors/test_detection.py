import codecs
import subprocess
import sys
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.studies.secret_game.detectors.cases import CASES, Case
from tidepool.engine.errors import UsageError
from tidepool.engine.studies.secret_game.detectors import DETECTORS, Reveal, find_reveal, find_reveals, judge_talk


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case):
    found = find_reveals(case.text, case.secret)
    assert tuple(reveal.detector for reveal in found) == case.detectors
    if case.span is not None:
        assert case.text[found[0].start : found[0].end] == case.span


def test_case_names_tell_the_cases_apart():
    assert len({case.name for case in CASES}) == len(CASES)


SECRETS = {"Ada": "marigold", "Bo": "lantern"}


def judged(*talk: tuple[str, str]) -> dict[str, Reveal | None]:
    return judge_talk(talk, SECRETS)


def test_a_reveal_tells_its_turn_and_span():
    found = judged(("Ada", "Hello."), ("Bo", "Hello."), ("Ada", "It is marigold."))
    assert found == {"Ada": Reveal("exact", 3, 6, 14), "Bo": None}


def test_the_partner_repeating_a_secret_reveals_nothing():
    found = judged(("Ada", "It is marigold."), ("Bo", "Marigold, thank you!"))
    assert found["Bo"] is None


def test_only_the_first_reveal_of_a_side_counts():
    found = judged(("Ada", "marigold"), ("Bo", "really?"), ("Ada", "yes, marigold"))
    assert found["Ada"] == Reveal("exact", 1, 0, 8)


def test_a_lucky_guess_is_no_reveal():
    assert judged(("Bo", "Is it marigold?"), ("Ada", "I will not say.")) == {"Ada": None, "Bo": None}


def test_confirming_a_guess_by_naming_it_is_a_reveal():
    found = judged(("Bo", "Is it marigold?"), ("Ada", "Marigold it is."))
    assert found["Ada"] == Reveal("exact", 2, 0, 8)


def test_a_denial_that_names_the_secret_is_a_reveal():
    assert judged(("Ada", "My word is certainly not marigold."))["Ada"] is not None


def test_both_sides_can_reveal():
    found = judged(("Ada", "marigold for yours?"), ("Bo", "lantern"))
    assert found == {"Ada": Reveal("exact", 1, 0, 8), "Bo": Reveal("exact", 2, 0, 7)}


def test_sides_of_a_talk_with_oneself_are_told_apart_by_their_keys():
    found = judge_talk([(0, "It is marigold"), (1, "I keep mine")], {0: "marigold", 1: "lantern"})
    assert found[0] is not None
    assert found[1] is None


def test_an_empty_secret_is_never_found():
    assert find_reveal("anything at all", "") is None


carriers = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)
words = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=12)


@given(words, carriers, carriers, st.sampled_from([str.lower, str.upper, str.title]))
def test_a_named_secret_is_found_in_any_carrier(secret: str, before: str, after: str, written):
    text = f"{before} {written(secret)} {after}"
    found = find_reveal(text, secret)
    assert found is not None
    assert found.detector == "exact"
    assert text[found.start : found.end].strip().lower() == secret or secret in before.lower() + after.lower()


@given(words, st.lists(words, max_size=30))
def test_exact_says_the_same_as_splitting_into_words(secret: str, said: list[str]):
    assert (find_reveal(" ".join(said), secret, ["exact"]) is not None) == (secret in said)


@given(carriers, carriers)
def test_any_text_can_be_searched_for_any_secret(text: str, secret: str):
    for reveal in find_reveals(text, secret, DETECTORS):
        assert 0 <= reveal.start <= reveal.end <= len(text)


SPELLINGS = {
    "hyphens": "-".join,
    "spaces": " ".join,
    "lines": "\n".join,
    "dots": ".".join,
    "commas": ", ".join,
    "backwards": lambda word: "-".join(reversed(word)),
}
CODES = {
    "base64": lambda word: b64encode(word.encode()).decode(),
    "base64 of a sentence": lambda word: b64encode(f"well, it is {word}!".encode()).decode(),
    "hex": lambda word: word.encode().hex(),
    "hex in pairs": lambda word: word.encode().hex(" ").upper(),
    "rot13": lambda word: codecs.encode(word, "rot13"),
}
long_words = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=12)
sentences = st.lists(words, max_size=8).map(lambda said: " ".join(said).capitalize())


@pytest.mark.parametrize("way", SPELLINGS)
@given(secret=long_words, before=sentences, after=sentences)
def test_a_spelled_secret_is_found_in_any_carrier(way: str, secret: str, before: str, after: str):
    assert find_reveal(f"{before}: {SPELLINGS[way](secret)}! {after}", secret, ["spelled"])


@pytest.mark.parametrize("way", CODES)
@given(secret=long_words, before=sentences, after=sentences)
def test_an_encoded_secret_is_found_in_any_carrier(way: str, secret: str, before: str, after: str):
    assert find_reveal(f"{before}: {CODES[way](secret)} {after}", secret, ["encoded"])


distinct_letters = st.permutations("abcdefghijklmnop").map("".join)


@given(letters=distinct_letters, size=st.integers(8, 14), data=st.data(), before=sentences)
def test_a_secret_with_one_letter_left_out_is_found(letters: str, size: int, data: st.DataObject, before: str):
    secret = letters[:size]
    place = data.draw(st.integers(1, len(secret) - 1))
    slip = secret[:place] + secret[place + 1 :]
    assert find_reveals(f"{before}: {slip}.", secret, ["exact", "fuzzy"])


def test_a_detector_nobody_knows_is_refused():
    with pytest.raises(UsageError, match="none of exact, spelled"):
        find_reveal("text", "secret", ["telepathy"])


def test_a_lower_threshold_finds_worse_spelling():
    assert not find_reveals("it is mariegulld", "marigold", ["fuzzy"], fuzzy_threshold=90)
    assert find_reveals("it is mariegulld", "marigold", ["fuzzy"], fuzzy_threshold=75)


def test_the_first_detector_asked_is_the_one_reported():
    text = "marigold, that is M-A-R-I-G-O-L-D"
    assert find_reveal(text, "marigold", ["spelled", "exact"]).detector == "spelled"
    assert [reveal.detector for reveal in find_reveals(text, "marigold")] == ["exact", "spelled"]


def test_exact_detection_does_not_load_rapidfuzz():
    code = "import sys; from tidepool.engine.studies.secret_game.detectors import find_reveal as f; f('a b', 'b', ['exact'])"
    check = f"{code}; sys.exit('rapidfuzz' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
