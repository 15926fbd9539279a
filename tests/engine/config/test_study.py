"""Studies and their parts, built in code: every keyword is known, documented, and told when it is wrong."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from tidepool import Agent, Entity, Evolution, Mutation, SecretGame, Service, Simulation, Study, UsageError
from tidepool.engine.config.freezing import freeze
from tidepool.engine.config.loading import config_from

STUDIES: list[type[Study]] = [SecretGame, Simulation, Evolution, Mutation]
ADA = Agent(name="Ada", model="simulated:guarded", secret="marigold")
BOB = Agent(name="Bob", model="simulated:trusting", secret="lantern")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Agent(nam="Ada", model="gpt4o_mini"), "Agent: name is missing. unknown key nam. Did you mean 'name'?"),
        (lambda: Service(max_concurent=5), "Service: unknown key max_concurent. Did you mean 'max_concurrent'?"),
        (
            lambda: SecretGame(agents=[ADA], scoring={"bth": 1}),
            "SecretGame: unknown key scoring.bth. Did you mean 'both'?",
        ),
        (lambda: SecretGame(mode="targeted"), "SecretGame: mode targeted needs targeted_secret."),
        (
            lambda: Simulation(entities=["Ada"]),
            'Simulation: entities[0] = "Ada": input should be an instance of Entity.',
        ),
        (lambda: Entity(""), "Entity, name: the name is missing."),
        (lambda: Entity("Ada", attributes=["tall"]), "Entity, attributes: expected names and values."),
        (lambda: Mutation(learner="bandits"), "Mutation: learner = \"bandits\": expected 'bandit', 'ppo' or 'random'."),
    ],
)
def test_a_mistake_in_code_is_told_in_the_words_of_the_command_line(make: Callable[[], object], words: str) -> None:
    with pytest.raises(UsageError) as told:
        make()
    assert str(told.value).startswith(words)
    assert told.value.__context__ is None or told.value.__suppress_context__, "pydantic's own words stay away"


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_takes_every_key_of_its_section(study: type[Study]) -> None:
    assert study.settings_type.model_fields.keys() <= signature(study).parameters.keys()


def test_what_is_left_out_in_code_is_left_out_in_the_config() -> None:
    """Some rules ask whether a key was written: 100 conversations are meant only where no length is given at all."""
    assert SecretGame(agents=[ADA, BOB]).as_config().settings.model_dump()["num_interactions"] == 100
    assert SecretGame(agents=[ADA, BOB], rounds=2).as_config().settings.model_dump()["num_interactions"] is None
    assert "elite_size" not in Evolution(population_size=4).as_config().settings.model_fields_set


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_with_nothing_said_is_the_config_with_nothing_said(study: type[Study]) -> None:
    kind = study.model_fields["kind"].default
    assert study().as_config().as_written() == config_from({"batch": {"kind": kind}, kind: {}}).as_written()


def test_a_study_that_is_changed_after_it_was_made_is_checked_again(tmp_path: Path) -> None:
    study = SecretGame(agents=[ADA, BOB])
    study.num_interactions = 3
    assert freeze(study, tmp_path / "none.db").settings.model_dump()["num_interactions"] == 3
    study.num_interactions = 0
    with pytest.raises(UsageError, match="num_interactions = 0"):
        study.as_config()
