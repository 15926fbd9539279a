"""Studies that name agents and entities by their ids in the file's library."""

import json
from pathlib import Path

import pytest

from tests.support.state import query
from tidepool import Agent, Entity, SecretGame, Service, Simulation, load_config, run_batch
from tidepool.engine.config.freezing import freeze, load_frozen
from tidepool.engine.config.library import agent_from_entity, agent_of, content_id, stored_agent, stored_entity
from tidepool.engine.errors import UsageError
from tidepool.storage import library
from tidepool.storage.file import prepare

ADA = Entity("Ada", "A miller", {"age": 61})
BOB = Entity("Bob", "A baker", {"age": 34})


@pytest.fixture
def filled(database: Path) -> Path:
    prepare(database)
    library.add(database, [stored_entity(ADA), stored_entity(BOB, "human")])
    agents = [agent_from_entity(entity, "simulated:trusting", entity.name[::-1] + "word") for entity in (ADA, BOB)]
    library.add(database, [stored_agent(agent) for agent in agents])
    return database


def test_an_id_says_the_name_and_depends_on_the_content_alone() -> None:
    same = Entity("Ada", "A miller", {"age": 61})
    assert stored_entity(ADA).id == stored_entity(same, "human").id
    assert stored_entity(ADA).id.startswith("ada-")
    assert stored_entity(ADA).id != stored_entity(ADA.with_attribute("age", 62)).id
    assert content_id("Čeněk O'Hara", {}).startswith("cenek-o-hara-")
    assert content_id("日本", {})


def test_an_entity_becomes_an_agent_that_is_told_who_it_is() -> None:
    agent = agent_from_entity(ADA, "gpt4o_mini", "marigold")
    assert agent.name == "Ada" and agent.secret == "marigold"
    assert "A miller" in agent.instructions and "age: 61 years" in agent.instructions
    assert agent_of(stored_agent(agent)) == agent


async def test_entity_ids_are_taken_in_and_frozen(filled: Path) -> None:
    study = Simulation(context="A mill", entity_ids=["*"], num_simulations=1)
    summary = await run_batch(study, filled)
    assert summary["status"] == "completed"
    frozen = json.loads(query(filled, "SELECT config FROM batches")[0][0])
    assert [entity["id"] for entity in frozen["entities"]] == [stored_entity(ADA).id, stored_entity(BOB).id]
    assert frozen["simulation"]["entity_ids"] == []
    library.remove(filled, "entity", ["*"])
    assert load_frozen(json.dumps(frozen)).entities == frozen["entities"]
    details = json.loads(query(filled, "SELECT details FROM unit WHERE sequence_number = 1")[0][0])
    assert details["entity_ids"] == [stored_entity(ADA).id, stored_entity(BOB).id]


async def test_agent_ids_join_the_agents_of_the_config(filled: Path) -> None:
    cleo = Agent(name="Cleo", model="simulated:guarded", secret="harbour")
    study = SecretGame(agents=[cleo], num_interactions=3, service=Service(name="live"))
    study = study.model_copy(update={"agent_ids": ["ada", "bob"]})
    summary = await run_batch(study, filled)
    assert set(summary["statistics"]["agents"]) == {"Ada", "Bob", "Cleo"}


def _config(folder: Path, entity_ids: str) -> Path:
    path = folder / "s.toml"
    path.write_text(
        f'[batch]\nkind = "simulation"\n[simulation]\ncontext = "A mill"\nentity_ids = {entity_ids}\nnum_simulations = 1\n'
    )
    return path


def test_a_dry_run_sees_the_library(filled: Path, tmp_path: Path) -> None:
    config = freeze(load_config(_config(tmp_path, '["ada", "bob"]')), filled)
    assert [entity["name"] for entity in config.entities] == ["Ada", "Bob"]


def test_ids_without_a_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        freeze(load_config(_config(tmp_path, '["ada"]')), tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
