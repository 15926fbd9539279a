"""What is asked of a design: read by the names it knows, and turned into weights of cells."""

import pytest

from tests.engine.design.contrast_cases import FIRM, MEANT, STEPS, WRONG
from tidepool.engine.errors import UsageError
from tidepool.engine.inference.hypotheses import Factor, Factors, exploratory, parse_contrast, weigh

CROSSED = Factors((Factor("a", ("0", "1", "2")), Factor("b", ("0", "1"))))


@pytest.mark.parametrize(("factors", "text", "meaning"), MEANT, ids=[text for _, text, _ in MEANT])
def test_a_contrast_is_read_as_it_is_meant(factors: Factors, text: str, meaning: str) -> None:
    found = parse_contrast(text, factors)
    assert str(found) == meaning


@pytest.mark.parametrize(("factors", "text", "told"), WRONG, ids=[text[:80] for _, text, _ in WRONG])
def test_a_contrast_that_cannot_be_meant_is_told_with_what_is_known(factors: Factors, text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_contrast(text, factors)
    assert told in str(error.value)


def test_a_text_made_to_have_endless_readings_is_refused_soon() -> None:
    levels = tuple(" - ".join("a" * times) for times in range(1, 30))
    with pytest.raises(UsageError):
        parse_contrast("f: " + " - ".join("a" * 100) + " !", Factors((Factor("f", levels),)))


def test_a_main_effect_is_averaged_over_the_other_factors() -> None:
    found = weigh(parse_contrast("a: 1 - 0", CROSSED), CROSSED, CROSSED.cells)
    assert found is not None
    assert found.weights == {("0", "0"): -0.5, ("0", "1"): -0.5, ("1", "0"): 0.5, ("1", "1"): 0.5}
    assert len(found.groups) == 2


def test_an_interaction_is_a_difference_of_differences() -> None:
    found = weigh(parse_contrast("a: 1 - 0 × b: 1 - 0", CROSSED), CROSSED, CROSSED.cells)
    assert found is not None
    assert found.weights == {("1", "1"): 1.0, ("1", "0"): -1.0, ("0", "1"): -1.0, ("0", "0"): 1.0}


def test_a_level_that_lacks_a_cell_is_averaged_over_the_levels_that_have_both() -> None:
    cells = [cell for cell in CROSSED.cells if cell != ("2", "1")]
    found = weigh(parse_contrast("a: 2 - 0", CROSSED), CROSSED, cells)
    assert found is not None and found.weights == {("2", "0"): 1.0, ("0", "0"): -1.0}


def test_every_level_is_set_against_the_first_and_every_two_factors_together() -> None:
    names = [one.name for one in exploratory(CROSSED, CROSSED.cells)]
    assert names == ["a: 1 - 0", "a: 2 - 0", "b: 1 - 0", "a: 1 - 0 × b: 1 - 0", "a: 2 - 0 × b: 1 - 0"]
    assert len(exploratory(FIRM, FIRM.cells)) == 2 + 1 + 3 + 2 * 1 + 2 * 3 + 1 * 3


def test_in_step_each_step_is_set_against_the_first() -> None:
    found = exploratory(STEPS, STEPS.cells)
    assert [one.name for one in found] == ["large, low - small, low", "large, high - small, low"]
    asked = weigh(parse_contrast("model: large - small", STEPS), STEPS, STEPS.cells)
    assert asked is not None
    assert asked.weights == {("large", "low"): 0.5, ("large", "high"): 0.5, ("small", "low"): -1.0}


@pytest.mark.parametrize(
    ("key", "redraws"),
    [
        ("secret_game.num_interactions", True),
        ("simulation.entity_ids", True),
        ("entities", True),
        ("entities.*.description", False),
        ("secret_game.pairing", True),
        ("batch.seed", True),
        ("agents.Ada.instructions", False),
        ("secret_game.mode", False),
        ("simulation.context", False),
    ],
)
def test_some_keys_change_who_or_what_is_drawn(key: str, redraws: bool) -> None:
    assert Factor("f", ("0", "1"), frozenset({key})).redraws == redraws
