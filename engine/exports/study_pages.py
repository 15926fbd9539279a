"""The report of a study of several batches as pages: the same blocks that the command and the app show."""

from pathlib import Path

from tidepool.engine.design.report import study_report
from tidepool.engine.design.summary import summarise_study
from tidepool.engine.exports.html_report import html_report
from tidepool.engine.exports.markdown_report import markdown_report
from tidepool.storage.file import reading
from tidepool.storage.studies import cells_of, find_study


def study_pages(database: Path, study_id: str) -> dict[str, str]:
    """Texts by the name of their file."""
    report = study_report(database, summarise_study(database, study_id))
    with reading(database) as connection:
        study, cells = find_study(connection, study_id), cells_of(connection, study_id)
        return {
            "report.html": html_report(connection, cells, report, study),
            "report.md": markdown_report(connection, cells, report, study),
        }
