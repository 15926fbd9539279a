"""The simulated seller's log names files by order, and orders may come from a stranger's study file."""

from pathlib import Path

import pytest

from tidepool.engine.call import Call, Message
from tidepool.engine.simulated.provider import FOLDER_VARIABLE, PurchaseLog


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PurchaseLog:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "seller"))
    return PurchaseLog("batch")


def test_an_order_is_found_again_with_its_requests_and_is_cancelled_once(log: PurchaseLog) -> None:
    call = Call("t1", 1, "simulated:any", (Message("user", "Hello"),))
    remote_id = log.add_order("order", [("one", 7, call)])
    assert log.find("order") == remote_id and log.find("other") is None
    assert log.requests_of(remote_id) == [("one", 7, call)]
    log.cancel(remote_id)
    cancelled = log.look_up(remote_id)
    log.cancel(remote_id)
    assert cancelled is not None and cancelled.cancelled_at and log.look_up(remote_id) == cancelled


def test_an_order_that_is_a_path_touches_no_file(log: PurchaseLog, tmp_path: Path) -> None:
    (tmp_path / "mine.sold").write_text("[1.0, 1]")
    assert log.look_up("../mine") is None and log.find("../*") is None and log.find("../../*") is None
    log.cancel("../mine")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["mine.sold"]
