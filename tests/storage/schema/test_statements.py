"""The schema as text: what the tables and views say, and what every file has, however it came about."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tidepool.storage.batches import BATCH_TABLES, UNIT_TABLES
from tidepool.storage.file import prepare
from tidepool.storage.schema.statements import NEWEST, normalised, statements
from tidepool.storage.schema.written import schema_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "v1"
OLD_FILES = sorted(path for path in FIXTURES.glob("*.db") if not path.name.endswith(".seller.db"))
TEXT = Path(__file__).parents[3] / "storage" / "schema" / f"v{NEWEST}.sql"


def schema_of(path: Path) -> set[tuple[str, str, str]]:
    """Every table, index and view as the file defines it, but for the search index and what SQLite keeps itself."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    own = [row for row in rows if not row[1].startswith(("sqlite_", "message_search"))]
    return {(kind, name, normalised(sql)) for kind, name, sql in own}


def text_of(version: int) -> set[tuple[str, str, str]]:
    return {(one.kind, one.name, normalised(one.sql)) for one in statements(version)}


def test_the_text_is_what_tables_and_views_say() -> None:
    told = f"write it anew: python -m tidepool.storage.schema.written > storage/schema/v{NEWEST}.sql"
    assert TEXT.read_text(encoding="utf-8") == schema_text(), told


def test_a_new_file_has_the_schema_of_the_newest_text(database: Path) -> None:
    prepare(database)
    assert schema_of(database) == text_of(NEWEST)


@pytest.mark.parametrize("old", OLD_FILES, ids=lambda path: path.stem)
def test_a_file_of_the_first_version_has_the_schema_of_its_text_and_upgraded_that_of_a_new_file(
    old: Path, database: Path
) -> None:
    shutil.copy(old, database)
    assert schema_of(database) == text_of(1)
    prepare(database)
    assert schema_of(database) == text_of(NEWEST)


def test_columns_stand_in_the_same_order_in_a_new_file_and_in_an_upgraded_one(tmp_path: Path) -> None:
    new, upgraded = tmp_path / "new.db", Path(shutil.copy(OLD_FILES[0], tmp_path / "old.db"))
    prepare(new)
    prepare(upgraded)
    assert columns_of(upgraded) == columns_of(new)


def columns_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: connection.execute(f"PRAGMA table_info({name})").fetchall()
            for (name,) in tables
            if not name.startswith(("sqlite_", "message_search"))
        }


def test_every_table_with_rows_of_a_batch_is_copied_and_deleted_with_it(database: Path) -> None:
    """Whoever adds a table finds out here that exports, imports and deletion go by these lists."""
    prepare(database)
    names = {table: {str(column[1]) for column in columns} for table, columns in columns_of(database).items()}
    with_batch = {table for table, columns in names.items() if "batch_number" in columns}
    with_unit = {table for table, columns in names.items() if "unit_id" in columns}
    assert with_batch == {*BATCH_TABLES, "unit"}
    assert with_unit - with_batch == set(UNIT_TABLES)
