"""What every test may ask for: a study file of its own, a seller's folder of its own, and the real command."""

import gc
import os
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.command import Tidepool
from tests.support.stage import Stage
from tidepool.engine import registries

for registry in (
    registries.KINDS,
    registries.PROVIDERS,
    registries.DETECTORS,
    registries.OPERATORS,
    registries.SCORERS,
):
    vars(registry)["installed"] = {}  # tests know the names of Tidepool only, whatever packages are installed

settings.register_profile("tidepool", deadline=None, max_examples=50)
settings.load_profile("tidepool")
"""a busy machine is no failure: what must be quick is measured in benchmarks/"""


def pytest_collection() -> None:
    """Next to nothing of what is loaded now is garbage."""
    gc.disable()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names of tests travel between processes several times: a case of 200,000 brackets is named by its beginning."""
    return f"{val[:60]!a}…({len(val)})" if isinstance(val, str | bytes) and len(val) > 200 else None


LONG = Path(__file__).parent / "tui"
"""the app's own tests, some of which take ten seconds"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with its share of the long tests, file by file, so that the short ones even out the end."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    files = list(dict.fromkeys(item.path for item in items if LONG in item.path.parents))
    dealt = {file: place % workers for place, file in enumerate(files)}
    short = iter([item for item in items if item.path not in dealt])
    shares = [[item for item in items if dealt.get(item.path) == worker] for worker in range(workers)]
    size = len(items) // workers
    for share in shares:
        share.extend(islice(short, max(0, size - len(share))))
    items[:] = [*chain.from_iterable(shares), *short]


def pytest_collection_finish() -> None:
    """Thousands of tests and all that they import are there for good: nobody need look through them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 10)
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test trusts, or is trusted, in the user's own name, or asks at the user's endpoints."""
    folder = tmp_path_factory.mktemp("state")
    (folder / "sellers").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEPOOL_STATE", str(folder))
        patch.setenv("TIDEPOOL_CONFIG", str(folder / "config"))
        yield folder


SELLERS = count(1)


@pytest.fixture(autouse=True)
def seller_folder(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sells from the user's own folder; most sell nothing, and need none made."""
    folder = state_folder / "sellers" / str(next(SELLERS))
    monkeypatch.setenv("TIDEPOOL_SELLER", str(folder))
    return folder


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For what the tests of a file share: while it is made, the seller's folder is in it."""
    folder = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEPOOL_SELLER", str(folder / "seller"))
        yield folder


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.fixture
def tidepool(tmp_path: Path, database: Path) -> Tidepool:
    """The command as a user runs it, in a process of its own, on the test's own file."""
    return Tidepool(tmp_path, database)


@pytest.fixture
def stage(database: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The real engine on a real file, with a story and a provider of the test's own."""
    return Stage(database, monkeypatch)
