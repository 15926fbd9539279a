"""The schema as text equals what the classes and views generate, and docs/data.md explains every view and column."""

import re
from pathlib import Path

import pytest

from tests.support.all_kinds import file_of_all_kinds
from tests.support.data_reference import reference
from tests.support.state import query
from tidepool.storage.file import prepare
from tidepool.storage.schema import CURRENT, normalized
from tidepool.storage.tables import schema_text
from tidepool.storage.views import VIEWS, View

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "data.md"
HELD = {"integer": "integer", "boolean": "integer", "real": "real"}
"""what a column is said to hold → SQLite's word for it; anything else is text"""


def test_the_text_is_what_tables_and_views_generate() -> None:
    assert CURRENT.text == schema_text(), "run: python -m tidepool.storage.tables > storage/schema.sql"


def test_the_reference_of_the_views_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m tests.support.data_reference > docs/data.md"


def test_a_new_file_has_the_schema_of_the_text(database: Path) -> None:
    prepare(database)
    rows = query(
        database, "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    )
    text = {(one.kind, one.name, normalized(one.sql)) for one in CURRENT.statements}
    assert {(kind, name, normalized(sql)) for kind, name, sql in rows} == text


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with ended batches of every kind."""
    return file_of_all_kinds(tmp_path_factory.mktemp("reference") / "study.db")


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_a_column_holds_what_it_is_said_to_hold(ended: Path, view: View) -> None:
    for column in view.columns:
        found = query(ended, f"SELECT DISTINCT typeof({column.name}) FROM {view.name}")
        assert {kind for (kind,) in found} <= {HELD.get(column.type, "text"), "null"}, column.name
        present = f"SELECT DISTINCT {column.name} FROM {view.name} WHERE {column.name} IS NOT NULL"
        if column.type == "JSON":
            assert not query(ended, f"{present} AND NOT json_valid({column.name})"), column.name
        if column.type == "boolean":
            assert {value for (value,) in query(ended, present)} <= {0, 1}
        if column.values:
            assert {value for (value,) in query(ended, present)} <= set(column.values)


def test_the_query_shown_on_the_page_runs(ended: Path) -> None:
    (sql,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert query(ended, sql) == [] and query(ended, sql.replace("b.name = 'pilot'", "1"))
