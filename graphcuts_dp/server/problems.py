"""What a reply says when a request is refused, as problem+json: nothing of the graph."""

from typing import Any, final

from graphcuts_dp.errors import (
    BudgetError,
    ExhaustedError,
    GraphCutsError,
    LedgerError,
)

TITLES = {
    400: "the request is not well formed",
    401: "a valid token is needed",
    403: "not allowed",
    404: "there is no such thing, or it is not yours",
    405: "not a method of this address",
    408: "the request did not arrive in time",
    409: "it does not fit what is on the record",
    413: "the request is too large",
    415: "only application/json, without an encoding, is read",
    422: "a value is out of range",
    429: "too many requests",
    431: "the head of the request is too large",
    500: "the server failed",
    503: "the server cannot answer now",
}
_BUSY = "the store cannot be used now; tell the curator, whose log says why"


@final
class RefusedError(GraphCutsError):
    """A request that is refused.

    Attributes:
        status: of HTTP.
        kind: short name of the problem, its type.
        more: further members of the problem.
        headers: of the reply.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind or str(status)
        self.headers = headers or {}
        self.more = more


def body_of(status: int, detail: str, kind: str | None = None, **more: Any) -> dict[str, Any]:
    """The members of a problem."""
    title = TITLES.get(status, "refused")
    return {
        "type": f"urn:graphcuts-dp:{kind or status}",
        "title": title,
        "status": status,
        "detail": detail or title,
        **more,
    }


def refusal_of(problem: GraphCutsError) -> RefusedError:
    """How an error of the package is told over HTTP."""
    if isinstance(problem, RefusedError):
        return problem
    if isinstance(problem, ExhaustedError):
        return RefusedError(409, str(problem), kind="exhausted", left={"queries": 0})
    if isinstance(problem, BudgetError):
        return RefusedError(409, str(problem), kind="budget")
    if isinstance(problem, LedgerError):  # its message names files of the server
        return RefusedError(503, _BUSY, kind="store")
    return RefusedError(422, str(problem), kind="value")
