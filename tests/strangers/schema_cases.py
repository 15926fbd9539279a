"""Files whose schema is not the one of their version."""

from collections.abc import Iterator

from tests.strangers.case import Case, Forge, Forgery

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
"""rows without end: whoever counts or sorts them is never done"""


def _sql(script: str) -> Forge:
    return lambda forgery: forgery.sql(script)


def _text(table: str, old: str, new: str) -> Forge:
    return lambda forgery: forgery.rewrite_schema(table, old, new)


def _in_its_place(table: str, script: str) -> Forge:
    return _sql(f"PRAGMA legacy_alter_table = ON; DROP TABLE {table}; {script}")


def _view_for(table: str, columns: str, rows: str = "") -> Forge:
    return _in_its_place(table, f"CREATE VIEW {table} AS {rows or ENDLESS} SELECT {columns} FROM n")


def _disguised(forgery: Forgery) -> None:
    """A trigger whose row in the schema says that it is a table."""
    forgery.sql("CREATE TRIGGER helper AFTER UPDATE ON batch BEGIN UPDATE batch SET reason = 'owned'; END")
    with forgery.opened() as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET type = 'table', tbl_name = 'helper' WHERE name = 'helper'")


def _shared_root(forgery: Forgery) -> None:
    """Two tables that are the same pages."""
    with forgery.opened() as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'unit') "
            "WHERE name = 'log_line'"
        )


def _named_twice(forgery: Forgery) -> None:
    with forgery.opened() as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_schema SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema "
            "WHERE name = 'wave' AND type = 'table'"
        )


_REFUSED: dict[str, Forge] = {
    "a trigger on batch": _sql(
        "CREATE TRIGGER later AFTER UPDATE ON batch BEGIN UPDATE batch SET status = 'interrupted'; END"
    ),
    "a trigger on call": _sql("CREATE TRIGGER later AFTER INSERT ON call BEGIN DELETE FROM unit; END"),
    "a trigger that says it is a table": _disguised,
    "a trigger in place of a view's rows": _sql(
        "CREATE TRIGGER there INSTEAD OF INSERT ON messages BEGIN DELETE FROM call; END"
    ),
    "an endless view for wave": _view_for(
        "wave",
        "1 AS batch_number, x AS wave, 1 AS calls, 0 AS failed, 0 AS cached, 0 AS retried, 1.0 AS seconds, 'live' AS transport",
    ),
    "an endless view for log_line": _view_for(
        "log_line", "x AS id, 1 AS batch_number, 1.0 AS at, 'info' AS level, 'x' AS message"
    ),
    "an endless view for control": _view_for(
        "control", "x AS id, 1 AS batch_number, 1.0 AS at, 'stop' AS command, '{}' AS arguments, NULL AS taken_at"
    ),
    "a view for progress": _in_its_place(
        "progress", "CREATE VIEW progress AS SELECT number AS batch_number FROM batch"
    ),
    "a full-text table for log_line": _in_its_place(
        "log_line", "CREATE VIRTUAL TABLE log_line USING fts5(id, batch_number, at, level, message)"
    ),
    "an rtree for wave": _in_its_place(
        "wave", "CREATE VIRTUAL TABLE wave USING rtree_i32(batch_number, wave, calls, failed, cached)"
    ),
    "one more table": _sql("CREATE TABLE more (x)"),
    "one more view": _sql(f"CREATE VIEW more AS {ENDLESS} SELECT x FROM n"),
    "one more index": _sql("CREATE INDEX more ON call (text)"),
    "one more virtual table": _sql("CREATE VIRTUAL TABLE more USING fts5(text)"),
    "an index on an expression": _sql("CREATE INDEX more ON batch (abs(number))"),
    "no table record": _sql("DROP TABLE record"),
    "no table progress": _sql("DROP TABLE progress"),
    "no table library_agent": _sql("DROP TABLE library_agent"),
    "no index call_by_address": _sql("DROP INDEX call_by_address"),
    "no index log_by_batch": _sql("DROP INDEX log_by_batch"),
    "no view messages": _sql("DROP VIEW messages"),
    "no tables at all": _sql("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema"),
    "one more column": _sql("ALTER TABLE batch ADD COLUMN owner VARCHAR"),
    "one column less": _sql("PRAGMA legacy_alter_table = ON; DROP VIEW batches; ALTER TABLE batch DROP COLUMN origin"),
    "a column renamed": _sql("ALTER TABLE wave RENAME COLUMN transport TO way"),
    "a generated column": _sql("ALTER TABLE batch ADD COLUMN big AS (hex(zeroblob(100000000))) VIRTUAL"),
    "a check with work in it": _text(
        "batch", "UNIQUE (id)", "UNIQUE (id), CHECK (length(hex(randomblob(500000000))) > 1)"
    ),
    "a default with work in it": _text(
        "log_line", "message VARCHAR NOT NULL", "message VARCHAR DEFAULT (hex(randomblob(100000000))) NOT NULL"
    ),
    "an endless view for batches": _sql(f"DROP VIEW batches; CREATE VIEW batches AS {ENDLESS} SELECT x AS id FROM n"),
    "an endless view for messages": _sql(
        f"DROP VIEW messages; CREATE VIEW messages AS {ENDLESS} SELECT x AS batch_id, x AS conversation_id FROM n"
    ),
    "a view that loads code": _sql("DROP VIEW log; CREATE VIEW log AS SELECT load_extension('./evil') AS batch_id"),
    "a collation that there is not": _text("batch", "name VARCHAR NOT NULL", "name VARCHAR COLLATE nowhere NOT NULL"),
    "nothing that must be there": _text("batch", " NOT NULL", ""),
    "text in place of a schema": _text("wave", "CREATE TABLE wave", "CREATE TABLE wave wave wave"),
    "another table's text": _text("wave", "batch_number", "wave_number"),
    "a reference that cascades": _text(
        "call",
        "PRIMARY KEY (id)",
        "PRIMARY KEY (id), FOREIGN KEY (unit_id) REFERENCES batch (number) ON DELETE CASCADE",
    ),
    "a table named twice": _named_twice,
    "a column of another type": _text("progress", "units_total INTEGER", "units_total BLOB"),
    "strict where ours is not": _text(
        "wave", "PRIMARY KEY (batch_number, wave)\n)", "PRIMARY KEY (batch_number, wave)\n) WITHOUT ROWID"
    ),
    "file version 0": _sql("PRAGMA user_version = 0"),
    "file version -1": _sql("PRAGMA user_version = -1"),
    "a newer file version": _sql("PRAGMA user_version = 99"),
    "another program's mark": _sql("PRAGMA application_id = 1234"),
    "no program's mark": _sql("PRAGMA application_id = 0"),
    "the mark of a pre-release version": _sql("PRAGMA application_id = 0x74696465"),
}

_ODD: dict[str, tuple[str, Forge]] = {
    "two tables on one page": ("game", _shared_root),
    "forged statistics of the planner": (
        "game",
        _sql(
            "ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('call', 'call_by_address', '1 1 1'), "
            "('call', 'call_by_key', 'noskipscan unordered 99999999999999999999'), ('unit', NULL, '-1'), (NULL, NULL, x'00')"
        ),
    ),
    "a search index over another table": (
        "game",
        _sql("CREATE VIRTUAL TABLE message_search USING fts5(config, content='batch', content_rowid='number')"),
    ),
    "a search index that is a table": ("game", _sql("CREATE TABLE message_search (rowid INTEGER PRIMARY KEY, text)")),
    "a search index with torn insides": (
        "indexed",
        _sql("UPDATE message_search_data SET block = randomblob(100); DELETE FROM message_search_docsize WHERE id > 3"),
    ),
    "a search index filled for ever": (
        "indexed",
        _sql("INSERT INTO message_search_docsize VALUES (9223372036854775807, x'01')"),
    ),
}  # fmt: skip


def cases() -> Iterator[Case]:
    for name, forge in _REFUSED.items():
        yield Case("schema", name, "game", forge, refused=True)
    for name, (base, forge) in _ODD.items():
        yield Case("schema", name, base, forge)
