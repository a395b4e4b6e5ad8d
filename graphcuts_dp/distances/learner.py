"""Learns a convex, Lipschitz function of one number from tangents, one at each mistake.

Pure code on numbers: nothing here is private or draws noise. Whole numbers stay whole numbers.
The hypothesis is the largest of its lines. With exact tangents it never lies above the function;
with tangents that are off by at most e anywhere in the interval, it lies at most e above it. So all
mistakes of more than that are of one sign: the function is above the hypothesis.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@final
@dataclass(frozen=True)
class Line:
    """A straight line, through a point that is kept.

    Attributes:
        at: the point.
        value: there.
        slope: everywhere.
    """

    at: float
    value: float
    slope: float

    def __call__(self, x: float) -> float:
        """The value at x."""
        return self.value + self.slope * (x - self.at)


@final
@dataclass(frozen=True)
class PiecewiseLinear:
    """The largest of some lines, and of 0. Immutable.

    Attributes:
        lines: in the order in which they came.

    Source: HR12, Figure 1; its first line, of slope and value 0, is the 0.
    """

    lines: tuple[Line, ...] = ()

    def __call__(self, x: float) -> float:
        """The value at x; a whole number if x and all lines are."""
        return max([0, *(line(x) for line in self.lines)])

    def at(self, points: Numbers) -> Numbers:
        """The values at many points, of their shape and type."""
        result = np.zeros_like(points)
        for line in self.lines:
            np.maximum(result, line.value + line.slope * (points - line.at), out=result)
        return result

    def with_line(self, line: Line) -> "PiecewiseLinear":
        """The hypothesis after a mistake at `line.at`: a tangent of the function there."""
        return PiecewiseLinear((*self.lines, line))
