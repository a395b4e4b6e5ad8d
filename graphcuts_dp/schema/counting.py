"""Counting: what the cells of a table of rows count, and how far one user's rows change it.

A row joins two vertices and has a user. A cell, see `schema.cells`, counts the pairs of vertices
that rows join ("edges"), users, rows, or the sum of their weights ("weight").

Counts are stored as integers, in *grid units*. Where the rows of a user who has more than may count
are scaled down, only a share of each counts. One row or pair then has `STEPS` grid units, and
shares are rounded to them. So has a unit of weight. Elsewhere one row or pair is one grid unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final, get_args

STEPS = 1024  # grid units of one row, pair or unit of weight, where shares of them count
Counting = Literal["edges", "users", "rows", "weight"]
COUNTINGS: tuple[Counting, ...] = get_args(Counting)
COUNTED: Mapping[Counting, str] = {  # the word for what is counted
    "edges": "pairs",
    "users": "users",
    "rows": "rows",
    "weight": "amount",
}
CONTRIBUTED: Mapping[Counting, str] = {  # what a bound on the contributions of a user counts
    "edges": "pairs",
    "users": "pairs",
    "rows": "rows",
    "weight": "units of weight",
}


def counted_by(counting: Counting) -> str:
    """Return the word for what cells count, as sentences for the user have it."""
    return COUNTED[counting]


def counts_once(counting: Counting) -> bool:
    """Return whether one user changes the count of a pair by at most 1.

    This holds for "edges" and "users", however many rows of the user join the pair.
    """
    return counting in ("edges", "users")


@final
@dataclass(frozen=True)
class Reach:
    """Limits on what the rows of one user can change. Public; sensitivities are computed from them.

    Attributes:
        once: whether they change the count of a pair by at most 1, see `counts_once`. In grid units
            that is 1, or `STEPS` where shares count.
        tail: whether all of them begin at one vertex, since the user of a row is its source.
    """

    once: bool
    tail: bool
