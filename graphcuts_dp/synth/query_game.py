"""Fit in the cut norm as the query release game of DR14.

A data player and a query player play against each other; the average of what the data player plays
is the fit. It is kept for reproducing DR14 (Dwork, Roth, "The Algorithmic Foundations of
Differential Privacy", 2014), section 5.3.3; other fits reach the same value sooner.

z is the noisy matrix, and the *box* holds the matrices with entries in [0, cap]. A *cut* is a pair
(S, T) of masks of rows and columns; x(S, T) is the sum of the entries of x in these rows and
columns, and the cut norm ||x||_C is the largest |x(S, T)|. An *oracle* returns cuts on which a
matrix x - z, the *residual*, is large: nearly the largest by its method `separate`, and the largest
of a longer search by `search`.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import Fit, FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.degree_matching import degree_matched_start
from graphcuts_dp.synth.separation_oracles import Cut, LowRankOracle

# D, the length of the data player's steps, as a share of the size of the box; see `regret_bound`.
# With it, ||x - z||_C / n^1.5 was .250, .230, .245 at n = 60, 150, 400; the first-order fit had
# .248, .227, .228.
_STEP_SHARE = 0.1
_MIXED_CUTS = 8  # cuts that the query player mixes
# The value of the average is computed after so many rounds; it costs as much as a round.
_ROUNDS_BETWEEN_VALUES = 25


class QueryGame(GapSearch):
    """Minimise ||x - z||_C over the box by playing the query release game.

    The data player chooses a point x of the box, the query player a signed cut Q = +-1_S 1_T^T, and
    the data player pays <Q, x - z>. The best query makes this ||x - z||_C. So the value of the game
    is the minimum of ||x - z||_C over the box. DR14 plays against the private data in place of z,
    for which the value is 0 (Proposition 5.16).

    Each round, with weight w_t = t (late rounds are better):

    1. The query player answers x_t with a mixture Q_t of the largest cuts that the oracle finds,
       each with its sign: nearly a best response.
    2. The data player, who has no regret, goes x <- project(x - eta_t w_t Q_t) with
       eta_t = D/sqrt(sum of ||w_s Q_s||^2, s <= t): online gradient descent.

    The average of the x_t, weighted by w_t, is the fit. The average Q of the Q_t is a mixed
    strategy of the query player, so the least <Q, x - z> over the box is a lower bound, whether or
    not the oracle's cuts were the largest.

    Guarantee, with gap g as reported and an exact last search: ||x - A||_C <=
    (1 + 1/(1-g)) ||A - z||_C for every A in the box. The gap falls as 1/sqrt(rounds): see
    `regret_bound`. Weights without a public maximum have no lower bound but 0.

    Source: DR14 section 5.3.3; step lengths: Duchi, Hazan, Singer 2011. Deviations: the database
    player plays points of the box against z, not universe elements against the private data, so
    this is post-processing; queries are all cuts, by an oracle, not a list.

    Args:
        problem: z and the box.
        deadline: of the whole run.
        oracle: the query player's; None for one that returns a few cuts.

    Attributes:
        oracle: finds the cuts of the query player.
        judge: another oracle, which computes values of the average; each has a warm start of its
            own.
        x: the data player's next point.
        step_length: D.
    """

    method = "game"
    objective = "cut norm"
    # The gap is about 10 % then, or 20 % above 300 vertices; seconds of work.
    most_rounds: ClassVar[Mapping[float, int]] = {300: 1000, math.inf: 400}
    best: float
    best_matrix: RealMatrix
    lower: float

    def __init__(
        self,
        problem: FitProblem,
        deadline: Deadline = NEVER,
        oracle: LowRankOracle | None = None,
    ) -> None:
        super().__init__(problem, deadline)
        self.oracle: LowRankOracle = oracle or LowRankOracle(problem.shape, cuts=_MIXED_CUTS)
        self.judge: LowRankOracle = LowRankOracle(problem.shape, deadline)
        self.x: RealMatrix = degree_matched_start(problem)
        # An entry moves by at most the cap, and seldom by more than the standard deviation of the
        # entries of z. (If all entries are equal, any length will do.)
        reach = min(problem.cap, float(problem.noisy.std())) or 1.0
        self.step_length: float = _STEP_SHARE * reach * math.sqrt(problem.noisy.size)
        # Sums over the rounds t so far, each with its weight w.
        self._point_sum = np.zeros_like(self.x)  # of w x_t
        self._query_sum = np.zeros_like(self.x)  # of w Q_t
        self._weight_sum = 0.0  # of w
        self._payoff_sum = 0.0  # of w <Q_t, x_t - z>
        self._square_sum = 0.0  # of ||w Q_t||^2

    def round(self) -> None:
        """Let both play once; now and then evaluate the average."""
        self.play()
        if self.rounds % _ROUNDS_BETWEEN_VALUES == 0:
            self._evaluate_average()

    def confirm(self) -> float:
        """Search the best average for larger cuts, store its value, and return the gap with it."""
        if self.rounds % _ROUNDS_BETWEEN_VALUES:  # `round` has not evaluated this average yet
            self._evaluate_average()
        residual = self.best_matrix - self.problem.noisy
        self.best = max(self.best, _largest(self.judge.search(residual), residual))
        return self.gap()

    def _evaluate_average(self) -> None:
        """Compute the value of the average play and the lower bound.

        The bound is that of the present average query, even if an earlier average had a larger one.
        """
        self.lower = self.bound
        average = self.average
        residual = average - self.problem.noisy
        value = _largest(self.judge.separate(residual), residual)
        if value < self.best:
            self.best, self.best_matrix = value, average

    def play(self) -> None:
        """Let each player play once."""
        residual = self.x - self.problem.noisy
        query = self._mixture(residual)
        self.rounds += 1
        w = float(self.rounds)  # the weight of this round
        self._weight_sum += w
        self._point_sum += w * self.x
        self._query_sum += w * query
        self._payoff_sum += w * float(np.vdot(query, residual))
        self._square_sum += w**2 * float(np.vdot(query, query))
        if self._square_sum > 0:
            eta = self.step_length / math.sqrt(self._square_sum)
            self.x = self.problem.project(self.x - eta * w * query)

    @property
    def average(self) -> RealMatrix:
        """The data player's average play: a new array."""
        return np.asarray(self._point_sum / self._weight_sum)

    @property
    def payoff(self) -> float:
        """Mean payment of the data player in a round, weighted."""
        return self._payoff_sum / self._weight_sum

    @property
    def bound(self) -> float:
        """The least payment of any point of the box against the query player's average play."""
        return max(0.0, self.problem.dual_value(self._query_sum / self._weight_sum))

    @property
    def regret_bound(self) -> float:
        """The most that the data player pays in a round above what the best point would pay.

        For a box of diameter R it is

            (R^2/(2 D) + D) sqrt(sum_t ||w_t Q_t||^2) / sum_t w_t.

        This is the usual bound of online gradient descent with decreasing steps: R^2/(2 D) is from
        the telescoping sum of ||x_t - x*||^2 - ||x_{t+1} - x*||^2, and D from
        sum_t a_t/sqrt(a_1 + ... + a_t) <= 2 sqrt(a_1 + ... + a_T) with a_t = ||w_t Q_t||^2. With
        w_t = t it is O(1/sqrt(rounds)). The factor is least for D = R/sqrt(2); a smaller D does
        better here, since plays stay near each other.

        So payoff - bound <= regret_bound. By convexity ||average - z||_C is at most the mean of the
        ||x_t - z||_C. If the query player has an exact oracle and plays the largest cut alone, that
        mean is the payoff, and ||average - z||_C is at most the minimum plus regret_bound.
        """
        rows, columns = self.problem.shape
        free_columns = columns - self.problem.hollow  # of a row, without the diagonal if hollow
        diameter = self.problem.cap * math.sqrt(rows * free_columns)
        factor = diameter**2 / (2 * self.step_length) + self.step_length
        return factor * math.sqrt(self._square_sum) / self._weight_sum

    def _mixture(self, residual: RealMatrix) -> RealMatrix:
        """Return the mean of the oracle's cuts, each with its sign at a residual."""
        cuts = self.oracle.separate(residual)
        # Masks of the cuts, shapes (cuts, rows) and (cuts, columns).
        S, T = (np.array(masks, dtype=np.float64) for masks in zip(*cuts, strict=True))
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


query_game: partial[Fit] = partial(close_gap, QueryGame)
