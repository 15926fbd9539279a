"""The terminal report of a secret game, as a reader sees it."""

from pathlib import Path
from typing import Any

from tests.support.state import query
from tests.tui.studies import printed
from tidepool import SecretGame
from tidepool.engine.config.sections import Agent, Providers, SimulatedSettings
from tidepool.engine.run import run_batch
from tidepool.engine.studies.secret_game.report import blocks

PERSONAS = ("guarded", "trusting", "bargainer", "talkative", "deceptive")


def study(size: int = 60, **settings: Any) -> SecretGame:
    secrets = ("marigold", "lantern", "harbour", "violet", "granite")
    return SecretGame(
        agents=[
            Agent(name=persona.title(), model=f"simulated:{persona}", secret=secret)
            for persona, secret in zip(PERSONAS, secrets, strict=True)
        ],
        num_interactions=size,
        messages_per_interaction=4,
        **settings,
    )


TOLD = (
    "who reveals, who obtains",
    "obtained the secret of the column",
    "mean score",
    "Agents who spoke first revealed",
    "under equal conditions",
    "Holm's correction",
    "the judge's verdicts",
    "rounds without a partner",
)


async def test_report_and_transcript_tell_all_and_fit_their_width(database: Path, tidepool: Any) -> None:
    summary = await run_batch(study(detection=["exact", "judge"], judge="simulated:judge"), database)
    for width in (60, 80, 110, 200):
        report = printed(blocks(summary["statistics"]), width)
        assert [told for told in TOLD if told not in " ".join(report.split())] == []
        assert all(len(line.rstrip()) <= width for line in report.splitlines())
        assert "…" not in report.split("who reveals")[0]
        assert "by model" not in report, "each model is one agent's"
    revealed = query(database, "SELECT conversation_id & 0xffffffff FROM outcomes WHERE revealed LIMIT 1")[0][0]
    shown = tidepool("show", "last", "--conversation", str(revealed)).stdout
    assert "revealed in message" in shown and "judge:" in shown and "(simulated)" in shown


async def test_models_have_a_table_where_several_agents_share_one(database: Path) -> None:
    config = study(12)
    config.agents[1].model = config.agents[0].model
    report = printed(blocks((await run_batch(config, database))["statistics"]), 100)
    lines = report.split("by model")[1].splitlines()[2:6]
    assert [line.split()[0] for line in lines] == [f"simulated:{name}" for name in sorted({*PERSONAS} - {"trusting"})]


async def test_a_report_of_nothing_is_short(database: Path) -> None:
    dead = Providers(simulated=SimulatedSettings(fatal_rate=1.0, retries=0))
    summary = await run_batch(study(2, providers=dead), database)
    assert summary["status"] == "failed"
    report = printed(blocks(summary["statistics"]))
    assert "Missing: 2 conversations" in report
    assert "No conversation is complete yet." in report
    assert "Secrets revealed" not in report
