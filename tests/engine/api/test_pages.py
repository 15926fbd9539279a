"""Long lists come in pages; a row that somebody changed is told as damage."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.engine.api.conftest import OPEN, Launcher
from tests.engine.api.test_app import PATH, created, played
from tests.support.state import change, query
from tidepool.engine.api.app import create_app


def following(client: TestClient, address: str) -> Iterator[list[dict[str, object]]]:
    """Every page, by the links."""
    while True:
        response = client.get(address)
        assert response.status_code == 200, response.text
        yield response.json()["data"]
        link = re.fullmatch(r'<(\S+)>; rel="next"', response.headers.get("link", ""))
        if link is None:
            return
        address = link[1]


def test_batches_and_entities_come_in_pages(client: TestClient, library: list[str]) -> None:
    ids = [created(client, library) for _ in range(5)]
    response = client.get(f"{PATH}?limit=2")
    assert [one["id"] for one in response.json()["data"]] == ids[:2] and response.headers["x-total-count"] == "5"
    pages = list(following(client, f"{PATH}?limit=2&include_simulations=true"))
    assert [one["id"] for page in pages for one in page] == ids and len(pages) == 3
    assert all("simulations" in one for page in pages for one in page)
    entities = [one for page in following(client, "/api/entities?limit=3") for one in page]
    assert [one["id"] for one in entities] == library
    assert entities[0]["attributes"] == {"age": 61, "agreeableness": 2}
    assert client.get(f"{PATH}?offset=99").json()["data"] == []
    for wrong in ("limit=0", "limit=100000", "offset=-1", "limit=x"):
        assert client.get(f"{PATH}?{wrong}").status_code == 422


def test_a_page_of_simulations_stays_the_same_page_while_the_batch_grows(
    client: TestClient, library: list[str], database: Path
) -> None:
    batch_id = created(client, library, num_simulations=5)
    early = client.get(f"{PATH}/{batch_id}?limit=2")
    assert early.json()["data"]["simulations"] == [] and early.headers["x-total-count"] == "5"
    assert "offset=2" in early.headers["link"], "there will be more"
    played(database, batch_id)
    change(database, "DELETE FROM unit WHERE sequence_number = 2")  # it has not come yet
    numbers = []
    address = f"{PATH}/{batch_id}?limit=2"
    while address:
        response = client.get(address)
        numbers.append([one["sequence_number"] for one in response.json()["data"]["simulations"]])
        address = response.headers.get("link", "").partition(">")[0].removeprefix("<")
    assert numbers == [[1], [3, 4], [5]]


ODD = [
    "UPDATE batch SET config = '{' WHERE {odd}",
    """UPDATE batch SET config = '{"batch": {"metadata": 3}, "simulation": {}}' WHERE {odd}""",
    "UPDATE batch SET config = '" + "[" * 100_000 + "' WHERE {odd}",
    "UPDATE batch SET name = CAST(x'ff' AS TEXT), description = x'ff', reason = 7, created_at = 'never' WHERE {odd}",
    "UPDATE batch SET created_at = 1e300, status = 'dancing', simulated = 'yes' WHERE {odd}",
    "UPDATE batch SET status = 'in_progress', host = x'00' WHERE {odd}",
    "DELETE FROM progress WHERE batch_number = 2",
    "UPDATE unit SET participants = '{', details = '[1]', status = x'ff', error = 3 WHERE batch_number = 2",
    "UPDATE call SET text = x'ff', speaker = 5, turn = 'one' WHERE unit_id >> 32 = 2",
    "UPDATE library_entity SET attributes = '[', description = x'ff', name = x'ff' WHERE rowid = 1",
]


@pytest.fixture(scope="module")
def two_batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two completed batches of two simulations."""
    from tests.engine.studies.simulation.panels import PEOPLE
    from tidepool.engine.config.library import stored_entity
    from tidepool.storage import library
    from tidepool.storage.file import prepare

    path = tmp_path_factory.mktemp("odd") / "two.db"
    prepare(path)
    library.add(path, [stored_entity(entity) for entity in PEOPLE])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEPOOL_STATE", str(path.parent / "state"))
        with TestClient(create_app(path, Launcher(), auth=OPEN), base_url="http://localhost") as client:
            for _ in range(2):
                played(path, created(client, ["*"], num_simulations=2))
    return path


@pytest.mark.parametrize("harm", ODD, ids=range(len(ODD)))
def test_an_odd_row_is_read_or_told_and_breaks_nothing(harm: str, two_batches: Path, database: Path) -> None:
    database.write_bytes(two_batches.read_bytes())
    (sound,), (odd,) = query(database, "SELECT id FROM batch ORDER BY number")
    change(database, harm.replace("{odd}", f"id = '{odd}'"))
    app = create_app(database, Launcher(), auth=OPEN)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        reads = (PATH, f"{PATH}?include_simulations=true", f"{PATH}/{odd}", f"{PATH}/{odd}/export", "/api/entities")
        answers = [client.get(address) for address in reads]
        assert all(answer.status_code in (200, 400, 503) and answer.json()["status"] for answer in answers[:3])
        assert all(answer.status_code in (200, 400, 503) for answer in answers[3:])
        for act in ("stop", "resume"):
            assert client.post(f"{PATH}/{odd}/{act}").status_code in (202, 400, 409, 503)
        assert client.delete(f"{PATH}/{odd}").status_code in (200, 409, 503)
        assert client.get(f"{PATH}/{sound}").json()["data"]["status"] == "completed"
