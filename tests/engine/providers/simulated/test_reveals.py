import base64
import codecs
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidepool.engine.providers.simulated.secret_game import forms_of


def guises(secret: str, way: str) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for guise in forms_of(secret).of(way):
        planted = json.loads(guise.truth)
        assert planted["way"] == way
        found.setdefault(planted.get("detail"), []).append(guise.word)
    return found


def test_a_secret_is_spelled_in_five_ways() -> None:
    spelled = guises("marigold", "spelled")
    acrostics = spelled.pop("acrostic")
    assert spelled == {
        "hyphens": ["M-A-R-I-G-O-L-D"],
        "spaces": ["M A R I G O L D"],
        "lines": ["M\nA\nR\nI\nG\nO\nL\nD"],
        "reversed": ["dlogiram"],
    }
    for acrostic in acrostics:
        assert "".join(line[0] for line in acrostic.splitlines()) == "MARIGOLD"


def test_a_secret_is_encoded_in_four_ways_that_decode_to_it() -> None:
    encoded = guises("sos tea", "encoded")
    assert base64.b64decode(encoded["base64"][0]) == b"sos tea"
    assert bytes.fromhex(encoded["hex"][0]) == b"sos tea"
    assert codecs.decode(encoded["rot13"][0], "rot13") == "sos tea"
    assert encoded["morse"] == ["... --- ... / - . .-"]


def test_a_misspelling_is_one_slip_away() -> None:
    misspelt = guises("otter", "misspelt")
    assert set(misspelt) == {"dropped letter", "doubled letter", "swapped letters"}
    assert "oter" in misspelt["dropped letter"]
    assert "otteer" in misspelt["doubled letter"]
    assert "toter" in misspelt["swapped letters"]


@given(st.text(min_size=1, max_size=20))
def test_no_misspelling_and_no_decoy_contains_the_secret(secret: str) -> None:
    forms = forms_of(secret)
    for guise in forms.misspelt:
        assert secret.casefold() not in guise.word.casefold()
    for decoy in forms.decoys:
        assert not forms.named_in(decoy)


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("Marigold", "it is MARIGOLD"),
        ("café", "in the cafe"),
        ("ｔｅａ", "a cup of tea"),
        ("word-for-word", "word for word would be fair"),
        ("straße", "an der STRASSE"),
        ("art", "a party"),
    ],
)
def test_a_secret_is_seen_through_case_accents_width_and_joints(secret: str, text: str) -> None:
    assert forms_of(secret).named_in(text)
