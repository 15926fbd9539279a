"""Typical mistakes in configs: each is answered with its place and its cure."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.config.mistakes.cases import EVOLUTION, GAME, MUTATION, PANEL, Mistake
from tests.engine.config.mistakes.first_half import FIRST_HALF
from tests.engine.config.mistakes.second_half import SECOND_HALF
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.config.mistakes.ignored import remarks_on
from tidepool.engine.config.mistakes.lines import Lines
from tidepool.engine.config.toml_files import parse_toml
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import UsageError

ROOT = Path(__file__).parents[4]
LONGEST = 600
"""letters of an answer"""


def answer(text: str, folder: Path) -> str:
    """What is said about the config by whoever loads it to run it; empty where there is nothing to say."""
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    try:
        config = load_config(path)
        (freeze if config.design is None else plan_study)(config, folder / "none.db")
    except UsageError as error:
        return str(error)
    return " ".join(remarks_on(config))


def answered(mistake: Mistake, folder: Path) -> None:
    whole = answer(mistake.text, folder)
    said = whole.removeprefix(str(folder / "study.toml"))
    assert said != whole and len(said) < LONGEST, whole
    place, _, words = said.partition(": ")
    assert re.search(rf"{mistake.place}\b", place) and mistake.fix in words, said


@pytest.mark.parametrize("mistake", [*FIRST_HALF, *SECOND_HALF], ids=lambda mistake: mistake.label)
def test_a_mistake_is_answered_with_its_place_and_its_cure(mistake: Mistake, tmp_path: Path) -> None:
    answered(mistake, tmp_path)


def test_several_mistakes_are_told_each_with_its_line(tmp_path: Path) -> None:
    said = answer(GAME.replace("seed = 42", 'seed = "42"').replace("max_concurrent", "max_concurent"), tmp_path)
    assert "study.toml, line 4: batch.seed" in said and "Line 8: unknown key service.max_concurent." in said


def test_what_is_wrong_in_an_override_is_not_looked_for_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(GAME)
    with pytest.raises(UsageError, match=r"study\.toml: service\.max_concurrent = 0"):
        load_config(path, ["service.max_concurrent=0"])


def test_a_key_that_a_design_puts_to_use_is_not_called_unread(tmp_path: Path) -> None:
    """Of the designs that cross the key on which it depends some cell reads it."""
    unread = GAME.replace("num_interactions = 4", 'targeted_secret = "marigold"')
    crossed = unread + '\n[design.factors]\n"secret_game.mode" = ["standard", "targeted"]\n'
    assert "is not read" in answer(unread, tmp_path) and answer(crossed, tmp_path) == ""


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_no_example_has_a_key_that_nobody_reads(path: Path) -> None:
    assert remarks_on(load_config(path)) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (GAME.encode("utf-16"), "UTF-16. Save it as UTF-8"),
        (GAME.replace("Trial", "Bär").encode("latin-1"), "line 3: this is not text in UTF-8"),
    ],
)
def test_a_file_in_another_encoding_is_told_how_to_save_it(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        load_config(path)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab[]{}=:\"'#,;.\n -/1“”\u00a0\\"), max_size=40), st.integers(0, len(GAME)))
def test_whatever_is_typed_into_a_config_it_is_one_or_is_told(typed: str, at: int) -> None:
    text = GAME[:at] + typed + GAME[at:]
    try:
        config_from(parse_toml(text, "study.toml"), source="study.toml", lines=Lines(text))
    except UsageError as error:
        assert str(error).startswith("study.toml")


@pytest.mark.parametrize("text", [GAME, PANEL, EVOLUTION, MUTATION])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_sound_config_is_accepted_with_any_end_of_lines_and_with_a_mark_of_utf_8(
    text: str, mark: str, ending: str, tmp_path: Path
) -> None:
    assert answer(mark + text.replace("\n", ending), tmp_path) == ""
