"""Methods say what was done, also where a study does not go the usual way."""

import json
import sqlite3
from typing import Any

from tidepool.engine.config.freezing import load_frozen
from tidepool.engine.config.stored import StoredConfig
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.methods import methods

STATISTICS: dict[str, Any] = {"generations": [], "genomes": {"total": 0, "missing": None}, "search_calls": 0}


def told(statistics: dict[str, Any] | None = None, **settings: Any) -> str:
    config = StoredConfig(json.dumps({"evolution": EvolutionSettings(**settings).model_dump()}), load_frozen)
    found = methods({}, config, {**STATISTICS, **(statistics or {})}, sqlite3.connect(":memory:"))
    return " ".join((*found.design, *found.measures, *found.analysis))


def test_who_picked_the_champion_is_told_as_it_was() -> None:
    chosen = {"choosing": {"problems": 10, "prompts": 7, "calls": 70}}
    assert "The champion is the fittest prompt on the training problems." in told()
    assert "The champion was picked by its fitness on 10 problems" in told(chosen)
    several = {"objectives": ["accuracy", "-tokens"]}
    text = told(**several)
    assert "best in accuracy on the training problems" in text and "fittest" not in text
    assert "(accuracy and fewer tokens)" in text and "NSGA-II" in text
    assert "The champion was picked by accuracy on 10 problems" in told(chosen, **several)


def test_where_a_prompt_stands_and_how_replies_are_marked_are_told() -> None:
    assert "A prompt was the system prompt with which" in told()
    assert "A prompt was the message around the question" in told(seed_prompts=["Solve: {question}"])
    assert "where the label that it commits to was the expected one" in told(task="label", labels=["a", "b"])
    assert "numbers to within 0.001 and 1 %" in told(task="number")
