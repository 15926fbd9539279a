"""`tidepool export STUDY`: a study of several batches out, each format as one: tables hold the rows of all its cells, with a
column for each factor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tidepool.engine.design.report import study_report
from tidepool.engine.design.summary import summarise_study
from tidepool.engine.errors import UsageError
from tidepool.engine.exports.request import ExportRequest
from tidepool.engine.exports.study_pages import study_pages
from tidepool.engine.exports.study_toml import study_toml
from tidepool.storage.studies import StoredStudy
from tidepool.storage.transfer.formats import finished_together, write_text
from tidepool.storage.transfer.tables import ExportContents, ExportTable, tables_of

FORMATS = ("csv", "html", "json", "markdown", "parquet", "sqlite", "svg", "toml")


@dataclass(frozen=True, slots=True)
class StudyExport:
    study: StoredStudy
    cells: Sequence[ExportRequest]
    """one for each batch, all with the target of the whole"""
    contents: Sequence[ExportContents]

    @property
    def _target(self) -> Path | None:
        return self.cells[0].target

    def _file(self, suffix: str) -> Path:
        if self._target is None or self._target.is_dir():
            return (self._target or Path()) / f"{self.study.id}{suffix}"
        return self._target

    def written(self, format_name: str) -> list[Path]:
        first = self.cells[0]
        match format_name:
            case "html":
                return write_text(self._file(".html"), study_pages(first.database, self.study.id)["report.html"])
            case "markdown":
                return write_text(self._file(".md"), study_pages(first.database, self.study.id)["report.md"])
            case "svg":
                from tidepool.engine.exports.pictures import write_pictures

                report = study_report(first.database, summarise_study(first.database, self.study.id), methods=False)
                return write_pictures(report, self._target, self.study.id)
            case "toml":
                return write_text(self._file(".toml"), study_toml(self.study, [one.batch for one in self.cells]))
            case "sqlite":
                from tidepool.storage.transfer.study_files import export_sqlite

                return export_sqlite(first.database, [one.batch for one in self.cells], self._file(".db"))
            case "csv" | "parquet":
                return self._tables(format_name)
        known = ", ".join(FORMATS)
        raise UsageError(f"A study of several batches cannot be exported as {format_name!r}. It can be as {known}.")

    def _tables(self, format_name: str) -> list[Path]:
        from tidepool.storage.transfer import formats

        folder = self._target if self._target is not None else Path(self.study.id)
        with finished_together(folder) as scratch:
            if format_name == "csv":
                written = formats.write_csv_tables(scratch, self._joined(), bom=self.cells[0].bom)
            else:
                written = formats.write_parquet_tables(scratch, self._joined())
        return [folder / path.name for path in written]

    def _joined(self) -> Iterator[ExportTable]:
        """Cell after cell, in one table of each name."""
        by_name: dict[str, list[ExportTable]] = {}
        for one, contents in zip(self.cells, self.contents, strict=True):
            tables = (make(one.connection, one.batch) for make in contents.tables)
            for table in tables_of(one.connection, one.batch, contents.views, tables):
                by_name.setdefault(table.name, []).append(table)
        for name, parts in by_name.items():
            yield ExportTable(name, parts[0].columns, chain.from_iterable(part.rows for part in parts))


def summary_of(export: StudyExport) -> dict[str, object]:
    return summarise_study(export.cells[0].database, export.study.id)
