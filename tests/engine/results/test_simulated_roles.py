"""Which roles were simulated is said by role; that nobody was asked only where nobody was."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.studies import game
from tidepool import run_batch
from tidepool.engine.exports.export import export_batch
from tidepool.engine.results.comparison_report import comparison_blocks
from tidepool.engine.results.report import report_of
from tidepool.engine.results.simulated_roles import (
    ALL_SIMULATED,
    NOT_YET,
    roles_asked,
    simulated_roles,
    simulated_words,
)
from tidepool.engine.results.summary import summarise
from tidepool.storage.file import reading
from tidepool.storage.reading.queries import list_batches

EVOLUTION = {"evolution": {"model": "openai:gpt-4o-mini", "models": [], "mutator": "simulated:rewriter"}}


def test_a_simulated_helper_beside_a_real_model_is_named_by_its_role() -> None:
    roles = roles_asked("evolution", EVOLUTION, {"openai:gpt-4o-mini": 1_999, "simulated:rewriter": 312})
    assert simulated_words(roles) == "simulated: rewriter (312 of 2,311 calls); solver openai:gpt-4o-mini"
    assert simulated_roles(roles) == ["rewriter"]


def test_one_model_in_two_roles_has_both_and_many_models_are_counted() -> None:
    mutation = {"mutation": {"target": "ollama:a", "mutator": "simulated:x", "judge": "simulated:x"}}
    roles = roles_asked("mutation", mutation, {"simulated:x": 2, "ollama:a": 1})
    assert simulated_words(roles) == "simulated: rewriter and judge (2 of 3 calls); target ollama:a"
    agents = {"agents": [{"model": f"lab:{name}"} for name in "abcdef"], "secret_game": {"judge": "simulated:judge"}}
    many = simulated_words(
        roles_asked("secret_game", agents, {f"lab:{name}": 1 for name in "abcdef"} | {"simulated:judge": 1})
    )
    assert many == "simulated: judge (1 of 7 calls); agents lab:a, lab:b, lab:c, lab:d and 2 more"


def test_only_where_all_was_simulated_nobody_was_asked() -> None:
    assert simulated_words(roles_asked("evolution", EVOLUTION, {"simulated:rewriter": 1})) == ALL_SIMULATED
    assert simulated_words([]) == NOT_YET


def test_a_stranger_s_config_names_no_roles() -> None:
    for config in ({}, {"evolution": []}, {"evolution": {"model": {"model": 3}, "models": [[]]}}):
        assert roles_asked("evolution", config, {"a:b": 1})[0]["role"] == "model"


async def test_the_label_is_the_same_in_every_report(database: Path, tmp_path: Path) -> None:
    await run_batch(game(3), database)
    whole = summarise(database, "last")
    assert whole.simulated and whole.simulated_roles == ["agents"]
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE call SET model = 'openai:gpt-4o' WHERE model = 'simulated:guarded'")
        connection.execute("UPDATE batch SET config = replace(config, 'simulated:guarded', 'openai:gpt-4o')")
        connection.execute('UPDATE progress SET limits = \'{"providers": {"openai": {}, "simulated": {}}}\'')
        connection.commit()
    summary = summarise(database, "last")
    ours = sum(one["calls"] for one in summary["roles"] if one["simulated"])
    label = f"simulated: agents ({ours} of {summary.calls.total} calls); agents openai:gpt-4o"
    report = report_of(database, summary)
    assert report.overview[0].text == label and "those to the agents" in report.methods[0].text
    for name in ("html", "markdown"):
        assert label[1:] in export_batch(database, "last", name, tmp_path)[0].read_text(), name
    assert json.loads(json.dumps(summary))["simulated_roles"] == ["agents"]
    told = [
        block.text for block in comparison_blocks([whole, summary], []) if getattr(block, "level", "") == "simulated"
    ]
    assert told == [f"#1: {ALL_SIMULATED}", f"#2: {label}"]
    with reading(database) as connection:
        (line,) = list_batches(database, connection)
    assert line.simulated and line.partly_simulated
