"""What came out of a study."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from tidepool.storage.study_rows.studies import StoredCell, StoredStudy


def study_statistics(connection: sqlite3.Connection, study: StoredStudy, cells: Sequence[StoredCell]) -> dict[str, Any]:
    return {}
