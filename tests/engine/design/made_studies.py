"""A study as the file keeps it: a design, and batches that are its cells."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidepool.engine.config.sections import Config
from tidepool.engine.inference.hypotheses import Cell, Factors
from tidepool.engine.run import run_batch
from tidepool.storage.batches import find_batch
from tidepool.storage.file import reading, writing


def design_of(
    factors: Mapping[str, Mapping[str, Mapping[str, Any]]],
    hypotheses: Sequence[Mapping[str, str]] = (),
    mode: str = "full",
    replicates: int = 1,
) -> dict[str, Any]:
    """Factors as name → level → what it sets."""
    return {
        "kind": "secret_game",
        "mode": mode,
        "replicates": replicates,
        "seed": 1,
        "factors": [
            {"name": name, "levels": [{"level": level, "set": dict(own)} for level, own in levels.items()]}
            for name, levels in factors.items()
        ],
        "hypotheses": list(hypotheses),
        "frozen_at": "2026-01-31T08:15:30.250Z",
    }


def made_study(path: Path, design: Mapping[str, Any], batch: Callable[[Cell, int], Config]) -> dict[str, Any]:
    """Runs a batch for every cell and replicate; the row of the study."""
    factors = Factors.of(design)
    for replicate in range(1, design["replicates"] + 1):
        for cell in factors.cells:
            asyncio.run(run_batch(batch(cell, replicate), path))
            _make_cell(path, replicate, dict(zip(factors.names, cell, strict=True)))
    with writing(path) as connection:
        connection.execute(
            "INSERT INTO study (id, name, design, created_at) VALUES ('s1', 'made', ?, 0)", (json.dumps(design),)
        )
    with reading(path) as connection:
        return dict(connection.execute("SELECT * FROM study").fetchone())


def _make_cell(path: Path, replicate: int, levels: Mapping[str, str]) -> None:
    with writing(path) as connection:
        number = find_batch(connection, "last")["number"]
        connection.execute("UPDATE batch SET study_id = 's1', replicate = ? WHERE number = ?", (replicate, number))
        connection.executemany(
            "INSERT INTO study_cell (batch_number, factor, level) VALUES (?, ?, ?)",
            [(number, factor, level) for factor, level in levels.items()],
        )
