"""Mistakes in configs: each error names the line and the cure, and what it suggests is accepted."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.engine.config.freezing import freeze, remarks_on
from tidepool.engine.config.loading import config_from, load_config
from tidepool.engine.config.toml_files import Lines, parse_toml
from tidepool.engine.design.cells import plan_study
from tidepool.engine.errors import UsageError

ROOT = Path(__file__).parents[3]
LONGEST = 600
"""letters of an error"""

GAME = """\
[batch]
kind = "secret_game"
name = "Trial"
seed = 42

[service]
name = "live"
max_concurrent = 10

[secret_game]
num_interactions = 4
messages_per_interaction = 3

[[agents]]
name = "Ada"
model = "simulated:guarded"
secret = "marigold"

[[agents]]
name = "Bob"
model = "simulated:trusting"
secret = "lantern"
"""
PANEL = """\
[batch]
kind = "simulation"

[simulation]
context = "A panel on climate policy"
interaction_size = 2
num_simulations = 3

[[entities]]
name = "Hypatia"
description = "Mathematician of Alexandria"
attributes = { openness = 9, age = 45 }

[[entities]]
name = "Darwin"
description = "Naturalist"
"""
EVOLUTION = """\
[batch]
kind = "evolution"

[evolution]
model = "simulated:solver"
mutator = "simulated:rewriter"
population_size = 10
max_generations = 5
elite_size = 2
"""
NO_AGENTS, NO_ENTITIES = GAME[: GAME.index("[[agents]]")], PANEL[: PANEL.index("[[entities]]")]
ONE_AGENT = GAME[: GAME.rindex("[[agents]]")]
STOP = '\n[stop]\noutcome = "revealed"\n'
LEVELS = (
    '\n[design.factors]\n"secret_game.mode" = ["standard", "retained"]\n[[design.hypotheses]]\noutcome = "revealed"\n'
)

EDITS: list[tuple[str, str, str, int, str]] = [
    # -- TOML
    (GAME, "seed = 42", "seed: 42", 4, "seed = 42"),
    (GAME, 'name = "Trial"', '"name": "Trial"', 3, 'name = "Trial"'),
    (GAME, "max_concurrent = 10", "cache = True", 8, "cache = true"),
    (GAME, '"Trial"', "My first trial", 3, 'name = "My first trial"'),
    (GAME, '"simulated:guarded"', "simulated:guarded", 16, 'model = "simulated:guarded"'),
    (GAME, '"marigold"', '"marigold', 17, 'secret = "marigold"'),
    (GAME, '"lantern"', "'lantern", 22, 'secret = "lantern"'),
    (GAME, "seed = 42", "seed = 42,", 4, "Write seed = 42"),
    (GAME, "seed = 42", "seed 42", 4, "seed = 42"),
    (GAME, "[service]", "[service", 6, "not valid TOML"),
    (GAME, "seed = 42", "seed = 42\nseed = 43", 5, "seed appears twice"),
    (GAME, '\n[[agents]]\nname = "Bob"', 'name = "Bob"', 18, "name appears twice"),
    (GAME, "seed = 42", "! seed 42", 4, "not valid TOML"),
    # -- sections
    (GAME, "[batch]", "[[batch]]", 1, "[batch]"),
    (GAME, "[secret_game]", "[[secret_game]]", 10, "[secret_game]"),
    (GAME, "[service]", "[services]", 6, "Did you mean [service]?"),
    # -- keys
    (GAME, "max_concurrent", "max_concurent", 8, "'max_concurrent'"),
    (GAME, "max_concurrent", "max-concurrent", 8, "'max_concurrent'"),
    (GAME, "seed = 42", "seed = 42\nmax_concurrent = 5", 5, "[service]"),
    (GAME, "seed = 42", "num_interactions = 9", 4, "[secret_game]"),
    (GAME, "num_interactions = 4", "temperature = 0.2", 11, "[[agents]]"),
    (GAME, "num_interactions = 4", 'agent_ids = ["ada"]', 11, "first section"),
    (GAME, 'model = "simulated:trusting"\n', "", 19, "agents[1].model is missing"),
    (PANEL, "description =", "desciption =", 11, "description"),
    # -- values
    (GAME, "seed = 42", 'seed = "42"', 4, "Write seed = 42."),
    (GAME, "seed = 42", "seed = true", 4, "expected a whole number"),
    (GAME, "num_interactions = 4", "num_interactions = 4.5", 11, "Write num_interactions = 4."),
    (GAME, "num_interactions = 4", 'detection = "exact,fuzzy"', 11, 'Write detection = ["exact", "fuzzy"].'),
    (GAME, "max_concurrent = 10", 'cache = "true"', 8, "Write cache = true."),
    (GAME, '"Trial"', "2026", 3, 'Write name = "2026".'),
    (GAME, '"live"', '"lve"', 7, "'live'"),
    (GAME, "max_concurrent = 10", "max_concurrent = 0", 8, "must be at least 1"),
    (EVOLUTION, "population_size = 10", 'selection = "tournement"', 7, "'tournament'"),
    (EVOLUTION, "population_size = 10", 'seed_prompts = "Think, then answer."', 7, '["Think, then answer."]'),
    (EVOLUTION, "population_size = 10", "problems = { min = 1 }", 7, "problems = { min = 1 }: expected text."),
    (EVOLUTION, "elite_size = 2", "elite_size = 10", 9, "room"),
    (GAME, 'secret = "marigold"', 'secret = "marigold"\ntemperature = 3.5', 18, "must be at most 2"),
    # -- who is meant
    (GAME, "simulated:guarded", "simulated:gaurded", 16, "guarded"),
    (GAME, "simulated:guarded", "simulatd:guarded", 16, "simulated:guarded"),
    (GAME, "simulated:guarded", "gpt4o_mni", 16, "'gpt4o_mini'"),
    (GAME, "simulated:guarded", "openai/gpt-4o-mini", 16, "openai:gpt-4o-mini"),
    (GAME, "num_interactions = 4", 'mode = "targeted"\ntargeted_secret = "marigld"', 12, "'marigold'"),
]
"""a sound config, what is replaced in it by what, the line of the error, and its cure"""

TEXTS: list[tuple[str, int, str]] = [
    ("batch:\n  kind: secret_game\nsecret_game:\n  rounds: 2\n", 1, "[batch]"),
    ("---\nbatch:\n  kind: simulation\n", 1, "[batch]"),
    ('{"batch": {"kind": "secret_game"}, "secret_game": {}}', 1, "[batch]"),
    (GAME + "\n[service]\nretries = 2\n", 24, "service appears twice"),
    (GAME + "\n[simulation]\nn_turns = 2\n", 24, "Remove"),
    (GAME + '\n[providers.openai]\napi_key = "sk-1"\n', 25, "environment"),
    (GAME + '\n[providers.openai.prices]\n"x" = { input = 1.0, ouput = 2.0 }\n', 25, "output"),
    (GAME + "\n[mood]\nrain = 1\n", 24, "Known sections are [batch], [service], [providers], [[agents]], [[entities]]"),
    (ONE_AGENT.replace("[[agents]]", "[agents]"), 14, "[[agents]]"),
    (GAME.replace("[[agents]]", "[agents]"), 19, "[[agents]]"),
    (GAME.replace("[[agents]]", "[[agent]]"), 14, "[[agents]]"),
    (NO_AGENTS + 'agents = ["Ada"]\n', 14, "[[agents]]"),
    ('agents = ["ada", "bob"]\n' + NO_AGENTS, 1, "agent_ids"),
    ('entities = "ada, bob"\n' + NO_ENTITIES, 1, "entity_ids"),
    (GAME + STOP + 'half_width = 0.05\nagent = "Adda"\n', 27, "'Ada'"),
    (GAME + STOP + 'decided = true\ndifference = "Ada - Bbo"\n', 27, "'Bob'"),
    (GAME + '\n[design.factors]\n"agents.Adda.secret" = ["a", "b"]\n', 25, "'Ada'"),
    (GAME + '\n[design.factors]\nsecret_game.mode = ["standard", "retained"]\n', 25, '"secret_game.mode"'),
    (GAME + LEVELS + 'contrast = "secret_game.mode: standrd - retained"\n', 28, "standard"),
]
"""a whole config, the line of the error, and its cure"""
CASES = [*((text.replace(old, new, 1), line, fix) for text, old, new, line, fix in EDITS), *TEXTS]


def message(text: str, folder: Path, *options: str) -> str:
    """What is said about the config by whoever loads it to run it; empty if it is accepted."""
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        config = load_config(path, options)
        (freeze if config.design is None else plan_study)(config, folder / "none.db")
    except UsageError as error:
        return str(error)
    return " ".join(remarks_on(config))


@pytest.mark.parametrize(("text", "line", "fix"), CASES, ids=[one[2] for one in EDITS] + [one[2] for one in TEXTS])
def test_an_error_names_the_line_and_the_cure(text: str, line: int, fix: str, tmp_path: Path) -> None:
    found = message(text, tmp_path)
    assert found.startswith(f"{tmp_path / 'study.toml'}, line {line}: ") and len(found) < LONGEST, found
    assert fix in found


def test_several_errors_each_have_their_line(tmp_path: Path) -> None:
    found = message(GAME.replace("seed = 42", 'seed = "42"').replace("max_concurrent", "max_concurent"), tmp_path)
    assert "study.toml, line 4: batch.seed" in found and "Line 8: unknown key service.max_concurent." in found


@pytest.mark.parametrize("option", ["service.max_concurrent=0", "agents.Ada.secret=42", "agents=3"])
def test_an_error_of_an_override_has_no_line(option: str, tmp_path: Path) -> None:
    assert re.search(r"study\.toml: (service|agents)", message(GAME, tmp_path, option))


def test_a_file_in_another_encoding_is_an_error_that_says_how_to_save_it(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(GAME.replace("Trial", "Bär").encode("latin-1"))
    with pytest.raises(UsageError, match="line 3: this is not UTF-8 text"):
        load_config(path)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab[]{}=:\"'#,;.\n -/1“”\u00a0\\"), max_size=40), st.integers(0, len(GAME)))
def test_whatever_is_typed_into_a_config_is_accepted_or_a_usage_error(typed: str, at: int) -> None:
    text = GAME[:at] + typed + GAME[at:]
    try:
        config_from(parse_toml(text, "study.toml"), source="study.toml", lines=Lines(text))
    except UsageError as error:
        assert str(error).startswith("study.toml")


@pytest.mark.parametrize("text", [GAME, PANEL, EVOLUTION, "\ufeff" + GAME.replace("\n", "\r\n")])
def test_a_sound_config_is_accepted(text: str, tmp_path: Path) -> None:
    assert message(text, tmp_path) == ""


@pytest.mark.parametrize("line", ['max_calls = "{}"', 'seed_prompts = "{}"'])
def test_a_value_of_thousands_of_digits_is_refused_in_a_short_sentence(line: str, tmp_path: Path) -> None:
    found = message(EVOLUTION.replace("[evolution]", f"[evolution]\n{line.format(5_000 * '9')}"), tmp_path)
    assert "99999" in found and len(found) < 500
