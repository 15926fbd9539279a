"""What the engine says of a draft, where it is shown, and in which words."""

from pathlib import Path

import pytest

from tidepool.engine.kinds import KINDS
from tidepool.engine.runtime.services import SERVICES
from tidepool.storage.file import prepare
from tidepool.tui.app.compose.draft import anchored
from tidepool.tui.app.compose.edits import Put, edited
from tidepool.tui.app.compose.examination import Examined, examined, placed
from tidepool.tui.app.compose.fields import UNSET, KeyPath
from tidepool.tui.app.compose.outline import SERVICES_IN_WORDS, pages_of
from tidepool.tui.app.compose.plan_text import in_full, in_one_line, is_free
from tidepool.tui.app.kind_screens import template


@pytest.fixture
def study(database: Path) -> Path:
    prepare(database)
    return database


def look(text: str, study: Path) -> Examined:
    return examined(text, study.parent, study)


@pytest.mark.parametrize("kind", KINDS)
def test_each_template_is_ready_to_run_and_free(kind: str, study: Path) -> None:
    found = look(template(kind), study)
    assert found.ready
    assert is_free(found)
    words = " ".join(in_full(found).plain.split())
    assert f"{found.plan['unit_name']} {found.plan['units']:,}" in words  # type: ignore[index]
    assert "free" in in_one_line(found).plain


@pytest.mark.parametrize(
    ("path", "typed", "sentence"),
    [
        (("batch", "seed"), "lucky", 'batch.seed = "lucky": expected a whole number.'),
        (("secret_game", "judge"), "gtp4", "neither PROVIDER:MODEL nor a preset"),
        (("agents", 0, "name"), UNSET, "agents[0].name is missing."),
    ],
)
def test_what_is_wrong_in_a_field_is_told_of_that_field(
    path: KeyPath, typed: object, sentence: str, study: Path
) -> None:
    found = look(edited(template("secret_game"), [Put(path, typed)]), study)
    beside, rest = placed(found.complaints, [path, ("batch", "name")])
    assert sentence in beside[path] and not rest


def test_the_plan_tells_combinations_calls_waves_and_how_sure_it_will_be(study: Path) -> None:
    found = look(template("simulation"), study)
    assert found.shape == ("C(3,2) = 3 combinations possible, 3 run: each at most once",)
    assert "12 requests" in in_one_line(found).plain
    assert "precision" not in in_full(found).plain, "nothing is measured without a judge"
    words = " ".join(in_full(look(template("secret_game"), study)).plain.split())
    assert "precision ±" in words and "points (sides that revealed)" in words
    assert "(revealed, two agents, head to head)" in words


def test_real_models_have_a_price_live_and_by_batch_a_budget_and_a_key_that_is_missed(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = template("secret_game").replace("simulated:guarded", "openai:gpt-4o-mini")
    found = look(edited(text, [Put(("service", "budget_usd"), 0.0001)]), study)
    assert found.ready, found.complaints
    assert not is_free(found)
    words = in_full(found).plain
    assert "batch API" in words and "is too small" in " ".join(words.split())
    assert words.startswith("× No API key for OpenAI: OPENAI_API_KEY is not set.")
    assert in_one_line(found).plain.startswith("× no key: OPENAI_API_KEY · 100 conversations")
    monkeypatch.setenv("OPENAI_API_KEY", "here")
    assert in_full(look(text, study)).plain.startswith("■ Ready to run")


def test_every_service_is_explained() -> None:
    assert set(SERVICES_IN_WORDS) == set(SERVICES)


def test_steps_told_together_lose_no_call_and_no_wave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = edited(template("mutation"), [Put(("mutation", "num_env_steps"), 1_234)])
    one_by_one = examined(text, tmp_path, tmp_path / "x.db").plan
    monkeypatch.setattr("tidepool.engine.studies.mutation.plan.MOST_STEPS", 7)
    together = examined(text, tmp_path, tmp_path / "x.db").plan
    assert one_by_one is not None and together is not None
    assert len(together["waves"]) < len(one_by_one["waves"])
    for told in ("calls", "units", "wave_count", "tokens", "cost_usd"):
        assert together[told] == one_by_one[told], told


# -- files that a study names -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ('fields = { answer = "label" }', "problems", 'line 2: no "question". It has review, label'),
        ('fields = { question = "text", answer = "label" }', "fields", 'no "text". It has review, label'),
        ('question_template = "{text}"', "question_template", "uses {text}, but there is no such column"),
        ('fields = { question = "review", answer = "label" }\ntask = "number"', "task", "is not a number"),
        ('judge_from = "none.csv"', "judge_from", "There is no file 'none.csv'"),
    ],
)
def test_what_is_wrong_with_a_file_stands_beside_the_field_that_can_mend_it(
    tmp_path: Path, more: str, key: str, words: str
) -> None:
    (tmp_path / "a.csv").write_text("review,label\nfine,good\npoor,bad\n")
    text = f'[batch]\nkind = "evolution"\n[evolution]\nproblems = "a.csv"\n{more}\n'
    found = examined(text, tmp_path, tmp_path / "s.db").complaints
    beside, rest = placed(
        found, [field.path for page in pages_of("evolution") for group in page.groups for field in group.fields]
    )
    assert words in beside[("evolution", key)] and not rest


def test_a_study_that_runs_elsewhere_names_its_folders_and_files_in_full(tmp_path: Path) -> None:
    (tmp_path / "squad").mkdir()
    (tmp_path / "test.csv").touch()
    text = '[batch]\nkind = "evolution"\n[evolution]\nproblems = "squad"\njudge_from = "test.csv"\n'
    told = anchored(text, tmp_path)
    assert f'problems = "{tmp_path}/squad"' in told and f'judge_from = "{tmp_path}/test.csv"' in told
