"""kill -9 at any moment: nothing committed is lost, nothing is bought twice but what was in flight."""

import os
from pathlib import Path
from random import Random

import pytest

from tests.support.killing import kill_and_resume, undisturbed
from tests.support.state import Rows

MOMENTS = 2


@pytest.fixture(scope="module", params=["live", "auto"])
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Rows]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    before = os.environ.get("TIDEPOOL_SELLER")
    os.environ["TIDEPOOL_SELLER"] = str(folder / "seller")
    try:
        return request.param, undisturbed(folder, request.param)
    finally:
        os.environ.pop("TIDEPOOL_SELLER")
        if before is not None:
            os.environ["TIDEPOOL_SELLER"] = before


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_killed_study_resumes_to_the_same_end_and_buys_nothing_twice(
    study: tuple[str, dict[str, Rows]], moment: int, tmp_path: Path
) -> None:
    """Twenty moments each are tried by `make prove`."""
    service, expected = study
    killed = kill_and_resume(tmp_path, service, expected, Random(f"{service}/{moment}"))
    assert killed.same_end
    assert killed.needless == 0
    assert killed.ordered_again == 0
    assert killed.most_of_one_talk <= 1, "asked and not yet committed is in flight"
    assert killed.live_again == 0 or service == "live"
