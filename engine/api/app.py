"""The HTTP API: create, read, export and delete batches of simulations. Errors are JSON answers, never pages."""

import asyncio
import contextlib
import json
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from html import escape
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, StreamingResponse
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.routing import Route

from tidepool.engine.api.auth import NO_FRAMES, TokenAuth
from tidepool.engine.api.limits import MOST_BYTES, RequestLimits
from tidepool.engine.api.records import (
    BatchRecord,
    Created,
    EntityRecord,
    Failure,
    NewBatch,
    Notice,
    SimulationPage,
    Success,
    batch_sent,
    batches_sent,
    entities_sent,
    find,
    leniently,
    read_batch,
)
from tidepool.engine.api.runs import Launch, Runs
from tidepool.engine.config.loading import config_from
from tidepool.engine.errors import BatchLocked, FileError, NotFound, NotTrusted, TidepoolError, UsageError
from tidepool.engine.exports.export import export_batch
from tidepool.engine.registries import program_version
from tidepool.engine.run import create_batch, refuse_untrusted
from tidepool.storage import library
from tidepool.storage.api_queue import simulation_count, simulation_numbers
from tidepool.storage.file import prepare, reading, temporary_folder
from tidepool.storage.queries.damage import blame
from tidepool.storage.states import BatchStatus
from tidepool.storage.studies import delete_any, steer_any

BATCHES = 100
SIMULATIONS = 1000
ENTITIES = 1000
"""on a page unless `limit` says otherwise, which may be ten times as many"""

Offset = Annotated[int, Query(ge=0, le=2**32, description="how many to pass over")]

PAGE_HEADERS: dict[str, Any] = {
    "X-Total-Count": {"description": "how many there are, or will be", "schema": {"type": "integer"}},
    "Link": {"description": 'the next page, where there is one: rel="next"', "schema": {"type": "string"}},
}


def page_headers(path: str, other_parameters: str, limit: int, offset: int, total: int) -> dict[str, str]:
    """`other_parameters`: what else stands in the query."""
    headers = {"X-Total-Count": str(total)}
    if offset + limit >= total:
        return headers
    return {**headers, "Link": f'<{path}?{other_parameters}limit={limit}&offset={offset + limit}>; rel="next"'}


_STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}pre{background:#8881;overflow:auto}"


def page(document: Mapping[str, Any]) -> str:
    """The OpenAPI document as plain HTML: FastAPI's own page loads scripts from other servers."""
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


PATH = "/api/batch-simulations"
CODES = {NotFound: 404, BatchLocked: 409, NotTrusted: 403, UsageError: 400, FileError: 503}

_FAILURES = {
    400: "The batch cannot run as it is asked for.",
    401: "The token is missing or wrong.",
    403: "The API was called by a name that is not this machine's; or the batch asks servers that nobody here trusts.",
    404: "There is no such batch.",
    408: "The body came too slowly.",
    409: "The batch is running, or is not.",
    413: "The body is too large.",
    422: "The request is not of this form.",
    503: "The study file cannot be used.",
}


def _failures(*codes: int, paged: bool = False) -> dict[int | str, dict[str, Any]]:
    all_codes = {401, 403, 408, 413, 422, 503, *codes}
    failures: dict[int | str, dict[str, Any]] = {
        code: {"model": Failure, "description": _FAILURES[code]} for code in sorted(all_codes)
    }
    return {**failures, 200: {"headers": PAGE_HEADERS}} if paged else failures


def create_app(
    database: Path, launch: Launch, *, auth: TokenAuth, at_once: int = 4, most_bytes: int = MOST_BYTES
) -> FastAPI:
    """The API on one study file. `launch` starts the process that runs a batch."""
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
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(sorted(_methods(app, request)))
        return response

    @app.exception_handler(Exception)
    async def answer_unexpected(request: Request, error: Exception) -> JSONResponse:
        if damage := await asyncio.to_thread(blame, database, error):
            return _failure(CODES[FileError], str(damage))
        return _failure(500, f"Something unexpected went wrong ({type(error).__name__}). Please report it.")

    @app.exception_handler(sqlite3.Error)
    async def answer_file(request: Request, error: sqlite3.Error) -> JSONResponse:
        return _failure(503, f"The study file cannot be used: {error}.")


def _methods(app: FastAPI, request: Request) -> set[str]:
    """All that the address takes: each function of it knows its own alone."""
    matching = (route for route in app.routes if isinstance(route, Route) and route.path_regex.match(request.url.path))
    return {method for route in matching for method in route.methods or ()}


def _failure(code: int, message: str) -> JSONResponse:
    text = message.encode("utf-8", "replace").decode()
    return JSONResponse({"status": "error", "message": text}, status_code=code)


def _streamed(chunks: Iterable[bytes], headers: dict[str, str]) -> StreamingResponse:
    """The first part is read before the answer begins, so that what cannot be read at all is an error of its own."""
    chunks = iter(chunks)
    opening = [next(chunks), next(chunks)]
    return StreamingResponse(chain(opening, chunks), media_type="application/json", headers=headers)


def _success(data: Any, code: int = 200) -> JSONResponse:
    return JSONResponse({"status": "success", "data": data}, status_code=code)


def _add_batches(app: FastAPI, database: Path, runs: Runs) -> None:
    @app.post(PATH, status_code=201, response_model=Success[Created], responses=_failures(400))
    def create(body: NewBatch) -> JSONResponse:
        """Checks the batch, takes it in and runs it in the background. Poll it with GET."""
        batch_id = create_batch(config_from(body.as_config(), source="the body"), database)
        runs.queue(batch_id, BatchStatus.PENDING)
        message = f"{body.num_simulations} simulations are under way: GET {PATH}/{batch_id}"
        return _success({"id": batch_id, "message": message}, 201)

    @app.get(PATH, response_model=Success[list[BatchRecord]], responses=_failures(paged=True))
    def list_all(
        include_simulations: bool = False,
        limit: Annotated[int, Query(ge=1, le=BATCHES * 10)] = BATCHES,
        offset: Offset = 0,
    ) -> StreamingResponse:
        """The batches of simulations in the file, the oldest first; each with its first simulations where asked."""
        with reading(database) as connection:
            total = simulation_count(connection)
            numbers = simulation_numbers(connection, limit, offset)
        query = f"include_simulations={str(include_simulations).lower()}&" if include_simulations else ""
        simulations = SimulationPage(0, SIMULATIONS) if include_simulations else None
        chunks = chain([b'{"status":"success","data":['], batches_sent(database, numbers, simulations), [b"]}"])
        return _streamed(chunks, page_headers(PATH, query, limit, offset, total))

    @app.get(f"{PATH}/{{id}}", response_model=Success[BatchRecord], responses=_failures(404, paged=True))
    def read_one(
        id: str,
        include_simulations: bool = True,
        limit: Annotated[int, Query(ge=1, le=SIMULATIONS * 10)] = SIMULATIONS,
        offset: Offset = 0,
    ) -> StreamingResponse:
        """One batch with a page of its simulations, as far as they have come: those with the numbers after `offset`."""
        with leniently(database) as connection:
            batch = read_batch(database, connection, find(connection, id))
        simulations = SimulationPage(offset, limit) if include_simulations else None
        chunks = chain([b'{"status":"success","data":'], batch_sent(database, batch, simulations), [b"}"])
        headers = page_headers(f"{PATH}/{id}", "", limit, offset, batch.simulations) if simulations else {}
        return _streamed(chunks, headers)


def _add_export(app: FastAPI, database: Path) -> None:
    @app.get(
        f"{PATH}/{{id}}/export",
        response_class=FileResponse,
        responses={
            **_failures(400, 404),
            200: {"description": "The file.", "content": {"application/json": {}, "text/csv": {}}},
        },
    )
    def export(id: str, format: Annotated[Literal["json", "csv"], Query()] = "json") -> FileResponse:
        """The batch as a download: results.json as `tidepool export` writes it, or one CSV file."""
        with leniently(database) as connection:
            find(connection, id)
        with contextlib.ExitStack() as until_sent:
            folder = until_sent.enter_context(temporary_folder(Path(tempfile.gettempdir())))
            target = folder / "simulations.csv" if format == "csv" else folder
            try:
                path = export_batch(database, id, format, target)[0]
            except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
                raise FileError(f"Batch {id} cannot be exported: its file was changed, or is damaged.") from error
            media_type = {"csv": "text/csv; charset=utf-8", "json": "application/json"}[format]
            cleanup = BackgroundTask(until_sent.pop_all().close)
            return FileResponse(path, media_type=media_type, filename=f"{id}.{format}", background=cleanup)


def _add_life(app: FastAPI, database: Path, runs: Runs) -> None:
    @app.delete(f"{PATH}/{{id}}", response_model=Success[Notice], responses=_failures(404, 409))
    def delete(id: str) -> JSONResponse:
        """Removes a batch that is not running."""
        with leniently(database) as connection:
            batch = find(connection, id)
        if batch["status"] == BatchStatus.PENDING and runs.lives(id):
            raise HTTPException(409, f"Batch {id} is running. Stop it first: POST {PATH}/{id}/stop")
        delete_any(database, id)
        runs.forget(id)
        return _success({"message": f"Batch {id} was deleted."})

    @app.post(f"{PATH}/{{id}}/stop", status_code=202, response_model=Success[Notice], responses=_failures(404, 409))
    def stop(id: str) -> JSONResponse:
        """Stops a running batch; it can be resumed."""
        with leniently(database) as connection:
            find(connection, id)
        try:
            steer_any(database, id, "stop")
        except NotFound as error:
            raise HTTPException(409, str(error)) from None
        return _success({"message": f"Batch {id} was told to stop."}, 202)

    @app.post(f"{PATH}/{{id}}/resume", status_code=202, response_model=Success[Notice], responses=_failures(404, 409))
    def resume(id: str) -> JSONResponse:
        """Goes on with a batch that stopped, and retries its failed simulations."""
        with leniently(database) as connection:
            batch = find(connection, id)
            state = read_batch(database, connection, batch).record["status"]
        if state in (BatchStatus.IN_PROGRESS, BatchStatus.COMPLETED) or runs.waits(id):
            raise HTTPException(409, f"Batch {id} is {state}: nothing to resume.")
        refuse_untrusted(batch)
        if not runs.queue(id, batch["status"]):
            raise HTTPException(409, f"Batch {id} is not as it was a moment ago: look at it, then try again.")
        return _success({"message": f"Batch {id} goes on."}, 202)


def _add_entities(app: FastAPI, database: Path) -> None:
    @app.get("/api/entities", response_model=Success[list[EntityRecord]], responses=_failures(paged=True))
    def list_entities(
        limit: Annotated[int, Query(ge=1, le=ENTITIES * 10)] = ENTITIES, offset: Offset = 0
    ) -> StreamingResponse:
        """The entities of the file's library, for `entity_ids`."""
        with reading(database) as connection:
            total = library.stamp(connection)[0][0]
        chunks = chain([b'{"status":"success","data":['], entities_sent(database, limit, offset), [b"]}"])
        return _streamed(chunks, page_headers("/api/entities", "", limit, offset, total))
