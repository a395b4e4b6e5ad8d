"""Counting: what the cells of a table of rows count, and how far one user's rows change it.

A row joins two vertices and has a user. A cell, see `schema.cells`, counts the pairs of vertices
that rows join ("edges"), users, rows, or the sum of their weights ("weight"). Counts are stored as
integers, in *grid units*: a row, a pair or a unit of weight has `STEPS` grid units where only a
share of it may count, because the contributions of its user are bounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

STEPS = 1024  # grid units of one row, pair or unit of weight, where shares of them count
Counting = Literal["edges", "users", "rows", "weight"]
COUNTED: Mapping[Counting, str] = {  # the word for what is counted
    "edges": "pairs",
    "users": "users",
    "rows": "rows",
    "weight": "amount",
}


def counted_by(counting: Counting) -> str:
    """Return the word for what cells count."""
    return COUNTED[counting]


def counts_once(counting: Counting) -> bool:
    """Return whether one user changes the count of a pair by at most 1, however many rows."""
    return counting in ("edges", "users")


@final
@dataclass(frozen=True)
class Reach:
    """Limits on what the rows of one user can change. Public.

    Attributes:
        once: whether they change the count of a pair by one grid unit at most.
        tail: whether all of them begin at one vertex, which is the user.
    """

    once: bool
    tail: bool
