"""docs/data.md says what the views are, in whole sentences."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.state import query
from tidepool.storage.file import prepare
from tidepool.storage.schema.reference import reference
from tidepool.storage.schema.statements import NEWEST, statements
from tidepool.storage.schema.view import View
from tidepool.storage.schema.views import VIEWS

PAGE = Path(__file__).parents[3] / "docs" / "data.md"
ALL_KINDS = Path(__file__).parents[2] / "fixtures" / "v1" / "all_kinds.db"
HELD = {"integer": "integer", "boolean": "integer", "real": "real"}
"""what a column is said to hold → SQLite's word for it; anything else is text"""


def test_the_reference_of_the_views_is_what_the_code_says() -> None:
    told = "make it anew: python -m tidepool.storage.schema.reference > docs/data.md"
    assert PAGE.read_text(encoding="utf-8") == reference(), told


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_every_view_and_column_is_explained_in_a_sentence(view: View) -> None:
    meanings = [view.meaning, *(column.meaning for column in view.columns)]
    assert [one for one in meanings if not (one[:1].isupper() or one[:1] == "`") or not one.endswith(".")] == []


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_a_view_and_a_column_are_as_old_as_they_say(view: View) -> None:
    assert 1 <= view.since <= min(column.since for column in view.columns)
    assert max(column.since for column in view.columns) <= NEWEST
    first = {one.name: one.sql for one in statements(1) if one.kind == "view"}
    assert (view.since == 1) == (view.name in first)
    for column in view.columns if view.since == 1 else ():
        assert (column.since == 1) == (f".{column.name}" in first[view.name] or f"AS {column.name}" in first[view.name])


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with ended batches of every kind."""
    copy = Path(shutil.copy(ALL_KINDS, tmp_path_factory.mktemp("reference") / "study.db"))
    prepare(copy)
    return copy


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_a_column_holds_what_it_is_said_to_hold(upgraded: Path, view: View) -> None:
    for column in view.columns:
        found = query(upgraded, f"SELECT DISTINCT typeof({column.name}) FROM {view.name}")
        assert {kind for (kind,) in found} <= {HELD.get(column.type, "text"), "null"}, column.name
        if column.type == "JSON":
            assert not query(
                upgraded, f"SELECT 1 FROM {view.name} WHERE {column.name} IS NOT NULL AND NOT json_valid({column.name})"
            )
        if column.type == "boolean":
            assert not query(upgraded, f"SELECT 1 FROM {view.name} WHERE {column.name} NOT IN (0, 1)")
        if column.values:
            words = query(upgraded, f"SELECT DISTINCT {column.name} FROM {view.name} WHERE {column.name} IS NOT NULL")
            assert {word for (word,) in words} <= set(column.values)


def test_the_query_shown_on_the_page_runs(upgraded: Path) -> None:
    (sql,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert query(upgraded, sql) == [] and query(upgraded, sql.replace("b.name = 'pilot'", "1"))
