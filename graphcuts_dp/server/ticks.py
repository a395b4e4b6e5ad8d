"""When a reply leaves: at ticks that do not tell how long the work took.

How long an answer takes depends on what a sparse vector test found, and on how many edges were
counted. So a reply leaves at a time that is a function of when its request came and of public
sizes, whatever the work took, as long as it took less than was allotted; and if it took longer,
after twice as much, four times as much, and so on: then the time tells, once for each doubling,
that the work was longer than that, and no more. Overruns are counted, and the curator sees how
many there were.
"""

import math
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError

_STEPS = 1 << 20  # of a tick: times are compared in whole steps, not in floats that may round


@final
@dataclass(frozen=True)
class Ticks:
    """The ticks of a server.

    Attributes:
        period: seconds from one to the next, > 0.
        queries: how many queries of a batch are allotted one more period, at least 1.

    Raises:
        ParameterError: a number out of range.
    """

    period: float
    queries: int = 16

    def __post_init__(self) -> None:
        if not 0.001 <= self.period <= 60:
            raise ParameterError("a tick is from 0.001 to 60 seconds")
        if self.queries < 1:
            raise ParameterError("a tick is allotted to at least one query")

    def allotted(self, queries: int = 1) -> int:
        """Whole periods that a request of so many queries is given; a public number."""
        return max(1, math.ceil(queries / self.queries))

    def departure(self, came: float, done: float, queries: int = 1) -> tuple[float, bool]:
        """When a reply leaves.

        Args:
            came: when the request had come, in seconds from some start.
            done: when the work on it was done, by the same clock.
            queries: how many it asks; 1 for a request that asks none.

        Returns:
            The time at which the reply leaves, a whole number of periods, and whether the work took
            longer than allotted. Among all `done` that are within what is allotted, the time does
            not depend on `done`.
        """
        first = _whole(came / self.period)
        wait = self.allotted(queries)
        overrun = False
        while (first + wait) * self.period < done:
            wait *= 2
            overrun = True
        return (first + wait) * self.period, overrun


def _whole(ticks: float) -> int:
    """The first tick that is not before this time."""
    return -((-round(ticks * _STEPS)) // _STEPS)
