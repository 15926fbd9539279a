from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def seller_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sells from the user's own folder."""
    folder = tmp_path / "seller"
    monkeypatch.setenv("TIDEPOOL_SELLER", str(folder))
    return folder
