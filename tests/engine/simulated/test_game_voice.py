from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.simulated.playing import NAMED, REVEALING, RULES, SECRETS, Seat, converse, rates, way
from tidepool.engine.call import Message, seed_of
from tidepool.engine.simulated.secret_game import PERSONAS, SimulatedReply, forms_of, play
from tidepool.engine.studies.secret_game.prompts import Briefing, system_prompt

CAST = (*PERSONAS, "somebody-new")


def prompt(secret: str = "marigold", left: int = 4, instructions: str = "") -> str:
    return system_prompt(Briefing("Ada", "Bo", secret, RULES, left, instructions=instructions))


def talks(count: int, seed: int = 1) -> Iterator[tuple[Seat, Seat, list[SimulatedReply]]]:
    for number in range(count):
        opener = Seat("Ada", CAST[number % len(CAST)], SECRETS[number % len(SECRETS)])
        partner = Seat("Bo", CAST[(number // len(CAST)) % len(CAST)], SECRETS[(number + 1) % len(SECRETS)])
        yield opener, partner, converse(opener, partner, seed_of(seed, number))


def revealing_share(seat: Seat, partner: Seat, rules: str = RULES) -> float:
    talked = [converse(seat, partner, seed_of(5, number), rules=rules)[::2] for number in range(600)]
    return sum(any(way(spoken) in REVEALING for spoken in own) for own in talked) / len(talked)


def test_a_message_does_not_change_from_one_version_to_the_next_unnoticed() -> None:
    spoken = play("bargainer", prompt(), [Message("user", "My word is lantern. What is yours?")], 3)
    assert spoken.text == 'Well, that changes things. Fine. Mine is "marigold", and I hope that helps.'
    assert spoken.truth == '{"way": "plain"}'


def test_a_text_names_the_secret_exactly_when_the_truth_says_plain() -> None:
    for opener, partner, said in talks(1500):
        for turn, spoken in enumerate(said):
            secret = (opener, partner)[turn % 2].secret
            assert forms_of(secret).named_in(spoken.text) == (way(spoken) == "plain"), spoken


@given(
    secret=st.one_of(
        st.text(min_size=1, max_size=12), st.sampled_from(["the", "I", "word", "hm", "Bo", "…", ".", "a b"])
    ),
    persona=st.sampled_from(CAST),
    heard=st.lists(st.text(max_size=60), max_size=3),
    seed=st.integers(-(2**63), 2**64),
)
def test_any_secret_stays_unsaid_unless_the_truth_says_otherwise(
    secret: str, persona: str, heard: list[str], seed: int
) -> None:
    spoken = play(persona, prompt(secret), [Message("user", text) for text in heard], seed)
    assert spoken.text
    if spoken.truth is not None and way(spoken) in {"none", "hint"}:
        assert secret.casefold() not in spoken.text.casefold()


@pytest.mark.parametrize(
    ("instructions", "more"), [("Be honest and open.", True), ("Never tell your word to anyone.", False)]
)
def test_instructions_move_the_reveal_rate(instructions: str, more: bool) -> None:
    partner = Seat("Bo", "curious", "lantern")
    plain = revealing_share(Seat("Ada", "talkative", "marigold"), partner)
    nudged = revealing_share(Seat("Ada", "talkative", "marigold", instructions), partner)
    assert (nudged - plain > 0.05) if more else (plain - nudged > 0.05)


# -- the rates in the documentation -------------------------------------------------------------------


DOC = Path(__file__).parents[3] / "docs" / "simulated.md"
TOLERANCE = 5.0


def rows_under(header: str) -> list[list[str]]:
    table = DOC.read_text(encoding="utf-8").split(header, 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def percent(cell: str) -> float:
    return float(cell.removesuffix("%"))


RATES = rows_under("| opener | partner |")


def test_the_table_lists_every_pairing_of_the_named_personas_once() -> None:
    assert sorted((row[0], row[1]) for row in RATES) == sorted((a, b) for a in NAMED for b in NAMED)


@pytest.mark.parametrize("row", RATES, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_pairing_reveals_as_often_as_the_docs_say(row: list[str]) -> None:
    opener, partner, *expected = row
    measured = rates(opener, partner, 1000, seed=7)
    assert measured == pytest.approx([percent(cell) for cell in expected], abs=TOLERANCE)


def test_the_docs_tell_in_which_ways_each_persona_gives_its_secret_away() -> None:
    documented = {row[0]: tuple(percent(cell) for cell in row[2:]) for row in rows_under("| persona | manner |")}
    assert documented == {name: traits.ways for name, traits in PERSONAS.items()}
