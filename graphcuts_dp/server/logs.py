"""Write the log of requests: a line for each, with an identifier that its reply also has.

A line has method, path, status, seconds of the tick, and who asked. It has no query, no answer and
no token. Other lines that are written while a request is served have its identifier, too.
"""

import contextvars
import json
import logging
import re
import secrets
from datetime import UTC, datetime
from typing import Any, Final, final
from urllib.parse import quote

requests: Final[logging.Logger] = logging.getLogger("graphcuts_dp.requests")
REQUEST_ID_HEADER: Final = "x-request-id"
_LONGEST_PATH = 200  # characters
_TOKEN = re.compile(r"gcdp_[A-Za-z0-9_-]*")  # of somebody who puts one into a path
_request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="-")


def begin_request() -> str:
    """Give the present request a new identifier, and return it: 16 random hexadecimal digits."""
    identifier = secrets.token_hex(8)
    _request_id.set(identifier)
    return identifier


def shown_path(path: str) -> str:
    """Return a path as the log has it: on one line, without tokens, cut short."""
    return quote(_TOKEN.sub("gcdp_...", path)[:_LONGEST_PATH])


def log_request(*, method: str, path: str, status: int, seconds: float, person: str) -> None:
    """Write the line of a request.

    Args:
        method: of HTTP.
        path: without the query string.
        status: of the reply.
        seconds: from the request to the tick at which its reply leaves.
        person: who asked; "-" if nobody was recognised.
    """
    facts = {
        "method": method,
        "path": shown_path(path),
        "status": status,
        "seconds": round(seconds, 3),
        "person": person,
    }
    requests.info("%(method)s %(path)s %(status)s %(seconds)ss %(person)s", facts)


@final
class RequestIds(logging.Filter):
    """Adds the identifier of the present request to each line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Set `request` of a record; all records pass."""
        record.request = _request_id.get()
        return True


@final
class JsonLines(logging.Formatter):
    """Writes a line of the log as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        facts: dict[str, Any] = (
            record.args if isinstance(record.args, dict) else {"message": record.getMessage()}
        )
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        common = {
            "time": time,
            "level": record.levelname.lower(),
            "log": record.name,
            "request": getattr(record, "request", "-"),
        }
        return json.dumps({**common, **facts})


def set_up_logging(*, as_json: bool) -> None:
    """Send the log of the server to stderr, as text or as JSON lines."""
    handler = logging.StreamHandler()
    handler.addFilter(RequestIds())
    text = "%(asctime)s %(levelname)s %(name)s %(request)s: %(message)s"
    handler.setFormatter(JsonLines() if as_json else logging.Formatter(text))
    logging.basicConfig(handlers=[handler])
    requests.setLevel(logging.INFO)
