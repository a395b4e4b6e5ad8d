"""The application: routes behind the guard, errors as problem+json."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.server.access import logins
from graphcuts_dp.server.api import make_api
from graphcuts_dp.server.curating import make_curating
from graphcuts_dp.server.middleware import Guard
from graphcuts_dp.server.pages import make_pages
from graphcuts_dp.server.problems import RefusedError, body_of, refusal_of
from graphcuts_dp.server.service import Service

_MOST_ERRORS = 10


def make_app(service: Service) -> FastAPI:
    """The application of a service; the service is closed when the application ends.

    Args:
        service: running.
    """

    @contextlib.asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.close()

    app = FastAPI(
        title="graphcuts_dp",
        version=__version__,
        description="Cuts and other linear queries on a private graph, answered one by one.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    anybody, curator = logins(service)
    app.include_router(make_api(service, anybody))
    app.include_router(make_curating(service, curator))
    app.include_router(make_pages(service, anybody))
    app.add_exception_handler(GraphCutsError, _package_error)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(Guard, service=service)
    return app


def _reply(problem: RefusedError) -> Response:
    text = json.dumps(body_of(problem.status, str(problem), problem.kind, **problem.more))
    return Response(text, problem.status, problem.headers, "application/problem+json")


async def _package_error(_request: Request, problem: Exception) -> Response:
    if not isinstance(problem, GraphCutsError):  # never: it is registered for these alone
        raise problem
    return _reply(refusal_of(problem))


async def _http_error(_request: Request, problem: Exception) -> Response:
    status = getattr(problem, "status_code", 500)
    headers = dict(getattr(problem, "headers", None) or {})
    return _reply(RefusedError(status, "", headers=headers))


async def _not_valid(_request: Request, problem: Exception) -> Response:
    """Where the request is wrong, and how; what was sent is not repeated."""
    if not isinstance(problem, RequestValidationError):
        raise problem
    found: list[dict[str, Any]] = [
        {"place": [str(part)[:60] for part in each["loc"]], "problem": str(each["msg"])[:200]}
        for each in problem.errors()[:_MOST_ERRORS]
    ]
    first = found[0] if found else {"place": [], "problem": "not valid"}
    detail = f"{'.'.join(first['place'])}: {first['problem']}"
    return _reply(RefusedError(422, detail, kind="value", errors=found))
