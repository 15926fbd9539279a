"""Answers of an evolution coded by hand: a blinded sample, and how the marks agree with it."""

from pathlib import Path

from tests.engine.studies.evolution.running import run, study
from tests.support.state import query
from tidepool.engine.coding.report import coding_blocks
from tidepool.engine.coding.session import CodingSession
from tidepool.engine.reports.blocks import Table
from tidepool.engine.results.summary import summarise
from tidepool.engine.studies.evolution.tasks.task import match


async def test_a_sample_of_answers_tells_how_the_marks_agree_with_a_coder(database: Path) -> None:
    """This coder says what a careful reader would; the judge errs in one of ten, and here it passes everything from 0 on."""
    config = study(
        task="judge",
        judge="simulated:judge",
        pass_mark=0.05,
        population_size=12,
        max_generations=1,
        seed_final=False,
        max_problems=5,
        validation_problems=4,
    )
    batch = (await run(config, database))["batch_id"]
    session = CodingSession(database, batch, "ann", size=10)
    marked = dict(query(database, "SELECT correct, count(*) FROM answers WHERE correct IS NOT NULL GROUP BY correct"))
    assert session.sample.strata == {"negative": marked[0], "positive": marked[1]} and session.sample.noun == "answers"
    passed = {one.place for one in session.sample.chosen if one.stratum == "positive"}
    wrongly = 0
    prompts = [prompt for (prompt,) in query(database, "SELECT prompt FROM genomes")]
    while subject := session.subject():
        assert [one.speaker for one in subject.quotes] == ["question", "expected", "reply"]
        _, expected, reply = (one.text for one in subject.quotes)
        assert not any(prompt in one.text for one in subject.quotes for prompt in prompts)
        right = match(reply, expected).correct
        wrongly += subject.place in passed and not right
        session.code(subject, "yes" if right else "no")
    coding = summarise(database, batch)["statistics"]["coding"]["sides"]
    judge = coding["instruments"]["task judge"]
    assert coding["coded"] == 10 and judge["sensitivity_percentage"] == 100.0
    assert (judge["specificity_percentage"] < 100.0) == (wrongly > 0)
    assert -1 <= judge["kappa_ci95"][0] <= judge["kappa"] <= judge["kappa_ci95"][1] <= 1
    titles = [block.title for block in coding_blocks({"coding": {"sides": coding}}) if isinstance(block, Table)]
    assert "answers that are right, raw and corrected" in titles
