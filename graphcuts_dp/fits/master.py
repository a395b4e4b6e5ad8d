"""The linear program of the cutting-plane method, grown row by row and warm-started."""

import math
from dataclasses import dataclass
from typing import Any, final

import highspy
import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import SolverError

_FADE = 0.25  # a row's importance when it was not used in a round
_MEMORY = 4  # rounds without use after which projections leave a row out


@final
@dataclass(frozen=True, eq=False)
class Row:
    """One valid inequality <coefficients, x> - constant <= objective.

    Attributes:
        coefficients: shape (variables,).
        constant: the same functional at z.
    """

    coefficients: FloatVector
    constant: float


@final
class Master:
    """min t subject to <a_k, x> - b_k <= t for the rows so far, 0 <= x <= cap, t >= 0.

    Args:
        variables: number of entries of x.
        cap: upper side of the box, or infinity.
    """

    def __init__(self, variables: int, cap: float) -> None:
        self.cap = cap
        self.rows: list[Row] = []
        self._matrix = np.empty((0, variables))
        self._multipliers = np.empty(0)  # of the last program and projection: who is active
        self._variables = variables
        self._lp: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._lp.setOptionValue("output_flag", False)
        self._lp.setOptionValue("threads", 1)
        upper = np.full(variables + 1, self._lp.inf if math.isinf(cap) else cap)
        upper[-1] = self._lp.inf
        self._lp.addVars(variables + 1, np.zeros(variables + 1), upper)
        self._lp.changeColCost(variables, 1.0)

    def add(self, rows: list[Row]) -> None:
        """Add inequalities, if there are any."""
        if not rows:
            return
        for row in rows:
            used = np.flatnonzero(row.coefficients)
            index = np.append(used, self._variables).astype(np.int32)
            values = np.append(row.coefficients[used], -1.0)
            self._lp.addRow(-self._lp.inf, row.constant, len(index), index, values)
        self.rows += rows
        self._matrix = np.vstack([self._matrix, *(row.coefficients for row in rows)])
        self._multipliers = np.append(self._multipliers, np.ones(len(rows)))

    def largest(self, residual: FloatVector) -> float:
        """Largest |<a_k, residual>| over the rows so far; 0 without rows.

        Args:
            residual: x - z, shape (variables,).
        """
        return float(np.abs(self._matrix @ residual).max(initial=0.0))

    def lower_bound(self) -> float:
        """A proven lower bound on the program, and so on the minimum over all cuts.

        HiGHS gives multipliers y >= 0; they are scaled to sum to 1, and then
        sum over x of min(0, y'a) cap - y'b bounds the optimum whatever the solver's tolerances
        were.

        Raises:
            SolverError: HiGHS failed.
        """
        self._lp.run()
        if self._lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError("the linear program could not be solved; try fit='first-order'")
        multipliers = np.maximum(-np.array(self._lp.getSolution().row_dual), 0.0)
        total = multipliers.sum()
        if total == 0:
            return 0.0
        multipliers /= max(total, 1.0)
        self._multipliers = np.maximum(multipliers, self._multipliers * _FADE)
        reduced = multipliers @ self._matrix
        negative = float(np.minimum(reduced, 0).sum())
        if math.isinf(self.cap):
            # Rounding may leave a tiny negative sum, for which the box has no lower side.
            box = 0.0 if negative > -1e-9 * len(reduced) else -math.inf
        else:
            box = self.cap * negative
        constants = np.array([row.constant for row in self.rows])
        slack = 1e-12 * (float(np.abs(reduced).sum()) + float(multipliers @ np.abs(constants)))
        return max(0.0, box - float(multipliers @ constants) - slack)

    def project(self, centre: FloatVector, level: float) -> FloatVector:
        """The point of the box nearest to `centre` where every row is at most `level`.

        Solved through its dual: x(y) = clip(centre - A'y), y >= 0, by L-BFGS-B, over the rows
        that mattered lately. Approximate: the method needs a good next point, not an exact one.
        """
        active = np.flatnonzero(self._multipliers > _FADE**_MEMORY)
        matrix = self._matrix[active]
        limits = np.array([self.rows[i].constant for i in active]) + level

        def dual(multipliers: FloatVector) -> tuple[float, FloatVector]:
            x = np.clip(centre - multipliers @ matrix, 0.0, self.cap)
            slack = matrix @ x - limits
            value = 0.5 * float((x - centre) @ (x - centre)) + float(multipliers @ slack)
            return -value, -slack

        found = scipy.optimize.minimize(
            dual,
            np.zeros(len(limits)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * len(limits),
            options={"maxiter": 60},
        )
        used = active[found.x > 0]
        self._multipliers[used] = np.maximum(self._multipliers[used], 1.0)
        nearest: FloatVector = np.clip(centre - found.x @ matrix, 0.0, self.cap)
        return nearest
