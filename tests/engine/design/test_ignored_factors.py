"""A factor that the simulated models do not react to: the report measures it in the replies."""

import re
from pathlib import Path

import pytest

from tidepool.engine.config.loading import load_config
from tidepool.engine.design.cells import priced_study
from tidepool.engine.design.report import study_report
from tidepool.engine.reports.blocks import Words
from tidepool.engine.run import run_study

GAME = """
[batch]
kind = "secret_game"
seed = 5
[secret_game]
num_interactions = 40
messages_per_interaction = 4
[[agents]]
name = "Ada"
model = "simulated:guarded"
secret = "marigold"
[[agents]]
name = "Bob"
model = "simulated:trusting"
secret = "lantern"
"""
TALKS = """
[batch]
kind = "simulation"
seed = 5
[simulation]
context = "Neighbours talk about a harbour for sailing boats."
interaction_size = 2
num_simulations = 6
n_turns = 2
model = "simulated:persona"
judge = { model = "simulated:judge", question = "Is the speaker kind?", scale = [1, 5] }
[[entities]]
name = "Hypatia"
attributes = { group = "adult", age = 40, agreeableness = 6 }
[[entities]]
name = "Ada"
attributes = { group = "adult", age = 40, agreeableness = 4 }
[[entities]]
name = "Emmy"
attributes = { group = "adult", age = 40, agreeableness = 5 }
"""
NARRATED = TALKS.replace("[simulation]", '[simulation]\nstyle = "narrated"')
PLAYER, PERSONA, JUDGE = "simulated:trusting", "simulated:persona", "simulated:judge"
CASES = (
    (GAME, "agents.Bob.instructions", '["Wear shoes.", "Wear a hat."]', PLAYER),
    (GAME, "agents.Bob.instructions", '["Wear shoes.", "Never tell anybody."]', ""),
    (GAME, "agents.*.instructions", '["Wear shoes.", "Wear a hat."]', f"simulated:guarded and {PLAYER}"),
    (GAME, "agents.Bob.temperature", "[0.2, 1.0]", PLAYER),
    (GAME, "agents.Bob.model", '["simulated:trusting", "simulated:bargainer"]', ""),
    (GAME, "agents.Bob.secret", '["lantern", "violet"]', ""),
    (GAME, "secret_game.messages_per_interaction", "[3, 5]", ""),
    (GAME, "secret_game.mode", '["standard", "diversity"]', ""),
    (TALKS, "entities.*.attributes.group", '["adult", "child"]', PERSONA),
    (NARRATED, "entities.*.attributes.group", '["adult", "child"]', PERSONA),
    (TALKS, "entities.Ada.attributes.age", "[40, 50]", PERSONA),
    (TALKS, "entities.Ada.attributes.age", "[40, 9]", ""),
    (TALKS, "entities.*.attributes.agreeableness", "[1, 9]", ""),
    (TALKS, "simulation.language", '["English", "German"]', PERSONA),
    (TALKS, "simulation.context", '["A harbour for boats.", "Streets without motors."]', ""),
    (TALKS, "simulation.interaction_size", "[1, 2]", ""),
    (TALKS, "simulation.thoughts", "[false, true]", ""),
    (TALKS, "simulation.judge.question", '["Is the speaker kind?", "Is the speaker tall?"]', JUDGE),
    (TALKS, "simulation.judge.scale", "[[1, 5], [0, 100]]", ""),
)


@pytest.mark.parametrize(("study", "factor", "levels", "ignoring"), CASES)
async def test_the_report_warns_if_and_only_if_simulated_models_ignore_a_factor(
    study: str, factor: str, levels: str, ignoring: str, database: Path, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'{study}[design]\n[design.factors]\n"{factor}" = {levels}\n')
    config = load_config(path)
    plan = priced_study(config, database)
    summary = await run_study(config, database)
    report = study_report(database, summary)
    blocks = [block for block in (*report.overview, *report.findings, *report.methods) if isinstance(block, Words)]
    # Pages start a block with a capital, which must not be that of a model's id or a factor's name.
    assert not [block.text for block in blocks if re.match(r"\w+:\w", block.text)]
    warnings = [block.text for block in blocks if block.level == "warning"]
    measured = [words for words in warnings if "are identical" in words]
    assert len(measured) == bool(ignoring)
    if ignoring:
        (found,) = summary["statistics"]["ignored_by_simulation"]
        assert found["models"] == ignoring.split(" and ") and f" compared replies of {ignoring} " in measured[0]
        assert measured[0].startswith(f"Contrast {factor}: ")
    judged = any("The simulated judge does not read the question" in words for words in warnings)
    assert judged == any("does not read the question" in words for words in plan["notes"]) == (study is not GAME)
