"""The starts of sessions that learn: one weight for all pairs, or one for each two public groups.

A start from groups measures the noisy sums between groups, from which the first hypothesis is
computed, and then how near the truth that hypothesis is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, final

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibration_base import Calibration
from graphcuts_dp.learn.group_start import CORRECTION_UNITS, GroupStart, start_from_sums
from graphcuts_dp.learn.learners import Learner
from graphcuts_dp.measure.cells import (
    cell_tree,
    measure_group_sums,
    measure_weighted_sum,
    weighted_sensitivity,
)
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.groups import Sides

TOTAL, GROUPS = "total", "groups"
# The names that `start=` takes, and what each measures.
STARTS: Mapping[str, str] = {
    TOTAL: "the same weight for all pairs, from a noisy total weight",
    GROUPS: "a weight for each two public groups, from noisy sums between them",
}


@final
@dataclass(frozen=True, eq=False)
class MeasuredGroupStart:
    """The measurements of a start from groups. Public.

    Attributes:
        sums: noisy weight of each cell, in units of a hypothesis.
        start: the first hypothesis, computed from the sums.
        gain: upper bound on G of `learn.group_start`, in units, for the learner's distance; it is
            wrong with the probability that the calibration reserves for one measurement.
    """

    sums: FloatVector
    start: GroupStart
    gain: float


def measure_group_start(
    graph: AnyGraph,
    sides: Sides,
    learner: Learner,
    grid: Grid,
    calibration: Calibration,
    total_weight: float,
    source: EntropySource,
) -> MeasuredGroupStart:
    """Measure the sums between groups, and how near the truth the hypothesis from them is.

    Guarantee: both measurements cost the two shares that `Calibration.split_budget` takes from the
        budget, for neighbours that differ in one pair: see `measure_group_sums` and
        `measure_weighted_sum`.
        The coefficients of the second measurement depend on the first, which the composition
        theorems behind `Calibration` allow.

    Args:
        graph: the private graph.
        sides: public groups of the rows and columns.
        learner: with a `distance`.
        grid: the grid on which weights are counted.
        calibration: with the remaining budget.
        total_weight: noisy, in units of a hypothesis.
        source: where the noise comes from.
    """
    cells, universe = cell_tree(graph, sides), Universe.of(graph)
    noise, _, _, remaining = calibration.split_budget(grid.sensitivity)
    sums = measure_group_sums(graph, sides, cells, grid, noise, source) / grid.largest
    start = start_from_sums(
        universe,
        cells,
        (sides[0].codes(), sides[1].codes()),
        sums,
        deviation=noise.deviation / grid.largest,
        total_weight=total_weight,
    )
    coefficients = start.coefficients(cast(Any, learner).distance)
    gain_noise, radius, *_ = remaining.split_budget(weighted_sensitivity(coefficients))
    noisy_gain = measure_weighted_sum(graph, sides, cells, grid, coefficients, gain_noise, source)
    # One more unit, since the sum was rounded down; weights were rounded down as well.
    rounding = grid.rounding(universe.size) / (grid.unit * grid.largest)
    largest = max(0, int(coefficients.max()))
    gain = (noisy_gain + radius + 1 + largest * rounding) / CORRECTION_UNITS
    return MeasuredGroupStart(sums, start, gain)
