"""What the export dialog offers is done by the same commands that a terminal has."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tidepool.engine.exports.export import EXPORTERS
from tidepool.tui.app.dialogs.batch import FORMATS, PUBLISH, export


@pytest.mark.parametrize(
    ("form", "asked"), [(PUBLISH, ["publish", "12ab", "-o", "x"]), ("toml", ["export", "12ab", "--format", "toml"])]
)
async def test_a_publication_and_a_config_go_out_by_their_commands(
    form: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[list[str]] = []

    def noted(words: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        run.append(words)
        return subprocess.CompletedProcess(words, 0, b"")

    monkeypatch.setattr(subprocess, "run", noted)
    assert await export(Path("study.db"), "12ab", form, "x") == ""
    assert " ".join(asked) in " ".join(run[0])
    assert {*EXPORTERS, PUBLISH} <= set(FORMATS)
