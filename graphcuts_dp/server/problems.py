"""What a reply says when a request is refused, as problem+json: nothing of the graph."""

import json
from http import HTTPStatus
from typing import Any, final

from graphcuts_dp.errors import BudgetError, ExhaustedError, GraphCutsError, LedgerError

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
        detail: str = "",
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

    @property
    def body(self) -> str:
        """The problem as JSON."""
        title = HTTPStatus(self.status).phrase
        return json.dumps(
            {
                "type": f"urn:graphcuts-dp:{self.kind}",
                "title": title,
                "status": self.status,
                "detail": str(self) or title,
                **self.more,
            }
        )


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
