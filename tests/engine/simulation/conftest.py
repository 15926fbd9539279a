from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_seller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The simulated provider's books, apart from everybody else's."""
    folder = tmp_path / "seller"
    monkeypatch.setenv("TIDEPOOL_SELLER", str(folder))
    return folder
