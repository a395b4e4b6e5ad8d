"""Which degree bound to take for vertices: noise that grows with it, against what it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.strategy import forecast_flows
from graphcuts_dp.learn.online_bounds import checked_promise
from graphcuts_dp.pairs.groups import GroupTree
from graphcuts_dp.privacy.calibration import discrete_gaussian_scale
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.protection import Protect
from graphcuts_dp.privacy.value_noise import discrete_gaussian_radius, discrete_laplace_radius


@final
@dataclass(frozen=True, kw_only=True)
class DegreeRow:
    """The error to expect from one degree bound, in edges.

    Attributes:
        degree_bound: D.
        cut: of all answers of a session none is farther from its bounded cut, with probability
            1 - beta; of "laplace" or "gaussian", whichever is better. The same for any n.
        cell: standard deviation of the noise of a cell of the finest level of a table that gets
            all of epsilon; None without groups.
        taken: what the bound takes from the number of all edges, from and to, by the degrees that
            were guessed; None without any.
    """

    degree_bound: int
    cut: float
    cell: float | None = None
    taken: tuple[float, float] | None = None


@final
@dataclass(frozen=True, kw_only=True)
class DegreePlan:
    """The error to expect from each degree bound, in ascending order of the bounds."""

    rows: tuple[DegreeRow, ...]

    def __str__(self) -> str:
        lines = [f"{'degree bound':>12} {'any cut':>12} {'a cell':>12} {'edges taken':>22}"]
        for row in self.rows:
            cell = "-" if row.cell is None else f"{row.cell:,.1f}"
            taken = "-" if row.taken is None else f"{row.taken[0]:,.0f} .. {row.taken[1]:,.0f}"
            lines.append(f"{row.degree_bound:>12,} {row.cut:>12,.1f} {cell:>12} {taken:>22}")
        return "\n".join(lines)


def plan_degree_bounds(
    bounds: Sequence[int],
    *,
    epsilon: float,
    delta: float = 0.0,
    queries: int = 1,
    beta: float = 0.05,
    groups: GroupTree | tuple[GroupTree, GroupTree] | None = None,
    directed: bool = False,
    degrees: npt.ArrayLike | None = None,
) -> DegreePlan:
    """Compare degree bounds for `protect="vertex"`: the noise of each. Reads no data.

    Args:
        bounds: degree bounds, whole numbers from 1 on.
        epsilon: of a session, or of a table, in [1e-6, 50].
        delta: in [0, 1); 0 for pure privacy.
        queries: how many cuts a session answers.
        beta: probability that any answer is farther off, in (0, 1).
        groups: public groups, or their sizes alone; of a bipartite graph a pair.
        directed: of tables, whether edges have a direction.
        degrees: a public guess of all degrees (of a directed graph in and out together), such as
            those of a graph of this kind that is public. Not the private ones.

    Raises:
        ParameterError: a number out of range.
        GraphError: groups that can hold no pair.
    """
    exact = exact_epsilon(epsilon)
    checked_promise(queries, epsilon, delta or 0.5, beta)
    guessed = None if degrees is None else _checked_degrees(degrees)
    rows = []
    for bound in sorted(set(bounds)):
        Protect.of("vertex", degree_bound=bound)  # refuses what is none
        cell = None
        if groups is not None:
            cell = (
                forecast_flows(
                    groups, epsilon=epsilon, delta=delta, directed=directed, degree_bound=bound
                )
                .levels[-1]
                .cell
            )
        rows.append(
            DegreeRow(
                degree_bound=bound,
                cut=_cut(bound, exact, delta, queries, beta),
                cell=cell,
                taken=None if guessed is None else _taken(guessed, bound),
            )
        )
    if not rows:
        raise ParameterError("give at least one degree bound, for example [10, 20, 50]")
    return DegreePlan(rows=tuple(rows))


def _checked_degrees(degrees: npt.ArrayLike) -> npt.NDArray[np.float64]:
    found = np.asarray(degrees, dtype=np.float64)
    if found.ndim != 1 or not (np.isfinite(found) & (found >= 0)).all():
        raise ParameterError("degrees are a list of numbers from 0 on: a public guess of them")
    return found


def _taken(degrees: npt.NDArray[np.float64], bound: int) -> tuple[float, float]:
    """At least half of what degrees have above the bound, at most all of it; see `bounded_cuts`."""
    above = float(np.maximum(degrees - bound, 0).sum())
    return above / 2, min(above, float(degrees.sum()) / 2)


def _cut(bound: int, epsilon: Fraction, delta: float, queries: int, beta: float) -> float:
    rate = float(epsilon / (queries * bound))
    found = discrete_laplace_radius(rate, failure=beta / queries)
    if delta:
        scale = discrete_gaussian_scale(epsilon=float(epsilon), delta=delta, queries=queries)
        found = min(found, discrete_gaussian_radius(scale * bound, failure=beta / queries))
    return float(found)
