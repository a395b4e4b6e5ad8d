"""Strategies for tables of flows: which levels are measured, and with which share of the budget.

A table of flows has a tree of *cells* (`CellTree`) with several levels. Levels are numbered by a
*level index*: 0 is the grand total, i the i-th level. A measured level gets a *share* of the budget
(epsilon of Laplace noise, rho of Gaussian noise); the estimates then combine all measured levels by
least squares (`LeastSquares`). `choose_strategy` finds the shares with the least expected error for
a *workload*, which says what is to be accurate. `FlowWorkload` is what users give, `FlowStrategy`
the result. Shares are counted in *units* of 1/128 of the budget.

The *changes* of a level are two numbers: the largest sum of |change| over its cells between
neighbouring data sets, and the largest sum of change^2, in grid units (the smallest step of what
cells count). Groups may have periods of time beside them. If there is at most one level of periods,
all periods have the same cells.

All of this reads public numbers alone: the sizes of the groups. `flow_errors` says what errors a
strategy leads to. `equal_groups` generates groups for planning.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.margin_fit import MarginFit, check_margins
from graphcuts_dp.estimate.measurement import place_variances
from graphcuts_dp.final_classes import final
from graphcuts_dp.options import check, option
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetPlan, BudgetStep
from graphcuts_dp.privacy.count_distribution import Change
from graphcuts_dp.privacy.count_noise import COUNT_NOISES, count_noise
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.group_tree import GroupTree

ALL_CELLS, ALL_LEVELS, TOTALS = "all cells", "all levels", "totals"  # workloads beside level names
NOISES = ("auto", *COUNT_NOISES)
MARGINS = "margins"  # the step of the budget plan for what leaves and enters each group
# Of what is left for levels and margins. Laplace noise on cells becomes 4/3 as wide, Gaussian noise
# 1.15 times, whatever the table; a margin of many cells gains more than that.
MARGIN_SHARE = Fraction(1, 4)
_SHARE_UNITS = 128  # shares of the budget are whole multiples of one over this
_FEWEST_UNITS_OF_FINEST = 13  # a tenth for the finest level, so that every cell has an estimate
_IMPROVEMENT = 1 - 1e-9  # a value counts as better if it is below this times the old one
_LARGEST_SCALE = 2**47  # of the noise, in grid units: 64-bit integers hold it
_MOST_GROUPS = 2000  # of a planned level: two million cells

EXPECTED_CELL = option(
    None,
    help="A public guess of what a cell of the finest level holds: the release is refused if noise "
    "is above it. 0 refuses nothing.",
    least=0,
)
_Units = tuple[int, ...]  # for each level index its share, in units of 1/128


@final
@dataclass(frozen=True, kw_only=True)
class FlowWorkload:
    """The purpose of a table of flows, and how its cells are counted. Public.

    Where `release_flows` takes a workload, a string stands for one that says what is to be
    accurate.

    Attributes:
        accurate: what the shares of the budget are chosen for: "all levels" (every level counts
            alike), "all cells" (every cell of every level counts alike, so that the finest level
            counts most), "totals" (the grand total), or the name of a level.
        noise: "laplace", "gaussian" (which needs a delta), or "auto" for the less expected error.
        whole: whether weights are rounded down to whole numbers, otherwise to small grid units. For
            tables of rows: if a user has more rows than the bound on contributions, as many whole
            rows as it allows are counted; otherwise each of his rows counts for a fraction of one.
        expected_cell: a public guess of what a cell of the finest level holds. A release whose
            noise is above it is refused before anything is spent. None: a release of a graph
            without weights is refused if most of these cells cannot hold as many edges as the
            noise. 0: it is released all the same, with a warning.

    Raises:
        ParameterError: if an option is out of range.

    Examples:
        >>> club, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
        >>> work = gc.FlowWorkload(accurate="totals", expected_cell=20)
        >>> flows = gc.release_flows(club, groups, epsilon=1.0, workload=work)
    """

    accurate: str = option(
        ALL_LEVELS,
        flag="--workload",
        help='Which sums are to be accurate: "all levels", "all cells", totals, or one level.',
    )
    noise: str = option("auto", help="Distribution of the noise.", choices=NOISES)
    whole: bool = option(
        False,
        help="Count whole rows, and weights rounded down to whole numbers; otherwise each row of "
        "a user above the bound counts for a share.",
    )
    expected_cell: float | None = EXPECTED_CELL

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def of(cls, workload: "str | FlowWorkload") -> "FlowWorkload":
        """Return the workload that a name or an object stands for.

        Args:
            workload: what is to be accurate, by name, or a `FlowWorkload`.

        Raises:
            ParameterError: if it is neither.
        """
        if not isinstance(workload, str | FlowWorkload):
            raise ParameterError(f"workload is a name or a FlowWorkload, not {workload!r:.60}")
        return cls(accurate=workload) if isinstance(workload, str) else workload


@final
@dataclass(frozen=True, kw_only=True)
class FlowStrategy:
    """The levels of a table that will be measured, with their noise. Public.

    Attributes:
        workload: what the shares were chosen for, see `FlowWorkload.accurate`.
        measured_levels: level indices of the measured levels, ascending.
        shares: of the budget (epsilon, or rho), one for each measured level; they add up to 1.
        noise: one parameter for each measured level.
        deviations: expected standard deviation of the error of a cell, in grid units, for each
            level index: the root of the mean variance over the cells of the level.
        margin_noise: with the one parameter of the margins of the finest level; None if margins are
            not measured. If they are, the levels share what `MARGIN_SHARE` leaves.
    """

    workload: str
    measured_levels: tuple[int, ...]
    shares: tuple[Fraction, ...]
    noise: LevelNoise
    deviations: tuple[float, ...]
    margin_noise: LevelNoise | None = None

    @property
    def all_noise(self) -> LevelNoise:
        """The noise of the levels, and then that of margins."""
        margins = () if self.margin_noise is None else self.margin_noise.parameters
        return LevelNoise(self.noise.distribution, (*self.noise.parameters, *margins))

    @property
    def noise_indices(self) -> tuple[int, ...]:
        """Columns of `all_noise` in a table of noises: level indices, and the depth for margins."""
        margins = () if self.margin_noise is None else (len(self.deviations),)
        return (*self.measured_levels, *margins)

    def variances(self, depth: int) -> FloatVector:
        """Return a bound on the variance of one noise of each level, and last of margins.

        Args:
            depth: number of levels, the grand total included.

        Returns:
            Shape (depth + 1,), in squared grid units; infinite for what is not measured.
        """
        return place_variances(self.all_noise, self.noise_indices, depth + 1)

    def budget_plan(
        self, cells: CellTree, *, epsilon: float | Fraction, delta: float = 0.0
    ) -> BudgetPlan:
        """Return the budget plan: one step for margins if they are measured, and for each level.

        The share of a step is that of the budget which the steps before it left.

        Args:
            cells: the public cells.
            epsilon: for which the strategy was chosen.
            delta: for which the strategy was chosen.
        """
        distribution, level_names = self.noise.distribution, ("total", *cells.levels)
        pure = COUNT_NOISES[distribution].pure
        noise_name = f"discrete {distribution.capitalize()}"
        steps, remaining = [], Fraction(1)
        if self.margin_noise is not None:
            # The shares of the levels are of what this step leaves.
            steps.append(BudgetStep(statistic=MARGINS, share=MARGIN_SHARE, noise=noise_name))
        for level_index, share in zip(self.measured_levels, self.shares, strict=True):
            statistic = level_names[level_index]
            step = BudgetStep(statistic=statistic, share=share / remaining, noise=noise_name)
            steps.append(step)
            remaining -= share
        return BudgetPlan(
            steps=tuple(steps),
            amount=count_noise(distribution).budget(exact_epsilon(epsilon), delta=delta),
            currency="epsilon" if pure else "rho",
            delta=0.0 if pure else delta,
        )


def choose_strategy(
    cells: CellTree,
    *,
    epsilon: float | Fraction,
    delta: float = 0.0,
    changes: Sequence[Change] | None = None,
    workload: str = ALL_LEVELS,
    noise: str = "auto",
    portion: Fraction = ALL_LEFT,
    margin_change: Change | None = None,
) -> FlowStrategy:
    """Return the strategy with the least mean variance of a workload after least squares.

    The variance v of a noisy sum follows from its share e of the budget. It is 1/(2 sinh(e epsilon/
    (2 s))^2), about 2 (s/(e epsilon))^2, for discrete Laplace noise and a sum of |changes| of s. It
    is q/(2 e rho) for discrete Gaussian noise and a sum of squared changes of q. The variances of
    the estimates are a formula of those of the levels (`LeastSquares`). The objective is their mean
    over the cells of the workload.

    It is minimised over shares that are whole multiples of 1/128. From several starts (the finest
    level alone, all levels alike, the levels of the workload) a part of a share is moved from one
    level to another as long as this helps. For Gaussian noise the problem is convex in the shares;
    for Laplace noise it is not, hence the starts. No move takes the finest level below a tenth
    (13/128), so that every cell has an estimate of its own. (It can have less only at a start, with
    so many levels alike, and only if no move improves that.)

    If there are several coarsest periods, each of them has its own sums. The grand total is then
    not measured: it is the sum over these periods.

    Args:
        cells: the public cells.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        changes: of each level index, see `cell_changes`; None for one pair of a graph without
            weights.
        workload: what is to be accurate, see `FlowWorkload.accurate`.
        noise: "laplace", "gaussian" (which needs a delta), or "auto" for the better of the two.
        portion: of the budget (epsilon, or rho), for all levels and margins together, in (0, 1].
        margin_change: of all margins of the finest level, see `cell_changes.margin_change`: they
            are measured with `MARGIN_SHARE` of that. The shares of the levels are chosen as if they
            were not. None if margins are sums of cells.

    Raises:
        ParameterError: if a number is out of range, the workload or the noise is unknown, epsilon
            is so small that the noise would not fit into 64 bits, or margins are to be measured of
            too large a table.
    """
    exact = exact_epsilon(epsilon)
    if not (isinstance(delta, int | float) and 0 <= delta < 1):
        raise ParameterError(f"delta must be at least 0 and below 1, not {delta}")
    changes = ((1, 1),) * cells.depth if changes is None else changes
    of_margins = margin_change is not None
    if of_margins:
        check_margins(cells)
    margin_portion = portion * MARGIN_SHARE
    portion = portion - margin_portion if of_margins else portion
    largest_change = max(absolute_sum for absolute_sum, _ in (*changes, margin_change or (1, 1)))
    if largest_change * _SHARE_UNITS / (portion * exact) > _LARGEST_SCALE:
        raise ParameterError("epsilon is too small for weights of this cap")
    weights = _level_weights(cells, workload)
    # With at most one level of periods, all periods have the same cells, so the formulas of one of
    # them hold for all. `lengths(1)` has an entry for each of these periods, of which each has a
    # tree of its own; the grand total is their sum, so its variance is period_count times that of
    # one tree's root.
    period_count = 1
    if cells.has_one_period_level:
        period_count, cells = len(cells.lengths(1)), cells.of_period()
    shape = _TreeShape.of(cells)
    # The grand total (level index 0) is not measured if there are several coarsest periods.
    # `has_period_trees` is true of a tree that has them, and was not replaced above.
    first_level = 1 if period_count > 1 or cells.has_period_trees else 0
    candidates = []
    for distribution in _candidate_noises(noise, delta):
        budget = portion * count_noise(distribution).budget(exact, delta=delta)
        objective = _Objective(distribution, budget, changes, shape, weights)
        value, units = _best_units(objective, weights, first_level)
        margin_noise = None
        if margin_change is not None:
            kind = count_noise(distribution)
            margin_budget = margin_portion * kind.budget(exact, delta=delta)
            parameter = kind.parameter(margin_budget, margin_change)
            margin_noise = LevelNoise(distribution, (parameter,))
            # Cells and margins count alike: the product of their variances is compared.
            value *= float(margin_noise.variances[0])
        # (least value, units, objective), compared by value; ties go to the first distribution.
        candidates.append((value, units, objective, margin_noise))
    _, units, objective, margin_noise = min(candidates, key=lambda candidate: candidate[0])
    level_noise, level_indices = objective.noise(units)
    means = objective.mean_variances(units)
    if margin_noise is not None:
        level_variances = place_variances(level_noise, level_indices, cells.depth)
        fit = MarginFit(cells, level_variances, float(margin_noise.variances[0]))
        means = np.array([float(level.mean()) for level in fit.variances])
    return FlowStrategy(
        workload=workload,
        measured_levels=level_indices,
        shares=tuple(Fraction(units[level_index], _SHARE_UNITS) for level_index in level_indices),
        noise=level_noise,
        deviations=tuple(math.sqrt(mean) for mean in (means[0] * period_count, *means[1:])),
        margin_noise=margin_noise,
    )


def _candidate_noises(noise: str, delta: float) -> tuple[str, ...]:
    """Return the names of the noises to try: the given one, or all that this delta allows."""
    if noise not in NOISES:
        raise ParameterError(f"unknown noise {noise!r:.60}; choose one of {', '.join(NOISES)}")
    if noise != "auto":
        return (noise,)
    return tuple(name for name, distribution in COUNT_NOISES.items() if distribution.pure or delta)


def _level_weights(cells: CellTree, workload: str) -> FloatVector:
    """Return the weight of the mean variance of each level in a workload; they add up to 1."""
    weights = np.zeros(cells.depth)
    if workload == ALL_CELLS:
        weights[1:] = [cells.size(level_index) for level_index in range(1, cells.depth)]
    elif workload == ALL_LEVELS:
        weights[1:] = 1.0
    elif workload == TOTALS:
        weights[0] = 1.0
    elif workload in cells.levels:
        weights[cells.levels.index(workload) + 1] = 1.0
    else:
        raise ParameterError(
            f"unknown workload {workload!r:.60}; it is 'all cells', 'all levels', 'totals', or a "
            "level: " + ", ".join(f"{name!r:.40}" for name in cells.levels[:6])
        )
    return np.asarray(weights / weights.sum())


@final
@dataclass(frozen=True, eq=False)
class _TreeShape:
    """The facts about a tree of cells on which the variances of estimates depend.

    Attributes:
        parents: for each level but the finest, the parent of each cell.
        finest_parts: number of finest cells within each cell of the level above them.
    """

    parents: tuple[IntVector, ...]
    finest_parts: FloatVector

    @classmethod
    def of(cls, cells: CellTree) -> "_TreeShape":
        """Return the shape of a tree."""
        finest = cells.depth - 1
        part_counts = np.bincount(cells.parents(finest), minlength=cells.size(finest - 1))
        parents = tuple(cells.parents(level_index) for level_index in range(finest))
        return cls(parents, part_counts.astype(np.float64))

    def mean_variances(self, noise: FloatVector) -> FloatVector:
        """Return the mean variance of the estimates of each level, shape (depth,).

        These are the two passes of `LeastSquares`, without arrays of finest cells: all parts of a
        cell have the same variance there. This is called hundreds of times in a search.

        Args:
            noise: variance v of a noisy sum of each level, infinite if it is not measured.
        """
        depth = len(self.parents) + 1
        # Named as in `LeastSquares`, for each level index. Those of the finest level stay empty.
        W = [np.empty(0)] * depth  # sum of w over the parts of each cell
        w = [np.empty(0)] * depth  # variances after the upward pass
        W[depth - 2] = self.finest_parts * noise[-1]
        for level_index in range(depth - 2, -1, -1):
            # 1/w = 1/v + 1/W; an infinite v, of a level that is not measured, gives w = W.
            w[level_index] = 1 / (1 / noise[level_index] + 1 / W[level_index])
            if level_index:
                W[level_index - 1] = np.bincount(
                    self.parents[level_index],
                    weights=w[level_index],
                    minlength=len(self.parents[level_index - 1]),
                ).astype(np.float64)
        variances = w[0]
        means = [float(variances.mean())]
        for level_index in range(1, depth - 1):
            parents = self.parents[level_index]
            share = w[level_index] / W[level_index - 1][parents]
            variances = w[level_index] * (1 - share) + share**2 * variances[parents]
            means.append(float(variances.mean()))
        # With share = 1/parts, a finest cell has v (1 - share) + share^2 (variance of the parent).
        # All parts of a parent together: v (parts - 1) + (variance of the parent)/parts.
        finest_sum = ((self.finest_parts - 1) * noise[-1] + variances / self.finest_parts).sum()
        means.append(float(finest_sum / self.finest_parts.sum()))
        return np.array(means)


@final
class _Objective:
    """The mean variance of a workload as a function of the shares, for one distribution of noise.

    Args:
        distribution: name of the noise.
        budget: to be divided: epsilon of Laplace noise, rho of Gaussian noise.
        changes: of each level index.
        shape: of the tree.
        weights: of the mean variance of each level.
    """

    def __init__(
        self,
        distribution: str,
        budget: Fraction,
        changes: Sequence[Change],
        shape: _TreeShape,
        weights: FloatVector,
    ) -> None:
        self._distribution, self._budget, self._changes = distribution, budget, changes
        self._shape, self._weights = shape, weights
        self._values: dict[_Units, float] = {}

    def noise(self, units: _Units) -> tuple[LevelNoise, tuple[int, ...]]:
        """Return the noise of the levels that have a share, and their level indices."""
        level_indices = tuple(level_index for level_index, count in enumerate(units) if count)
        noise = count_noise(self._distribution)
        # `parameter(budget, change)` is the noise with which such counts cost exactly the budget.
        parameters = tuple(
            noise.parameter(
                self._budget * Fraction(units[level_index], _SHARE_UNITS),
                self._changes[level_index],
            )
            for level_index in level_indices
        )
        return LevelNoise(self._distribution, parameters), level_indices

    def mean_variances(self, units: _Units) -> FloatVector:
        """Return the mean variance of the estimates of each level, in squared grid units."""
        noise, level_indices = self.noise(units)
        return self._shape.mean_variances(place_variances(noise, level_indices, len(units)))

    def value(self, units: _Units) -> float:
        """Return the mean variance of the workload."""
        if units not in self._values:
            self._values[units] = float(self.mean_variances(units) @ self._weights)
        return self._values[units]


def _best_units(
    objective: _Objective, weights: FloatVector, first_level: int
) -> tuple[float, _Units]:
    """Return the least value that a search from several starts found, and its shares.

    Args:
        objective: to be minimised.
        weights: of the levels in the workload.
        first_level: level index from which on levels can be measured.
    """
    depth = len(weights)
    levels, finest = set(range(1, depth)), {depth - 1}
    workload_levels = set(np.flatnonzero(weights).tolist())
    measured_sets = [finest, levels, {0} | levels, workload_levels | finest]
    measurable = set(range(first_level, depth))
    starts = sorted({_equal_units(measured & measurable, depth) for measured in measured_sets})
    ends = [_improved(start, objective, first_level) for start in starts]
    return min((objective.value(units), units) for units in ends)


def _equal_units(measured: set[int], depth: int) -> _Units:
    """Return equal shares for the measured levels; the finest gets what is left by rounding."""
    units = [
        _SHARE_UNITS // len(measured) if level_index in measured else 0
        for level_index in range(depth)
    ]
    units[-1] += _SHARE_UNITS - sum(units)
    return tuple(units)


def _improved(units: _Units, objective: _Objective, first_level: int) -> _Units:
    """Return shares that no move of a part to another level improves.

    Each round takes the best of all moves of one size. Equal values are decided by the units, so
    that the result is the same everywhere. Moves begin with a quarter of the budget, which is
    halved when no move helps.
    """
    size = _SHARE_UNITS // 4
    while size:
        neighbours = (units, *_moves(units, size, first_level))
        best_value, best = min((objective.value(neighbour), neighbour) for neighbour in neighbours)
        if best_value < objective.value(units) * _IMPROVEMENT:
            units = best
        else:
            size //= 2
    return units


def _moves(units: _Units, size: int, first_level: int) -> Iterator[_Units]:
    """Yield all shares that a move of up to `size` units from one level to another gives."""
    finest = len(units) - 1
    for source, target in itertools.permutations(range(first_level, len(units)), 2):
        least = _FEWEST_UNITS_OF_FINEST if source == finest else 0
        amount = min(size, units[source] - least)
        if amount > 0:
            neighbour = list(units)
            neighbour[source] -= amount
            neighbour[target] += amount
            yield tuple(neighbour)


def equal_groups(vertices: int, counts: Sequence[int]) -> GroupTree:
    """Return nested groups of nearly equal sizes, for planning.

    Args:
        vertices: number of vertices.
        counts: number of groups of each level, from the coarsest to the finest, not falling.

    Raises:
        ParameterError: if there are no such groups, or too many.
    """
    if not counts or list(counts) != sorted(counts) or not 1 <= counts[0] <= counts[-1] <= vertices:
        raise ParameterError(
            "numbers of groups grow from the coarsest level to the finest, from 1 to the number of "
            "vertices"
        )
    if counts[-1] > _MOST_GROUPS:
        raise ParameterError(f"at most {_MOST_GROUPS:,} groups can be planned")
    sizes = [_equal_parts(vertices, counts[-1])]
    parents: list[IntVector] = []
    for coarser_count, finer_count in reversed(list(itertools.pairwise(counts))):
        finer_groups = _equal_parts(finer_count, coarser_count)  # of each coarser group
        parents.insert(0, np.repeat(np.arange(coarser_count), finer_groups))
        sizes.insert(0, np.bincount(parents[0], weights=sizes[0]).astype(np.int64))
    parents.insert(0, np.zeros(counts[0], dtype=np.int64))
    labels = {f"level {i}": range(count) for i, count in enumerate(counts, 1)}
    return GroupTree(labels, sizes, parents)


def _equal_parts(total: int, parts: int) -> IntVector:
    """Return whole numbers that add up to a total and differ by at most 1."""
    return total // parts + (np.arange(parts) < total % parts).astype(np.int64)
