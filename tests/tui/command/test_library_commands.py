"""`tidepool entities` and `tidepool agents`, as a user types them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tidepool.tui.command.main import main

Typed = Callable[..., str]


@pytest.fixture
def typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Runs a command that must succeed, and returns what it printed."""

    def run(*words: str, code: int = 0) -> str:
        assert main(["--db", str(tmp_path / "s.db"), *words]) == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    return run


def test_generated_entities_are_the_same_by_seed_and_kept_once(typed: Typed) -> None:
    first = json.loads(typed("entities", "generate", "--type", "human", "-n", "5", "--seed", "1", "--json"))
    again = json.loads(typed("entities", "generate", "--type", "human", "-n", "7", "--seed", "1", "--json"))
    assert first["added"] == 5 and (again["added"], again["known"]) == (2, 5)
    assert again["ids"][:5] == first["ids"]
    assert "human" in typed("entities", "list")
    assert json.loads(typed("entities", "show", first["ids"][0], "--json"))[0]["attributes"]["age"] >= 18


def test_a_listing_is_a_file_that_can_be_added_elsewhere(typed: Typed, tmp_path: Path) -> None:
    typed("entities", "generate", "-n", "3")
    listing = typed("entities", "list", "--json")
    (tmp_path / "people.json").write_text(listing)
    typed("--db", str(tmp_path / "other.db"), "entities", "add", str(tmp_path / "people.json"))
    moved = json.loads(typed("--db", str(tmp_path / "other.db"), "entities", "list", "--json"))
    assert [entity["id"] for entity in moved] == [entity["id"] for entity in json.loads(listing)]


def test_a_type_of_ones_own_generates_and_its_texts_are_written_by_a_model(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "villager.toml").write_text(
        'name = "villager"\nportrait = "{name}, a {trade}. {childhood}"\n'
        '[[dimensions]]\nname = "trade"\nkind = "categorical"\noptions = ["baker", "smith"]\n'
        '[[dimensions]]\nname = "childhood"\nkind = "text"\nprompt = "Two sentences on the childhood of {name}."\n'
    )
    typed("entities", "add", str(tmp_path / "villager.toml"))
    assert "villager" in typed("entities", "types")
    typed("entities", "generate", "--type", "villager", "-n", "2")
    bare = json.loads(typed("entities", "list", "--type", "villager", "--json"))
    assert all("childhood" not in entity["attributes"] for entity in bare)
    typed("entities", "remove", "*")
    typed("entities", "generate", "--type", "villager", "-n", "2", "--model", "simulated:persona", "--backstory")
    told = json.loads(typed("entities", "list", "--json"))
    assert all(len(entity["attributes"]["childhood"]) > 20 for entity in told)
    assert all(entity["attributes"]["childhood"] in entity["description"] for entity in told)
    assert all(len(entity["attributes"]["backstory"]) > 20 for entity in told)
    typed("entities", "remove", "--type", "villager")
    assert "villager" not in typed("entities", "types")


def test_agents_are_added_made_of_entities_and_generated(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "name,model,secret,max_tokens\nAda,simulated:guarded,marigold,120\nBob,gpt4o_mini,lantern,\n"
    )
    typed("agents", "add", str(tmp_path / "a.csv"))
    typed("entities", "generate", "-n", "1", "--seed", "3")
    entity = json.loads(typed("entities", "list", "--json"))[0]
    typed("agents", "add", "--entity", entity["id"], "--model", "simulated:trusting")
    typed("agents", "generate", "--type", "organisation", "-n", "4", "--model", "simulated:bargainer")
    agents = json.loads(typed("agents", "list", "--json"))
    assert [agent["max_tokens"] for agent in agents[:2]] == [120, 300]
    assert agents[2]["name"] == entity["name"] and entity["description"] in agents[2]["instructions"]
    assert len({agent["secret"] for agent in agents}) == 7
    assert "marigold" in typed("agents", "show", agents[0]["id"])
    typed("agents", "remove", agents[0]["id"])
    assert len(json.loads(typed("agents", "list", "--json"))) == 6


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["entities", "generate", "--type", "humna"], "did you mean 'human'"),
        (["entities", "generate", "-n", "0"], "Request 1 or more"),
        (["entities", "generate", "--backstory"], "needs a model"),
        (["entities", "add", "missing.csv"], "missing.csv."),
        (["entities", "show", "x"], "There is no file"),
        (["entities", "remove"], "Give the ids"),
        (["agents", "generate", "-n", "2"], "needs --model"),
        (["agents", "add"], "Give a FILE"),
        (["agents", "add", "--from-champion", "last"], "needs --model"),
        (["agents", "add", "--from-champion", "last", "--model", "gpt4o_mini"], "There is no file"),
        (["agents", "add", "--entity", "ada", "--name", "Bob"], "An entity keeps its own name"),
        (["agents", "generate", "--model", "gpt4o_mnii"], "did you mean 'gpt4o_mini'"),
    ],
)
def test_mistakes_are_told_and_leave_no_file(typed: Typed, tmp_path: Path, words: list[str], complaint: str) -> None:
    code = 1 if "no file" in complaint else 2
    assert complaint in typed(*words, code=code)
    assert not (tmp_path / "s.db").exists()


EVOLUTION = """
[batch]
kind = "evolution"
[evolution]
population_size = 4
elite_size = 1
max_generations = 1
max_problems = 4
validation_problems = 4
"""


def test_the_prompt_that_won_an_evolution_becomes_an_agent(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(EVOLUTION)
    champion = json.loads(typed("--run", str(tmp_path / "e.toml"), "--json"))["statistics"]["champion"]
    typed("agents", "add", "--from-champion", "last", "--model", "simulated:guarded", "--name", "Winner")
    typed("agents", "add", "--from-champion", "last", "--model", "simulated:guarded", "--secret", "marigold")
    winner, other = json.loads(typed("agents", "list", "--json"))
    assert winner["name"] == "Winner" and winner["instructions"] == champion["prompt"] and winner["secret"]
    assert (other["name"], other["secret"]) == ("Champion", "marigold")
    assert "no batch" in typed("agents", "add", "--from-champion", "zzz", "--model", "gpt4o_mini", code=2).lower()
