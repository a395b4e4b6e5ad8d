"""Sums of convex functions of one coordinate each: what average l1 distances are.

With D'(y) the average of |x_1 - y_1| + ... + |x_l - y_l| over people x, each summand is convex in
its coordinate, and the average of |x_j - t| is 1-Lipschitz in t, not 1/n-Lipschitz (HR12, section
3.1, says the latter). Pure code on numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from graphcuts_dp.distances.learner import Line, Numbers, PiecewiseLinear


@final
@dataclass(frozen=True)
class DecomposableHypothesis:
    """A sum of one-dimensional hypotheses. Immutable.

    Attributes:
        parts: one for each coordinate.

    Source: HR12, Lemma 6.
    """

    parts: tuple[PiecewiseLinear, ...]

    @classmethod
    def zero(cls, dimensions: int) -> "DecomposableHypothesis":
        """The hypothesis before the first mistake: 0 everywhere."""
        return cls((PiecewiseLinear(),) * dimensions)

    def __call__(self, point: Sequence[float]) -> float:
        """The value at a point, one number for each coordinate."""
        return sum(part(x) for part, x in zip(self.parts, point, strict=True))

    def at(self, points: Numbers) -> Numbers:
        """The values at many points, shape (k, coordinates); returns shape (k,)."""
        result = np.zeros_like(points[:, 0])
        for j, part in enumerate(self.parts):
            result += part.at(points[:, j])
        return result

    def with_lines(self, lines: Sequence[Line]) -> "DecomposableHypothesis":
        """The hypothesis after a mistake at a point: a tangent in every coordinate.

        All of them, not only those that were off, as HR12 has it: which ones were off depends on
        the data alone, without noise, so that which lines are new would tell it. More lines never
        do harm.
        """
        pairs = zip(self.parts, lines, strict=True)
        return replace(self, parts=tuple(part.with_line(line) for part, line in pairs))
