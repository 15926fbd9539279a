"""What rare changes of a study file are made with: our tables, SQLAlchemy's statements and the functions of `sql.py`.

Importing SQLModel takes half a second, and most modules of storage also serve commands that only read. They import this module,
which loads SQLModel when one of its names is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement as ColumnElement
    from sqlalchemy import bindparam as bindparam
    from sqlalchemy import delete as delete
    from sqlalchemy import exists as exists
    from sqlalchemy import func as func
    from sqlalchemy import insert as insert
    from sqlalchemy import literal as literal
    from sqlalchemy import select as select
    from sqlalchemy import text as text
    from sqlalchemy import update as update
    from sqlmodel import SQLModel as SQLModel
    from sqlmodel import col as col

    from tidepool.storage.sql import *  # noqa: F403
    from tidepool.storage.tables import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        import sqlalchemy
        import sqlmodel

        from tidepool.storage import sql, tables

        for module in (tables, sql, sqlalchemy, sqlmodel):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)
