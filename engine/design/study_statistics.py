import sqlite3
from typing import Any

from tidepool.storage.study_rows.studies import StoredStudy


def study_statistics(connection: sqlite3.Connection, study: StoredStudy) -> dict[str, Any]:
    return {}
