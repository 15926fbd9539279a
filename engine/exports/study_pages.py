"""The report of a study of several batches as pages: the same blocks that the command and the app show."""

from pathlib import Path

from tidepool.engine.design.report import study_report
from tidepool.engine.design.summary import summarise_study
from tidepool.engine.exports import html_blocks, markdown_blocks
from tidepool.engine.exports import markdown as md
from tidepool.engine.exports.html import page


def study_pages(database: Path, study_id: str) -> dict[str, str]:
    """Texts by the name of their file."""
    report = study_report(database, summarise_study(database, study_id))
    blocks = (*report.overview, *report.findings, *report.waves, *report.methods)
    parts = [md.heading(1, report.title), *markdown_blocks.drawn(blocks)]
    return {
        "report.html": page(report.title, *html_blocks.drawn(blocks)),
        "report.md": "\n\n".join(filter(None, parts)) + "\n",
    }
