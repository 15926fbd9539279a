"""What an exporter is given, and what it is."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What is to be exported, and where to."""

    database: Path
    connection: sqlite3.Connection
    batch: sqlite3.Row
    target: Path | None
    """what -o says; None: the working folder"""
    bom: bool = False
    """of CSV: whether files begin with the mark by which spreadsheets know UTF-8"""

    def folder(self) -> Path:
        """For formats of several files: what -o says, else a folder named by the batch."""
        return self.target if self.target is not None else Path(self.batch["id"])

    def file(self, suffix: str, name: str = "") -> Path:
        """For formats of one file: what -o says, or a file named by the batch (or `name`) in the folder that -o names."""
        if self.target is None or self.target.is_dir():
            return (self.target or Path()) / f"{name or self.batch['id']}{suffix}"
        return self.target

    def named_file(self, suffix: str) -> bool:
        """Whether -o names a file of this kind, for formats that are a folder else."""
        return self.target is not None and self.target.suffix.lower() == suffix and not self.target.is_dir()


Exporter = Callable[[ExportRequest], list[Path]]
"""writes, and returns the files it wrote"""
