"""The frozen config of a batch as the TOML a person would write."""

import sqlite3

from tidepool.engine.exports.study_toml import study_config
from tidepool.engine.exports.toml import as_toml
from tidepool.engine.trust.gate import copied_config
from tidepool.storage.batches import batch_numbered
from tidepool.storage.studies import cells_of, find_study


def config_of(connection: sqlite3.Connection, batch_number: int) -> str:
    """To run anew: without the addresses of servers that only the file names. Of a study (by a number below zero) it is the
    config with its design."""
    row = batch_numbered(connection, abs(batch_number))
    if batch_number < 0:
        study = find_study(connection, row["study_id"])
        return as_toml(study_config(study, [cell.batch for cell in cells_of(connection, study.id)]))
    return as_toml(copied_config(row["id"], row["config"]))
