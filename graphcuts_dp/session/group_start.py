"""The start of a session from noisy sums between public groups: what it buys, and what that tells.

Two things are bought, each with a part of what is left of the budget, as the total weight is: the
sums between the groups, which make the first hypothesis, and one number more, which says how near
the truth that is (`idc.block_start`). All else is post-processing. Where the groups turn out to say
nothing, the session starts from the total weight after all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast, final

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.learn.block_start import GAIN_STEPS, BlockStart, GroupLearner, start_from_sums
from graphcuts_dp.learn.learners import Learner
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.measure.cells import Sides, cell_tree
from graphcuts_dp.measure.statistics import (
    buy_group_sums,
    buy_weighted_sum,
    weighted_sensitivity,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.session.calibrations import Calibration

TOTAL, GROUPS = "total", "groups"
# What `start=` can name, and what it buys.
STARTS: Mapping[str, str] = {
    TOTAL: "the same weight for all pairs, from a noisy total weight",
    GROUPS: "a weight for each two public groups, from noisy sums between them",
}


@final
@dataclass(frozen=True, eq=False)
class BoughtStart:
    """What was bought. Public.

    Attributes:
        sums: noisy weight of each cell, in units.
        start: the first hypothesis, made of them.
        gain: upper bound on G of `idc.block_start`, in units, for the learner's distance; it is
            wrong with the probability that the calibration sets aside for one bought number.
    """

    sums: FloatVector
    start: BlockStart
    gain: float


def check_start(start: str, learner: object, grid: Grid) -> None:
    """Refuse a start that does not exist, or that this learner cannot have.

    Raises:
        ParameterError: such a start.
    """
    if start not in STARTS:
        raise ParameterError(f"unknown start {start!r:.40}; choose one of {', '.join(STARTS)}")
    if start == TOTAL:
        return
    if not isinstance(learner, GroupLearner) or learner.distance is None:
        raise ParameterError(
            "start='groups' is for methods 'multiplicative-weights', 'frieze-kannan', and"
            " 'mirror-descent' with norm 'l2' or 'entropy', with calibration 'tight'"
        )
    if grid.bounded is not None:
        raise ParameterError(
            "start='groups' hides edges or owners; with protect='vertex' use 'total'"
        )


def without_start(calibration: Calibration, sensitivity: int) -> Calibration:
    """What is left of a budget when the start from groups is bought."""
    rest = calibration.with_total(sensitivity)[3]
    return rest.with_total(1)[3]  # the same part, whatever the sensitivity


def buy_start(
    graph: AnyGraph,
    sides: Sides,
    *,
    universe: Universe,
    grid: Grid,
    learner: GroupLearner,
    calibration: Calibration,
    total_weight: float,
    source: EntropySource,
) -> BoughtStart:
    """Buy the sums between groups, and how near the truth the hypothesis is that they make.

    Args:
        graph: the private graph.
        sides: public groups of its rows and columns.
        universe: the public vertex pairs.
        grid: `Grid.of` the graph.
        learner: which distance counts.
        calibration: what is left of the budget.
        total_weight: noisy, in units.
        source: where the noise comes from.

    Guarantee: together what `without_start` takes out of the budget, for neighbours that differ in
        one pair: see `buy_group_sums` and `buy_weighted_sum`. The coefficients of the second are
        chosen by what the first said, which the composition theorems behind `Calibration` allow.

    Raises:
        ParameterError: too many groups.
    """
    distance = learner.distance
    if distance is None:
        raise ParameterError("this learner has no start from groups")
    cells = cell_tree(graph, sides)
    noise, _, _, rest = calibration.with_total(grid.sensitivity)
    sums = buy_group_sums(graph, sides, cells, grid, noise, source) / grid.largest
    start = start_from_sums(
        universe,
        cells,
        (sides[0].codes(), sides[1].codes()),
        sums,
        deviation=noise.deviation / grid.largest,
        total_weight=total_weight,
    )
    coefficients = start.coefficients(distance)
    noise, radius, *_ = rest.with_total(weighted_sensitivity(coefficients))
    noisy = buy_weighted_sum(graph, sides, cells, grid, coefficients, noise, source)
    # A step for what was rounded down; weights were rounded down as well.
    lost = grid.rounding(universe.size) / (grid.unit * grid.largest)
    gain = (noisy + radius + 1 + max(0, int(coefficients.max())) * lost) / GAIN_STEPS
    return BoughtStart(sums, start, gain)


def nearer(
    bought: BoughtStart, learner: Learner, total_weight: float, total_error: float
) -> tuple[Hypothesis, UpdateBound] | None:
    """The first hypothesis and B from there; None where the flat start is as near.

    The rule is the same from any start: only the potential at the start, and so B, differ.

    Args:
        bought: what was bought.
        learner: the update rule.
        total_weight: as for `Learner.construction`.
        total_error: likewise.
    """
    if not isinstance(learner, GroupLearner) or learner.distance is None:
        return None
    made = cast(
        Any,
        learner.construction(
            alpha=2 * (total_weight + total_error),
            total_weight=total_weight,
            total_error=total_error,
        ),
    )
    flat: float = made.start_potential
    scale = learner.potential_scale(total_weight)
    found = scale * bought.start.potential(
        learner.distance,
        flat=flat / scale,
        gain=bought.gain,
        total_weight=total_weight,
        total_error=total_error,
    )
    if found >= flat:
        return None
    bound: UpdateBound = replace(made, start_potential=found).update_bound
    return learner.first(bought.start), bound
