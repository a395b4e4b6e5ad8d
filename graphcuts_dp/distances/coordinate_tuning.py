"""Noise, tolerance and cap for learning one coordinate's distances: a budget well spent.

Everything is counted in steps of the coordinate's public grid, and summed over people, not
averaged: all private numbers are whole.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
import scipy

from graphcuts_dp.distances.above_threshold import AboveThreshold, geometric_quantile
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.calibration import at_most
from graphcuts_dp.privacy.value_noise import ValueNoise

LARGEST_SUM = 2**58  # people times width: 64-bit integers hold every sum with its noise
_LARGEST_SCALE = 2**55
_CANDIDATES = 160  # caps that are tried


@final
@dataclass(frozen=True)
class CoordinateTask:
    """What one coordinate has to do, in public numbers.

    Attributes:
        width: W: positions are 0..W, W >= 1.
        people: n >= 1.
        queries: k >= 1, tests that are made at most.
        points: positions that can be asked for, >= 1.
    """

    width: int
    people: int
    queries: int
    points: int

    def __post_init__(self) -> None:
        if self.people * self.width > LARGEST_SUM:
            raise ParameterError("too many people for so fine a grid; take a larger unit of length")

    @property
    def most_updates(self) -> int:
        """No point needs two, no query two."""
        return min(self.queries, self.points)


@final
@dataclass(frozen=True)
class CoordinateTuning:
    """What a budget buys.

    Attributes:
        task: what it is for.
        updates: c, hard cap on the number of tangents that are bought.
        test: with its noise.
        value_noise: on the value of a tangent.
        count_noise: on the number of people at or below a position, which is half the slope.
        value_radius: no value that is bought is farther off, in steps.
        count_radius: no count.
        below: a guaranteed hypothesis is above the truth by no more than this, in steps.
        above: and below it by no more than this.
        spent: pure epsilon, or rho, that `updates` tangents and `updates` + 1 instances of the test
            cost, exactly.
    """

    task: CoordinateTask
    updates: int
    test: AboveThreshold
    value_noise: ValueNoise
    count_noise: ValueNoise
    value_radius: int
    count_radius: int
    below: int
    above: int
    spent: Fraction


@lru_cache(maxsize=4096)
def tune_coordinate(
    task: CoordinateTask, *, budget: Fraction, pure: bool, beta: float
) -> CoordinateTuning:
    """The cap with the least guaranteed error, and what goes with it.

    Moving a person changes a sum of distances by at most max(t, W - t) <= W steps, and the number
    of people at or below t by at most 1, so their slope 2 count - n by 2 (HR12, proof of Theorem
    1, says that the derivative's sensitivity is that of the value: O(1/n)).

    Accuracy. A tangent is off by at most e = value radius + 2 W count radius anywhere; a test that
    fires shows q - h >= T - N >= e + g, so the exact tangents of earlier updates are off there by
    at least g, and there are at most 1 + sqrt(2 n W/g) <= c (HR12, Lemma 4). A silent test
    shows q - h < T + R. All with probability 1 - beta, a quarter each for N, R, values and counts.

    Args:
        task: public numbers.
        budget: epsilon, or rho.
        pure: whether the budget is a pure epsilon (geometric noise), or rho (discrete Gaussian).
        beta: in (0, 1).

    Raises:
        ParameterError: noise too large for 64-bit integers.
    """
    most = task.most_updates
    caps = np.unique(np.rint(np.geomspace(1, most, _CANDIDATES))).astype(np.int64)
    errors = [_predict(task, int(c), float(budget), pure, beta)[0] for c in caps]
    return _tuned(task, int(caps[int(np.argmin(errors))]), budget, pure, beta)


def _predict(
    task: CoordinateTask, c: int, budget: float, pure: bool, beta: float
) -> tuple[float, float]:
    """Error in steps, and the part of the budget that tangents get, before any rounding."""
    log_r, log_n = _logs(task, c, beta)
    tests = task.width * (math.sqrt(log_r) + math.sqrt(2 * log_n)) ** 2
    if pure:
        quantile = math.log(4 * c / beta)
        tests *= (c + 1) / budget
        lines = task.width * quantile * c / budget * (1 + math.sqrt(2)) ** 2
        part = math.sqrt(lines) / (math.sqrt(lines) + math.sqrt(tests))
        noise = lines / part + tests / (1 - part)
    else:
        quantile = float(-scipy.special.ndtri(beta / (8 * c)))
        tests *= math.sqrt((c + 1) / (2 * budget))
        lines = task.width * quantile * math.sqrt(c / (2 * budget)) * (1 + 2 ** (2 / 3)) ** 1.5
        part = lines ** (2 / 3) / (lines ** (2 / 3) + tests ** (2 / 3))
        noise = lines / math.sqrt(part) + tests / math.sqrt(1 - part)
    return noise + _gap(task, c), part


def _logs(task: CoordinateTask, c: int, beta: float) -> tuple[float, float]:
    return math.log(4 * (c + 1) / beta), math.log(4 * task.queries / beta)


def _gap(task: CoordinateTask, c: int) -> int:
    """g: the least whole number > 0 for which no more than c mistakes are possible."""
    if c >= task.most_updates:
        return 1
    if c == 1:
        return 2 * task.people * task.width + 1  # no tangent is off by so much
    return max(1, math.ceil(2 * task.people * task.width / (c - 1) ** 2))


def _tuned(
    task: CoordinateTask, c: int, budget: Fraction, pure: bool, beta: float
) -> CoordinateTuning:
    _, part = _predict(task, c, float(budget), pure, beta)
    for_lines = budget * Fraction(round(part * 2**20), 2**20)
    value, count = _line_noise(task.width, for_lines / c, pure)
    log_r, log_n = _logs(task, c, beta)
    each = (budget - for_lines) / (c + 1)  # for an instance
    total = float(each) if pure else math.sqrt(2 * float(each))
    first = total * math.sqrt(log_r) / (math.sqrt(log_r) + math.sqrt(2 * log_n))
    r1 = at_most(first / task.width)
    r2 = at_most((total - first) / (2 * task.width))
    if min(r1, r2) < Fraction(1, _LARGEST_SCALE):
        raise ParameterError("the noise does not fit into 64 bits; use more epsilon")
    failure = beta / 4
    value_radius, count_radius = value.radius(failure / c), count.radius(failure / c)
    line_error = value_radius + 2 * task.width * count_radius
    margin = geometric_quantile(r2, failure=failure / task.queries)
    rise = geometric_quantile(r1, failure=failure / (c + 1))
    tolerance = line_error + _gap(task, c)
    test = AboveThreshold(r1, r2, tolerance + margin)
    one = test.cost(task.width)
    spent = (c + 1) * (one if pure else one**2 / 2) + c * (
        _spent(value, task.width) + _spent(count, 1)
    )
    if spent > budget:  # cannot happen: everything above is rounded to less
        raise ArithmeticError("a coordinate would spend more than its budget")
    return CoordinateTuning(
        task=task,
        updates=c,
        test=test,
        value_noise=value,
        count_noise=count,
        value_radius=value_radius,
        count_radius=count_radius,
        below=line_error,
        above=tolerance + margin + rise,
        spent=spent,
    )


def _line_noise(width: int, budget: Fraction, pure: bool) -> tuple[ValueNoise, ValueNoise]:
    """For one value and one count, such that their radius + 2 width radius is least."""
    part = 1 / (1 + math.sqrt(2)) if pure else 1 / (1 + 2 ** (2 / 3))
    for_value = budget * Fraction(round(part * 2**20), 2**20)
    for_count = budget - for_value
    if pure:
        return (
            ValueNoise("laplace", at_most(float(for_value) / width)),
            ValueNoise("laplace", at_most(float(for_count))),
        )
    return (
        ValueNoise("gaussian", _variance(width, for_value)),
        ValueNoise("gaussian", _variance(1, for_count)),
    )


def _variance(sensitivity: int, rho: Fraction) -> Fraction:
    """At least s^2/(2 rho), and not long to write."""
    return Fraction(math.ceil(sensitivity**2 / (2 * rho) * 1024), 1024)


def _spent(noise: ValueNoise, sensitivity: int) -> Fraction:
    if noise.distribution == "laplace":
        return sensitivity * noise.parameter
    return sensitivity**2 / (2 * noise.parameter)
