"""The HTTP API: create, read, export and delete batches of simulations. Errors are JSON responses."""

import asyncio
import contextlib
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Mapping
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException as AnyHTTPException

from tidepool.engine.api.auth import NO_FRAMES, TokenAuth
from tidepool.engine.api.limits import MOST_BYTES, RequestLimits
from tidepool.engine.api.records import (
    BatchRecord,
    Created,
    EntityRecord,
    Failure,
    NewBatch,
    Notice,
    Success,
    batch_record,
    entity_record,
    find,
    simulations_planned,
)
from tidepool.engine.api.runs import Launch, Runs
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import BatchLocked, FileError, NotFound, NotTrusted, TidepoolError, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.registries import program_version
from tidepool.engine.run import create_batch, refuse_untrusted
from tidepool.storage import library
from tidepool.storage.api_queue import simulation_batches, simulation_count
from tidepool.storage.batches import progress_of, status_now
from tidepool.storage.file import prepare, reading, temporary_folder
from tidepool.storage.queries.damage import SHAPES, blame
from tidepool.storage.states import BatchStatus
from tidepool.storage.studies import delete_any, steer_any

PATH = "/api/batch-simulations"
CODES = {NotFound: 404, BatchLocked: 409, NotTrusted: 403, UsageError: 400, FileError: 503}
FEW = 100
"""batches on a page, and simulations of each batch in a list"""
MANY = 1000
"""simulations of one batch, or entities, on a page"""

Few = Annotated[int, Query(ge=1, le=FEW)]
Many = Annotated[int, Query(ge=1, le=MANY)]
Offset = Annotated[int, Query(ge=0, le=2**32, description="number of entries to skip")]

FAILURES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Failure, "description": "The request is rejected. `message` has the reason."},
    "5XX": {"model": Failure, "description": "The study file cannot be used."},
}


def add_page_headers(request: Request, response: Response, limit: int, offset: int, total: int) -> None:
    response.headers["X-Total-Count"] = str(total)
    if offset + limit < total:
        following = request.url.include_query_params(limit=limit, offset=offset + limit)
        response.headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'


_STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}pre{background:#8881;overflow:auto}"


def page(document: Mapping[str, Any]) -> str:
    """The OpenAPI document as plain HTML, since FastAPI's own page loads scripts from other servers."""
    title = escape(f"{document['info']['title']} API")
    operations = [
        f"<h2>{method.upper()} <code>{escape(path)}</code></h2><p>{escape(operation['description'])}</p>"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schema = escape(json.dumps(document, indent=1, ensure_ascii=False))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'<h1>{title}</h1><p>{escape(document["info"]["summary"])} See <a href="/openapi.json">openapi.json</a>.</p>'
        f"{''.join(operations)}<h2>Schema</h2><pre>{schema}</pre></html>"
    )


def create_app(
    database: Path, launch: Launch, *, auth: TokenAuth, at_once: int = 4, most_bytes: int = MOST_BYTES
) -> FastAPI:
    """The API for one study file. `launch` starts the process that runs a batch."""
    prepare(database)
    runs = Runs(database, launch, at_once)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        runner = asyncio.create_task(runs.keep_going())
        yield
        runner.cancel()
        await asyncio.gather(runner, return_exceptions=True)

    app = FastAPI(
        title="Tidepool",
        version=program_version(),
        summary="Batches of entity simulations.",
        generate_unique_id_function=lambda route: route.name,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=FAILURES,
    )
    app.add_middleware(RequestLimits, auth=auth, most_bytes=most_bytes)
    _answer_errors(app, database)
    _add_batches(app, database, runs)
    _add_export(app, database)
    _add_life(app, database, runs)
    _add_entities(app, database)

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    def read_page() -> HTMLResponse:
        return HTMLResponse(page(app.openapi()), headers=NO_FRAMES)

    return app


def _answer_errors(app: FastAPI, database: Path) -> None:
    @app.exception_handler(TidepoolError)
    async def answer_known(request: Request, error: TidepoolError) -> JSONResponse:
        code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 500)
        return _failure(code, str(error))

    @app.exception_handler(RequestValidationError)
    async def answer_wrong_form(request: Request, error: RequestValidationError) -> JSONResponse:
        faults = [
            f"{'.'.join(map(str, fault['loc'][1:])) or 'the body'}: {fault['msg']}" for fault in error.errors()[:5]
        ]
        by_rule = all(fault["type"] == "value_error" for fault in error.errors())
        return _failure(400 if by_rule else 422, "; ".join(faults))

    @app.exception_handler(AnyHTTPException)
    async def answer_http(request: Request, error: AnyHTTPException) -> JSONResponse:
        response = _failure(error.status_code, str(error.detail))
        response.headers.update(error.headers or {})
        return response

    async def answer_unexpected(request: Request, error: Exception) -> JSONResponse:
        if damage := await asyncio.to_thread(blame, database, error):
            return _failure(CODES[FileError], str(damage))
        return _failure(500, f"Something unexpected went wrong ({type(error).__name__}). Please report it.")

    for kind in (Exception, *SHAPES):
        app.add_exception_handler(kind, answer_unexpected)

    @app.exception_handler(sqlite3.Error)
    async def answer_file(request: Request, error: sqlite3.Error) -> JSONResponse:
        return _failure(503, f"The study file cannot be used: {error}.")


def _failure(code: int, message: str) -> JSONResponse:
    text = message.encode("utf-8", "replace").decode()
    return JSONResponse({"status": "error", "message": text}, status_code=code)


def _success(data: Any) -> Success[Any]:
    return Success[Any](status="success", data=data)


def _add_batches(app: FastAPI, database: Path, runs: Runs) -> None:
    @app.post(PATH, status_code=201, response_model=Success[Created])
    def create(body: NewBatch) -> Success[Any]:
        """Checks and stores the batch, and runs it in the background. Poll it with GET."""
        batch_id = create_batch(config_from(body.as_config(), source="the body"), database)
        runs.queue(batch_id, BatchStatus.PENDING)
        message = f"{body.num_simulations} simulations have started. Poll GET {PATH}/{batch_id}"
        return _success({"id": batch_id, "message": message})

    @app.get(PATH, response_model=Success[list[BatchRecord]], response_model_exclude_unset=True)
    def list_all(
        request: Request, response: Response, include_simulations: bool = False, limit: Few = FEW, offset: Offset = 0
    ) -> Success[Any]:
        """Lists the batches of simulations in the file, oldest first; each with its first simulations if you ask for them."""
        page = (0, FEW) if include_simulations else None
        with reading(database) as connection:
            add_page_headers(request, response, limit, offset, simulation_count(connection))
            batches = simulation_batches(connection, limit, offset)
            return _success([batch_record(database, connection, batch, page) for batch in batches])

    @app.get(f"{PATH}/{{id}}", response_model=Success[BatchRecord], response_model_exclude_unset=True)
    def read_one(
        id: str,
        request: Request,
        response: Response,
        include_simulations: bool = True,
        limit: Many = MANY,
        offset: Offset = 0,
    ) -> Success[Any]:
        """Returns one batch with a page of its finished simulations: those with the numbers after `offset`."""
        with reading(database) as connection:
            batch = find(connection, id)
            if include_simulations:
                add_page_headers(request, response, limit, offset, simulations_planned(connection, batch))
            page = (offset, limit) if include_simulations else None
            return _success(batch_record(database, connection, batch, page))


def _add_export(app: FastAPI, database: Path) -> None:
    @app.get(
        f"{PATH}/{{id}}/export",
        response_class=FileResponse,
        responses={
            200: {"description": "The file.", "content": {"application/json": {}, "text/csv": {}}},
        },
    )
    def export(id: str, format: Annotated[Literal["json", "csv"], Query()] = "json") -> FileResponse:
        """Returns the batch as a download: results.json as `tidepool export` writes it, or one CSV file."""
        with reading(database) as connection:
            find(connection, id)
        with contextlib.ExitStack() as until_sent:
            folder = until_sent.enter_context(temporary_folder(Path(tempfile.gettempdir())))
            target = folder / "simulations.csv" if format == "csv" else folder
            path = export_batch(database, id, format, target)[0]
            media_type = {"csv": "text/csv; charset=utf-8", "json": "application/json"}[format]
            cleanup = BackgroundTask(until_sent.pop_all().close)
            return FileResponse(path, media_type=media_type, filename=f"{id}.{format}", background=cleanup)


def _add_life(app: FastAPI, database: Path, runs: Runs) -> None:
    @app.delete(f"{PATH}/{{id}}", response_model=Success[Notice])
    def delete(id: str) -> Success[Any]:
        """Deletes a batch that is not running."""
        with reading(database) as connection:
            batch = find(connection, id)
        if batch["status"] == BatchStatus.PENDING and runs.lives(id):
            raise HTTPException(409, f"Batch {id} is running. Stop it first: POST {PATH}/{id}/stop")
        delete_any(database, id)
        runs.forget(id)
        return _success({"message": f"Batch {id} was deleted."})

    @app.post(f"{PATH}/{{id}}/stop", status_code=202, response_model=Success[Notice])
    def stop(id: str) -> Success[Any]:
        """Stops a running batch; it can be resumed."""
        with reading(database) as connection:
            find(connection, id)
        try:
            steer_any(database, id, "stop")
        except NotFound as error:
            raise HTTPException(409, str(error)) from None
        return _success({"message": f"Batch {id} is stopping."})

    @app.post(f"{PATH}/{{id}}/resume", status_code=202, response_model=Success[Notice])
    def resume(id: str) -> Success[Any]:
        """Resumes a stopped batch, and retries its failed simulations."""
        with reading(database) as connection:
            batch = find(connection, id)
            state = status_now(database, batch, progress_of(connection, batch["number"]))
        if state in (BatchStatus.IN_PROGRESS, BatchStatus.COMPLETED) or runs.waits(id):
            raise HTTPException(409, f"Batch {id} is {state}. There is nothing to resume.")
        refuse_untrusted(batch)
        if not runs.queue(id, batch["status"]):
            raise HTTPException(409, f"Batch {id} has just changed. Check its state, then try again.")
        return _success({"message": f"Batch {id} resumes."})


def _add_entities(app: FastAPI, database: Path) -> None:
    @app.get("/api/entities", response_model=Success[list[EntityRecord]])
    def list_entities(request: Request, response: Response, limit: Many = MANY, offset: Offset = 0) -> Success[Any]:
        """Lists the entities of the file's library, for `entity_ids`."""
        with reading(database) as connection:
            add_page_headers(request, response, limit, offset, library.stamp(connection)[0][0])
            stored = library.list_entities(connection, limit=limit, offset=offset)
            return _success([entity_record(entity) for entity in stored])
