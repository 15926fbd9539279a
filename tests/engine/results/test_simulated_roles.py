"""Which roles were simulated is said by role; that nobody was asked only where nobody was."""

from pathlib import Path

import pytest

from tests.emulator import Emulator
from tests.support.state import change
from tests.support.studies import game
from tidepool import run_batch
from tidepool.engine.config.loading import load_config
from tidepool.engine.design.report import study_report
from tidepool.engine.exports.export import export_batch
from tidepool.engine.publishing.card import About
from tidepool.engine.publishing.folder import publish
from tidepool.engine.reports.blocks import Words
from tidepool.engine.results.comparing import comparison_blocks
from tidepool.engine.results.report import report_of
from tidepool.engine.results.simulated_roles import (
    ALL_SIMULATED,
    NOT_YET,
    roles_asked,
    simulated_roles,
    simulated_words,
)
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import run_study
from tidepool.storage.file import reading
from tidepool.storage.queries.lists import read_batch_or_study, with_studies
from tidepool.storage.queries.watching import read_batches
from tidepool.tui.command.main import main

EVOLUTION = {"evolution": {"model": "openai:gpt-4o-mini", "models": [], "mutator": "simulated:rewriter"}}


def test_a_simulated_helper_beside_a_real_model_is_named_by_its_role() -> None:
    roles = roles_asked("evolution", EVOLUTION, {"openai:gpt-4o-mini": 1_999, "simulated:rewriter": 312})
    assert simulated_words(roles) == "Simulated: rewriter (312 of 2,311 requests). Real: solver openai:gpt-4o-mini."
    assert simulated_roles(roles) == ["rewriter"]
    assert simulated_words(roles_asked("evolution", EVOLUTION, {"simulated:rewriter": 1})) == ALL_SIMULATED
    assert simulated_words([]) == NOT_YET


def test_a_stranger_s_config_names_no_roles() -> None:
    for config in ({}, {"evolution": []}, {"evolution": {"model": {"model": 3}, "models": [[]]}}):
        assert roles_asked("evolution", config, {"a:b": 1})[0]["role"] == "model"


STUDY = """
[batch]
kind = "secret_game"
name = "Real and simulated"
seed = 42
[secret_game]
num_interactions = 2
messages_per_interaction = 2
detection = {detection}
judge = "simulated:judge"
[providers.openai]
base_url = "{url}"
[[agents]]
name = "Ada"
model = "openai:gpt-4o-mini"
secret = "marigold"
[[agents]]
name = "Bob"
model = "openai:gpt-4o-mini"
secret = "lantern"
[design]
[design.factors]
who = [{{ level = "real", set = {{}} }}, {{ level = "made up", set = {{ {made_up} }} }}]
"""
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "one agent": (
        '"agents.Bob.model" = "simulated:trusting"',
        ["Simulated: judge and agents simulated:trusting (10 of 16 requests). Real: agents openai:gpt-4o-mini."],
        ["partly simulated", "partly simulated"],
    ),
    "a cell without any": (
        '"agents.*.model" = "simulated:trusting", "secret_game.detection" = ["exact", "judge"]',
        ["Simulated: judge and agents simulated:trusting (8 of 12 requests). Real: agents openai:gpt-4o-mini."],
        ["", "simulated"],
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_study_names_roles_and_cells_that_are_simulated_in_every_place(
    case: str, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One role behind a real SDK, another simulated: run, show, stats, list, report, dataset card and app say so."""
    made_up, lines, answers = CASES[case]
    detection = ["exact", "judge"] if all(answers) else ["exact"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    monkeypatch.setenv("COLUMNS", "200")
    async with Emulator() as server:
        (tmp_path / "study.toml").write_text(
            STUDY.format(url=server.urls["openai"], made_up=made_up, detection=detection)
        )
        summary = await run_study(load_config(str(tmp_path / "study.toml")), database)
    assert [block.text for block in study_report(database, summary).overview if isinstance(block, Words)] == lines
    assert [cell["simulated"] for cell in summary["cells"]] == [bool(one) for one in answers]
    for command in ("show", "stats"):
        assert main(["--db", str(database), command, "last"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert all(line in told for line in lines)
    for name in ("html", "markdown"):
        page = export_batch(database, "last", name, tmp_path)[0].read_text()
        assert all(line[1:] in page for line in lines), name
    publish(database, "last", tmp_path / "out", About())
    card = (tmp_path / "out" / "README.md").read_text()
    assert lines[0][1:] in card.replace("\\", "") and "simulated |" in card
    with reading(database) as connection:
        cells = read_batches(connection, database)
        study, *_ = with_studies(connection, cells)
        watched = read_batch_or_study(connection, database, study.number)
    found = [
        "partly simulated" if one.partly_simulated else "simulated" if one.simulated else "" for one in cells[::-1]
    ]
    assert found == answers and study.partly_simulated and watched is not None and watched.partly_simulated


async def test_batches_side_by_side_are_each_labelled(database: Path) -> None:
    await run_batch(game(3), database)
    whole = summarise(database, "last")
    assert whole.simulated and whole.simulated_roles == ["agents"]
    change(database, "UPDATE call SET model = 'openai:gpt-4o' WHERE model = 'simulated:guarded'")
    change(database, "UPDATE batch SET config = replace(config, 'simulated:guarded', 'openai:gpt-4o')")
    summary = summarise(database, "last")
    ours = sum(one["calls"] for one in summary["roles"] if one["simulated"])
    simulated = "agents simulated:talkative, simulated:bargainer and simulated:trusting"
    label = f"Simulated: {simulated} ({ours} of {summary.calls.total} requests). Real: agents openai:gpt-4o."
    told = [one.text for one in comparison_blocks([whole, summary], []) if getattr(one, "level", "") == "simulated"]
    assert told == [f"#1: {ALL_SIMULATED}", f"#2: {label}"]
    assert f"those to the {simulated}, " in str(report_of(database, summary).methods[0])
