"""The interface of exporters."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExportRequest:
    database: Path
    connection: sqlite3.Connection
    batch: sqlite3.Row
    target: Path | None
    """the value of -o; None: the working folder"""
    bom: bool = False
    """whether CSV files start with a byte order mark, by which spreadsheets recognise UTF-8"""

    def folder(self) -> Path:
        """Returns the target folder of formats with several files, by default named by the id of the batch."""
        return self.target if self.target is not None else Path(self.batch["id"])

    def file(self, suffix: str, name: str = "") -> Path:
        """Returns the target file of formats with one file: -o, or a file in the folder -o named by the batch or `name`."""
        if self.target is None or self.target.is_dir():
            return (self.target or Path()) / f"{name or self.batch['id']}{suffix}"
        return self.target

    def named_file(self, suffix: str) -> bool:
        """Returns whether -o names a file with this suffix, for formats that write a folder otherwise."""
        return self.target is not None and self.target.suffix.lower() == suffix and not self.target.is_dir()


Exporter = Callable[[ExportRequest], list[Path]]
"""writes files and returns their paths"""
