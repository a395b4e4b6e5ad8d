"""The web application of the page, for people on this machine who have its link.

Every request but those for the page's own files has the token of the link in a header. The link has
it behind a `#`, which no browser sends, so that it stands in no log. Host and Origin are those of
the page; nothing is fetched from anywhere else.
"""

import asyncio
import contextlib
import hmac
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.files import open_secret
from graphcuts_dp.options import described
from graphcuts_dp.page import result
from graphcuts_dp.page.accounts import spent_on
from graphcuts_dp.page.estimate import error_of
from graphcuts_dp.page.form import completed
from graphcuts_dp.page.private_file import (
    HEADER_UNANSWERED,
    counts_for_your_eyes,
    first_line_for_your_eyes,
    head_of,
    look,
    must_say_header,
    not_counted,
    suggested_values,
)
from graphcuts_dp.page.products import LOOK, PRODUCTS
from graphcuts_dp.page.runs import (
    DONE,
    LOST,
    PROGRAM,
    REFUSED,
    RUNNING,
    STOPPED,
    Runs,
    account_named_in,
    is_of_other_data,
)
from graphcuts_dp.page.steps import STEPS
from graphcuts_dp.page.words import UNITS
from graphcuts_dp.reports.hazards import LONGEST_ANSWER, HazardAnswers
from graphcuts_dp.reports.rendering import STYLE, html_page, html_sheets
from graphcuts_dp.server import app as server
from graphcuts_dp.server.settings import Binding

_WEB = Path(__file__).resolve().parent / "web"
_HOST = "127.0.0.1"
_BODY = 1 << 20  # bytes of a request that is no file
_API = "/api/"
_PARTIAL = ".part"  # name of an upload that is not whole
# Methods of `Page` that answer requests to paths of their names, with JSON in both directions.
_HANDLERS = (
    *("form", "account", "head", "first_line", "look", "row_counts", "preview"),
    *("start", "resume", "runs", "run", "reasons", "truth", "forget"),
)
_FILLED_BY_PAGE = ("other_accounts",)  # answers of the report that the page gives, not the curator
NOT_PRIVATE = "x-not-private"  # header of the replies for the marked panels
# A result's picture stands in the page as data.
_POLICY = (
    server.POLICY.replace("img-src 'self'", "img-src 'self' data: blob:")
    + "; style-src-attr 'unsafe-inline'"
)


@final
class Gate:
    """Pass on requests from this machine that have the token, and refuse all others.

    Args:
        app: the application behind the gate.
        token: of the link.
        port: of the server.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{_HOST}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, by the protocol of ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**server.HEADERS, "content-security-policy": _POLICY})
            await send(message)

        refusal = self._refusal(scope)
        try:
            await (self._app if refusal is None else refusal)(scope, receive, send_with_headers)
        except Exception as problem:
            server.log_failure(problem)  # without its message, which may be private

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if headers.get("host") not in self._hosts:
            return _refusal_reply(400, "this page does not go by that name")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return _refusal_reply(403, "another page asks")
        authorization = headers.get("authorization", "").encode()
        if scope["path"].startswith(_API) and not hmac.compare_digest(
            authorization, f"Bearer {self._token}".encode()
        ):
            return _refusal_reply(401, "open the link that the terminal shows: it holds the token")
        return None


def _refusal_reply(status: int, detail: str) -> JSONResponse:
    return JSONResponse({"detail": detail}, status)


@final
class Page:
    """Answer the requests of the page.

    Args:
        folder: of runs, uploads and stores.
        largest: bytes of a file that may be dropped on the page.
    """

    def __init__(self, folder: Path, largest: int) -> None:
        self._runs, self._largest = Runs(folder), largest
        self._uploads = folder / "data"
        for partial in self._uploads.glob(f"*/{_PARTIAL}"):  # a page was killed meanwhile
            partial.unlink()

    def routes(self) -> list[Route | Mount]:
        """Return the routes of the page: its files, its requests, and the files of results."""
        return [
            Route("/", lambda _: FileResponse(_WEB / "page.html")),
            *(
                Route(_API + name, _handler(getattr(self, name)), methods=["POST"])
                for name in _HANDLERS
            ),
            Route(_API + "upload/{name}", self.upload, methods=["POST"]),
            Route(_API + "file/{run}/{name}", self.file),
            Route("/report.css", lambda _: FileResponse(STYLE)),
            Mount("/page", StaticFiles(directory=server.FOLDER)),
            Mount("/web", StaticFiles(directory=_WEB)),
        ]

    def form(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the steps, the products with their fields, and the questions of the report."""
        products = {
            name: {
                "title": product.title,
                "about": (product.function.__doc__ or "").partition("\n")[0],
                "preset": product.preset,
                "offered": product.is_result,
                "fields": list(product.fields()),
            }
            for name, product in PRODUCTS.items()
        }
        steps = [
            {"name": name, "title": title, "next": next_step}
            for name, (title, next_step) in STEPS.items()
        ]
        form = {"products": products, "confidence": DEFAULT_PERCENT}
        questions = [
            {"key": about.name, "text": about.help, "most": LONGEST_ANSWER}
            for about in described(HazardAnswers)
            if about.name not in _FILLED_BY_PAGE
        ]
        return form | {"steps": steps, "units": UNITS, "questions": questions}

    def account(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the account that would be charged, and the others of the folder."""
        return self._runs.account(body["values"], str(body["source"]))

    def head(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of a file, and what their names suggest."""
        path, values = str(body["path"]), body.get("values", {})
        names = head_of(path, values)
        reply = {"names": names, "suggested": suggested_values(names)}
        return reply | {"asks_for_header": must_say_header(path, values)}

    def first_line(self, body: dict[str, Any]) -> Response:
        """Return the first line of a file that may be a row: not private, for the marked panel."""
        line = first_line_for_your_eyes(str(body["path"]), body.get("values", {}))
        return JSONResponse(line, headers={NOT_PRIVATE: "may be a row"})

    def look(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return how a file would be read, from its head."""
        return look(str(body["path"]), body["values"])

    def row_counts(self, body: dict[str, Any]) -> Response:
        """Return how many rows cannot be used, and why: not private, for the marked panel."""
        try:
            counts = counts_for_your_eyes(str(body["path"]), body["values"], PROGRAM)
        except GraphCutsError as problem:  # its message may reveal rows
            counts = not_counted(LOOK.in_words(str(problem)))
        for fault in counts["faults"]:
            fault["text"] = LOOK.in_words(fault["text"])
        return JSONResponse(counts, headers={NOT_PRIVATE: "counted from rows"})

    def preview(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the forecast of a dry run; if an error is requested, at the epsilon for it."""
        product = PRODUCTS[body["product"]]
        source = str(body.get("source", ""))
        values = body["values"]
        if body.get("error"):
            error, error_index = float(body["error"]), int(body.get("error_index", 0))
            epsilon = product.epsilon_for(completed(values, source), error, error_index)
            values = {**values, "epsilon": f"{epsilon:g}"}
        forecast = self._runs.forecast(product, values, source)
        expected = forecast.expected
        words = {
            "notes": [
                product.in_words(note)
                for note in expected["notes"]
                if not note.startswith(product.unshown_notes)
            ],
            "odds_in_words": [product.in_words(text) for text in expected["odds_in_words"]],
            "unit_in_words": product.in_words(expected["unit_in_words"]),
        }
        reply = expected | words | {"budget": forecast.budget}
        if "people" in body:
            reply["estimate"] = error_of(int(body["people"] or 0), expected).to_dict()
        return reply

    def start(self, body: dict[str, Any]) -> dict[str, Any]:
        """Begin a run, if the curator has confirmed the amount that it spends."""
        confirmed = float(body.get("confirmed", 0))
        source = str(body["source"])
        answers = dict(body.get("answers", {}))
        if Path(source).expanduser().is_file() and must_say_header(source, body["values"]):
            raise ParameterError(HEADER_UNANSWERED)  # else private words could stand in the report
        people = body.get("people")
        run = self._runs.start(
            body["product"],
            body["values"],
            source,
            confirmed,
            answers,
            separate=bool(body.get("separate")),
            people=None if people is None else int(people),
        )
        return {"run": run.folder.name}

    def resume(self, body: dict[str, Any]) -> dict[str, Any]:
        """Resume a run that was charged and has no result."""
        return {"run": self._runs.resume(str(body["run"])).folder.name}

    def runs(self, _: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all runs, the latest first."""
        rows = []
        for run in self._runs.all():
            state = run.state()["state"]
            used = 0.0 if state in (REFUSED, STOPPED) else run.plan["expected"]["epsilon"]
            about = {"run": run.folder.name, "title": run.product.title, "time": run.plan["time"]}
            rows.append(about | {"data": result.data_of(run), "epsilon": used, "state": state})
        return rows

    def run(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the status of a run, with its result once it is done.

        The reasons of a refusal may reveal private rows, such as the lines of those that cannot be
        used: only `reasons` returns them.
        """
        run = self._runs.find(str(body["run"]))
        status = run.state() | {"title": run.product.title, "time": run.plan["time"]}
        errors = status.pop("errors", [])
        status["account"] = next(filter(None, map(account_named_in, errors)), None)
        steps = [run.product.refusal(error)["step"] for error in errors]
        status["step"] = next(filter(None, steps), None)
        status["has_reasons"] = bool(errors)
        status["of_other_data"] = any(map(is_of_other_data, errors))
        copy = self._copy(run.plan["source"])
        status |= {
            "copy": None if copy is None else str(copy),
            "command": result.command_of(run),
            "unit_in_words": run.product.in_words(run.plan["expected"]["unit_in_words"]),
        }
        if status["state"] == DONE:
            status |= {"html": result.fragment(run), "files": run.files}
            status |= {"spent": spent_on(run.plan["store"]), "truth": run.product.truth is not None}
            status |= {"mostly_noise": result.noise_warning(run), "report": run.report}
            status |= {"band": result.band_note(run), "estimate": result.estimate_in_words(run)}
            status |= {"sheets": html_sheets(result.report_on(run))}
        return status

    def reasons(self, body: dict[str, Any]) -> Response:
        """Return the reasons of a refusal: not private, for the marked panel."""
        run = self._runs.find(str(body["run"]))
        reasons = [run.product.in_words(error) for error in run.state().get("errors", [])]
        return JSONResponse({"reasons": reasons}, headers={NOT_PRIVATE: "may reveal rows"})

    def truth(self, body: dict[str, Any]) -> Response:
        """Compare the result with the private file: not private, for the marked panel."""
        run = self._runs.find(str(body["run"]))
        try:
            text = run.against_truth()
        except GraphCutsError as problem:  # its message may reveal rows
            text = run.product.in_words(str(problem))
        return JSONResponse({"text": text}, headers={NOT_PRIVATE: "reads the truth"})

    def forget(self, body: dict[str, Any]) -> dict[str, bool]:
        """Delete the copy of a file that was dropped on the page, if no run needs it.

        A copy is needed by a run that is at work or can be resumed. Unless its deletion was
        confirmed, a copy with a result stays, too, so that the two can be compared.
        """
        copy = self._copy(str(body["path"]))
        if copy is None:
            return {"deleted": False}
        needed = {RUNNING, LOST} if body.get("confirmed") else {RUNNING, LOST, DONE}
        for run in self._runs.all():
            if self._copy(run.plan["source"]) == copy and run.state()["state"] in needed:
                return {"deleted": False}
        copy.unlink()
        with contextlib.suppress(OSError):
            copy.parent.rmdir()
        return {"deleted": True}

    def _copy(self, path: str) -> Path | None:
        """Return the file if it is a copy of one that was dropped, else None."""
        copy = Path(path).expanduser().resolve()
        is_copy = copy.parent.parent == self._uploads.resolve() and copy.is_file()
        return copy if is_copy else None

    async def upload(self, request: Request) -> Response:
        """Store a file that was dropped on the page, readable by this account alone."""
        name = Path(request.path_params["name"]).name.lstrip(".") or "data"
        self._uploads.mkdir(mode=0o700, exist_ok=True)
        folder = self._uploads / secrets.token_hex(4)
        folder.mkdir(mode=0o700)
        partial, size = folder / _PARTIAL, 0
        try:
            with os.fdopen(open_secret(partial, new=True), "wb") as file:
                async for part in request.stream():
                    size += len(part)
                    if size > self._largest:
                        break
                    await run_in_threadpool(file.write, part)
            if size <= self._largest:
                partial.rename(folder / name)  # only a whole file gets the name
                return JSONResponse({"path": str(folder / name)})
        finally:  # also if the browser has closed the connection
            if partial.exists():
                partial.unlink()
                folder.rmdir()
        return _refusal_reply(413, f"a file has at most {self._largest:,} bytes: type its path")

    async def file(self, request: Request) -> Response:
        """Return a file of a result, or its notebook or printable report."""
        name = request.path_params["name"]
        try:
            run = self._runs.find(request.path_params["run"])
            if name == "notebook.ipynb":
                return Response(result.notebook(run), media_type="application/x-ipynb+json")
            if name == "report.html":
                return HTMLResponse(html_page(await run_in_threadpool(result.report_on, run)))
        except GraphCutsError as problem:
            return _refusal_reply(404, str(problem))
        if name not in run.files:
            return _refusal_reply(404, "there is no such file")
        return FileResponse(run.folder / name)


def _handler(method: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that calls a method with the JSON of a request, in a thread.

    An error of the package becomes a refusal in the words of the page.
    """

    async def answer(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _BODY:
                return _refusal_reply(413, "that is too much for a form")
        fields: Any = {}
        try:
            fields = json.loads(body or b"{}")
            reply = await run_in_threadpool(method, fields)
        except GraphCutsError as problem:
            product = PRODUCTS.get(fields.get("product"), LOOK)
            return JSONResponse(product.refusal(problem), 422)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            server.log_failure(problem)
            return _refusal_reply(400, "that is no form of this page")
        return reply if isinstance(reply, Response) else JSONResponse(reply)

    return answer


def make_app(folder: Path, token: str, port: int, largest: int) -> ASGIApp:
    """Return the application behind its gate.

    Args:
        folder: of runs, uploads and stores; it exists.
        token: of the link.
        port: of the server.
        largest: bytes of a file that may be dropped on the page.
    """
    return Gate(Starlette(routes=Page(folder, largest).routes()), token, port)


def serve(folder: Path, port: int, largest: int, on_ready: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C.

    Args:
        folder: of runs, uploads and stores; created for this account alone if it is missing.
        port: of the server; 0 takes any free one.
        largest: bytes of a file that may be dropped on the page.
        on_ready: called with the link, once the port is open.

    Raises:
        FileFormatError: the folder cannot be created.
        ServerError: the port is taken.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise FileFormatError(f"cannot make {folder}: {problem.strerror}") from None
    token = secrets.token_urlsafe(24)
    with server.listening_at(Binding(host=_HOST, port=port)) as listener:
        port = listener.getsockname()[1]
        config = uvicorn.Config(
            make_app(folder.resolve(), token, port, largest),
            access_log=False,
            log_level="error",
            server_header=False,
            ws="none",
            lifespan="off",
        )
        on_ready(f"http://{_HOST}:{port}/#{token}")
        with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
            uvicorn.Server(config).run(sockets=[listener])
