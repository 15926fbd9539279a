"""Every reply can be read: by prompt, by problem, by evaluation; wrong ones first, missing ones with their error."""

import asyncio
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import run, study
from tests.support.state import change, query
from tidepool.engine.errors import NotFound
from tidepool.engine.exports.export import export_batch
from tidepool.engine.studies.evolution.replies import FoundAnswers, as_json, found_answers, genome_blocks, genome_named
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading
from tidepool.storage.queries.learning import AnswerFilter
from tidepool.tui.command.main import main


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evolution in which some calls fail."""
    path = tmp_path_factory.mktemp("evolved") / "study.db"
    config = study(max_generations=2, random_baseline=True, simulated={"fatal_rate": 0.05})
    asyncio.run(run(config, path))
    return path


def told(capsys: pytest.CaptureFixture[str], database: Path, *words: str) -> str:
    code = main(["--db", str(database), "show", "last", *words])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


def told_json(capsys: pytest.CaptureFixture[str], database: Path, *words: str) -> Any:
    return json.loads(told(capsys, database, *words, "--json"))


def found_in(database: Path, wanted: AnswerFilter, genome: str | None = None) -> FoundAnswers:
    with reading(database) as connection:
        batch = find_batch(connection, "last")
        return found_answers(connection, batch, wanted, genome and genome_named(connection, batch, genome))


def test_a_prompt_is_shown_with_its_history_and_its_answers(evolved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    champion = told_json(capsys, evolved)["statistics"]["champion"]
    found = told_json(capsys, evolved, "--genome", "champion")
    assert found["genome"]["prompt"] == champion["prompt"] and found["genome"]["role"] == "champion"
    asked = query(evolved, "SELECT count(*) FROM answers WHERE genome_id = ?", champion["genome_id"])[0][0]
    assert len(found["answers"]) == asked == sum(sum(some.values()) for some in found["counts"].values())
    shown = told(capsys, evolved, "--genome", champion["genome_id"][:6], "--split", "judge")
    wrong = [answer for answer in found["answers"] if answer["split"] == "judge" and answer["correct"] is False]
    assert f"held-out problems: {len(wrong)} wrong" in shown and "training" not in shown
    assert shown.count(": wrong\n") == min(12, len(wrong))


def test_a_problem_is_shown_with_everybodys_answers(evolved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = "problem, split, genome_id, question, gold, reply, extracted"
    wrong = query(evolved, f"SELECT {columns} FROM answers WHERE correct = 0 AND extracted IS NOT NULL LIMIT 1")[0]
    everybody = told_json(capsys, evolved, "--problem", str(wrong[0]))["answers"]
    assert {answer["split"] for answer in everybody} == {"judge", "search"}
    assert len(everybody) == query(evolved, "SELECT count(*) FROM answers WHERE problem = ?", wrong[0])[0][0]
    one = next(answer for answer in everybody if answer["reply"] == wrong[5])
    assert tuple(one[name] for name in columns.split(", ")) == wrong and one["correct"] is False
    shown = told(capsys, evolved, "--problem", str(wrong[0]), "--split", wrong[1], "--full")
    assert wrong[2] in shown and wrong[6] in shown and wrong[5].splitlines()[0][:40] in shown
    both = found_in(evolved, AnswerFilter(problem=3))
    titles = [block.text for block in genome_blocks(both) if getattr(block, "level", "") == "strong"]
    assert [title.partition(":")[0] for title in titles] == ["held-out problems", "training problems"]


def test_an_evaluation_is_shown_with_its_questions_and_replies(
    evolved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = query(evolved, "SELECT sequence_number FROM conversations WHERE interaction_type = 'validation'")[0][0]
    shown = told(capsys, evolved, "--conversation", str(unit), "--full")
    assert shown.count("\nquestion  ") == 20 and "held-out problems" in shown and "training problems" not in shown
    found = told_json(capsys, evolved, "--conversation", str(unit))
    assert found["sequence_number"] == unit and len(found["answers"]) == 20


def test_a_missing_answer_is_told_with_its_error_and_never_as_a_wrong_one(
    evolved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = found_in(evolved, AnswerFilter()).answers
    grades = [answer.grade for answer in everything]
    assert grades == sorted(grades, key=["wrong", "unclear", "missing", "right"].index) and len(set(grades)) == 4
    for answer in everything:
        assert (answer.reply is None) == (answer.error is not None) == (answer.grade == "missing")
        written = as_json(answer)
        assert written["correct"] is {"wrong": False, "right": True}.get(answer.grade)
        assert written["grade"] == answer.grade
        assert (answer.extracted is None) == (answer.grade in ("unclear", "missing")) == (answer.score is None)
    unclear = next(answer for answer in everything if answer.grade == "unclear")
    shown = told(capsys, evolved, "--genome", unclear.genome_id, "--problem", str(unclear.problem), "--full")
    assert "no answer could be read from the reply" in " ".join(shown.split())
    lost = next(answer for answer in everything if answer.grade == "missing")
    shown = told(capsys, evolved, "--genome", lost.genome_id, "--problem", str(lost.problem), "--split", lost.split)
    assert f"problem {lost.problem}: missing" in shown and str(lost.error).split(".")[0][:30] in shown


def test_a_prompt_is_named_by_its_beginning_or_its_role(evolved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statistics = told_json(capsys, evolved)["statistics"]
    with reading(evolved) as connection:
        batch = find_batch(connection, "last")
        for role in ("champion", "baseline", "random_search"):
            named = genome_named(connection, batch, role)
            assert named == statistics[role]["genome_id"] == genome_named(connection, batch, named[:8])
        with pytest.raises(NotFound, match="no genome 'zzz'"):
            genome_named(connection, batch, "zzz")
        starts = [row[0][0] for row in connection.execute("SELECT DISTINCT genome_id FROM answers")]
        with pytest.raises(NotFound, match="Give a longer prefix"):
            genome_named(connection, batch, max(starts, key=starts.count))
    drawn = found_in(evolved, AnswerFilter(), "random_search")
    assert drawn.genome and drawn.genome["prompt"] == statistics["random_search"]["prompt"]


def test_answers_go_out_with_every_export(evolved: Path, tmp_path: Path) -> None:
    columns = "problem, sample, genome_id, split, question, gold, reply, extracted"
    kept = sorted(map(str, query(evolved, f"SELECT {columns} FROM answers")))
    names = columns.split(", ")
    (path,) = (one for one in export_batch(evolved, "last", "csv", tmp_path / "csv") if one.name == "answers.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(kept)
    written = export_batch(evolved, "last", "json", tmp_path)
    units = json.loads(written[0].read_text(encoding="utf-8"))["units"]
    exported = [tuple(answer[name] for name in names) for unit in units for answer in unit["answers"]]
    assert sorted(map(str, exported)) == kept


def test_the_report_counts_problems_won_and_lost(evolved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, shown = told_json(capsys, evolved)["statistics"], " ".join(told(capsys, evolved, "--full").split())
    assert found["won"] and f"The champion is better on {len(found['won'])} problem" in shown
    assert f"worse on {len(found['lost'])}." in shown


async def test_a_judges_words_stand_beside_the_reply_and_a_reply_without_a_mark_is_missing_with_the_reason(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = str(Path(__file__).parents[4] / "examples" / "explanations.jsonl")
    sizes = {"population_size": 3, "max_generations": 1, "max_problems": 4, "validation_problems": 6, "elite_size": 1}
    config = study(task="judge", judge="simulated:judge", problems=problems, seed_final=False, **sizes)
    await run(config, database)
    harm = 'UPDATE answer SET correct = NULL, details = \'{"unmarked": "the judge slept"}\' WHERE problem = 0'
    change(database, harm)
    found = found_in(database, AnswerFilter()).answers
    assert all(answer.judgement and "Rating" in answer.judgement for answer in found)
    shown = told(capsys, database, "--genome", "champion", "--split", "judge", "--full")
    assert "problem 0: missing" in shown and "the judge slept" in shown and "judge " in shown
    assert shown.count("Rating") >= 5
    report = " ".join(told(capsys, database, "--full").split())
    assert "mean scores of the judge simulated:judge." in report
    assert "The simulated judge does not read the question or the rubric" in report
