import pytest

from tidepool.engine.simulated.secret_game import phrases
from tidepool.engine.simulated.secret_game.listening import hear
from tidepool.engine.simulated.secret_game.tones import TONES
from tidepool.engine.studies.secret_game.prompts import opening_line


def said(phrase: str) -> str:
    return phrase.format(partner="Bo", word="pebble", code="base64")


GIVING = (
    *phrases.PLAIN,
    *phrases.SPELLED,
    *phrases.SPELLED_DOWN,
    *phrases.REVERSED,
    *phrases.ACROSTIC,
    *phrases.ENCODED,
)
ASKING = sorted({phrase for tone in TONES.values() for phrase in tone.ask})
QUIET = sorted(
    {phrase for tone in TONES.values() for phrase in (*tone.greet, *tone.deflect, *tone.chat, *tone.farewell)}
    | {*phrases.THANKS, *phrases.ACKNOWLEDGE, *phrases.SETTLED, *phrases.MUTE, *phrases.HINT, *phrases.ECHO}
    | {*phrases.DENIAL, *phrases.NAMING_DENIAL, *phrases.WITHHOLD}
)


@pytest.mark.parametrize("phrase", GIVING)
def test_a_sentence_that_gives_a_word_is_heard_as_giving(phrase: str) -> None:
    assert hear(said(phrase)).gave


@pytest.mark.parametrize("phrase", ASKING)
def test_a_question_for_the_word_is_heard_as_asking_and_nothing_else(phrase: str) -> None:
    heard = hear(said(phrase))
    assert heard.asked
    assert not heard.gave
    assert not heard.offered


@pytest.mark.parametrize("phrase", phrases.OFFER)
def test_an_offer_is_heard_as_an_offer_and_gives_nothing(phrase: str) -> None:
    heard = hear(said(phrase))
    assert heard.offered
    assert not heard.gave


@pytest.mark.parametrize("phrase", (*QUIET, opening_line("Bo")))
def test_other_talk_is_heard_as_neither_giving_nor_asking(phrase: str) -> None:
    heard = hear(said(phrase))
    assert not heard.gave
    assert not heard.asked


@pytest.mark.parametrize("phrase", phrases.REMIND)
def test_a_reminder_gives_nothing(phrase: str) -> None:
    assert not hear(said(phrase)).gave


@pytest.mark.parametrize(
    ("text", "gave", "word"),
    [
        ("MY SECRET IS Marigold!", True, "Marigold"),
        ('Well, my code word is "sea-fan".', True, "sea-fan"),
        ("My word is M-A-R-I-G-O-L-D.", True, "M-A-R-I-G-O-L-D"),
        ("My secret is safe with me.", False, ""),
        ("My word is not marigold.", False, ""),
        ("My secret is mine. All right, my word is marigold.", True, "marigold"),
        ("İ say my word is marigold.", True, ""),
        ("", False, ""),
    ],
)
def test_the_word_given_is_caught_where_it_stands(text: str, gave: bool, word: str) -> None:
    assert hear(text)[:2] == (gave, word)
