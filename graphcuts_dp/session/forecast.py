"""Whether a session will be worth its price, from public numbers, before anything is spent.

What a request to a session would use.
"""

import math
from dataclasses import dataclass, replace
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.session.online import TOTAL
from graphcuts_dp.session.parameters import Parameters


@final
@dataclass(frozen=True)
class Preview:
    """What a request would use.

    Attributes:
        queries: asked for, each distinct one once.
        free: of these, already on the record, or without pairs.
        new: of these, would be answered by the mechanism.
        left: guaranteed answers that are left; None when there is no limit.
    """

    queries: int
    free: int
    new: int
    left: int | None

    @property
    def allowed(self) -> bool:
        """Whether enough is left for all of it."""
        return self.left is None or self.new <= self.left


_STEPS = 12  # of a bisection on the logarithm of epsilon: two digits


def accuracy_warning(
    parameters: Parameters,
    universe: Universe,
    grid: Grid,
    expected_edges: float | None = None,
) -> str | None:
    """A sentence when a session promises no more than is known without the graph.

    Half of what the pairs of a cut can weigh is never farther off than that half, which is largest
    for the largest cut between disjoint sets. Of other linear queries, with a largest coefficient
    of 1, it is the middle of what they can be, or 0, which is off by no more than the total weight.

    Args:
        parameters: of the session; the method must not be "auto".
        universe: the public vertex pairs.
        grid: how answers are counted.
        expected_edges: a public guess, as for `Parameters.resolved`.

    Returns:
        None when the session promises more, or weights have no cap: they can be larger than any
        noise.
    """
    if grid.cap is None:
        return None
    trivial = grid.most(universe.disjoint_norm_squared) / 2
    if grid.bounded is not None:  # the smaller of two sides has at most half of all vertices
        sides = universe.shape if universe.bipartite else (universe.shape[0] // 2,)
        trivial = min(trivial, min(sides) * grid.sensitivity * grid.unit / 2)
    known = "half of all that a cut between disjoint sets can hold"
    if parameters.linear:
        trivial, known = grid.most(universe.size) / 2, "the middle of what a query can be"
        if expected_edges is not None and expected_edges * grid.cap < trivial:
            trivial, known = expected_edges * grid.cap, "to answer 0"
    error = parameters.expected_error(universe, grid, expected_edges)
    if error < trivial:
        return None

    def best(epsilon: float) -> tuple[float, Parameters]:
        """Of all methods, as they are here."""
        plain = replace(
            parameters,
            epsilon=epsilon,
            method="auto",
            norm=None,
            calibration="tight",
            value_share=0.0,
            start=TOTAL,
        )
        try:
            found = plain.resolved(universe, grid, expected_edges)
        except ParameterError:
            return math.inf, plain
        return found.expected_error(universe, grid, expected_edges), found

    start = (
        f"worthless at this size: answers are promised within {_shown(error)}, but {known} is never"
        f" farther off than {_shown(trivial)}"
    )
    other, found = best(parameters.epsilon)
    if other < trivial:
        return f"{start}; {_named(found)} promises {_shown(other)}"
    low, high = math.log(parameters.epsilon), math.log(LARGEST_EPSILON)
    if best(LARGEST_EPSILON)[0] >= trivial:
        return f"{start}; no epsilon in range helps, fewer queries or more vertices may"
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if best(math.exp(middle))[0] < trivial else (middle, high)
    digits = 1 - math.floor(high / math.log(10))
    enough = min(math.ceil(math.exp(high) * 10**digits) / 10**digits, LARGEST_EPSILON)
    return f"{start}; epsilon = {enough:.2g} with {_named(best(enough)[1])} would do"


def _named(parameters: Parameters) -> str:
    if parameters.method in CONSTRUCTIONS:
        return f"method {parameters.method!r}, calibration {parameters.calibration!r}"
    return f"method {parameters.method!r}"


def _shown(error: float) -> str:
    return f"{error:,.0f}" if error >= 10 else f"{error:.2g}"
