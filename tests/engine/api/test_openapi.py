"""The API held against its own OpenAPI document by schemathesis: whatever is sent, no server error."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.engine.api.conftest import OPEN, Launcher
from tests.engine.studies.simulation.panels import PEOPLE, panel
from tidepool import run_batch
from tidepool.engine.api.app import create_app
from tidepool.engine.config.library import stored_entity
from tidepool.storage import library
from tidepool.storage.file import prepare

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
BOUNDED = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def batch_id(module_folder: Path) -> str:
    """A batch that was completed, in a file with a library."""
    prepare(module_folder / "s.db")
    library.add(module_folder / "s.db", [stored_entity(entity) for entity in PEOPLE])
    return str(asyncio.run(run_batch(panel(num_simulations=2), module_folder / "s.db"))["batch_id"])


@pytest.fixture(scope="module")
def app(module_folder: Path, batch_id: str) -> FastAPI:
    return create_app(module_folder / "s.db", Launcher(), auth=OPEN)


@pytest.fixture(scope="module")
def document(app: FastAPI) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "localhost"})


def for_each_request(document: Any, check: Callable[[Any], None]) -> None:
    """Calls `check` with generated requests, valid and invalid, for every operation of `document`."""
    bounded = BOUNDED(check)
    operations = [result.ok() for result in document.get_all_operations()]
    assert operations
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                given(case=operation.as_strategy(generation_mode=mode))(bounded)()
            except (Unsatisfiable, SkipTest):  # an operation without parameters has no invalid request
                assert mode is GenerationMode.NEGATIVE


@pytest.mark.slow
def test_any_request_gets_a_documented_answer(document: Any) -> None:
    def check(case: Any) -> None:
        case.call_and_validate(headers={"Host": "localhost"}, checks=CHECKS)

    for_each_request(document, check)


@pytest.mark.slow
def test_so_does_any_request_about_a_batch_that_exists(document: Any, batch_id: str) -> None:
    def check(case: Any) -> None:
        case.path_parameters["id"] = batch_id
        case.call_and_validate(headers={"Host": "localhost"}, checks=CHECKS[:5])

    for_each_request(document.include(path_regex="{id}").exclude(method="DELETE"), check)


def test_so_does_any_new_batch_of_entities_that_exist(document: Any) -> None:
    def check(case: Any) -> None:
        if isinstance(case.body, dict):
            case.body.update(entity_ids=["*"], interaction_size=2, model="simulated:persona")
        response = case.call_and_validate(headers={"Host": "localhost"}, checks=CHECKS[:5])
        assert response.status_code in (201, 400, 422)

    for_each_request(document.include(path="/api/batch-simulations", method="POST"), check)
