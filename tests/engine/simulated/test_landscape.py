import pytest

from tidepool.engine.simulated.landscape import chance, read_prompt
from tidepool.engine.studies.evolution.genome import SEED_PROMPTS

STEP = "Solve it step by step."


def arithmetic(prompt: str, level: int = 3, model: str = "solver") -> float:
    return chance(model, prompt, "arithmetic", level)[0]


@pytest.mark.parametrize(
    ("prompt", "hints", "harms"),
    [
        ("", {}, set()),
        (STEP, {"step": 1}, set()),
        ("STEP BY   STEP! Show your work.", {"step": 2}, set()),
        ("Step by step, one step at a time.", {"step": 1}, set()),
        ("Do not check.", {}, {"careless"}),
        ("Do not guess.", {}, set()),
        ("Guess.", {}, {"guess"}),
        ("Eat a vegetable.", {}, set()),
        ("Checking helps.", {"check": 1}, set()),
    ],
)
def test_a_prompt_is_read_for_what_it_says(prompt: str, hints: dict[str, int], harms: set[str]) -> None:
    reading = read_prompt(prompt)
    assert dict(reading.hints) == hints
    assert set(reading.harms) == harms


def test_on_the_flat_landscape_no_prompt_is_better() -> None:
    prompts = [prompt for family in SEED_PROMPTS.values() for prompt in family]
    assert len({arithmetic(prompt, model="flat-solver") for prompt in prompts}) == 1
