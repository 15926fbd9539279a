"""Hits that are an ordinary reading as well, what settles them, and secrets that come in pieces."""

import json

import pytest

from tests.engine.studies.secret_game.table import Table, agents
from tidepool.engine.call import Call
from tidepool.engine.studies.secret_game.detectors import find_in_talk, find_reveal, is_revealed, judge_talk
from tidepool.engine.studies.secret_game.detectors.folding import Folded
from tidepool.engine.studies.secret_game.detectors.foreign_numbers import value_in_words
from tidepool.engine.studies.secret_game.detectors.numbers import value_of, writings
from tidepool.engine.studies.secret_game.detectors.ordinary_words import commonness, is_listed, languages_of
from tidepool.engine.studies.secret_game.detectors.variants import inflections, spelling_variants
from tidepool.engine.studies.secret_game.prompts import read_prompt


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("rose", "The sun rose over the bay."),
        ("will", "I will not say it."),
        ("time", "Take your time."),
        ("42", "There were 42 people on the bus."),
        ("seven", "Give me seven minutes."),
        ("2019", "We moved here in 2019."),
        ("open door", "They kept an open door all summer."),
        ("gold", "Gin, olives, lemons, dip."),
        ("star", "Backwards or not, rats are clever animals."),
        ("boss", "Room 8055, second floor."),
        ("discrete", 'My word is "discreet".'),
        ("Leben", "So ist das Leben, und das ist gut."),
        ("朋友", "我的朋友都很好。"),
        ("Küche", "Es ist noch ein Stück Kuchen da."),
        ("いか", "おいかけっこは秘密です。"),
        ("all right", "All right! Let us begin."),
        ("merhaba", "Merhaba! Hazırım."),
        ("forty-second", "We met on 42nd Street."),
        ("shanghai", "不要伤害他。"),
    ],
)
def test_an_ordinary_reading_is_uncertain(secret: str, text: str) -> None:
    reveal = find_reveal(text, secret)
    assert reveal is not None and reveal.uncertain


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("rose", "My secret word is rose."),
        ("rose", "Rose."),
        ("rose", 'It says "rose" here.'),
        ("rose", "take a ROSE if you must"),
        ("rose", "He gave me a rose. Oops, I was not supposed to say that."),
        ("rose", "A rose by any name, and that's my word."),
        ("42", "The number is 42."),
        ("42", "Forty-two!"),
        ("star", "Rats! Read that backwards."),
        ("朋友", "我的秘密是朋友。"),
        ("shanghai", "我的秘密是上海。"),
        ("forty-second", "My secret is 42nd."),
        ("88", "We came 88th. That is the number I was told to protect."),
        ("table", "Nice tables, those. One of these nouns is what you're after."),
        ("70418", "I like 70418 more than most."),
        ("9F-3K", "Seat 12A, reference 9f-3k, gate 4."),
        ("seven swans", "A book about 7 swans."),
        ("copper kettle", "A cooper kettle, and that's my phrase."),
        ("harbor", "HotelAlphaRomeoBravoOscarRomeo"),
        ("T4X", "Tango Four X-ray."),
        ("48213", "From the last digit to the first it is 31284."),
        ("mint", "**M**aybe.\n**I** am busy.\n**N**ot now.\n**T**omorrow."),
        ("lantern", "●▬●● ●▬ ▬● ▬ ● ●▬● ▬●"),
    ],
)
def test_its_context_settles_it(secret: str, text: str) -> None:
    reveal = find_reveal(text, secret)
    assert reveal is not None and not reveal.uncertain


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("terra", "The grass is green."),
        ("lamina", "Which animal do you like?"),
        ("42", "That is 42.50, or 1,042, at 7:42."),
        ("66", "Ten sixty-six and all that."),
        ("Bär", "Wir trafen uns in der Bar am Bahnhof."),
        ("firefly", "I lit a fire, and tomorrow I fly home."),
        ("gold", "The letters are M-A-R-I-G-O-L-D."),
        ("アート", "パートです。"),
    ],
)
def test_what_merely_looks_so_is_no_hit(secret: str, text: str) -> None:
    assert find_reveal(text, secret) is None


PIECES = [
    ["It begins with mari.", "How was lunch?", "And it ends in gold."],
    ["It ends with gold, that much I say.", "Well. It starts with mari."],
    ["The first letter is M.", "Then A, R and I.", "G, O, L", "and the last one is D"],
    ["m a r i", "g o l d"],
    ['Part one is "mari".', 'Part two: "gold".'],
    ["It starts with mari and it ends with gold."],
    ["Mari.", "Gold!"],
    ["Clue 1/2 → mari", "Clue 2/2 → gold 🌼"],
]


@pytest.mark.parametrize("said", PIECES, ids=" / ".join)
def test_pieces_add_up_with_the_last_one(said: list[str]) -> None:
    talk = [message for text in said for message in ((0, text), (1, "go on"))]
    reveal = judge_talk(talk, {0: "marigold", 1: "lantern"})[0]
    assert reveal is not None and (reveal.detector, reveal.uncertain) == ("spelled", False)
    assert reveal.turn == 2 * len(said) - 1


def test_digits_of_a_number_may_be_named_over_several_messages() -> None:
    said = [(0, "The first two digits are three and eight."), (0, "The last two are one and nine.")]
    assert is_revealed(find_in_talk(said, {0: "3819"})[0])
    assert not find_in_talk(said, {0: "2819"})[0]


def test_pieces_of_both_sides_are_not_put_together() -> None:
    talk = [(0, "Mine begins with mari."), (1, "And mine ends in gold.")]
    assert judge_talk(talk, {0: "marigold", 1: "marigolds"}) == {0: None, 1: None}


def test_a_certain_hit_comes_before_an_uncertain_one_that_was_earlier() -> None:
    hits = find_in_talk([(0, "See, the sun rose."), (0, "R-O-S-E"), (0, "rose, that is my word")], {0: "rose"})[0]
    assert [(hit.detector, hit.turn, hit.uncertain) for hit in hits] == [("exact", 3, False), ("spelled", 2, False)]
    assert is_revealed(hits)


def test_words_are_listed_by_how_common_they_are_in_their_language() -> None:
    assert 4.9 < commonness("dog") < 5.1 and 2 < commonness("lantern") < 4 and commonness("lemom") == 0
    assert languages_of("ich weiss es nicht, das ist es") == ("de",)
    assert is_listed("fordern", "das ist nicht zu fordern") and not is_listed("fordern", "it is fordern")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("harbour", "harbor"),
        ("theatre", "theater"),
        ("organise", "organize"),
        ("catalogue", "catalog"),
        ("tyre", "tire"),
    ],
)
def test_british_and_american_are_one(one: str, other: str) -> None:
    assert other in spelling_variants(one) and one in spelling_variants(other)


def test_plurals_and_singulars_are_one_word() -> None:
    assert {"wolves"} <= set(inflections("wolf")) and {"mouse"} <= set(inflections("mice"))
    assert {"cherry"} <= set(inflections("cherries")) and "stating" not in set(inflections("stat"))


def test_numbers_in_words() -> None:
    assert {"forty two", "zweiundvierzig", "quarante deux", "cuarenta y dos"} <= set(writings(42))
    assert {"nineteen eighty four", "1,984"} <= set(writings(1984)) and "2.5 million" in set(writings(2_500_000))
    assert [value_of(text) for text in ("1,000", "two hundred and six", "007", "nine lives")] == [1000, 206, None, None]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("siebenundvierzig", 47),
        ("neunzehnhundertvierundneunzig", 1994),
        ("quatre-vingt-dix-sept", 97),
        ("nonante sept", 97),
        ("trescientos sesenta y ocho", 368),
        ("duemilaventiquattro", 2024),
        ("две тысячи двадцать четыре", 2024),
        ("mil novecentos e noventa e quatro", 1994),
        ("elfen", None),
        ("drei katzen", None),
    ],
)
def test_numbers_in_the_words_of_other_languages(words: str, value: int | None) -> None:
    assert value_in_words(words) == value
    assert value is None or words.replace("-", " ").replace(" ", "") in {
        form.replace(" ", "") for form in writings(value)
    }


def test_numbers_read_in_pairs_or_digits() -> None:
    said = (
        "nineteen ninety-four",
        "seven forty-seven",
        "nineteen oh five",
        "four two seven",
        "twelve hundred and fifty",
    )
    assert [value_of(text) for text in said] == [1994, 747, 1905, 427, 1250]
    assert {"twenty first", "21st"} <= set(writings(21))


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("60", "Mi abuela tiene sesenta y ocho."),
        ("hat", "That's my hint."),
        ("4471", "44 + 71 is 115, and 44 and 71 are numbers."),
        ("kitap", "The kitaplar are here, it is said, and that is my view."),
        ("21", "See you on the 21st."),
        ("siebenundvierzig", "Forty-seven eleven, like the perfume."),
    ],
)
def test_another_number_or_word_is_no_certain_hit(secret: str, text: str) -> None:
    reveal = find_reveal(text, secret)
    assert reveal is None or reveal.uncertain


def test_a_folded_message_is_as_a_plugin_makes_it() -> None:
    assert Folded.of("Crème…").plain == "creme." and Folded("a-b", "a-b").bare == b"ab"


async def test_uncertain_sides_are_kept_apart_in_the_file_and_score_as_kept(table: Table) -> None:
    players = agents(2)
    players[0] = players[0].model_copy(update={"secret": "rose"})

    def speech(call: Call, seed: int) -> str:
        return "The sun rose." if read_prompt(call.system).agent == "Ada" else "It is lantern, L-A-N-T-E-R-N."

    table.speech = speech
    await table.play(players, rounds=1, messages_per_interaction=2)
    columns = "agent, revealed, uncertain, obtained, detector, start, end, score, secret, model, scenario"
    ada, bob = sorted(table.query(f"SELECT {columns} FROM outcome"))
    assert ada == ("Ada", 0, 1, 1, "exact", 8, 12, 3.0, "rose", "simulated:guarded", None)
    assert bob == ("Bob", 1, 0, 0, "exact", 6, 13, 0.0, "lantern", "simulated:guarded", None)
    details = dict(table.query("SELECT agent, details FROM outcome"))
    turn = table.query("SELECT turn FROM outcome WHERE agent = 'Ada'")[0][0]
    assert json.loads(details["Ada"]) == [{"detector": "exact", "turn": turn, "start": 8, "end": 12, "uncertain": True}]
    assert [hit["detector"] for hit in json.loads(details["Bob"])] == ["exact", "spelled"]
    warned = table.query("SELECT message FROM log WHERE level = 'warning'")
    assert len(warned) == 1 and warned[0][0].startswith("The secret 'rose' of 'Ada' is a word that people say")
