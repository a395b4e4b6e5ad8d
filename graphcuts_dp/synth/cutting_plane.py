"""Fits against the largest cuts that an oracle finds: the cutting plane, and the game.

The cutting plane solves a linear program, grown row by row and warm-started. The query release game
has a synthetic matrix as the average of plays against the worst cuts.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, final

import highspy
import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import BoolVector, FloatVector, RealMatrix
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.spectral import prefix_cuts
from graphcuts_dp.errors import SolverError
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import FitProblem, GapSearch, close_gap, degree_matched_start
from graphcuts_dp.synth.first_order import first_order

_FADE = 0.25  # a row's importance when it was not used in a round
_MEMORY = 4  # rounds without use after which projections leave a row out
_PREFIX_CUTS = 12  # that a spectral oracle finds at most


@final
class Master:
    """min t subject to <a_k, x> - b_k <= t for the rows so far, 0 <= x <= cap, t >= 0.

    `variables` is the number of entries of x, `matrix` has the rows a_k.
    """

    def __init__(self, variables: int, cap: float) -> None:
        self.cap = cap
        self.matrix = np.empty((0, variables))
        self._constants = np.empty(0)
        self._multipliers = np.empty(0)  # of the last program and projection: who is active
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
            index = np.append(used, len(row)).astype(np.int32)
            values = np.append(row[used], -1.0)
            self._lp.addRow(-self._lp.inf, constant, len(index), index, values)
        self._constants = np.append(self._constants, constants)
        self.matrix = np.vstack([self.matrix, *rows])
        self._multipliers = np.append(self._multipliers, np.ones(len(rows)))

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
        reduced = multipliers @ self.matrix
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
        matrix = self.matrix[active]
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
        return np.asarray(np.clip(centre - found.x @ matrix, 0.0, self.cap))


Cut = tuple[BoolVector, BoolVector]


@final
class CutNormOracle:
    """Finds cuts with nearly the largest |M(S,T)|, by the low-rank method, warm-started.

    Source: GRU12 Lemma 6.2; Alon, Naor 2006.

    Args:
        shape: of the matrices to come.
        deadline: of `search`, beyond its shortest form.
        cuts: how many cuts a call returns at most.
    """

    objective = "cut norm"

    def __init__(self, shape: tuple[int, int], deadline: Deadline = NEVER, cuts: int = 12) -> None:
        self._deadline = deadline
        self._solver = LowRankSolver(shape, rank=min(32, max(shape) + 1), seed=0)
        self._cuts = cuts
        self._alternations = 30

    def weight(self, S: BoolVector, T: BoolVector) -> float:  # noqa: ARG002
        """Factor of |M(S,T)| in the norm: 1."""
        return 1.0

    def separate(self, residual: RealMatrix) -> list[Cut]:
        """Distinct cuts, the best first, of 128 hyperplanes, each improved by alternation."""
        self._solver.step(residual, self._alternations)
        self._alternations = 8
        batch = self._solver.round_batch(residual, 128, self._cuts)
        return list(zip(batch.S, batch.T, strict=True))

    def search(self, residual: RealMatrix) -> list[Cut]:
        """The cut of a whole cut-norm search, exact for small matrices; asked before a run ends."""
        found = cut_norm(residual, time_limit=self._deadline.seconds_left)
        return [(found.S, found.T)]


@final
class SpectralOracle:
    """Finds cuts with nearly the largest |M(S,T)|/sqrt(|S||T|), by prefixes of singular vectors.

    Source: GRU12 section 6.2; Nikiforov 2009.
    """

    objective = "normalised cut norm"

    def weight(self, S: BoolVector, T: BoolVector) -> float:
        """Factor of |M(S,T)| in the norm: 1/sqrt(|S||T|)."""
        return 1.0 / math.sqrt(max(1, int(S.sum()) * int(T.sum())))

    def separate(self, residual: RealMatrix, pairs: int = 3) -> list[Cut]:
        """The best prefix cuts of several singular pairs."""
        batch = prefix_cuts(residual, _PREFIX_CUTS, pairs=pairs)
        return list(zip(batch.S, batch.T, strict=True))

    def search(self, residual: RealMatrix) -> list[Cut]:
        """Prefix cuts of more singular pairs; asked before a run ends."""
        return self.separate(residual, pairs=min(12, *residual.shape))


Oracle = CutNormOracle | SpectralOracle
ORACLES: Mapping[str, Callable[[tuple[int, int], Deadline], Oracle]] = {
    "cut-norm": CutNormOracle,
    "spectral": lambda _, __: SpectralOracle(),
}


class CuttingPlane(GapSearch):
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

    Args:
        problem: z and the box.
        deadline: of the whole run.
        oracle: one, or its name: "cut-norm" or "spectral".
    """

    method = "cutting-plane"
    most_rounds: ClassVar = {math.inf: 100}

    def __init__(
        self, problem: FitProblem, deadline: Deadline = NEVER, oracle: Oracle | str = "cut-norm"
    ) -> None:
        super().__init__(problem, deadline)
        if isinstance(oracle, str):
            oracle = ORACLES[oracle](problem.shape, deadline)
        self.oracle, self.objective = oracle, oracle.objective
        n, m = problem.shape
        # Variables: the entries above the diagonal, or off it, or all of a biadjacency matrix.
        among = np.ones((n, m), dtype=np.bool_)
        if problem.hollow:
            among = np.triu(among, 1) if problem.symmetric else ~np.eye(n, dtype=np.bool_)
        self.places: tuple[npt.NDArray[np.intp], ...] = np.nonzero(among)
        self.z = self._vector(problem.noisy)
        self.master = Master(len(self.z), problem.cap)
        start = first_order(problem, max_rounds=100, time_limit=deadline.seconds_left)
        self._consider(start.matrix.astype(np.float64))

    def round(self) -> None:
        self.rounds += 1
        self.lower = max(self.lower, self.master.lower_bound())
        level = self.lower + 0.5 * (self.best - self.lower)
        matrix = np.zeros(self.problem.shape)
        matrix[self.places] = self.master.project(self._vector(self.best_matrix), level)
        self._consider(matrix + matrix.T if self.problem.symmetric else matrix)

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
        known = float(np.abs(self.master.matrix @ self._vector(residual)).max(initial=0.0))
        value = max(self._add(residual, self.oracle.separate(residual)), known)
        if value < self.best:
            self.best, self.best_matrix = value, matrix

    def _add(self, residual: RealMatrix, cuts: list[Cut]) -> float:
        """Add inequalities of cuts, each with the sign it has at a point; the largest value."""
        vector = self._vector(residual)
        largest = 0.0
        rows = []
        for S, T in cuts:
            form = np.outer(S, T).astype(np.float64)
            if self.problem.symmetric:
                form += form.T
            row = self._vector(form) * self.oracle.weight(S, T)
            value = float(row @ vector)
            rows.append(-row if value < 0 else row)
            largest = max(largest, abs(value))
        self.master.add(rows, [float(row @ self.z) for row in rows])
        return largest

    def _vector(self, matrix: RealMatrix) -> FloatVector:
        return np.asarray(matrix[self.places], dtype=np.float64)


# Values over n^1.5 of .250, .230, .245 at n = 60, 150, 400, the first-order fit
# .248, .227, .228.
_SCALE = 0.1  # of the data player's steps, in diameters of the box; see `regret_bound`
_CUTS = 8  # that the query player mixes
_LOOK = 25  # rounds between looks at the average


class QueryGame(GapSearch):
    """Minimise ||x - z||_C over the box by playing the query release game.

    The data player has the points x of the box, the query player the signed cuts
    Q = +-1_S 1_T', and the data player pays <Q, x - z>. The value of the game is
    min over x of ||x - z||_C; against the private data themselves it would be 0 (DR14,
    Proposition 5.16), against a noisy matrix it is what no synthetic graph can avoid.

    Each round, with weight w_t = t (late rounds are better):

    1. The query player answers x_t with a mixture Q_t of the largest cuts that the oracle finds,
       each with its sign: nearly a best response.
    2. The data player, who has no regret, goes x <- project(x - eta_t w_t Q_t) with
       eta_t = D/sqrt(sum of ||w_s Q_s||^2, s <= t): online gradient descent.

    The average of the x_t is the fit. The average of the Q_t is a mixed strategy of the query
    player: the least <Q, x - z> over the box is a lower bound, whatever the oracle found. So the
    gap needs no trust in either player.

    Guarantee, with gap g as reported and an exact last search: ||x - A||_C <=
    (1 + 1/(1-g)) ||A - z||_C for every A in the box; the release's certificate bounds the norm
    from above as well. The gap falls as 1/sqrt(rounds): see `regret_bound`. Weights without a
    public bound have no lower bound but 0.

    Source: DR14 section 5.3.3; step lengths: Duchi, Hazan, Singer 2011. Deviations: the database
    player plays points of the box against z, not universe elements against the private data, so
    this is post-processing; queries are all cuts, by an oracle, not a list.
    """

    method = "game"
    objective = "cut norm"
    # The gap is about 10 % then, or 20 % above 300 vertices; seconds of work.
    most_rounds: ClassVar = {300: 1000, math.inf: 400}

    def __init__(
        self,
        problem: FitProblem,
        deadline: Deadline = NEVER,
        oracle: CutNormOracle | None = None,
    ) -> None:
        super().__init__(problem, deadline)
        self.oracle = oracle or CutNormOracle(problem.shape, cuts=_CUTS)
        self.judge = CutNormOracle(problem.shape, deadline)
        self.x: RealMatrix = degree_matched_start(problem)  # the data player's next point
        # Without a cap, entries move about as far as the noise does.
        reach = min(problem.cap, float(problem.noisy.std())) or 1.0
        self.scale = _SCALE * reach * math.sqrt(problem.noisy.size)
        self._points = np.zeros_like(self.x)
        self._queries = np.zeros_like(self.x)
        self._weight = self._payoffs = self._squares = 0.0

    def round(self) -> None:
        self.play()
        if self.rounds % _LOOK == 0:
            self._look()

    def confirm(self) -> float:
        """Search the best average for larger cuts; the gap with what was found."""
        if self.rounds % _LOOK:
            self._look()
        residual = self.best_matrix - self.problem.noisy
        self.best = max(self.best, _largest(self.judge.search(residual), residual))
        return self.gap()

    def _look(self) -> None:
        average, self.lower = self.average, self.bound
        residual = average - self.problem.noisy
        value = _largest(self.judge.separate(residual), residual)
        if value < self.best:
            self.best, self.best_matrix = value, average

    def play(self) -> None:
        """One play of each."""
        residual = self.x - self.problem.noisy
        query = self._mixture(residual)
        self.rounds += 1
        w = float(self.rounds)
        self._weight += w
        self._points += w * self.x
        self._queries += w * query
        self._payoffs += w * float(np.vdot(query, residual))
        self._squares += w**2 * float(np.vdot(query, query))
        if self._squares > 0:
            length = self.scale / math.sqrt(self._squares)
            self.x = self.problem.project(self.x - length * w * query)

    @property
    def average(self) -> RealMatrix:
        """The data player's average play."""
        return np.asarray(self._points / self._weight)

    @property
    def payoff(self) -> float:
        """What the data player has paid a round."""
        return self._payoffs / self._weight

    @property
    def bound(self) -> float:
        """The best answer to the query player's average: no point of the box has less."""
        return max(0.0, self.problem.dual_value(self._queries / self._weight))

    @property
    def regret_bound(self) -> float:
        """What the data player pays a round more than the best point would have, at most.

        (R^2/(2 D) + D) sqrt(sum of ||w_t Q_t||^2) / sum of w_t for a box of diameter R: the usual
        sum of ||x_t - x*||^2 - ||x_{t+1} - x*||^2 over decreasing steps, and
        sum a_t/sqrt(a_1 + ... + a_t) <= 2 sqrt(a_1 + ... + a_T). With weights t it is
        O(1/sqrt(rounds)). With D = R/sqrt(2) the factor is least; a smaller D does better here,
        since plays stay near each other.

        So payoff - bound <= regret_bound. And ||average - z||_C is at most the mean of the
        ||x_t - z||_C, which with an exact oracle for the query player is the payoff: then
        (average, mixture) is an approximate equilibrium, ||average - z||_C - min <= regret_bound.
        """
        rows, columns = self.problem.shape
        diameter = self.problem.cap * math.sqrt(rows * (columns - self.problem.hollow))
        factor = diameter**2 / (2 * self.scale) + self.scale
        return factor * math.sqrt(self._squares) / self._weight

    def _mixture(self, residual: RealMatrix) -> RealMatrix:
        """The mean of the oracle's cuts, each with the sign that it has here."""
        cuts = self.oracle.separate(residual)
        S, T = (np.array(sides, dtype=np.float64) for sides in zip(*cuts, strict=True))
        signs = np.sign(np.einsum("ki,ki->k", S @ residual, T))
        query: RealMatrix = (S * signs[:, None]).T @ T / len(cuts)
        if self.problem.symmetric:
            query = (query + query.T) / 2
        if self.problem.hollow:
            np.fill_diagonal(query, 0)
        return query


def _largest(cuts: list[Cut], residual: RealMatrix) -> float:
    return max(abs(float(S @ residual @ T)) for S, T in cuts)


cutting_plane = partial(close_gap, CuttingPlane)
query_game = partial(close_gap, QueryGame)
