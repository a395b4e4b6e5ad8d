"""Fit in the cut norm by cutting planes: a linear program that an oracle extends.

z is the noisy matrix, and the *box* holds the matrices x with entries in [0, cap]. A *cut* is a
pair (S, T) of masks of rows and columns, and (x - z)(S,T) the sum of the entries of x - z (the
*residual*) in these rows and columns.

The program minimises the largest |(x - z)(S,T)| over the cuts that are known so far. An oracle
(`synth.separation_oracles`) finds cuts on which a residual is large: `separate` several of them in
a hurry, `search` by a longer search, and `weight` is the factor of a cut in the oracle's norm. Each
cut becomes a *row* of the program, an inequality <a, x> - b <= t. Here x is a vector of those
entries that can vary: of a symmetric matrix, the entries above the diagonal.

`Master` is this program, `CuttingPlane` is the loop; read it first.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, final

import highspy
import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.errors import SolverError
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import Fit, FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.separation_oracles import DEFAULT_ORACLE, Cut, Oracle, oracle_named

_FADE = 0.25  # factor of a row's importance in each round
_LEAST_IMPORTANCE = _FADE**4  # less important rows are left out of projections
_INFINITE_BOX_ROUNDING = 1e-9  # per entry: a sum below 0 that small is rounding
_RELATIVE_ROUNDING = 1e-12  # of the terms of a lower bound: more than sums of floats lose
_PROJECTION_ROUNDS = 60  # of L-BFGS-B; the next point need not be exact
_START_ROUNDS = 100  # of the first-order fit, from which the search starts


@final
class Master:
    """Linear program: min t subject to <a_k, x> - b_k <= t for the rows so far, 0 <= x <= cap.

    t is at least 0. Projections use only rows that mattered of late, so that they stay fast as rows
    accumulate. For this, rows have an *importance*: a new row has 1, a row that a projection used
    is raised to 1, and each solution of the program makes it the larger of the row's multiplier and
    its faded importance. Importance never affects the lower bound.

    Args:
        variables: number of entries of x.
        cap: largest entry; infinity without one.

    Attributes:
        matrix: the rows a_k, shape (rows, variables).
    """

    def __init__(self, variables: int, cap: float) -> None:
        self.cap = cap
        self.matrix: RealMatrix = np.empty((0, variables))
        self._constants = np.empty(0)
        self._importance = np.empty(0)  # shape (rows,)
        self._lp: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._lp.setOptionValue("output_flag", False)
        self._lp.setOptionValue("threads", 1)
        # The entries of x, and last t, whose cost is 1; all are at least 0.
        upper = np.full(variables + 1, self._lp.inf if math.isinf(cap) else cap)
        upper[-1] = self._lp.inf
        self._lp.addVars(variables + 1, np.zeros(variables + 1), upper)
        self._lp.changeColCost(variables, 1.0)

    def add(self, rows: list[FloatVector], constants: list[float]) -> None:
        """Add inequalities <row, x> - constant <= t, each row of shape (variables,)."""
        for row, constant in zip(rows, constants, strict=True):
            used = np.flatnonzero(row)
            index = np.append(used, len(row)).astype(np.int32)  # t is the last variable
            values = np.append(row[used], -1.0)
            self._lp.addRow(-self._lp.inf, constant, len(index), index, values)
        self._constants = np.append(self._constants, constants)
        self.matrix = np.vstack([self.matrix, *rows])
        self._importance = np.append(self._importance, np.ones(len(rows)))

    def lower_bound(self) -> float:
        """Return a proven lower bound on the program, and so on the minimum over all cuts.

        HiGHS gives multipliers y >= 0 of the rows. If their sum is above 1, they are divided by it.
        For every x of the box and t >= 0 that satisfy the rows <a_k, x> - b_k <= t,

            t >= sum_k y_k t >= sum_k y_k (<a_k, x> - b_k) >= cap sum_j min(0, (y^T a)_j) - y^T b.

        So the right side is a lower bound, however inexact y is.

        Raises:
            SolverError: HiGHS failed.
        """
        self._lp.run()
        if self._lp.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError("the linear program could not be solved; try fit='first-order'")
        multipliers = np.maximum(-np.array(self._lp.getSolution().row_dual), 0.0)
        total = multipliers.sum()
        if total == 0:  # the optimum is t = 0
            return 0.0
        multipliers /= max(total, 1.0)
        self._importance = np.maximum(multipliers, self._importance * _FADE)
        coefficients = multipliers @ self.matrix  # y^T a, shape (variables,)
        negative_sum = float(np.minimum(coefficients, 0).sum())
        if math.isinf(self.cap):
            # The minimum over an infinite box is 0 or -infinity; a tiny negative sum is rounding.
            is_rounding = negative_sum > -_INFINITE_BOX_ROUNDING * len(coefficients)
            box_minimum = 0.0 if is_rounding else -math.inf
        else:
            box_minimum = self.cap * negative_sum
        bound = box_minimum - float(multipliers @ self._constants)
        size = float(np.abs(coefficients).sum()) + float(multipliers @ np.abs(self._constants))
        return max(0.0, bound - _RELATIVE_ROUNDING * size)

    def project(self, centre: FloatVector, level: float) -> FloatVector:
        """Return nearly the point of the box nearest to `centre` where each row is at most `level`.

        Only important rows count. With the matrix A of these rows, the dual problem has multipliers
        y >= 0 and the point x(y) = clip(centre - A^T y), and is solved by L-BFGS-B.

        Args:
            centre: shape (variables,).
            level: bound on <a_k, x> - b_k for each row k.
        """
        active = np.flatnonzero(self._importance > _LEAST_IMPORTANCE)
        matrix = self.matrix[active]
        limits = self._constants[active] + level

        def dual(multipliers: FloatVector) -> tuple[float, FloatVector]:
            """Return minus the dual function and minus its gradient, since scipy minimises."""
            x = np.clip(centre - multipliers @ matrix, 0.0, self.cap)
            slack = matrix @ x - limits
            value = 0.5 * float((x - centre) @ (x - centre)) + float(multipliers @ slack)
            return -value, -slack

        solution = scipy.optimize.minimize(
            dual,
            np.zeros(len(limits)),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * len(limits),
            options={"maxiter": _PROJECTION_ROUNDS},
        )
        used = active[solution.x > 0]
        self._importance[used] = np.maximum(self._importance[used], 1.0)
        return np.asarray(np.clip(centre - solution.x @ matrix, 0.0, self.cap))


class CuttingPlane(GapSearch):
    """Minimise the norm of x - z over the box by a stabilised cutting-plane method.

    1. Start from the first-order fit; add the cuts that the oracle finds there.
    2. Solve the linear program over the cuts so far (HiGHS, warm start): its value L is a lower
       bound of the minimum over all cuts.
    3. With U the best value found so far, project the best point onto the points of the box where
       all cuts so far are at most L + (U - L)/2 (level method: plain Kelley oscillates).
    4. Ask the oracle for several cuts there, add them, keep the point if it is better.
    5. Repeat steps 2 to 4 until U <= L/(1 - tolerance). Then search the best point longer for a
       larger cut (`confirm`). If there is one and U is now too large, add it and go on.

    The value of x is the largest at x of all cuts that the oracle ever returned. So it may be too
    small if the oracle overlooks a cut; the lower bound is right in any case. Guarantee, with gap g
    and an exact oracle: ||x - A|| <= (1 + 1/(1-g)) ||A - z|| for every A in the box.

    Source: GRU12 Lemma 6.2 and section 6.2; Lemarechal, Nemirovskii, Nesterov 1995 (level
    method). Deviation: a linear program in place of the ellipsoid method.

    Args:
        problem: z and the box.
        deadline: of the whole run.
        oracle: one, or its name: "low-rank", "sdp" or "spectral".
    """

    method = "cutting-plane"
    most_rounds: ClassVar[Mapping[float, int]] = {math.inf: 100}
    best: float
    best_matrix: RealMatrix
    lower: float

    def __init__(
        self, problem: FitProblem, deadline: Deadline = NEVER, oracle: Oracle | str = DEFAULT_ORACLE
    ) -> None:
        super().__init__(problem, deadline)
        if isinstance(oracle, str):
            oracle = oracle_named(oracle, problem.shape, deadline)
        self.oracle: Oracle = oracle
        self.objective: str = oracle.objective
        n, m = problem.shape
        # Variables: the entries above the diagonal, or off it, or all of a biadjacency matrix.
        is_variable = np.ones((n, m), dtype=np.bool_)
        if problem.symmetric:
            is_variable = np.triu(is_variable, 1)
        elif problem.hollow:
            is_variable = ~np.eye(n, dtype=np.bool_)
        self._variable_indices: tuple[npt.NDArray[np.intp], ...] = np.nonzero(is_variable)
        self.z: FloatVector = self._vector(problem.noisy)
        self.master: Master = Master(len(self.z), problem.cap)
        start = first_order(problem, max_rounds=_START_ROUNDS, time_limit=deadline.seconds_left)
        self._consider(start.matrix.astype(np.float64))

    def round(self) -> None:
        """Do steps 2 to 4."""
        self.rounds += 1
        self.lower = max(self.lower, self.master.lower_bound())
        level = self.lower + 0.5 * (self.best - self.lower)
        matrix = np.zeros(self.problem.shape)
        matrix[self._variable_indices] = self.master.project(self._vector(self.best_matrix), level)
        self._consider(matrix + matrix.T if self.problem.symmetric else matrix)

    def confirm(self) -> float:
        """Search the best point for larger cuts, store its value, and return the gap with it."""
        residual = self.best_matrix - self.problem.noisy
        self.best = max(self.best, self._add(residual, self.oracle.search(residual)))
        return self.gap()

    def _consider(self, matrix: RealMatrix) -> None:
        """Add the oracle's cuts at a point, and keep the point if it is the best.

        Its value counts the cuts of earlier rounds too: the oracle may overlook them here.
        """
        residual = matrix - self.problem.noisy
        earlier = float(np.abs(self.master.matrix @ self._vector(residual)).max(initial=0.0))
        value = max(self._add(residual, self.oracle.separate(residual)), earlier)
        if value < self.best:
            self.best, self.best_matrix = value, matrix

    def _add(self, residual: RealMatrix, cuts: list[Cut]) -> float:
        """Add the row of each cut; return the largest |value| of the cuts at this residual.

        A cut has two rows, for the value and for minus the value. Only the one that is positive at
        this residual is added.
        """
        vector = self._vector(residual)
        largest = 0.0
        rows = []
        for S, T in cuts:
            # How often each entry of the matrix counts in the cut.
            counts = np.outer(S, T).astype(np.float64)
            if self.problem.symmetric:  # one variable stands for (i, j) and (j, i)
                counts += counts.T
            row = self._vector(counts) * self.oracle.weight(S, T)
            value = float(row @ vector)
            rows.append(-row if value < 0 else row)
            largest = max(largest, abs(value))
        self.master.add(rows, [float(row @ self.z) for row in rows])
        return largest

    def _vector(self, matrix: RealMatrix) -> FloatVector:
        """Return the entries that are variables of the program, shape (variables,)."""
        return np.asarray(matrix[self._variable_indices], dtype=np.float64)


cutting_plane: partial[Fit] = partial(close_gap, CuttingPlane)
