"""A scorer of the user's own: what it may say, what becomes of one that errs or hangs, and whose word has it run."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.engine.studies.evolution.running import run_with_interruptions, study
from tests.support.state import query
from tidepool.engine.config.freezing import freeze
from tidepool.engine.errors import NotTrusted, RunError, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.gate import copied_config
from tidepool.engine.reports.blocks import Table
from tidepool.engine.results.summary import summarise
from tidepool.engine.run import create_batch, question_about, resume_batch, run_batch
from tidepool.engine.studies.evolution.problems.problem_set import Problem
from tidepool.engine.studies.evolution.results import EvolutionResults
from tidepool.engine.studies.evolution.tasks.scorer import (
    FAILURES_AT_FIRST,
    MOST_BYTES,
    WHERE,
    ScorerMarker,
    find_scorer,
    try_to_load,
)
from tidepool.engine.studies.evolution.tasks.verdict import SolverReply, Unmarked, Verdict
from tidepool.engine.trust.record import trust_record

TABLE = """
import os, sys, time
NOT_CALLABLE = 3

def mark(reply, answer, problem):
    print("noise on stdout", "\\n{}")
    sys.stdin.read()
    if reply == "sleep":
        time.sleep(60)
    if reply == "exit":
        os._exit(0)
    if reply == "raise":
        raise KeyError(answer)
    if reply == "quit":
        sys.exit(1)
    return {
        "yes": True, "share": 0.25, "nan": float("nan"), "two": 2, "none": None, "word": "right", "empty": {},
        "several": {"score": 1, "words": 7}, "by word": {"score": 0.9, "correct": False},
        "infinite": {"score": 1, "ratio": float("inf")}, "field": problem["level"] / 4, "list": [1],
    }[reply]

async def later(reply, answer): ...
def few(reply): ...
"""
TRIVIAL = "def mark(reply, answer):\n    return {'score': len(reply) % 7 / 6, 'letters': len(reply)}\n"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def move(name: str) -> None:
        monkeypatch.setenv("TIDEPOOL_STATE", str(tmp_path / name))

    move("here")
    monkeypatch.chdir(tmp_path)
    return move


def marker_of(folder: Path, notify: Callable[[str], None]) -> ScorerMarker:
    (folder / "score.py").write_text(TABLE)
    scorer = find_scorer("score.py:mark", [folder])
    try_to_load(scorer, 0.5)
    return ScorerMarker(scorer, 0.5, 0.7, notify)


def given(text: str) -> SolverReply:
    return SolverReply(text, 9, False, None, "p0", 1)  # type: ignore[arg-type]


def said(mark: Verdict | Unmarked) -> Any:
    return mark.why if isinstance(mark, Unmarked) else (mark.correct, mark.score, dict(mark.metrics))


ENDED = "its process ended, or it took longer than 0.5 seconds"
SAID = {
    "yes": (True, 1.0, {}),
    "share": (False, 0.25, {}),
    "several": (True, 1.0, {"words": 7.0}),
    "by word": (False, 0.9, {}),
    "field": (True, 0.75, {}),
    "raise": "KeyError: '42'",
    "quit": "SystemExit: 1",
    "nan": "ValueError: the score is nan",
    "two": "ValueError: the score is 2.0, but must be from 0 to 1",
    "none": "TypeError: the score is of the type NoneType, but must be true, false or a number",
    "word": "TypeError: the score is of the type str, but must be true, false or a number",
    "list": "TypeError: the score is of the type list, but must be true, false or a number",
    "empty": 'ValueError: its dictionary has no "score", only nothing',
    "infinite": "ValueError: ratio is inf",
    "unknown": "KeyError: 'unknown'",
    "exit": ENDED,
    "sleep": ENDED,
    "yes, after all that": "KeyError: 'yes, after all that'",
}


async def test_what_a_scorer_says_is_a_mark_and_what_it_cannot_say_is_missing_and_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    marker = marker_of(tmp_path, told.append)
    problem = Problem("How much?", "42", {"level": 3})
    marks = await asyncio.gather(*(marker.mark(given(reply), problem) for reply in SAID))
    await marker.close()
    assert dict(zip(SAID, map(said, marks), strict=True)) == SAID
    assert told == ["The scorer score.py could not score a reply, so its score is missing: KeyError: '42'."]


async def test_a_scorer_that_never_marks_ends_the_run_before_it_has_cost_much(tmp_path: Path) -> None:
    marker = marker_of(tmp_path, lambda words: None)
    for _ in range(FAILURES_AT_FIRST - 1):
        assert isinstance(await marker.mark(given("two"), Problem("", "1", {"level": 1})), Unmarked)
    with pytest.raises(RunError, match="failed 10 times and never scored a reply: ValueError"):
        await marker.mark(given("two"), Problem("", "1", {"level": 1}))
    await marker.close()


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        ("score.py:nobody", "cannot be loaded: AttributeError"),
        ("score.py:later", "later must be a function"),
        ("score.py:few", r"must take \(reply, answer\)"),
        ("score.py:NOT_CALLABLE", "must be a function"),
        ("none.py:mark", "There is no scorer none.py"),
        ("broken.py:mark", "cannot be loaded: SyntaxError"),
        ("large.py:mark", "is larger than"),
        ("raises.py:mark", "cannot be loaded: ZeroDivisionError"),
        ("../score.py:mark", "not in the folder of the config"),
        ("linked.py:mark", "not in the folder of the config"),
        ("/etc/score.py:mark", "not in the folder of the config"),
        ("os:system", "Use one of match"),
        ("not-trusted:score.py:mark", "this scorer comes from an untrusted file"),
    ],
)
async def test_what_cannot_be_run_is_told_before_anything_is_written(
    scorer: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "score.py").write_text(TABLE)
    (folder / "score.py").write_text(TABLE)
    (folder / "linked.py").symlink_to(tmp_path / "score.py")
    (folder / "broken.py").write_text("def mark(:")
    (folder / "large.py").write_bytes(b"#" * (MOST_BYTES + 1))
    (folder / "raises.py").write_text("1 / 0\ndef mark(reply, answer): ...")
    with pytest.raises((UsageError, ValueError), match=words) as refused:
        await run_batch(study(scorer=scorer), tmp_path / "study.db")
    assert scorer != "large.py:mark" or getattr(refused.value, "where", None) == WHERE
    assert not (tmp_path / "study.db").exists()


SMALL: dict[str, Any] = {
    "scorer": "score.py:mark",
    "population_size": 4,
    "max_generations": 2,
    "max_problems": 5,
    "validation_problems": 5,
    "seed_final": False,
    "service": "live",
}


async def test_a_run_that_was_stopped_goes_on_with_the_marks_it_had(tmp_path: Path) -> None:
    """This scorer says something else each time it is asked."""
    seen = tmp_path / "seen"
    (tmp_path / "score.py").write_text(
        f"def mark(reply, answer):\n    with open({str(seen)!r}, 'a+') as f:\n        f.write('x')\n"
        "        return f.tell() % 5 / 4\n"
    )
    summary, stops = await run_with_interruptions(study(**SMALL), tmp_path / "study.db", every=17)
    assert summary["status"] == "completed" and stops > 1
    assert summary["calls"]["bought"] == summary["calls"]["total"]
    answers = query(tmp_path / "study.db", "SELECT count(*), count(score) FROM answers")
    assert answers[0][0] == answers[0][1] and len(seen.read_text()) <= answers[0][0] + stops


async def test_the_file_goes_on_where_it_lay_and_only_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "score.py").write_text(TRIVIAL)
    database = tmp_path / "data" / "study.db"
    database.parent.mkdir()
    batch = create_batch(study(**SMALL), database)
    monkeypatch.chdir(database.parent)
    (tmp_path / "score.py").write_text(TRIVIAL + "# changed")
    with pytest.raises(UsageError, match="was changed after the batch was made"):
        await resume_batch(batch, database)
    (tmp_path / "score.py").write_text(TRIVIAL)
    summary = await resume_batch(batch, database)
    assert summary["status"] == "completed"
    low, high = summary["statistics"]["champion"]["metrics"]["letters"]["ci95"]
    assert low < summary["statistics"]["champion"]["metrics"]["letters"]["value"] < high
    told = [
        block
        for block in EvolutionResults().blocks(summary["statistics"])
        if isinstance(block, Table) and "scorer" in block.title
    ]
    assert [row[0] for row in told[0].rows] == ["letters"]
    assert (
        query(database, "SELECT count(*) FROM genome WHERE json_extract(details, '$.metrics.letters') > 0")[0][0] >= 4
    )


async def test_a_strangers_file_has_nothing_run_until_the_user_says_so(
    tmp_path: Path, machine: Callable[[str], None]
) -> None:
    database, proof = tmp_path / "study.db", tmp_path / "proof"
    (tmp_path / "score.py").write_text(f"open({str(proof)!r}, 'w')\n{TRIVIAL}")
    batch = create_batch(study(**SMALL), database)
    proof.unlink()
    machine("there")
    with pytest.raises(
        NotTrusted, match=r"It would run code on this machine: the scorer score.py:mark \(sha256 [0-9a-f]{16}\.\.\.\)"
    ):
        await resume_batch(batch, database)
    with pytest.raises(NotTrusted):
        await resume_batch(batch, database, overrides=["providers.simulated.latency=0.0"])
    question = question_about(database, batch)
    assert question and question.rows()[0][0] == "runs" and "score.py:mark" in question.rows()[0][1]
    ((config,),) = query(database, "SELECT config FROM batch")
    anew = copied_config(batch, config)["evolution"]
    assert anew["scorer"] == "not-trusted:score.py:mark"
    assert not proof.exists()
    assert (await resume_batch(batch, database, trust=True))["status"] == "completed"
    assert proof.exists() and [one[0] for one in trust_record().batches()] == [batch]


def test_reading_results_never_runs_it(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    (tmp_path / "score.py").write_text(TRIVIAL)
    batch = create_batch(study(**SMALL), tmp_path / "study.db")
    (tmp_path / "score.py").write_text(f"open({str(proof)!r}, 'w')\n{TRIVIAL}")
    freeze(study(**SMALL), tmp_path / "study.db")
    assert summarise(tmp_path / "study.db", batch)["status"] == "pending"
    export_batch(tmp_path / "study.db", batch, "json", tmp_path / "out")
    assert not proof.exists()


def test_the_hash_is_frozen_and_may_be_pinned(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text(TRIVIAL)
    digest = sha256(TRIVIAL.encode()).hexdigest()
    assert freeze(study(**SMALL), tmp_path / "x.db").settings.scorer_sha256 == digest  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="was changed after"):
        freeze(study(**SMALL, scorer_sha256="0" * 64), tmp_path / "x.db")
