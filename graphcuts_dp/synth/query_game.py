"""Fit in the cut norm as the query release game of DR14.

A data player and a query player play against each other; the average of what the data player plays
is the fit. It is kept for reproducing DR14, section 5.3.3; other fits reach the same value sooner.
"""

import math
from functools import partial
from typing import ClassVar

import numpy as np

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.degree_matching import degree_matched_start
from graphcuts_dp.synth.separation_oracles import Cut, CutNormOracle

# Length D of the data player's steps, as a share of the size of the box; see `regret_bound`. With
# it, ||x - z||_C / n^1.5 was .250, .230, .245 at n = 60, 150, 400; the first-order fit had .248,
# .227, .228.
_STEP_SHARE = 0.1
_MIXED_CUTS = 8  # cuts that the query player mixes
_ROUNDS_BETWEEN_VALUES = 25  # a value of the average costs as much as a round


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

    D is the attribute `scale`, a length. The average of the x_t is the fit. The average of the Q_t
    is a mixed strategy of the query player: the least <Q, x - z> over the box is a lower bound,
    whatever the oracle found. So the gap needs no trust in either player.

    Guarantee, with gap g as reported and an exact last search: ||x - A||_C <=
    (1 + 1/(1-g)) ||A - z||_C for every A in the box; the release's certificate bounds the norm
    from above as well. The gap falls as 1/sqrt(rounds): see `regret_bound`. Weights without a
    public maximum have no lower bound but 0.

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
        self.oracle = oracle or CutNormOracle(problem.shape, cuts=_MIXED_CUTS)
        self.judge = CutNormOracle(problem.shape, deadline)
        self.x: RealMatrix = degree_matched_start(problem)  # the data player's next point
        # Entries move by at most the cap, and not much farther than the deviation of z.
        reach = min(problem.cap, float(problem.noisy.std())) or 1.0
        self.scale = _STEP_SHARE * reach * math.sqrt(problem.noisy.size)
        self._points = np.zeros_like(self.x)
        self._queries = np.zeros_like(self.x)
        self._weight = self._payoffs = self._squares = 0.0

    def round(self) -> None:
        """Let both play once; now and then evaluate the average."""
        self.play()
        if self.rounds % _ROUNDS_BETWEEN_VALUES == 0:
            self._evaluate_average()

    def confirm(self) -> float:
        """Search the best average for larger cuts, and return the gap with them."""
        if self.rounds % _ROUNDS_BETWEEN_VALUES:
            self._evaluate_average()
        residual = self.best_matrix - self.problem.noisy
        self.best = max(self.best, _largest(self.judge.search(residual), residual))
        return self.gap()

    def _evaluate_average(self) -> None:
        """Compute the value of the average play and the lower bound."""
        average, self.lower = self.average, self.bound
        residual = average - self.problem.noisy
        value = _largest(self.judge.separate(residual), residual)
        if value < self.best:
            self.best, self.best_matrix = value, average

    def play(self) -> None:
        """Let each player play once."""
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
        """Mean payment of the data player in a round."""
        return self._payoffs / self._weight

    @property
    def bound(self) -> float:
        """The least payoff of any point of the box against the query player's average play."""
        return max(0.0, self.problem.dual_value(self._queries / self._weight))

    @property
    def regret_bound(self) -> float:
        """The most that the data player pays in a round above what the best point would pay.

        It is (R^2/(2 D) + D) sqrt(sum of ||w_t Q_t||^2) / sum of w_t for a box of diameter R, by
        the usual sum of ||x_t - x*||^2 - ||x_{t+1} - x*||^2 over decreasing steps, and
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
        """Return the mean of the oracle's cuts, each with its sign at a residual."""
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
    """Return the largest |residual(S,T)| of some cuts."""
    return max(abs(float(S @ residual @ T)) for S, T in cuts)


query_game = partial(close_gap, QueryGame)
