"""The query release game: a synthetic matrix as the average of plays against the worst cuts."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.deadline import Deadline
from graphcuts_dp.fits.base import Fit, FitProblem, Stopped, degree_matched_start
from graphcuts_dp.fits.cutting_plane import Cut, CutNormOracle, SeparationOracle
from graphcuts_dp.progress import Progress, silent

# bench_game.py: values over n^1.5 of .250, .230, .245 at n = 60, 150, 400, the first-order fit
# .248, .227, .228.
_SCALE = 0.1  # of the data player's steps, in diameters of the box; see `Play.regret_bound`
_CUTS = 8  # that the query player mixes
_LOOK = 25  # rounds between looks at the average


@final
@dataclass(frozen=True)
class QueryGame:
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
    from above as well. The gap falls as 1/sqrt(rounds): see `Play.regret_bound`. Weights without a
    public cap have no lower bound but 0.

    Source: DR14 section 5.3.3; step lengths: Duchi, Hazan, Singer 2011. Deviations: the database
    player plays points of the box against z, not universe elements against the private data, so
    this is post-processing; queries are all cuts, by an oracle, not a list.

    Attributes:
        tolerance: stop when the gap is at most this.
        max_rounds: most rounds; None chooses from n.
        time_limit: seconds after which the best point so far is returned; None for no limit.
    """

    tolerance: float = 0.05
    max_rounds: int | None = None
    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = False  # sums of noisy entries stand for them
    needs_cap: ClassVar[bool] = False

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Play; same input, same output, unless the time limit strikes."""
        with threadpool_limits(1, "blas"):
            return self._run(problem, progress)

    def _run(self, problem: FitProblem, progress: Progress) -> Fit:
        deadline = Deadline.after(self.time_limit)
        play = Play(problem, CutNormOracle(problem.shape, cuts=_CUTS))
        judge = CutNormOracle(problem.shape, deadline=deadline)
        best, best_x = math.inf, play.x
        max_rounds = self.max_rounds or default_rounds(max(problem.shape))
        stopped: Stopped | None = None
        while stopped is None:
            play.round()
            if deadline.passed():
                stopped = "time"
            elif play.rounds == max_rounds:
                stopped = "rounds"
            elif play.rounds % _LOOK:
                continue
            x = play.average
            value = _largest(judge.separate(x - problem.noisy), x - problem.noisy)
            if value < best:
                best, best_x = value, x
            near = _gap(best, play.lower) <= self.tolerance
            if stopped or near:
                residual = best_x - problem.noisy
                best = max(best, _largest(judge.search(residual), residual))
            if near and _gap(best, play.lower) <= self.tolerance:
                stopped = "gap"
            done = play.rounds / max_rounds
            progress(done, f"error {best:.4g}, gap {_gap(best, play.lower):.0%}")
        return Fit(
            matrix=best_x,
            method="game",
            objective="cut norm",
            value=best,
            lower=play.lower,
            rounds=play.rounds,
            stopped=stopped,
        )


def default_rounds(n: int) -> int:
    """Rounds after which the gap is about 10 %, or 20 % above 300 vertices; seconds of work."""
    return 1000 if n <= 300 else 400


@final
class Play:
    """The game between two players, one round at a time.

    Args:
        problem: z and the box.
        oracle: of the query player.

    Attributes:
        rounds: played so far.
        x: the data player's next point.
    """

    def __init__(self, problem: FitProblem, oracle: SeparationOracle) -> None:
        self.rounds = 0
        self.x: RealMatrix = degree_matched_start(problem)
        self._problem = problem
        self._oracle = oracle
        # Without a cap, entries move about as far as the noise does.
        reach = min(problem.cap, float(problem.noisy.std())) or 1.0
        self._scale = _SCALE * reach * math.sqrt(problem.noisy.size)
        self._points = np.zeros_like(self.x)
        self._queries = np.zeros_like(self.x)
        self._weight = self._payoffs = self._squares = 0.0

    def round(self) -> None:
        """One play of each."""
        residual = self.x - self._problem.noisy
        query = self._mixture(residual)
        self.rounds += 1
        w = float(self.rounds)
        self._weight += w
        self._points += w * self.x
        self._queries += w * query
        self._payoffs += w * float(np.vdot(query, residual))
        self._squares += w**2 * float(np.vdot(query, query))
        if self._squares > 0:
            length = self._scale / math.sqrt(self._squares)
            self.x = self._problem.project(self.x - length * w * query)

    @property
    def average(self) -> RealMatrix:
        """The data player's average play."""
        average: RealMatrix = self._points / self._weight
        return average

    @property
    def payoff(self) -> float:
        """What the data player has paid a round."""
        return self._payoffs / self._weight

    @property
    def lower(self) -> float:
        """The best answer to the query player's average: no point of the box has less."""
        return max(0.0, self._problem.dual_value(self._queries / self._weight))

    @property
    def regret_bound(self) -> float:
        """What the data player pays a round more than the best point would have, at most.

        (R^2/(2 D) + D) sqrt(sum of ||w_t Q_t||^2) / sum of w_t for a box of diameter R: the usual
        sum of ||x_t - x*||^2 - ||x_{t+1} - x*||^2 over decreasing steps, and
        sum a_t/sqrt(a_1 + ... + a_t) <= 2 sqrt(a_1 + ... + a_T). With weights t it is
        O(1/sqrt(rounds)). With D = R/sqrt(2) the factor is least; a smaller D does better here,
        since plays stay near each other.

        So payoff - lower <= regret_bound. And ||average - z||_C is at most the mean of the
        ||x_t - z||_C, which with an exact oracle for the query player is the payoff: then
        (average, mixture) is an approximate equilibrium, ||average - z||_C - min <= regret_bound.
        """
        diameter = self._problem.cap * math.sqrt(self._pairs)
        factor = diameter**2 / (2 * self._scale) + self._scale
        return factor * math.sqrt(self._squares) / self._weight

    @property
    def _pairs(self) -> int:
        rows, columns = self._problem.shape
        return rows * (columns - 1) if self._problem.hollow else rows * columns

    def _mixture(self, residual: RealMatrix) -> RealMatrix:
        """The mean of the oracle's cuts, each with the sign that it has here."""
        cuts = self._oracle.separate(residual)
        S, T = (np.array(sides, dtype=np.float64) for sides in zip(*cuts, strict=True))
        signs = np.sign(np.einsum("ki,ki->k", S @ residual, T))
        query: RealMatrix = (S * signs[:, None]).T @ T / len(cuts)
        if self._problem.symmetric:
            query = (query + query.T) / 2
        if self._problem.hollow:
            np.fill_diagonal(query, 0)
        return query


def _largest(cuts: list[Cut], residual: RealMatrix) -> float:
    return max(abs(float(S @ residual @ T)) for S, T in cuts)


def _gap(value: float, lower: float) -> float:
    return 1.0 - lower / value if value > 0 else 0.0
