"""Which levels of a table are measured, and which share of the budget each of them gets.

Chosen before anything is spent, from the sizes of the public groups alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import place_variances
from graphcuts_dp.pairs.cells import CellTree
from graphcuts_dp.privacy.composition import as_stored, zcdp_rho
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.level_noise import Change, DistributionPair, LevelNoise

ALL_CELLS, ALL_LEVELS, TOTALS = "all cells", "all levels", "totals"
NOISES = ("auto", "laplace", "gaussian")
_PARTS = 128  # shares are whole multiples of one over this
_LEAST = 13  # parts for the finest level, so that every cell has an estimate: a tenth
_SCALE = 2**47  # of the noise, in steps: 64-bit integers hold it


@final
@dataclass(frozen=True, kw_only=True)
class FlowStrategy:
    """How a table will be measured. Public.

    Attributes:
        workload: what the shares were chosen for.
        places: measured places, ascending; 0 is the grand total, i the level i from 1.
        shares: of the budget (epsilon, or rho), one a measured place; they add up to 1.
        noise: a parameter for each measured place.
        deviations: expected standard deviation of a cell of each place, the root of the mean
            variance, in steps; place 0 first.
    """

    workload: str
    places: tuple[int, ...]
    shares: tuple[Fraction, ...]
    noise: LevelNoise
    deviations: tuple[float, ...]


def choose_strategy(
    cells: CellTree,
    *,
    epsilon: float | Fraction,
    delta: float = 0.0,
    changes: Sequence[Change] | None = None,
    workload: str = ALL_LEVELS,
    noise: str = "auto",
) -> FlowStrategy:
    """The shares with the least mean variance of a workload after least squares.

    The variance of the estimate of a cell is a formula of the variances v_p of the places (two
    passes, see `LeastSquares`): upwards 1/w = 1/v + 1/W, W = sum of the parts' w; downwards
    Var(x_part) = w (1 - w/W) + (w/W)^2 Var(x). With a share e of the budget, v is
    1/(2 sinh(e epsilon/(2 s))^2), about 2 (s/(e epsilon))^2, for discrete Laplace noise and a sum
    of |changes| of s, and q/(2 e rho) for discrete Gaussian noise and a sum of squares of q. The
    objective is the mean variance of the cells of the workload. It is minimised over whole
    multiples of 1/128 by moving parts from one place to another as long as that helps, from several
    starts: the finest level alone, all levels alike, and the levels of the workload. (For Gaussian
    noise the problem is convex in the shares; for Laplace noise it is not, hence the starts.) The
    finest level gets at least a tenth, so that every cell has an estimate. With delta > 0 the
    better of both noises.

    Args:
        cells: the public cells.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        changes: of each place, see `cell_changes`; None for one pair of a graph without weights.
        workload: "all levels" (every level counts alike), "all cells" (every cell of every level
            counts alike, so that the finest level counts most), "totals" (the grand total), or
            the name of a level.
        noise: "laplace", "gaussian" (which needs a delta), or "auto" for the better of the two.

    Raises:
        ParameterError: a number out of range, an unknown workload or noise, or an epsilon so small
            that the noise would not fit into 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if not (isinstance(delta, int | float) and 0 <= delta < 1):
        raise ParameterError(f"delta must be at least 0 and below 1, not {delta}")
    changes = ((1, 1),) * cells.depth if changes is None else changes
    if max(change[0] for change in changes) * _PARTS / exact > _SCALE:
        raise ParameterError("epsilon is too small for weights of this cap")
    wanted = _workload(cells, workload)
    shape = _Shape.of(cells)
    found = []
    for kind in _kinds(noise, delta):
        budget = exact
        if kind == "gaussian":
            budget = Fraction(zcdp_rho(epsilon=as_stored(exact), delta=delta))
        chosen = _Search(shape, kind, budget, changes, wanted).best()
        found.append((chosen[0], kind, budget, chosen[1]))
    _, kind, budget, parts = min(found, key=lambda each: each[0])
    chosen_noise, places = _noise(kind, budget, changes, parts)
    means = shape.mean_variances(place_variances(chosen_noise, places, cells.depth))
    return FlowStrategy(
        workload=workload,
        places=places,
        shares=tuple(Fraction(parts[p], _PARTS) for p in places),
        noise=chosen_noise,
        deviations=tuple(math.sqrt(mean) for mean in means),
    )


def _kinds(noise: str, delta: float) -> tuple[DistributionPair, ...]:
    if noise not in NOISES:
        raise ParameterError(f"unknown noise {noise!r:.60}; choose one of {', '.join(NOISES)}")
    if noise == "gaussian" and not delta:
        raise ParameterError("Gaussian noise needs a delta between 0 and 1, for example 1e-6")
    if noise == "laplace" or not delta:
        return ("laplace",)
    return ("gaussian",) if noise == "gaussian" else ("laplace", "gaussian")


def _workload(cells: CellTree, workload: str) -> FloatVector:
    """How much the mean variance of each place counts; the weights add up to 1."""
    weights = np.zeros(cells.depth)
    if workload == ALL_CELLS:
        weights[1:] = [cells.size(place) for place in range(1, cells.depth)]
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


def _noise(
    kind: DistributionPair, budget: Fraction, changes: Sequence[Change], parts: Sequence[int]
) -> tuple[LevelNoise, tuple[int, ...]]:
    places = tuple(place for place, part in enumerate(parts) if part)
    spent = [(budget * Fraction(parts[place], _PARTS), changes[place]) for place in places]
    if kind == "laplace":
        return LevelNoise(kind, tuple(each / change[0] for each, change in spent)), places
    return LevelNoise(kind, tuple(change[1] / (2 * each) for each, change in spent)), places


@final
@dataclass(frozen=True, eq=False)
class _Shape:
    """What the variances depend on: who is part of whom, and how many parts the last ones have.

    Attributes:
        parents: of the cells of each place but the last.
        last: how many of the finest cells each cell of the place before them has.
    """

    parents: tuple[IntVector, ...]
    last: FloatVector

    @classmethod
    def of(cls, cells: CellTree) -> "_Shape":
        end = cells.depth - 1
        counts = np.bincount(cells.parents(end), minlength=cells.size(end - 1))
        return cls(tuple(cells.parents(place) for place in range(end)), counts.astype(np.float64))

    def mean_variances(self, noise: FloatVector) -> FloatVector:
        """Mean variance of the estimates of each place, for these variances of its sums."""
        depth = len(self.parents) + 1
        totals = [np.empty(0)] * depth  # W
        spread = [np.empty(0)] * depth  # w
        totals[depth - 2] = self.last * noise[-1]
        for place in range(depth - 2, -1, -1):
            # 1/(1/v + 1/W), also for an infinite v
            spread[place] = 1 / (1 / noise[place] + 1 / totals[place])
            if place:
                above = len(self.parents[place - 1])
                totals[place - 1] = np.bincount(
                    self.parents[place], weights=spread[place], minlength=above
                ).astype(np.float64)
        variances = spread[0]
        means = [float(variances.mean())]
        for place in range(1, depth - 1):
            share = spread[place] / totals[place - 1][self.parents[place]]
            variances = spread[place] * (1 - share) + share**2 * variances[self.parents[place]]
            means.append(float(variances.mean()))
        total = ((self.last - 1) * noise[-1] + variances / self.last).sum()
        means.append(float(total / self.last.sum()))
        return np.array(means)


@final
class _Search:
    """Shares in whole parts that minimise a mean variance, for one noise."""

    def __init__(
        self,
        shape: _Shape,
        kind: DistributionPair,
        budget: Fraction,
        changes: Sequence[Change],
        wanted: FloatVector,
    ) -> None:
        self._shape, self._kind, self._wanted = shape, kind, wanted
        self._budget, self._changes = budget, changes
        self._depth = len(shape.parents) + 1
        self._known: dict[tuple[int, ...], float] = {}

    def best(self) -> tuple[float, tuple[int, ...]]:
        """The least objective, and the parts of each place."""
        found = []
        for start in self._starts():
            parts = self._improved(start)
            found.append((self._value(parts), parts))
        return min(found)

    def _starts(self) -> list[tuple[int, ...]]:
        levels = tuple(range(1, self._depth))
        kept = {self._depth - 1}
        wanted = {int(place) for place in np.flatnonzero(self._wanted)}
        picks = [kept, {*levels}, {0, *levels}, wanted | kept]
        return sorted({self._even(pick) for pick in picks})

    def _even(self, pick: set[int]) -> tuple[int, ...]:
        parts = [_PARTS // len(pick) if place in pick else 0 for place in range(self._depth)]
        parts[-1] += _PARTS - sum(parts)
        return tuple(parts)

    def _improved(self, parts: tuple[int, ...]) -> tuple[int, ...]:
        step = _PARTS // 4
        while step:
            better = min(
                (self._value(moved), moved) for moved in (parts, *self._moves(parts, step))
            )
            if better[0] < self._value(parts) * (1 - 1e-9):
                parts = better[1]
            else:
                step //= 2
        return parts

    def _moves(self, parts: tuple[int, ...], step: int) -> list[tuple[int, ...]]:
        found = []
        for source in range(self._depth):
            given = min(step, parts[source] - (_LEAST if source == self._depth - 1 else 0))
            for target in range(self._depth):
                if given > 0 and target != source:
                    moved = list(parts)
                    moved[source] -= given
                    moved[target] += given
                    found.append(tuple(moved))
        return found

    def _value(self, parts: tuple[int, ...]) -> float:
        if parts not in self._known:
            noise, places = _noise(self._kind, self._budget, self._changes, parts)
            variances = place_variances(noise, places, self._depth)
            means = self._shape.mean_variances(variances)
            self._known[parts] = float(means @ self._wanted)
        return self._known[parts]
