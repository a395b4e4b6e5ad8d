"""The query release game: a query player draws cuts, a data player plays matrices.

`Game` has the options, `PlayerGame` plays on a private graph. The query player, or both players,
have no regret: by multiplicative weights they gain nearly as much as by the best fixed strategy.
(A data player without regret against the worst query is `IterativeConstruction`.)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.iterative.distinguisher import Exponential, checked_graph, root_at_most
from graphcuts_dp.iterative.query_lists import CutList, Scoring
from graphcuts_dp.iterative.rank_one import usual_cut_norm
from graphcuts_dp.iterative.release import GRAPH, IterativeRelease, MeasuredQuery
from graphcuts_dp.iterative.rounds import Outcome, RoundsMechanism, rounds_job
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.iterative.tuning import (
    IterativeCalibration,
    PracticalIterative,
    measure_total,
    round_numbers,
)
from graphcuts_dp.learn.base import DenseHypothesis, Sign
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.choices import exponential_choices
from graphcuts_dp.privacy.composition import Cost, compose, rounded_up
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent

SignedCut = tuple[CutQuery, Sign]

PLAYERS = ("data", "query", "both")  # who has no regret; for "data", see `IterativeConstruction`
MOST_PLAYS = 2000  # rounds of a game
_TEST_SHARE = Fraction(1, 4)  # of the budget after the total weight: for the test at the end
_LARGEST_SCORE = 1 << 60  # scores stay below, so that their differences fit into 64 bits
_LEAST_ENTROPY = 0.1  # K for the rate of the data player is at least this: at 0 it never moves


@final
@dataclass(frozen=True, kw_only=True)
class Game(Checked):
    """Play the query release game over a list of cuts: the query player, or both, have no regret.

    Attributes:
        player: who has no regret: "query", by multiplicative weights over the list, against best
            responses; or "both".
        rounds: None for the number that is usually best.
        queries_per_round: number of cuts that the query player draws in a round.
        hide_queries: largest total variation by which one query of the list may change the
            distribution of what is released, in (0, 1); the list is then not published, and no
            error is proven. None if the list is public.

    Raises:
        ParameterError: a value out of range.

    Guarantee: see `PlayerGame`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> cuts = [gc.CutQuery([0]), gc.CutQuery([33])]
        >>> game = gc.Game()
        >>> release = gc.release_iteratively(club, cuts, epsilon=4.0, delta=1e-6, construction=game)
        >>> release.guarantee.epsilon
        4.0
    """

    player: str = option("both", help="Who learns in the query release game.", choices=PLAYERS[1:])
    rounds: int | None = option(None, help="Number of rounds.", least=2, most=MOST_PLAYS)
    queries_per_round: int = option(
        1, help="Number of cuts that are drawn in each round.", least=1, most=1000
    )
    hide_queries: float | None = option(
        None,
        help="Hide the list of queries of a game: the most that the release may reveal "
        "about one of them, as total variation.",
        above=0.0,
        below=1.0,
    )
    files: ClassVar[str] = GRAPH

    def job(self, task: Task) -> Job[IterativeRelease]:
        """Return the job that plays the whole game.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        calibration, public = "practical", ""
        if self.hide_queries is not None:
            calibration += f", queries hidden: {self.hide_queries:g}"
            public = "the number of queries"
        parameters = {"construction": f"game, player {self.player}"}
        return rounds_job(self.mechanism(task), task, parameters, calibration, public)

    def mechanism(self, task: Task) -> "PlayerGame":
        """Return the game with these options, whose cost is that of one change.

        Args:
            task: the private data's schema, the queries and the budget.
        """
        task.check_size()
        task.public_queries("the query release game")
        if not isinstance(task.listed, CutList):
            raise ParameterError("the query release game has a list of cuts, and no other queries")
        epsilon, delta = task.privacy_unit.budget_per_change(
            epsilon=task.epsilon, delta=task.delta, zcdp=True
        )
        # At most beta / 4 each is for the total weight, the draws, and both parts of the test.
        calibration = PracticalIterative(epsilon=epsilon, delta=delta, beta=task.beta / 4)
        return PlayerGame(
            game=self, queries=task.listed, grid=task.grid, calibration=calibration, beta=task.beta
        )


@final
@dataclass(frozen=True, kw_only=True)
class GameTuning:
    """The numbers that a game uses. Public.

    Attributes:
        rounds: T, at least 2.
        draws: L, the number of cuts that the query player draws in each round.
        rate: eta of the query player, for a sub-step of its scores.
        score_limit: scores are clipped to [-limit, limit] sub-steps; None if they are not clipped.
        test_distinguisher: finds the cut of the test at the end; None if there is no test.
        test_noise: noise on the answer of the test; None if there is no test.
        bound: with probability 1 - beta/2 no answer of the average play has a larger error, in
            units; None if scores are clipped, since their regret proves nothing.
        cost: of all draws and of the test, from the scales of their noise.
    """

    rounds: int
    draws: int
    rate: Fraction
    score_limit: int | None
    test_distinguisher: Exponential | None
    test_noise: ValueNoise | None
    bound: float | None
    cost: Cost
    void_reason: ClassVar[None] = None  # a game has no parameters that could void its bound

    def costs(self, sensitivity: int, *, delta: float) -> list[Cost]:  # noqa: ARG002
        """See `IterativeTuning.costs`."""
        return [self.cost]


@final
@dataclass(frozen=True, kw_only=True)
class PlayerGame(RoundsMechanism):
    """DR14 section 5.3.3 with a query player who has no regret, on a public list of k cuts.

    The query player's strategies are the cuts of the list, each with both signs; it gains
    s (q(G) - q(x)) where the data player plays x. The data player's strategies are the matrices of
    one total weight.

    1. Measure a noisy total weight m.
    2. In each of T rounds:
       a. the query player draws L signed cuts by multiplicative weights, that is with chance
          ~ exp(eta * (sum of its gains so far)): the exponential mechanism, exactly;
       b. the data player plays. "query": a best response to these draws, the matrix of weights in
          [0, 1] and total m with the largest sum of s q(x). "both": multiplicative weights, too,
          moved by the draws of the rounds before.
    3. The average of its plays is the result. A test finds a cut on which its error is large and
       measures it, unless the list is to be hidden.

    Guarantee: rho-zCDP, the cost that `cost` states. Step 1 is `IterativeCalibration.split_budget`.
        In round t + 1 the scores are sums of t gains, so one pair changes each by at most t Delta,
        some up and some down, whatever was played: the privacy loss of a draw has range
        2 t Delta eta, and it is (2 t Delta eta)^2/8-zCDP. T rounds cost
        L Delta^2 eta^2 (T-1) T (2T-1)/12. Clipping scores moves none of them farther apart. Plays
        are computed from draws. The test is one call of `Exponential` and one noisy count.
        Composition for adaptive choices.
        Side channel: counting takes time proportional to the number of edges.

    Accuracy (`bound`), for all cuts of the list at once. The true total is within e - 1 of m; then
        D = m + e, K = ln(X/max(1, m - e)), and eta is for one unit:
        "both": ln(2k)/(eta T) + eta D^2/2 + m sqrt(2 K/T) + D sqrt(2 ln(1/gamma)/(L T)) + e.
        "query": ln(2k)/(eta T) + eta D^2/2 + 2 D sqrt(2 ln(2 X T/gamma)/L) + e.
        By Theorem "The query release game".

    Hiding the list: by the same theorem replacing one cut of a hidden list by any other moves the
        distribution of the result by at most 1 - (1 - c)^(L T) in total variation, where
        c = cosh(eta limit)/(cosh(eta limit) + k - 1). Nothing else may be released of the list
        then: there is no test, and clipped scores prove no error.

    Attributes:
        game: the player, T as `rounds` (None for a choice, see `tune`), L as `queries_per_round`,
            and `hide_queries`, with which there is no test.
        queries: the public list. If it is hidden, only the curator knows it, and only k is public.
        calibration: a budget with zCDP accounting.
        beta: probability that the stated error fails, in (0, 1).

    Raises:
        ParameterError: weights that are too large for 64 bits.

    Source: DR14 section 5.3.3, for either player without regret; for both, and for hiding the list:
    Hsu, Roth, Ullman, *Differential Privacy for the Analyst via Private Equilibrium Computation*,
    2013. Deviations: the data player plays matrices of one total weight, not elements of the
    universe; weights are bounded by clipping scores, not by projecting them.
    """

    game: Game
    queries: CutList
    beta: float = DEFAULT_FAILURE

    name = "query release game"

    def __post_init__(self) -> None:
        self.scoring  # noqa: B018  # computing it refuses weights that are too large

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    @property
    def scoring(self) -> Scoring:
        """The scores of gains, in sub-steps."""
        return Scoring(self.universe, self.grid)

    @property
    def distinguisher_name(self) -> str:
        """See `RoundsMechanism.distinguisher_name`: the player without regret."""
        return f"player: {self.game.player}"

    @property
    def listed(self) -> CutList | None:
        """The list; None if it is hidden."""
        return self.queries if self.game.hide_queries is None else None

    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome:
        """See `RoundsMechanism.run`."""
        checked_graph(graph, self.universe, self.grid)
        total, total_error, remaining = measure_total(self.calibration, graph, self.grid, source)
        tuning = self.tune(total, total_error + 1, remaining)
        true_scores = self.queries.true_scores(graph, self.scoring)
        play, sum_of_plays = self.data_player(total, tuning.rounds), np.zeros(self.universe.shape)
        for rounds_played in range(tuning.rounds):
            scores = self.scores(true_scores, sum_of_plays, rounds_played, tuning.score_limit)
            indices = exponential_choices(scores, tuning.rate, tuning.draws, source)
            sum_of_plays += play([self.signed_cut(index) for index in indices])
            progress(
                (rounds_played + 1) / tuning.rounds, f"round {rounds_played + 1} of {tuning.rounds}"
            )
        outcome = Outcome(
            hypothesis=DenseHypothesis(self.universe, sum_of_plays / tuning.rounds),
            tuning=tuning,
            total_weight=total,
            total_error=total_error,
            used=tuning.rounds,
            error=tuning.bound,
        )
        self._test(outcome, graph, source)
        return outcome

    def tune(self, total: float, total_error: float, remaining: IterativeCalibration) -> GameTuning:
        """Return the game whose error is usually least, from public numbers alone.

        T minimises ln(2k)/(eta T), for the query player, plus the usual cut norm over 2 sqrt(T),
        for the data player and the chance of the draws. Measurements support this choice, and no
        proof, as for the rounds of `PracticalIterative`. With the T of the least proven bound
        little is learned.

        Args:
            total: noisy total weight, in units.
            total_error: e: its largest error plus 1.
            remaining: the budget after the total weight.

        Raises:
            ParameterError: the list is too short to be hidden, or no game fits the budget.
        """
        if self.game.rounds is None:
            tried_rounds = list(round_numbers(2, MOST_PLAYS))
        else:
            tried_rounds = [self.game.rounds]
        best: tuple[float, GameTuning] | None = None
        for rounds in tried_rounds:
            candidate = self._candidate(rounds, total, total_error, remaining)
            if candidate is not None and (best is None or candidate[0] < best[0]):
                best = candidate
        if best is None:
            raise ParameterError(
                "no game fits: the list is too short to be hidden so well, or the budget too small"
            )
        return best[1]

    def _candidate(
        self, rounds: int, total: float, total_error: float, remaining: IterativeCalibration
    ) -> tuple[float, GameTuning] | None:
        """Return the usual error of a game of T rounds, and the game; None if it does not fit."""
        draws, delta = self.game.queries_per_round, remaining.cost.delta
        sensitivity = self.scoring.sensitivity
        if self.universe.size * sensitivity * rounds >= _LARGEST_SCORE:
            return None
        rho = Fraction(remaining.cost.rho or 0.0)
        squares = (rounds - 1) * rounds * (2 * rounds - 1) // 6  # 1^2 + ... + (T - 1)^2
        test_rho = rho * _TEST_SHARE if self.game.hide_queries is None else Fraction(0)
        rate = root_at_most(2 * (rho - test_rho) / (draws * sensitivity**2 * squares))
        draws_rho = rounded_up(draws * (sensitivity * rate) ** 2 * squares / 2)
        costs = [Cost.of_rho(draws_rho, delta=delta)]
        score_limit = distinguisher = noise = None
        if self.game.hide_queries is not None:
            score_limit = self._score_limit(rate, rounds * draws, self.game.hide_queries)
            if score_limit is None:
                return None
        else:
            # Half of the test's budget finds the cut, the other half measures it.
            rho_of_choice = float(test_rho / 2) * (1 - 1e-12)  # rounded down
            distinguisher = Exponential(
                queries=self.queries, epsilon=Fraction(1), grid=self.grid
            ).with_rho(rho_of_choice, rounds=1)
            noise = ValueNoise("gaussian", Fraction(self.grid.sensitivity**2) / test_rho)
            costs += [distinguisher.call, noise.cost(self.grid.sensitivity, delta=delta)]
        eta = float(rate * sensitivity)
        usual_error = usual_cut_norm(self.universe) / (2 * math.sqrt(rounds))
        usual_error += math.log(2 * len(self.queries)) / (eta * rounds)
        is_proven = score_limit is None
        return usual_error, GameTuning(
            rounds=rounds,
            draws=draws,
            rate=rate,
            score_limit=score_limit,
            test_distinguisher=distinguisher,
            test_noise=noise,
            bound=self._bound(rounds, draws, eta, total, total_error) if is_proven else None,
            cost=compose(costs, delta=delta),
        )

    def _bound(
        self, rounds: int, draws: int, eta: float, total: float, total_error: float
    ) -> float:
        """Return the proven bound on the error of T rounds, in units; see the class."""
        k, X = len(self.queries), self.universe.size
        D, e, gamma = total + total_error, total_error, self.beta / 4
        query_regret = math.log(2 * k) / (eta * rounds) + eta * D**2 / 2
        if self.game.player == "query":
            deviation = math.sqrt(2 * math.log(2 * X * rounds / gamma) / draws)
            return query_regret + 2 * D * deviation + e
        data_regret = total * math.sqrt(2 * _entropy(X, total, e) / rounds)
        deviation = math.sqrt(2 * math.log(1 / gamma) / (rounds * draws))
        return query_regret + data_regret + D * deviation + e

    def _score_limit(self, rate: Fraction, draws: int, hide: float) -> int | None:
        """Return the score limit with which the list is hidden; None if no limit hides it.

        It solves 1 - (1 - c)^(L T) = `hide` for the limit, rounded down; see the class.

        Args:
            rate: eta, for a sub-step.
            draws: L T, the number of all draws.
            hide: largest total variation by which one query may change the result.
        """
        c = -math.expm1(math.log1p(-hide) / draws) * (1 - 1e-9)
        cosh_of_limit = c * (len(self.queries) - 1) / (1 - c)
        if cosh_of_limit < 1:
            return None
        return math.floor(math.acosh(cosh_of_limit) / float(rate) * (1 - 1e-9))

    def data_player(
        self, total: float, rounds: int
    ) -> Callable[[Sequence[SignedCut]], FloatMatrix]:
        """Return the function from the query player's draws of a round to the data player's play.

        Args:
            total: total weight of each play, in units.
            rounds: T.
        """
        if self.game.player == "query":
            return partial(best_response, self.universe, total)
        entropy = max(_entropy(self.universe.size, total, 1.0), _LEAST_ENTROPY)
        return WeightsPlayer(self.universe, total, math.sqrt(2 * entropy / rounds)).play

    def scores(
        self,
        true_scores: npt.NDArray[np.int64],
        plays: FloatMatrix,
        rounds: int,
        score_limit: int | None,
    ) -> npt.NDArray[np.int64]:
        """Return the query player's gains in the first rounds, in sub-steps. Private.

        Args:
            true_scores: answers of the graph in sub-steps, shape (k,).
            plays: the sum of the plays of these rounds, in units.
            rounds: the number of these rounds, t.
            score_limit: see `GameTuning`.

        Returns:
            A gain for each signed cut, shape (2k,): with sign +1, then with -1. One pair of the
            graph moves each by t Delta at most.
        """
        gains = rounds * true_scores
        if rounds:
            gains = gains - self.scoring.in_substeps(self.queries.answers(self._in_weight(plays)))
        if score_limit is not None:
            gains = np.clip(gains, -score_limit, score_limit)
        return np.concatenate([gains, -gains])

    def signed_cut(self, index: int) -> SignedCut:
        """Return the signed cut of an index of `scores`."""
        k = len(self.queries)
        return self.queries[index % k], 1 if index < k else -1

    def _in_weight(self, units: FloatMatrix) -> DenseHypothesis:
        """Return a matrix in units as a hypothesis in weight."""
        return DenseHypothesis(self.universe, units * self.unit)

    def _test(self, outcome: Outcome, graph: AnyGraph, source: EntropySource) -> None:
        """Take the test of step 3, and state the smaller error: the test's or the game's own."""
        distinguisher, noise = outcome.tuning.test_distinguisher, outcome.tuning.test_noise
        if distinguisher is None:
            return
        sensitivity, gamma = self.grid.sensitivity, self.beta / 4
        hypothesis = self._in_weight(outcome.hypothesis.matrix)
        query = distinguisher.begin(graph, source).find(hypothesis, source).query
        count = self.queries.true_count(query, graph, self.grid)
        value = (count + noise.draw(source)) / sensitivity
        outcome.gap = abs(value - hypothesis.estimate(query) / self.unit)
        slack = noise.radius(gamma) / sensitivity + distinguisher.shortfall(gamma) / self.unit
        error = outcome.gap + slack
        outcome.error = error if outcome.error is None else min(error, outcome.error)
        outcome.transcript.append(
            MeasuredQuery(round=outcome.used, query=query, value=value * self.unit, updated=False)
        )


def best_response(universe: Universe, total: float, draws: Sequence[SignedCut]) -> FloatMatrix:
    """Return a matrix against which the draws of a round gain least.

    Among the matrices with entries in [0, 1] and a given total it has the largest sum of s q(x):
    1 on the pairs that most draws count with +, until the total is reached. If there are more
    equally good pairs than weight left for them, they get equal weights.

    Args:
        universe: the public vertex pairs.
        total: in (0, X].
        draws: signed cuts of this round.
    """
    gains = signed_sum(universe, draws)[universe.pairs()]
    levels, counts = np.unique(-gains, return_counts=True)
    # Pairs with larger gains weigh 1 each; those of a level share what they leave of the total.
    pairs_above = np.concatenate([[0], np.cumsum(counts)[:-1]])
    weights = np.clip(total - pairs_above, 0, counts) / counts
    return universe.matrix_of(weights[np.searchsorted(levels, -gains)])


@final
class WeightsPlayer:
    """Multiplicative weights over pairs: h ~ exp(rate * sum of the draws' mean coefficients).

    Guarantee, for mean coefficients in [-1, 1] and a comparator of the same total whose relative
    entropy to the uniform matrix is K: its regret in T rounds is at most
    total (K/rate + rate T/2), the usual proof with Hoeffding's lemma.

    Args:
        universe: the public vertex pairs.
        total: total weight of each play, > 0.
        rate: > 0.
    """

    def __init__(self, universe: Universe, total: float, rate: float) -> None:
        self._universe = universe
        self._total = total
        self._rate = rate
        self._exponents = np.zeros(universe.shape)

    def play(self, draws: Sequence[SignedCut]) -> FloatMatrix:
        """Return the play of a round; its draws move the next play, not this one."""
        universe = self._universe
        weights = np.exp(self._exponents - self._exponents.max())
        universe.clear_diagonal(weights)
        play: FloatMatrix = weights * (self._total / universe.total(weights))
        self._exponents += self._rate / len(draws) * signed_sum(universe, draws)
        return play


def signed_sum(universe: Universe, draws: Sequence[SignedCut]) -> FloatMatrix:
    """Return the sum of the draws' signed coefficients, a matrix over the universe."""
    total = np.zeros(universe.shape)
    for query, sign in draws:
        total += sign * universe.coefficients(query)
    return total


def _entropy(pairs: int, total: float, total_error: float) -> float:
    """Return K, a bound on the relative entropy of any truth to the uniform start."""
    return math.log(pairs / max(1.0, min(total - total_error, pairs)))
