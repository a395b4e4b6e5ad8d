"""The audit log as a text that can be verified later."""

import json

from graphcuts_dp.server.chain import line_of
from graphcuts_dp.server.people import People


def log_text(people: People) -> str:
    """The whole log as JSON lines: first what its chain starts with, then each line."""
    header = {"log": "graphcuts_dp server", "salt": people.book.salt.hex()}
    lines = [line_of(*each) for each in people.log_lines()]
    return "".join(json.dumps(each) + "\n" for each in [header, *lines])
