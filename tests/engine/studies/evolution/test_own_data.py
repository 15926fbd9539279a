"""A study on files of one's own, from its table to its report."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.results.test_methods import told
from tests.engine.studies.evolution.running import run, study
from tests.support.state import query
from tidepool.engine.studies.evolution.config import EvolutionSettings
from tidepool.engine.studies.evolution.inputs import with_problems

TEMPLATE = "{review}\n\nAnswer with one of: positive, negative."


def reviews(*texts: str) -> str:
    rows = [f'"{text}",{"positive" if "love" in text else "negative"},=1+1\n' for text in texts]
    return "review,mood,note\n" + "".join(rows)


async def test_labels_of_a_table_are_searched_on_and_judged(tmp_path: Path, database: Path) -> None:
    words = [f"{word} number {n}" for n in range(12) for word in ("I love", "I hate")]
    (tmp_path / "train.csv").write_text(reviews(*words[:16]))
    (tmp_path / "test.csv").write_text(reviews(*words[14:]))
    config = study(
        problems=str(tmp_path / "train.csv"),
        judge_from=str(tmp_path / "test.csv"),
        fields={"answer": "mood"},
        question_template=TEMPLATE,
        task="label",
        max_problems=10,
        max_generations=1,
        population_size=4,
        seed_final=False,
    )
    summary = await run(config, database)
    found = summary["statistics"]
    splits = dict(query(database, "SELECT split, count(*) FROM problem GROUP BY split"))
    assert splits == {"search": 10, "judge": 10}
    assert found["champion"]["validation_problems"] == 10
    read = query(database, "SELECT DISTINCT extracted FROM answers WHERE correct")
    assert set(read) == {("positive",), ("negative",)}
    short, freed = (row[0] for row in query(database, "SELECT message FROM log WHERE level = 'warning'"))
    assert freed == "Problems of train.csv that also occur in test.csv and are left out of the training: 2."
    assert short.startswith("There are fewer different problems")
    assert "answered problems of train.csv and test.csv (10 problems for training" in told(database)


@pytest.mark.parametrize(("keys", "warned"), [({}, True), ({"task": "label"}, False), ({"model": "gpt4o_mini"}, False)])
def test_what_measures_nothing_is_said_before_the_run(keys: dict[str, Any], warned: bool, tmp_path: Path) -> None:
    lines = [{"question": f"Is it so, {n}?", "answer": "yes" if n % 2 else "no"} for n in range(8)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, lines)))
    settings = EvolutionSettings.model_validate({"problems": "own.jsonl", **keys})
    frozen = with_problems(settings, 1, tmp_path).frozen
    assert frozen is not None and any("does not know answers" in note for note in frozen.notes) is warned
