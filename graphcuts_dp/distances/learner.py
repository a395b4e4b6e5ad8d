"""Learns a convex, Lipschitz function of one number from tangents, one at each mistake.

Pure code on numbers: nothing here is private or draws noise. Whole numbers stay whole numbers.
The hypothesis is the largest of its lines. With exact tangents it never lies above the function;
with tangents that are off by at most e anywhere in the interval, it lies at most e above it. So all
mistakes of more than that are of one sign: the function is above the hypothesis.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError

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


def learner_mistakes(
    tolerance: float, *, line_error: float = 0, width: float = 1, slope_range: float = 2
) -> int:
    """Most mistakes of more than `tolerance` (or as much) that the learner can make.

    For convex functions >= 0 on an interval of this width, whose derivative varies by no more than
    `slope_range`. Let x < y be two points of mistakes. The line of the earlier one is off by at
    least g = tolerance - line_error from the exact tangent at the later one, and convexity gives
    g <= (G'(y) - G'(x))(y - x) whichever came first. Summing over neighbouring points and using
    the Cauchy-Schwarz inequality, (T - 1)^2 g <= slope_range width.

    Exact tangents, width 1 and slopes in [-1, 1]: 1 + sqrt(2/tolerance), below Lemma 4's
    3/sqrt(tolerance). Values and slopes off by tolerance/4 each: a line is off by at most
    tolerance/2, and there are at most 1 + 2/sqrt(tolerance) mistakes, which is Lemma 5.

    Args:
        tolerance: > line_error.
        line_error: how far a line may be from the exact tangent, anywhere in the interval, >= 0.
        width: of the interval, > 0.
        slope_range: > 0.

    Raises:
        ParameterError: a number out of range.

    Source: HR12, Lemmas 4 and 5.
    """
    if not 0 <= line_error < tolerance:
        raise ParameterError("the tolerance must be larger than the error of the lines")
    if not (width > 0 and slope_range > 0):
        raise ParameterError("the width and the range of slopes must be positive")
    return 1 + math.floor(math.sqrt(slope_range * width / (tolerance - line_error)))
