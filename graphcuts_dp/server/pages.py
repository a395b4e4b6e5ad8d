"""The page: a few files that are served as they lie here, and what logs somebody in.

The files hold nothing of the graph: all comes from the API. Nothing is loaded from elsewhere.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from graphcuts_dp.server.access import COOKIE, Logins, check_failures, note_failure
from graphcuts_dp.server.models import LoginIn, MeOut
from graphcuts_dp.server.people import CURATOR, LOGIN_SECONDS, MONITOR, Login
from graphcuts_dp.server.problems import RefusedError
from graphcuts_dp.server.service import Service

_FOLDER = Path(__file__).resolve().parent / "page"
_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_PLACES = {"/": "login.html", "/analyst": "analyst.html", "/curator": "curator.html"}


def make_pages(service: Service, logins: Logins) -> APIRouter:
    """The routes; see `server.app`."""
    router = APIRouter()
    files = {f"/page/{file.name}": file for file in sorted(_FOLDER.iterdir())}
    files |= {place: _FOLDER / name for place, name in _PLACES.items()}
    for place, file in files.items():
        router.add_api_route(place, _giver(file), include_in_schema=False)
    Who = Annotated[Login, Depends(logins.anybody)]

    @router.post("/v1/login")
    async def login(request: Request, response: Response, asked: LoginIn) -> MeOut:
        """Begin a login of the page with a token: the reply sets a cookie."""
        check_failures(service, request)
        found = service.desk.people.of_token(asked.token)
        if found is None:
            raise note_failure(service, request)
        secret, csrf = await service.at_store(service.desk.people.log_in, found)
        response.set_cookie(
            COOKIE,
            secret,
            max_age=int(LOGIN_SECONDS),
            httponly=True,
            samesite="strict",
            secure=service.secure,
        )
        return MeOut(name=found.person.name, role=found.person.role, csrf=csrf)

    @router.post("/v1/logout")
    async def logout(who: Who, request: Request, response: Response) -> MeOut:
        """End a login of the page."""
        secret = request.cookies.get(COOKIE)
        if secret is not None:
            await service.at_store(service.desk.people.log_out, secret)
        response.delete_cookie(COOKIE)
        return MeOut(name=who.person.name, role=who.person.role, csrf=None)

    @router.get("/healthz", response_class=PlainTextResponse)
    async def healthz() -> str:
        """Whether the server runs. Tells nothing else."""
        return "ok\n"

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics(who: Who) -> str:
        """Counters for Prometheus, to monitors and curators."""
        if who.person.role not in (MONITOR, CURATOR):
            raise RefusedError(403, "monitors and curators read the metrics", kind="role")
        return service.metrics()

    return router


def _giver(file: Path) -> Callable[[], Awaitable[Response]]:
    content, kind = file.read_bytes(), _KINDS[file.suffix]

    async def give() -> Response:
        return Response(content, media_type=kind)

    return give
