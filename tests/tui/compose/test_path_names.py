"""Files that a study names: what is wrong with them, and where they are when it runs elsewhere."""

from pathlib import Path

import pytest

from tidepool.tui.app.compose.draft import anchored
from tidepool.tui.app.compose.examination import examined, placed
from tidepool.tui.app.compose.outline import pages_of


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
