"""Intervals for ratios of functions of a table, by inverting tests.

Whether x is the ratio N/D is tested by N - x D, which is 0 if it is; the interval holds every x
that no test rejects, so it misses the true ratio only if the test of that one number errs. No
distribution of the ratio itself is needed.

Source: Fieller, *Some problems in interval estimation*, 1954, here with proven tails in place of
normal ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from graphcuts_dp.flows.consistency import Values
from graphcuts_dp.flows.convex_radii import LineRadii
from graphcuts_dp.privacy.level_noise import LevelNoise

_DOUBLINGS = 200
_PRECISION = 1e-4  # of an end of an interval, relative to its distance from the ratio


@final
@dataclass(frozen=True, eq=False)
class Side:
    """Numerator or denominator: an estimate, in steps, and what makes its error.

    Attributes:
        value: the estimate.
        told: coefficients of the noisy sums in its error, for each place.
        slack: bound on what else it can be off by.
    """

    value: float
    told: Values
    slack: float


@final
@dataclass(frozen=True)
class RatioBounds:
    """Lower and upper bounds of a ratio; infinite where the denominator may be 0.

    Attributes:
        low: the lower bound.
        high: the upper bound.
    """

    low: float
    high: float


def ratio_bounds(
    noise: LevelNoise,
    places: tuple[int, ...],
    top: Side,
    bottom: Side,
    *,
    below: float,
    above: float,
) -> RatioBounds:
    """Bounds with P(ratio < low) <= below and P(ratio > high) <= above.

    With N, D the true values, D > 0, n, d the estimates, and R(x) the radius of n - x d (see
    `LineRadii`) plus its slack: x is too large if x d - n > R(x). The true x is called too large
    with a probability of at most `above`. r being the convex function below R,
    h(x) = r(x) - (x d - n) is convex, and far out its slope is r(second) - d. Where that is below
    0, h falls everywhere; so everything beyond an x that is too large is too large, and bisection
    finds an upper bound. It is rounded outward: it is the last x that was found too large.
    Else the denominator may be 0, and there is no bound. Likewise below.

    Args:
        noise: one parameter for each measured place.
        places: the measured places.
        top: the numerator.
        bottom: the denominator, truly > 0.
        below: chance that the lower bound fails, in (0, 1/2].
        above: likewise.
    """
    if bottom.value <= 0:
        return RatioBounds(-math.inf, math.inf)
    ratio = top.value / bottom.value
    if not top.slack and not any(told.any() for told in top.told):
        return RatioBounds(ratio, ratio)  # only known cells, which are 0
    found = []
    for sign, failure in ((-1, below), (1, above)):
        line = LineRadii(noise, places, top.told, bottom.told, failure=failure)
        if line.second() + bottom.slack >= bottom.value:
            found.append(sign * math.inf)
            continue

        def excess(
            x: float, search: bool = False, *, line: LineRadii = line, s: int = sign
        ) -> float:
            radius = line.at(x, search=search) + top.slack + abs(x) * bottom.slack
            return s * (x * bottom.value - top.value) - radius

        found.append(_end(excess, ratio, sign, bottom.value))
    return RatioBounds(*found)


def _end(
    excess: Callable[[float, bool], float], ratio: float, sign: int, denominator: float
) -> float:
    """A number with an excess above 0 on one side of the ratio, near to the first such one."""
    inside, lacking = 0.0, min(excess(ratio, True), -1e-300)
    outside = -lacking / denominator
    for _ in range(_DOUBLINGS):
        passed = excess(ratio + sign * outside, True)
        if passed > 0:
            break
        inside, lacking, outside = outside, passed, 2 * outside
    else:
        return sign * math.inf
    while outside - inside > _PRECISION * outside:
        # False position, kept away from both ends; only numbers that were tried come out.
        part = min(max(lacking / (lacking - passed), 0.02), 0.98)
        middle = inside + part * (outside - inside)
        found = excess(ratio + sign * middle, False)
        if found > 0:
            outside, passed, lacking = middle, found, lacking / 2
        else:
            inside, lacking, passed = middle, min(found, -1e-300), passed / 2
    return ratio + sign * outside
