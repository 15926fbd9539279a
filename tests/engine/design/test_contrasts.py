"""What is asked of a design: read by the names it knows, and turned into weights of cells."""

import pytest

from tidepool.engine.errors import UsageError
from tidepool.engine.inference.hypotheses import Factor, Factors, exploratory, parse_contrast, weigh

FIRM = Factors(
    (
        Factor("firmness", ("plain", "firm", "very firm")),
        Factor("secret_game.mode", ("standard", "retained")),
        Factor("agents.Ada.model", ("gpt-4o", "gpt-4o-mini", "local:qwen3", "o3")),
    )
)
NASTY = Factors(
    (
        Factor("tone", ("a", "b", "a - b", "a x b", "a × b", "a | b", "a: b", "a = b", "a, b")),
        Factor("tone of voice", ("a", "loud", "x", "-", "×")),
        Factor("x", ("0", "1", "-1", "0.5", "1e-3", "true", "false")),
        Factor("prompt", ("Never yield.", "Never yield. Ever.", "Sag „nein“", "坚定", "é", "  two  spaces  ")),
    )
)
STEPS = Factors((Factor("model", ("small", "large", "large")), Factor("budget", ("low", "low", "high"))), mode="paired")

INTERACTION = "firmness: firm - plain × secret_game.mode: retained - standard"
AS_WRITTEN: list[tuple[Factors, list[str]]] = [
    (
        FIRM,
        [
            "firmness: firm - plain",
            "agents.Ada.model: gpt-4o-mini - gpt-4o",
            "agents.Ada.model: local:qwen3 - gpt-4o",
            "firmness: firm - plain | agents.Ada.model = local:qwen3",
            "secret_game.mode: retained - standard | firmness = very firm",
            INTERACTION,
        ],
    ),
    (
        NASTY,
        ["tone: a - b", "tone: a - a x b", "tone: b - a | b", "tone: a = b - a", "tone: a = b - a, b", "x: -1 - 1"],
    ),
    (NASTY, ["tone of voice: x - a", "tone of voice: - - a", "tone: b - a | x = 0.5", "x: 1 - 0 | tone = a = b"]),
    (NASTY, ["x: 1 - 0 | tone = a, prompt = é", "prompt: Never yield. - é", "prompt: Sag „nein“ - é"]),
    (STEPS, ["model: large - small", "model: large - small | budget = low"]),
]
MEANT: list[tuple[Factors, str, str]] = [
    *((factors, text, text) for factors, texts in AS_WRITTEN for text in texts),
    # a main effect, however it is spaced
    (FIRM, "  firmness :  firm  -  plain  ", "firmness: firm - plain"),
    (FIRM, "firmness: firm \u2212 plain", "firmness: firm - plain"),
    (FIRM, "firmness: very  firm-plain", "firmness: very firm - plain"),
    (FIRM, 'firmness: "firm" - "plain"', "firmness: firm - plain"),
    (FIRM, '"firmness": “firm” - plain', "firmness: firm - plain"),
    (FIRM, "agents.Ada.model: gpt-4o-mini-gpt-4o", "agents.Ada.model: gpt-4o-mini - gpt-4o"),
    # within a level, and interactions
    (FIRM, "firmness: firm - plain|secret_game.mode=retained", "firmness: firm - plain | secret_game.mode = retained"),
    (FIRM, "firmness: firm - plain X secret_game.mode: retained - standard", INTERACTION),
    (FIRM, "firmness:firm-plain×secret_game.mode:retained-standard", INTERACTION),
    (FIRM, f"{INTERACTION.replace('×', 'x')} | agents.Ada.model = o3", f"{INTERACTION} | agents.Ada.model = o3"),
    # levels that look like signs
    (Factors((Factor("f", ("a", "a - a")),)), 'f: "a - a" - a', "f: a - a - a"),
    (NASTY, 'tone: b - "a - b"', "tone: b - a - b"),
    (NASTY, "tone of voice: loud - a x x: 1 - 0", "tone of voice: loud - a × x: 1 - 0"),
    (NASTY, "x: 1--1", "x: 1 - -1"),
    (NASTY, "x: 1 - 0 x tone: b - a", "x: 1 - 0 × tone: b - a"),
    (NASTY, "prompt: Never yield.-Never yield. Ever.", "prompt: Never yield. - Never yield. Ever."),
    (NASTY, "prompt: e\u0301 - 坚定", "prompt: é - 坚定"),
    (NASTY, "prompt: two spaces - é", "prompt:   two  spaces   - é"),
]

WRONG: list[tuple[Factors, str, str]] = [
    (FIRM, "firmness: frim - plain", "Did you mean 'firm'"),
    (FIRM, "firmness: Firm - plain", "Did you mean 'firm'"),
    (FIRM, "firmnes: firm - plain", "Did you mean 'firmness'"),
    (FIRM, "mode: retained - standard", "Did you mean 'secret_game.mode'"),
    (FIRM, "secret_game.mode: kept - standard", "secret_game.mode: 'standard', 'retained'"),
    (FIRM, "", "cannot be read"),
    (FIRM, "firmness", "factor: level - level"),
    (FIRM, "firmness: firm", "factor: level - level"),
    (FIRM, "firmness: firm plain", "factor: level - level"),
    (FIRM, "firmness: firm - plain and so on", "cannot be read"),
    (FIRM, "firmness: firm - plain | secret_game.mode", "cannot be read"),
    (FIRM, "firmness: firm - plain |", "cannot be read"),
    (FIRM, "firmness: firm - plain ×", "cannot be read"),
    (FIRM, "firmness: firm - plain × | secret_game.mode = standard", "cannot be read"),
    (FIRM, "firmness: firm - plain | secret_game.mode = retained,", "cannot be read"),
    (FIRM, "firmness: firm - plain | mode = retained", "Did you mean 'secret_game.mode'"),
    (FIRM, "firmness: firm - firm", "with itself"),
    (FIRM, "firmness: firm - plain × firmness: very firm - plain", "'firmness' twice"),
    (FIRM, "firmness: firm - plain | firmness = firm", "also compares"),
    (FIRM, "firmness: firm - plain | secret_game.mode = retained, secret_game.mode = standard", "also compares"),
    (FIRM, "x" * 5_000, "cannot be read"),
    (FIRM, "firmness: [red]firm[/red] - plain", "cannot be read"),
    (NASTY, "tone of voice: - a", "factor: level - level"),
    (STEPS, "model: large - small × budget: high - low", "item by item"),
    (STEPS, "model: large - small | budget = high", "item by item"),
    (Factors(()), "firmness: firm - plain", "are none"),
]


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
