"""The cutting-plane fit: a linear program whose separation oracle is the cut norm.

The linear program of the cutting-plane method, grown row by row and warm-started.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, final

import highspy
import numpy as np
import numpy.typing as npt
import scipy
from threadpoolctl import threadpool_limits

from graphcuts_dp.arrays import BoolVector, FloatVector, RealMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.spectral import prefix_cuts
from graphcuts_dp.errors import SolverError
from graphcuts_dp.resources import NEVER, Deadline, Progress, silent
from graphcuts_dp.synth.base import Fit, FitProblem, gap_between
from graphcuts_dp.synth.first_order import FirstOrder

_FADE = 0.25  # a row's importance when it was not used in a round
_MEMORY = 4  # rounds without use after which projections leave a row out


@final
class Master:
    """min t subject to <a_k, x> - b_k <= t for the rows so far, 0 <= x <= cap, t >= 0.

    Args:
        variables: number of entries of x.
        cap: upper side of the box, or infinity.
    """

    def __init__(self, variables: int, cap: float) -> None:
        self.cap = cap
        self._matrix = np.empty((0, variables))
        self._constants = np.empty(0)
        self._multipliers = np.empty(0)  # of the last program and projection: who is active
        self._variables = variables
        self._lp: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._lp.setOptionValue("output_flag", False)
        self._lp.setOptionValue("threads", 1)
        upper = np.full(variables + 1, self._lp.inf if math.isinf(cap) else cap)
        upper[-1] = self._lp.inf
        self._lp.addVars(variables + 1, np.zeros(variables + 1), upper)
        self._lp.changeColCost(variables, 1.0)

    def add(self, rows: list[FloatVector], constants: list[float]) -> None:
        """Add inequalities <row, x> - constant <= objective, each row of shape (variables,)."""
        for row, constant in zip(rows, constants, strict=True):
            used = np.flatnonzero(row)
            index = np.append(used, self._variables).astype(np.int32)
            values = np.append(row[used], -1.0)
            self._lp.addRow(-self._lp.inf, constant, len(index), index, values)
        self._constants = np.append(self._constants, constants)
        self._matrix = np.vstack([self._matrix, *rows])
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
        size = float(np.abs(reduced).sum()) + float(multipliers @ np.abs(self._constants))
        return max(0.0, box - float(multipliers @ self._constants) - 1e-12 * size)

    def project(self, centre: FloatVector, level: float) -> FloatVector:
        """The point of the box nearest to `centre` where every row is at most `level`.

        Solved through its dual: x(y) = clip(centre - A'y), y >= 0, by L-BFGS-B, over the rows
        that mattered lately. Approximate: the method needs a good next point, not an exact one.
        """
        active = np.flatnonzero(self._multipliers > _FADE**_MEMORY)
        matrix = self._matrix[active]
        limits = self._constants[active] + level

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


Cut = tuple[BoolVector, BoolVector]


class SeparationOracle(Protocol):
    """Finds cuts of a matrix that are nearly the largest of a norm."""

    objective: str

    def weight(self, S: BoolVector, T: BoolVector) -> float:
        """Factor of |M(S,T)| in the norm."""

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """Distinct cuts, the best first."""

    def search(self, residual: RealMatrix) -> list[Cut]:
        """As `separate`, with more effort to find the largest; asked before a run ends."""


@final
class CutNormOracle:
    """Largest |M(S,T)|, by the low-rank method, warm-started from call to call.

    Source: GRU12 Lemma 6.2; Alon, Naor 2006.

    Args:
        shape: of the matrices to come.
        cuts: how many cuts a call returns at most.
        deadline: of `search`, beyond its shortest form.
    """

    objective: str = "cut norm"

    def __init__(self, shape: tuple[int, int], cuts: int = 12, deadline: Deadline = NEVER) -> None:
        self._deadline = deadline
        self._solver = LowRankSolver(shape, rank=min(32, max(shape) + 1), seed=0)
        self._cuts = cuts
        self._alternations = 30

    def weight(self, S: BoolVector, T: BoolVector) -> float:  # noqa: ARG002
        """1: the cut norm itself."""
        return 1.0

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """The best distinct cuts of 128 hyperplanes, each improved by alternation."""
        self._solver.step(residual, self._alternations)
        self._alternations = 8
        batch = self._solver.round_batch(residual, 128, self._cuts)
        return list(zip(batch.S, batch.T, strict=True))

    def search(self, residual: RealMatrix) -> list[Cut]:
        """The cut of a whole cut-norm search, exact for small matrices."""
        found = cut_norm(residual, time_limit=self._deadline.seconds_left)
        return [(found.S, found.T)]


@final
class SpectralOracle:
    """Largest |M(S,T)|/sqrt(|S||T|), by prefixes of the leading singular vectors.

    Source: GRU12 section 6.2; Nikiforov 2009.

    Args:
        cuts: how many cuts a call returns at most.
    """

    objective: str = "normalised cut norm"

    def __init__(self, cuts: int = 12) -> None:
        self._cuts = cuts

    def weight(self, S: BoolVector, T: BoolVector) -> float:
        """1/sqrt(|S||T|)."""
        return 1.0 / math.sqrt(max(1, int(S.sum()) * int(T.sum())))

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """The best prefix cuts of several singular pairs."""
        batch = prefix_cuts(residual, self._cuts)
        return list(zip(batch.S, batch.T, strict=True))

    def search(self, residual: RealMatrix) -> list[Cut]:
        """Prefix cuts of more singular pairs."""
        batch = prefix_cuts(residual, self._cuts, pairs=min(12, *residual.shape))
        return list(zip(batch.S, batch.T, strict=True))


@final
@dataclass(frozen=True)
class CuttingPlane:
    """Minimise the norm of x - z over the box by a stabilised cutting-plane method.

    1. Start from the first-order fit; add the cuts that the oracle finds there.
    2. Solve the linear program over the cuts so far (HiGHS, warm start): its value L is a lower
       bound of the minimum over all cuts.
    3. With U the best value found so far, project the best point onto the points of the box where
       all cuts so far are at most L + (U - L)/2 (level method: plain Kelley oscillates).
    4. Ask the oracle for several cuts there, add them, keep the point if it is better.
    5. Until U <= L/(1 - tolerance), also after a longer search for the largest cut at the best
       point; a larger one is added, and the run goes on.

    `value` is the largest at x of all cuts that the oracle ever found; the release's certificate
    bounds the norm from above as well. Guarantee, with gap g and an exact oracle:
    ||x - A|| <= (1 + 1/(1-g)) ||A - z|| for every A in the box; the lower bound needs no oracle.

    Source: GRU12 Lemma 6.2 and section 6.2; Lemarechal, Nemirovskii, Nesterov 1995 (level
    method). Deviation: a linear program in place of the ellipsoid method.

    Attributes:
        oracle: "cut-norm" or "spectral".
        tolerance: stop when the gap is at most this.
        max_rounds: most rounds.
        time_limit: seconds after which the best point so far is returned; None for no limit.
    """

    oracle: Literal["cut-norm", "spectral"] = "cut-norm"
    tolerance: float = 0.05
    max_rounds: int = 100
    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = False  # sums of noisy entries stand for them
    needs_cap: ClassVar[bool] = False

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Run the steps above; same input, same output, unless the time limit strikes."""
        # Thousands of products of a few hundred numbers: threads would only wait for each other.
        with threadpool_limits(1, "blas"):
            return self._run(problem, progress)

    def _run(self, problem: FitProblem, progress: Progress) -> Fit:
        deadline = Deadline.after(self.time_limit)
        spectral = self.oracle == "spectral"
        oracle = SpectralOracle() if spectral else CutNormOracle(problem.shape, deadline=deadline)
        run = _Run(problem, oracle, deadline)
        stopped: Literal["gap", "rounds", "time"] = "rounds"
        rounds = 0
        for rounds in range(1, self.max_rounds + 1):
            run.round()
            progress(rounds / self.max_rounds, f"error {run.best:.4g}, gap {run.gap():.0%}")
            if run.gap() <= self.tolerance and run.confirm() <= self.tolerance:
                stopped = "gap"
                break
            if deadline.passed():
                stopped = "time"
                break
        if stopped != "gap":
            run.confirm()
        return Fit(
            matrix=run.best_matrix,
            method="cutting-plane",
            objective=run.oracle.objective,
            value=run.best,
            lower=run.lower,
            rounds=rounds,
            stopped=stopped,
        )


class _Run:
    """State of one run: the master program, the best point, both bounds."""

    def __init__(
        self, problem: FitProblem, oracle: SeparationOracle, deadline: Deadline = NEVER
    ) -> None:
        self.problem = problem
        self.oracle = oracle
        shape = problem.noisy.shape
        # Variables: the entries above the diagonal, or off it, or all of a biadjacency matrix.
        self.places: tuple[npt.NDArray[np.intp], ...] | None = None
        if problem.symmetric:
            self.places = np.triu_indices(shape[0], 1)
        elif problem.hollow:
            self.places = np.nonzero(~np.eye(shape[0], dtype=np.bool_))
        self.z = self._vector(problem.noisy)
        self.master = Master(len(self.z), problem.cap)
        self.lower = 0.0
        self.best = math.inf
        self.best_matrix: RealMatrix = problem.noisy
        start = FirstOrder(max_steps=100, time_limit=deadline.seconds_left)(problem)
        self._consider(start.matrix.astype(np.float64))

    def gap(self) -> float:
        return gap_between(self.best, self.lower)

    def round(self) -> None:
        self.lower = max(self.lower, self.master.lower_bound())
        level = self.lower + 0.5 * (self.best - self.lower)
        self._consider(self._matrix(self.master.project(self._vector(self.best_matrix), level)))

    def confirm(self) -> float:
        """Search the best point for larger cuts; the gap with what was found."""
        residual = self.best_matrix - self.problem.noisy
        self.best = max(self.best, self._add(residual, self.oracle.search(residual)))
        return self.gap()

    def _consider(self, matrix: RealMatrix) -> None:
        """Add the oracle's cuts at a point; keep the point when it is the best.

        Its value counts the cuts found earlier too: the oracle may overlook them here.
        """
        residual = matrix - self.problem.noisy
        known = self.master.largest(self._vector(residual))
        value = max(self._add(residual, self.oracle.separate(residual)), known)
        if value < self.best:
            self.best, self.best_matrix = value, matrix

    def _add(self, residual: RealMatrix, cuts: list[Cut]) -> float:
        """Add inequalities of cuts, each with the sign it has at a point; the largest value."""
        vector = self._vector(residual)
        rows = [self._coefficients(S, T) for S, T in cuts]
        reached = [float(row @ vector) for row in rows]
        rows = [-row if value < 0 else row for row, value in zip(rows, reached, strict=True)]
        self.master.add(rows, [float(row @ self.z) for row in rows])
        return max(map(abs, reached), default=0.0)

    def _coefficients(self, S: BoolVector, T: BoolVector) -> FloatVector:
        form = np.outer(S, T).astype(np.float64)
        if self.problem.symmetric:
            form += form.T
        return self._vector(form) * self.oracle.weight(S, T)

    def _vector(self, matrix: RealMatrix) -> FloatVector:
        entries = matrix.ravel() if self.places is None else matrix[self.places]
        return np.asarray(entries, dtype=np.float64)

    def _matrix(self, vector: FloatVector) -> RealMatrix:
        if self.places is None:
            return vector.reshape(self.problem.noisy.shape)
        matrix = np.zeros(self.problem.noisy.shape)
        matrix[self.places] = vector
        return matrix + matrix.T if self.problem.symmetric else matrix
