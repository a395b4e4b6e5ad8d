"""What errors to expect of flows, from the sizes of the public groups alone."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.changes import cell_changes
from graphcuts_dp.estimate.consistency import LeastSquares
from graphcuts_dp.estimate.measurement import place_variances
from graphcuts_dp.estimate.strategy import ALL_LEVELS, FlowStrategy, choose_strategy
from graphcuts_dp.estimate.tails import error_radii
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.privacy.level_noise import Change
from graphcuts_dp.privacy.protection import Protect

_MOST_GROUPS = 2000  # two million cells
_FINE = 2**30  # steps of a weight at its cap, where there are weights


@final
@dataclass(frozen=True, kw_only=True)
class LevelForecast:
    """What to expect of the cells of one level, in units of weight.

    Attributes:
        level: its name.
        groups: how many groups it has, of the rows and the columns.
        cells: how many cells.
        share: of the budget; 0 if the level is not measured itself.
        cell: expected error: root of the mean variance of a cell.
        within: half of the longest 95 % interval of a single cell.
        all_within: half of the longest of the intervals that hold for all cells at once.
        union: standard deviation of what passes between two disjoint unions of about sqrt(k) of
            the k groups; NaN where there are too few.
        half: standard deviation of what passes between half of the groups and the rest; NaN for a
            single group.
    """

    level: str
    groups: tuple[int, int]
    cells: int
    share: float
    cell: float
    within: float
    all_within: float
    union: float
    half: float


@final
@dataclass(frozen=True, kw_only=True)
class FlowsForecast:
    """Expected errors of flows; all of it is known before anything is spent.

    Attributes:
        epsilon: of the release.
        delta: likewise.
        workload: what the shares are chosen for.
        noise: "laplace" or "gaussian".
        total: standard deviation of the grand total.
        levels: from the coarsest to the finest.
    """

    epsilon: float
    delta: float
    workload: str
    noise: str
    total: float
    levels: tuple[LevelForecast, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None for numbers that there are not."""
        found = asdict(self)
        for level in found["levels"]:
            for name in ("union", "half"):
                level[name] = None if math.isnan(level[name]) else level[name]
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """In words, a sentence a level."""
        return tuple(
            f"Expected error of a cell of level {each.level!r}: {each.cell:,.3g}; 95 % intervals: "
            f"+-{each.within:,.3g}, and +-{each.all_within:,.3g} for all cells at once."
            for each in self.levels
        )


def forecast_flows(
    groups: GroupTree | tuple[GroupTree, GroupTree],
    *,
    epsilon: float,
    delta: float = 0.0,
    workload: str = ALL_LEVELS,
    noise: str = "auto",
    weight_cap: float | None = None,
    directed: bool = False,
    degree_bound: int | None = None,
) -> FlowsForecast:
    """Expected errors of `release_flows` for groups of these sizes. Reads no graph.

    Args:
        groups: a `Groups`, or names and sizes alone; of a bipartite graph a pair, left and right.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1).
        workload: see `release_flows`.
        noise: likewise.
        weight_cap: public bound on a weight; None for graphs without weights, and for those of
            which a change by 1 is hidden.
        directed: whether flows have a direction.
        degree_bound: D of `protect="vertex"`; None where edges are protected. Errors are those of
            noise: what the bound takes is private.

    Raises:
        ParameterError: a number out of range, or an unknown name.
        GraphError: groups that can hold no pair.
    """
    if weight_cap is not None and not (math.isfinite(weight_cap) and weight_cap > 0):
        raise ParameterError("weight_cap must be a positive, finite number")
    pair = groups if isinstance(groups, tuple) else (groups, None)
    cells = CellTree(pair[0], pair[1], directed=directed)
    sensitivity, unit = (1, 1.0) if weight_cap is None else (_FINE, weight_cap / _FINE)
    changes: tuple[Change, ...] = ((sensitivity, sensitivity**2),) * cells.depth
    if degree_bound is not None:
        protection = Protect.of("vertex", degree_bound=degree_bound)
        bound = max(1, math.floor(degree_bound / unit))
        changes = cell_changes(cells, protection, sensitivity=bound, largest=sensitivity)
    strategy = choose_strategy(
        cells,
        epsilon=epsilon,
        delta=delta,
        changes=changes,
        workload=workload,
        noise=noise,
    )
    return forecast_of(cells, strategy, unit=unit, epsilon=float(epsilon), delta=float(delta))


def forecast_of(
    cells: CellTree, strategy: FlowStrategy, *, unit: float, epsilon: float, delta: float
) -> FlowsForecast:
    """The forecast of a strategy that is chosen already.

    Args:
        cells: the public cells.
        strategy: of the levels.
        unit: weight of a step.
        epsilon: of the release.
        delta: likewise.
    """
    variances = place_variances(strategy.noise, strategy.places, cells.depth)
    fit = LeastSquares(cells, variances)
    finite = np.where(np.isfinite(variances), variances, 0.0)
    levels = tuple(
        _level(cells, strategy, fit, place, unit, finite) for place in range(1, cells.depth)
    )
    return FlowsForecast(
        epsilon=epsilon,
        delta=0.0 if strategy.noise.distribution == "laplace" else delta,
        workload=strategy.workload,
        noise=strategy.noise.distribution,
        total=strategy.deviations[0] * unit,
        levels=levels,
    )


def _level(
    cells: CellTree,
    strategy: FlowStrategy,
    fit: LeastSquares,
    place: int,
    unit: float,
    variances: FloatVector,
) -> LevelForecast:
    spread = fit.spreads(place)
    one, all_at_once = (
        float(error_radii(strategy.noise, strategy.places, spread, failure=0.05 / many).max())
        for many in (1, cells.total_size)
    )
    shares = dict(zip(strategy.places, strategy.shares, strict=True))

    def deviation(wanted: FloatVector | None) -> float:
        if wanted is None:
            return math.nan
        told = fit.coefficients({place: wanted})
        used = sum(v * float((part**2).sum()) for v, part in zip(variances, told, strict=True))
        return math.sqrt(used) * unit

    return LevelForecast(
        level=cells.levels[place - 1],
        groups=cells.shape(place),
        cells=cells.size(place),
        share=float(shares.get(place, 0)),
        cell=strategy.deviations[place] * unit,
        within=one * unit,
        all_within=all_at_once * unit,
        union=deviation(union_of_groups(cells, place)),
        half=deviation(half_of_groups(cells, place)),
    )


def union_of_groups(cells: CellTree, place: int) -> FloatVector | None:
    """The cells between two unions of about sqrt(k) groups, as 0 and 1; None for too few groups."""
    rows, columns = cells.shape(place)
    few = max(1, round(math.sqrt(min(rows, columns))))
    if few * 2 > min(rows, columns):
        return None
    return _between(cells, place, _first(rows, few), _first(columns, few)[::-1])


def half_of_groups(cells: CellTree, place: int) -> FloatVector | None:
    """The cells between half of the groups and the rest, likewise."""
    rows, columns = cells.shape(place)
    if min(rows, columns) < 2:
        return None
    return _between(cells, place, _first(rows, rows // 2), 1 - _first(columns, columns // 2))


def _between(
    cells: CellTree, place: int, left: FloatVector, right: FloatVector
) -> FloatVector | None:
    a, b = cells.cells(place)
    wanted: FloatVector = left[a] * right[b]
    if cells.symmetric:
        wanted = np.maximum(wanted, left[b] * right[a])
    return wanted if wanted.any() else None


def guaranteed_flows(
    cells: CellTree, strategy: FlowStrategy, *, failure: float
) -> dict[str, tuple[float, float]]:
    """Proven error and standard deviation of the finest level, in steps.

    Args:
        cells: the public cells.
        strategy: of the levels.
        failure: that one of them is farther off, in (0, 1).

    Returns:
        Of the worst cell, a union of groups and half of them ("cell", "union", "half"), as far as
        there are enough groups.
    """
    variances = place_variances(strategy.noise, strategy.places, cells.depth)
    fit = LeastSquares(cells, variances)
    finite = np.where(np.isfinite(variances), variances, 0.0)
    place = cells.depth - 1
    worst = np.eye(1, cells.size(place), int(np.argmax(fit.variances[place])))[0]
    found = {}
    for name, wanted in (
        ("cell", worst),
        ("union", union_of_groups(cells, place)),
        ("half", half_of_groups(cells, place)),
    ):
        if wanted is not None:
            spread = fit.spread_of(fit.coefficients({place: wanted}))
            radius = error_radii(strategy.noise, strategy.places, spread, failure=failure)
            found[name] = float(radius[0]), math.sqrt(float(spread.squares[0] @ finite))
    return found


def equal_groups(vertices: int, counts: Sequence[int]) -> GroupTree:
    """Nested groups of nearly equal sizes, for planning.

    Args:
        vertices: how many.
        counts: how many groups each level has, from the coarsest to the finest, not falling.

    Raises:
        ParameterError: numbers that do not allow that.
    """
    if not counts or list(counts) != sorted(counts) or not 1 <= counts[0] <= counts[-1] <= vertices:
        raise ParameterError(
            "numbers of groups grow from the coarsest level to the finest, from 1 to the number of "
            "vertices"
        )
    if counts[-1] > _MOST_GROUPS:
        raise ParameterError(f"at most {_MOST_GROUPS:,} groups can be planned")
    sizes = [_shares_of(vertices, counts[-1])]
    parents: list[IntVector] = []
    for above, count in zip(reversed(counts[:-1]), reversed(counts[1:]), strict=True):
        parents.insert(0, np.repeat(np.arange(above), _shares_of(count, above)))
        sizes.insert(0, np.bincount(parents[0], weights=sizes[0]).astype(np.int64))
    parents.insert(0, np.zeros(counts[0], dtype=np.int64))
    labels = {f"level {i}": range(count) for i, count in enumerate(counts, 1)}
    return GroupTree(labels, sizes, parents)


def _shares_of(total: int, parts: int) -> IntVector:
    """Whole numbers that add up to a total and differ by at most 1."""
    return total // parts + (np.arange(parts) < total % parts).astype(np.int64)


def _first(size: int, count: int) -> FloatVector:
    return (np.arange(size) < count).astype(np.float64)
