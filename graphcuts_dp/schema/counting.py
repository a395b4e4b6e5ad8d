"""What the cells of a table of rows count, in words, and in which steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

STEPS = 1024  # of one row, pair or unit of weight, where they are counted in parts
Counting = Literal["edges", "users", "rows", "weight"]  # what a cell of rows tells
COUNTED: Mapping[Counting, str] = {
    "edges": "pairs",
    "users": "users",
    "rows": "rows",
    "weight": "amount",
}


def counted_by(counting: Counting) -> str:
    """What cells of rows count, in a word."""
    return COUNTED[counting]


def counts_once(counting: str) -> bool:
    """Whether one user changes a pair by at most one, whatever rows there are."""
    return counting in ("edges", "users")


@final
@dataclass(frozen=True)
class Reach:
    """What the rows of one user can change. Public.

    Attributes:
        once: whether they change a pair by one step at most.
        tail: whether all of them begin at one vertex, the user.
    """

    once: bool
    tail: bool
