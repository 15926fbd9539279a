import pytest

from tidepool.engine.studies.evolution.evaluator import Generation, StopRules, generations_without_progress, stopped_by

RULES = StopRules(target_fitness=0.85, max_generations=6, stagnation=3)


def history(*best: float, diversity: float = 0.5) -> list[Generation]:
    return [Generation(number, value, value / 2, diversity) for number, value in enumerate(best)]


@pytest.mark.parametrize(
    ("past", "reason"),
    [
        ([], None),
        (history(0.5, 0.6), None),
        (history(0.5, 0.85), "target_fitness"),
        (history(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), "max_generations"),
        (history(0.1, 0.2, 0.3, 0.4, 0.5, 0.9), "target_fitness"),
        (history(0.5, 0.5, 0.5, 0.5), "stagnation"),
        (history(0.5, 0.5, 0.5), None),
        (history(0.5, 0.4, 0.5005, 0.4), "stagnation"),
        (history(0.5, 0.5, 0.5, 0.6), None),
        (history(0.5, 0.6, diversity=0.01), "diversity"),
    ],
)
def test_the_rule_that_ends_a_run_is_named(past: list[Generation], reason: str | None) -> None:
    assert stopped_by(past, RULES) == reason


def test_stagnation_of_zero_never_stops() -> None:
    assert stopped_by(history(*[0.5] * 90), StopRules(stagnation=0)) is None


def test_creeping_up_by_tiny_amounts_counts_once_it_adds_up() -> None:
    creeping = history(0.5, 0.5004, 0.5008, 0.5012)
    assert generations_without_progress(creeping) == 0
