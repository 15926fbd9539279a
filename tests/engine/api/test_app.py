import asyncio
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.engine.api.conftest import OPEN, Launcher
from tests.support.command import until
from tests.support.state import query
from tidepool import resume_batch
from tidepool.engine.api.app import create_app
from tidepool.storage import batches
from tidepool.storage.batches import begin

PATH = "/api/batch-simulations"


def body(entity_ids: list[str], **more: Any) -> dict[str, Any]:
    return {
        "name": "A mill",
        "context": "A plan for a new mill",
        "entity_ids": entity_ids,
        "interaction_size": 2,
        "num_simulations": 4,
        **more,
    }


def created(client: TestClient, entity_ids: list[str], **more: Any) -> str:
    response = client.post(PATH, json=body(entity_ids, **more))
    assert response.status_code == 201, response.text
    return str(response.json()["data"]["id"])


def played(database: Path, batch_id: str) -> None:
    """Runs the batch as its own process would."""
    asyncio.run(resume_batch(batch_id, database))


def test_a_new_batch_waits_then_runs_in_the_background(
    client: TestClient, library: list[str], launcher: Launcher, database: Path
) -> None:
    response = client.post(PATH, json=body(library, description="pilot", metadata={"tags": ["a"]}))
    assert response.status_code == 201
    answer = response.json()
    assert answer["status"] == "success" and set(answer["data"]) == {"id", "message"}
    batch_id = answer["data"]["id"]
    until(lambda: launcher.started)
    assert [started.batch_id for started in launcher.started] == [batch_id]
    batch = client.get(f"{PATH}/{batch_id}").json()["data"]
    assert batch["status"] == "pending" and batch["simulations"] == []
    assert batch["description"] == "pilot" and batch["metadata"] == {"tags": ["a"]}
    assert batch["context"] == "A plan for a new mill" and batch["name"] == "A mill"
    played(database, batch_id)
    batch = client.get(f"{PATH}/{batch_id}").json()["data"]
    assert batch["status"] == "completed" and batch["simulated"] is True
    assert batch["progress"] == {"total": 4, "completed": 4, "failed": 0}


def test_a_simulation_carries_what_the_contract_names(client: TestClient, library: list[str], database: Path) -> None:
    batch_id = created(client, library[:2], num_simulations=1, n_turns=2, simulation_rounds=2, thoughts=True)
    played(database, batch_id)
    (simulation,) = client.get(f"{PATH}/{batch_id}").json()["data"]["simulations"]
    assert simulation["id"] == f"{batch_id}-1" and simulation["sequence_number"] == 1
    assert simulation["interaction_type"] == "dyadic" and simulation["entity_ids"] == library[:2]
    assert simulation["status"] == "completed" and simulation["error"] is None
    assert simulation["metadata"] == {"n_turns": 2, "simulation_rounds": 2, "final_turn_number": 4}
    lines = simulation["content"].split("\n\n")
    assert len(lines) == 8 and lines[0].startswith("Ada: *") and lines[1].startswith("Bob: *")
    assert simulation["timestamp"].startswith("20")


def test_simulations_are_listed_where_asked_and_exports_are_downloads(
    client: TestClient, library: list[str], database: Path
) -> None:
    batch_id = created(client, library)
    played(database, batch_id)
    assert "simulations" not in client.get(PATH).json()["data"][0]
    assert len(client.get(f"{PATH}?include_simulations=true").json()["data"][0]["simulations"]) == 4
    assert "simulations" not in client.get(f"{PATH}/{batch_id}?include_simulations=false").json()["data"]
    response = client.get(f"{PATH}/{batch_id}/export")
    assert response.headers["content-disposition"] == f'attachment; filename="{batch_id}.json"'
    assert response.headers["content-type"] == "application/json"
    assert len(json.loads(response.content)["units"]) == 4
    response = client.get(f"{PATH}/{batch_id}/export?format=csv")
    assert response.headers["content-type"].startswith("text/csv")
    assert f'filename="{batch_id}.csv"' in response.headers["content-disposition"]
    header, *rows = csv.reader(io.StringIO(response.content.decode()))
    assert header[0] == "Simulation ID" and len(rows) == 4
    assert client.get(f"{PATH}/{batch_id}/export?format=xml").status_code == 422


def test_a_deleted_batch_is_gone(client: TestClient, library: list[str], launcher: Launcher, database: Path) -> None:
    batch_id = created(client, library)
    until(lambda: launcher.started)
    played(database, batch_id)
    launcher.started[0].ended = True
    response = client.delete(f"{PATH}/{batch_id}")
    assert response.status_code == 200 and batch_id in response.json()["data"]["message"]
    for call in (client.get, client.delete):
        assert call(f"{PATH}/{batch_id}").status_code == 404
    assert client.get(f"{PATH}/{batch_id}/export").status_code == 404
    assert query(database, "SELECT count(*) FROM call") == [(0,)]


def test_a_running_batch_is_not_deleted_and_can_be_stopped(
    client: TestClient, library: list[str], launcher: Launcher, database: Path
) -> None:
    batch_id = created(client, library)
    until(lambda: launcher.started)
    assert client.delete(f"{PATH}/{batch_id}").status_code == 409
    assert client.post(f"{PATH}/{batch_id}/stop").status_code == 409
    launcher.started[0].ended = True
    with batches.holding(database, batch_id):
        begin(database, batch_id, simulated=True)
        assert client.get(f"{PATH}/{batch_id}").json()["data"]["status"] == "in_progress"
        assert client.delete(f"{PATH}/{batch_id}").status_code == 409
        assert client.post(f"{PATH}/{batch_id}/resume").status_code == 409
        assert client.post(f"{PATH}/{batch_id}/stop").status_code == 202
    assert query(database, "SELECT command FROM control") == [("stop",)]
    assert client.get(f"{PATH}/{batch_id}").json()["data"]["status"] == "interrupted"
    assert client.post(f"{PATH}/{batch_id}/resume").status_code == 202
    until(lambda: len(launcher.started) == 2)


def test_a_batch_whose_process_dies_at_once_has_failed_with_its_words(
    client: TestClient, library: list[str], launcher: Launcher
) -> None:
    batch_id = created(client, library)
    until(lambda: launcher.started)
    launcher.started[0].died_of = "OPENAI_API_KEY is missing."
    launcher.started[0].ended = True
    until(lambda: client.get(f"{PATH}/{batch_id}").json()["data"]["status"] == "failed")
    assert client.get(f"{PATH}/{batch_id}").json()["data"]["reason"] == "OPENAI_API_KEY is missing."


def test_only_so_many_run_at_once_and_a_new_api_resumes_what_waited(
    database: Path, library: list[str], launcher: Launcher
) -> None:
    with TestClient(create_app(database, launcher, auth=OPEN, at_once=2), base_url="http://localhost") as client:
        ids = [created(client, library) for _ in range(5)]
        until(lambda: len(launcher.started) == 2)
        played(database, ids[0])
        launcher.started[0].ended = True
        until(lambda: len(launcher.started) == 3)
    played(database, ids[1])
    later = Launcher()
    with TestClient(create_app(database, later, auth=OPEN, at_once=9), base_url="http://localhost") as client:
        assert later.started == [] and {client.post(f"{PATH}/{one}/resume").status_code for one in ids[2:]} == {202}
        assert [started.batch_id for started in later.started] == ids[2:]
        assert [batch["id"] for batch in client.get(PATH).json()["data"]] == ids


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"entity_ids": ["nobody"]}, 400, "no entity 'nobody'"),
        ({"entity_ids": ["ada", "ada"]}, 400, "listed twice"),
        ({"interaction_size": 9}, 400, "only 4 entities"),
        ({"model": "gpt4o_mnii"}, 400, "did you mean 'gpt4o_mini'"),
        ({"context": "  "}, 400, "context is empty"),
        ({"service": {"name": "live", "max_concurrent": 0}}, 422, "max_concurrent"),
        ({"num_simulations": 10**9}, 422, "less than or equal to 100000"),
        ({"n_turns": 1000, "simulation_rounds": 1000}, 400, "at most 1,000 are allowed"),
        ({"metadata": {"x": "x" * 100_001}}, 400, "metadata"),
        ({"num_simulations": "3"}, 422, "num_simulations"),
        ({"entity_ids": []}, 422, "entity_ids"),
        ({"colour": "red"}, 422, "colour"),
        ({"seed": 2**63}, 422, "seed"),
        ({"metadata": {"x": "\ud800"}}, 400, "metadata"),
        ({"name": "\ud800"}, 422, "name"),
        ({"judge": {"question": "?", "scale": [5, 1]}}, 400, "judge"),
    ],
)
def test_what_cannot_run_is_told_and_not_kept(
    client: TestClient, library: list[str], database: Path, change: dict[str, Any], code: int, word: str
) -> None:
    content = json.dumps({**body(library), **change})
    response = client.post(PATH, content=content, headers={"content-type": "application/json"})
    assert response.status_code == code, response.text
    answer = response.json()
    assert answer["status"] == "error" and word in answer["message"]
    assert query(database, "SELECT count(*) FROM batch") == [(0,)]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"name": NaN}', b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}", b"\xff\xfe"]
)
def test_bodies_that_are_none_are_client_errors(client: TestClient, content: bytes) -> None:
    response = client.post(PATH, content=content, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["status"] == "error"


def test_a_whole_service_can_be_given(client: TestClient, library: list[str], database: Path) -> None:
    batch_id = created(client, ["*"], service={"name": "live", "max_concurrent": 3}, seed=7, style="narrated")
    config = json.loads(query(database, "SELECT config FROM batch WHERE id = ?", batch_id)[0][0])
    assert (config["service"]["name"], config["service"]["max_concurrent"]) == ("live", 3)
    assert config["simulation"]["style"] == "narrated" and config["batch"]["seed"] == 7


def test_other_kinds_of_batches_are_none_of_its_business(client: TestClient, database: Path) -> None:
    from tidepool import Agent, SecretGame, run_batch

    agents = [Agent(name=name, model="simulated:guarded", secret=name + "word") for name in ("Ada", "Bob")]
    game = asyncio.run(run_batch(SecretGame(agents=agents, num_interactions=1), database))["batch_id"]
    assert client.get(PATH).json()["data"] == []
    for response in (client.get(f"{PATH}/{game}"), client.delete(f"{PATH}/{game}"), client.get(f"{PATH}/last")):
        assert response.status_code == 404
        assert response.json()["status"] == "error"


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.status_code == 200 and "POST" in page.text and PATH in page.text
    assert page.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert page.headers["x-frame-options"] == "DENY"
    assert "http:" not in page.text and "https:" not in page.text and "<script" not in page.text
    assert client.get("/nowhere").json() == {"status": "error", "message": "Not Found"}
    assert client.put(PATH).status_code == 405
