"""Writes the newest schema as text, from the tables and the views: `python -m tidepool.storage.schema.written`."""

import re
import textwrap
from collections.abc import Iterator


def schema_text() -> str:
    return "\n".join(f"{sql};\n" for sql in (*_tables(), *_views()))


def _tables() -> Iterator[str]:
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.schema import CreateIndex, CreateTable
    from sqlmodel import SQLModel

    import tidepool.storage.schema.study_tables
    import tidepool.storage.schema.tables  # noqa: F401  (registers the tables)

    dialect = sqlite.dialect()
    for table in SQLModel.metadata.sorted_tables:
        yield _tidy(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield _tidy(str(CreateIndex(index).compile(dialect=dialect)))


def _views() -> Iterator[str]:
    from tidepool.storage.schema.views import VIEWS

    for view in VIEWS.values():
        yield f"CREATE VIEW {view.name} AS\n{textwrap.indent(textwrap.dedent(view.query).strip(), '    ')}"


def _tidy(sql: str) -> str:
    return re.sub(r"[ \t]+$", "", sql.strip().expandtabs(4), flags=re.MULTILINE)


if __name__ == "__main__":
    print(schema_text(), end="")
