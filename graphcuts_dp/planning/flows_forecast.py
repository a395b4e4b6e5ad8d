"""What errors to expect of flows, from the sizes of the public groups alone."""

import math
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.flows.consistency import LeastSquares
from graphcuts_dp.flows.strategy import ALL_CELLS, FlowStrategy, choose_strategy
from graphcuts_dp.flows.tails import error_radii
from graphcuts_dp.graph.cells import CellTree
from graphcuts_dp.graph.groups import GroupTree
from graphcuts_dp.measurements.noisy_cells import place_variances

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
    workload: str = ALL_CELLS,
    noise: str = "auto",
    weight_cap: float | None = None,
    directed: bool = False,
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

    Raises:
        ParameterError: a number out of range, or an unknown name.
        GraphError: groups that can hold no pair.
    """
    if weight_cap is not None and not (math.isfinite(weight_cap) and weight_cap > 0):
        raise ParameterError("weight_cap must be a positive, finite number")
    pair = groups if isinstance(groups, tuple) else (groups, None)
    cells = CellTree(pair[0], pair[1], directed=directed)
    sensitivity, unit = (1, 1.0) if weight_cap is None else (_FINE, weight_cap / _FINE)
    strategy = choose_strategy(
        cells,
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
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

    def between(left: FloatVector, right: FloatVector) -> float:
        """Standard deviation of what passes between two sets of groups, given as 0 and 1."""
        a, b = cells.cells(place)
        wanted = left[a] * right[b]
        if cells.symmetric:
            wanted = np.maximum(wanted, left[b] * right[a])
        told = fit.coefficients({place: wanted})
        used = sum(v * float((part**2).sum()) for v, part in zip(variances, told, strict=True))
        return math.sqrt(used) * unit if wanted.any() else math.nan

    rows, columns = cells.shape(place)
    few = max(1, round(math.sqrt(min(rows, columns))))
    ends = _first(rows, few), _first(columns, few)[::-1]
    halves = _first(rows, rows // 2), 1 - _first(columns, columns // 2)
    return LevelForecast(
        level=cells.levels[place - 1],
        groups=(rows, columns),
        cells=cells.size(place),
        share=float(shares.get(place, 0)),
        cell=strategy.deviations[place] * unit,
        within=one * unit,
        all_within=all_at_once * unit,
        union=between(*ends) if few * 2 <= min(rows, columns) else math.nan,
        half=between(*halves) if rows > 1 and columns > 1 else math.nan,
    )


def _first(size: int, count: int) -> FloatVector:
    return (np.arange(size) < count).astype(np.float64)
