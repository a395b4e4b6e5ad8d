"""The query release game, played on private data: the query player, or both, have no regret.

Data players of the query release game: a best response, and one without regret.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Protocol, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Sign
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.offline.construction import Outcome
from graphcuts_dp.offline.distinguisher import Measured, Scoring, checked_graph, root_at_most
from graphcuts_dp.offline.distinguishers import Exponential
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.rank_one import usual_cut_norm
from graphcuts_dp.offline.tuning import OfflineCalibration, buy_total
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost, check_paid, compose, rounded_up
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import exponential_choices
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.progress import Progress, silent

Signed = tuple[CutQuery, Sign]


class DataPlayer(Protocol):
    """Plays matrices of weights in units; reads draws alone, which are public."""

    def play(self, draws: Sequence[Signed]) -> FloatMatrix:
        """The play of a round, a new matrix over the universe.

        Args:
            draws: signed cuts of this round. A player who has no regret plays before it looks.
        """


@final
class BestResponder:
    """Plays what the draws of this round gain least against.

    Of the matrices with entries in [0, 1] and a given total it is one with the largest
    sum of s q(x): 1 on the pairs that most draws count with +, until the total is reached; pairs
    that are equally good, where not all of them fit, get equal parts.

    Args:
        universe: the public vertex pairs.
        total: in (0, X].
    """

    def __init__(self, universe: Universe, total: float) -> None:
        self._universe = universe
        self._total = total

    def play(self, draws: Sequence[Signed]) -> FloatMatrix:
        """See `DataPlayer.play`."""
        universe = self._universe
        worth = sum_of(universe, draws)[universe.pairs()]
        levels, counts = np.unique(-worth, return_counts=True)
        room = np.clip(self._total - np.concatenate([[0], np.cumsum(counts)[:-1]]), 0, counts)
        weights = (room / counts)[np.searchsorted(levels, -worth)]
        matrix = np.zeros(universe.shape)
        matrix[universe.pairs()] = weights
        return matrix + matrix.T if universe.symmetric else matrix


@final
class WeightsPlayer:
    """Multiplicative weights over pairs: h ~ exp(rate * sum of the draws' mean coefficients).

    Guarantee, for mean coefficients in [-1, 1] and a comparator of the same total whose relative
    entropy to the uniform matrix is K: its regret in T rounds is at most
    total (K/rate + rate T/2), the usual proof with Hoeffding's lemma.

    Args:
        universe: the public vertex pairs.
        total: > 0.
        rate: > 0.
    """

    def __init__(self, universe: Universe, total: float, rate: float) -> None:
        self._universe = universe
        self._total = total
        self._rate = rate
        self._exponents = np.zeros(universe.shape)

    def play(self, draws: Sequence[Signed]) -> FloatMatrix:
        """See `DataPlayer.play`: the draws move the next play, not this one."""
        universe = self._universe
        weights = np.exp(self._exponents - self._exponents.max())
        universe.clear_diagonal(weights)
        played: FloatMatrix = weights * (self._total / universe.total(weights))
        self._exponents += self._rate / len(draws) * sum_of(universe, draws)
        return played


def sum_of(universe: Universe, draws: Sequence[Signed]) -> FloatMatrix:
    """The sum of the draws' signed coefficients, a matrix over the universe."""
    found = np.zeros(universe.shape)
    for query, sign in draws:
        found += sign * universe.coefficients(query)
    return found


Player = Literal["query", "both"]
MOST_PLAYS = 2000  # rounds
_TEST = Fraction(1, 4)  # of what is left after the total: for the test at the end
_LARGEST = 1 << 60  # scores stay below


@final
@dataclass(frozen=True, kw_only=True)
class GameTuning:
    """What a game is played with. Public.

    Attributes:
        rounds: T, at least 2.
        draws: L, cuts that the query player draws in each round.
        rate: eta of the query player, for a sub-step of its scores.
        reach: scores are cut to [-reach, reach] sub-steps; None where they are not.
        finder: for the test at the end; None where there is none.
        noise: on the answer of the test.
        bound: with probability 1 - beta/2 the average play is nowhere farther off, in units; None
            where the regret of cut scores proves nothing.
        cost: of all draws and of the test, from the scales of their noise.
    """

    rounds: int
    draws: int
    rate: Fraction
    reach: int | None
    finder: Exponential | None
    noise: ValueNoise | None
    bound: float | None
    cost: Cost


@final
@dataclass(frozen=True, kw_only=True)
class PlayerGame:
    """DR14 section 5.3.3 with a query player who has no regret, on a public list of k cuts.

    The query player's strategies are the cuts of the list, each with both signs; it gains
    s (q(G) - q(x)) where the data player plays x. The data player's strategies are the matrices of
    one total weight.

    1. Buy a noisy total weight m.
    2. In each of T rounds:
       a. the query player draws L signed cuts by multiplicative weights, that is with chance
          ~ exp(eta * (sum of its gains so far)): the exponential mechanism, exactly;
       b. the data player plays. "query": a best response to these draws, the matrix of weights in
          [0, 1] and total m with the largest sum of s q(x). "both": multiplicative weights, too,
          moved by the draws of the rounds before.
    3. The average of its plays is the result. A test finds a cut on which it is off and measures
       it, unless the list is to be hidden.

    Guarantee: rho-zCDP, what `cost` says. Step 1 is `OfflineCalibration.with_total`. In round
        t + 1 the scores are sums of t gains, so one pair changes each by at most t Delta, some up
        and some down, whatever was played: the privacy loss of a draw has range 2 t Delta eta, and
        it is (2 t Delta eta)^2/8-zCDP. T rounds cost L Delta^2 eta^2 (T-1) T (2T-1)/12. Cutting
        scores moves none of them farther apart. Plays are computed from draws. The test is one
        call of `Exponential` and one noisy count. Composition for adaptive choices.
        Side channel: counting takes time proportional to the number of edges.

    Accuracy (`bound`), with D the larger of the true and the noisy total, e their difference plus
        1, K = ln(X/m), eta for one unit, and all cuts of the list at once:
        "both": ln(2k)/(eta T) + eta D^2/2 + m sqrt(2 K/T) + D sqrt(2 ln(1/gamma)/(L T)) + e.
        "query": ln(2k)/(eta T) + eta D^2/2 + 2 D sqrt(2 ln(2 X T/gamma)/L) + e.
        Proof. Gains lie in [-D, D], so the regret of multiplicative weights is at most the first
        two terms a round: the largest |q(G) - q(average)|, the best fixed signed cut's mean gain,
        exceeds the mean of what the drawn distributions gain by no more. "both": that mean exceeds
        the mean gain of the draws by the fourth term at most but for gamma (Azuma: plays are fixed
        before the draws), and the draws gain at most the data player's regret against G scaled to
        total m, whose relative entropy to the uniform start is at most K. "query": in each round
        the mean coefficient of the draws is within sqrt(2 ln(2 X T/gamma)/L) of its expectation on
        every pair (Hoeffding), which moves gains by at most 2 D times that, even for plays that
        follow the draws; and G scaled gains the draws 0, so a best response no more.

    Hiding the list: with `hide`, each cut of the list is drawn in a round with chance at most
        c = cosh(eta reach)/(cosh(eta reach) + k - 1), since it weighs 2 cosh(eta score), and every
        other at least 2. Given that it is never drawn, the other draws, and all that is computed
        from them, do not depend on which cut it is: they are drawn in proportion to their own
        weights. So replacing one cut of the list by any other moves the distribution of the result
        by at most 1 - (1 - c)^(L T), at most `hide`, in total variation. Nothing else may be
        released of the list then: there is no test, and cut scores prove no error.

    Attributes:
        queries: the public list; with `hide`, known to the curator and k alone public.
        grid: `Grid.of` the graph.
        budget: a calibration with zCDP accounting.
        player: "query": the query player has no regret, the data player best responses; "both".
        rounds: T; None for a choice, see `tune`.
        draws: L, >= 1.
        hide: most total variation by which one cut of the list may show, in (0, 1); None to test.
        beta: probability that the stated error fails, in (0, 1).

    Raises:
        ParameterError: an unknown player, weights without a public cap, or a number out of range.

    Source: DR14 section 5.3.3 (both ways beside the best response of the query player); both
    without regret, and what it hides of the list: Hsu, Roth, Ullman, *Differential Privacy for the
    Analyst via Private Equilibrium Computation*, 2013. Deviations: the data player plays matrices
    of one total weight, not elements of the universe; weights are bounded by cutting scores, not by
    projecting them.
    """

    queries: CutList
    grid: Grid
    budget: OfflineCalibration
    player: Player = "both"
    rounds: int | None = None
    draws: int = 1
    hide: float | None = None
    beta: float = 0.05

    def __post_init__(self) -> None:
        if self.player not in PLAYERS[1:]:
            names = ", ".join(map(repr, PLAYERS[1:]))
            raise ParameterError(f"unknown player {self.player!r:.40}; choose one of {names}")
        if self.hide is not None and not 0 < self.hide < 1:
            raise ParameterError(f"hide_queries must be between 0 and 1, not {self.hide}")
        if self.rounds is not None and not 2 <= self.rounds <= MOST_PLAYS:
            raise ParameterError(f"a game has from 2 to {MOST_PLAYS} rounds")
        self.scoring  # noqa: B018  # refuses weights without a cap

    name = "query release game"

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    @property
    def scoring(self) -> Scoring:
        """How gains are scored."""
        return Scoring(self.universe, self.grid, "two-signed")

    @property
    def unit(self) -> float:
        """Weight of a unit: 1, or about the cap."""
        return self.grid.unit * self.grid.sensitivity

    @property
    def cost(self) -> Cost:
        """Of a game, whatever happens."""
        return self.budget.cost

    def bought(self) -> tuple[ValueNoise, Cost, OfflineCalibration]:
        """The noise of the total weight, its cost, and what is left."""
        noise, _, cost, rest = self.budget.with_total(self.grid.sensitivity)
        return noise, cost, rest

    @property
    def found_by(self) -> str:
        """Who looks for queries."""
        return f"player: {self.player}"

    @property
    def listed(self) -> CutList | None:
        """The list, unless it is hidden."""
        return self.queries if self.hide is None else None

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """What epsilon is spent on."""
        _, bought, _ = self.bought()
        return ("total weight", bought.epsilon), ("rounds", self.cost.epsilon - bought.epsilon)

    def check_paid(self, outcome: Outcome[GameTuning]) -> None:
        """Refuse to release what cost more than is stated, by the scales of the noise drawn."""
        _, bought, rest = self.bought()
        check_paid(outcome.tuning.cost, rest.cost)
        check_paid(compose([bought, outcome.tuning.cost], delta=self.cost.delta), self.cost)

    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome[GameTuning]:
        """Play on a private graph.

        Args:
            graph: over the universe and the grid.
            source: where the noise comes from.
            progress: called after each round.

        Raises:
            ParameterError: another graph, or a budget that allows nothing.
        """
        checked_graph(graph, self.universe, self.grid)
        total, error, rest = buy_total(self.budget, graph, self.grid, source)
        tuning = self.tune(total, error + 1, rest)
        data = self.data_player(total, tuning.rounds)
        true = self.queries.counts(graph, self.grid) * self.scoring.substeps
        played = self._play(data, true, tuning, source, progress)
        outcome = Outcome(
            hypothesis=DenseHypothesis(self.universe, played),
            tuning=tuning,
            total_weight=total,
            total_error=error,
            transcript=(),
            used=tuning.rounds,
            stopped="rounds",
            error=tuning.bound,
        )
        return self._tested(outcome, self._shown(played), graph, source)

    def tune(self, total: float, off: float, rest: OfflineCalibration) -> GameTuning:
        """The game whose error is usually least, from public numbers alone.

        What is minimised is ln(2k)/(eta T), and the usual cut norm over 2 sqrt(T) for the data
        player and the chance of the draws. That is measured, not proven, as numbers of rounds of
        `PracticalOffline` are; the proven bound asks for so many rounds that little is learnt.

        Args:
            total: noisy total weight, in units.
            off: how far it may be off, plus 1.
            rest: what is left of the budget.

        Raises:
            ParameterError: the list is too short to be hidden, or no game fits the budget.
        """
        found = [self._tuned(rounds, total, off, rest) for rounds in self._sizes()]
        possible = [tuned for tuned in found if tuned is not None]
        if not possible:
            raise ParameterError(
                "no game fits: the list is too short to be hidden so well, or the budget too small"
            )
        return min(possible, key=lambda pair: pair[0])[1]

    def _sizes(self) -> Iterator[int]:
        rounds = 2 if self.rounds is None else self.rounds
        yield rounds
        while self.rounds is None and rounds < MOST_PLAYS:
            rounds = min(max(rounds + 1, math.floor(rounds * 1.2)), MOST_PLAYS)
            yield rounds

    def _tuned(
        self, rounds: int, total: float, off: float, rest: OfflineCalibration
    ) -> tuple[float, GameTuning] | None:
        draws = self.draws
        delta, steps = rest.cost.delta, self.scoring.sensitivity
        if self.universe.size * steps * rounds >= _LARGEST:
            return None
        rho = Fraction(rest.cost.rho or 0.0)
        squares = (rounds - 1) * rounds * (2 * rounds - 1) // 6
        test = rho * _TEST if self.hide is None else Fraction(0)
        rate = root_at_most(2 * (rho - test) / (draws * steps**2 * squares))
        reach = None
        if self.hide is not None:
            reach = self._reach(rate, rounds * draws, self.hide)
            if reach is None:
                return None
        spent = [
            Cost.of_rho(rounded_up(draws * (steps * rate) ** 2 * squares / 2), delta=delta),
        ]
        finder = noise = None
        if test:
            each = float(test / 2) * (1 - 1e-12)
            finder = Exponential(queries=self.queries, epsilon=Fraction(1), grid=self.grid)
            finder = finder.with_rho(each, rounds=1)
            noise = ValueNoise("gaussian", Fraction(self.grid.sensitivity**2) / test)
            spent += [finder.call, noise.cost(self.grid.sensitivity, delta=delta)]
        eta = float(rate * steps)
        bound = self._bound(rounds, draws, eta, total, off)
        usual = usual_cut_norm(self.universe) / (2 * math.sqrt(rounds))
        usual += math.log(2 * len(self.queries)) / (eta * rounds)
        return usual, GameTuning(
            rounds=rounds,
            draws=draws,
            rate=rate,
            reach=reach,
            finder=finder,
            noise=noise,
            bound=bound if reach is None else None,
            cost=compose(spent, delta=delta),
        )

    def _bound(self, rounds: int, draws: int, eta: float, total: float, off: float) -> float:
        k, X, most = len(self.queries), self.universe.size, total + off
        gamma = self.beta / 4
        regret = math.log(2 * k) / (eta * rounds) + eta * most**2 / 2
        if self.player == "query":
            uneven = math.sqrt(2 * math.log(2 * X * rounds / gamma) / draws)
            return regret + 2 * most * uneven + off
        data = total * math.sqrt(2 * _entropy(X, total, off) / rounds)
        return regret + data + most * math.sqrt(2 * math.log(1 / gamma) / (rounds * draws)) + off

    def _reach(self, rate: Fraction, draws: int, hide: float) -> int | None:
        """Scores up to which no cut shows; None where even chance alone does."""
        chance = -math.expm1(math.log1p(-hide) / draws) * (1 - 1e-9)
        height = chance * (len(self.queries) - 1) / (1 - chance)
        if height < 1:
            return None
        return math.floor(math.acosh(height) / float(rate) * (1 - 1e-9))

    def data_player(self, total: float, rounds: int) -> DataPlayer:
        """The other player, before its first play.

        Args:
            total: of its plays, in units.
            rounds: T.
        """
        if self.player == "query":
            return BestResponder(self.universe, total)
        entropy = max(_entropy(self.universe.size, total, 1.0), 0.1)
        return WeightsPlayer(self.universe, total, math.sqrt(2 * entropy / rounds))

    def _play(
        self,
        data: DataPlayer,
        true: npt.NDArray[np.int64],
        tuning: GameTuning,
        source: EntropySource,
        progress: Progress,
    ) -> FloatMatrix:
        """Step 2: the average play."""
        plays = np.zeros(self.universe.shape)
        for number in range(tuning.rounds):
            scores = self.scores(true, plays, number, tuning.reach)
            drawn = exponential_choices(scores, tuning.rate, tuning.draws, source)
            plays += data.play([self.signed(index) for index in drawn])
            progress((number + 1) / tuning.rounds, f"round {number + 1} of {tuning.rounds}")
        return plays / tuning.rounds

    def scores(
        self, true: npt.NDArray[np.int64], plays: FloatMatrix, number: int, reach: int | None
    ) -> npt.NDArray[np.int64]:
        """The query player's gains in `number` rounds, by signed cut, in sub-steps. Private.

        Args:
            true: answers of the graph in sub-steps, shape (k,).
            plays: the sum of the plays of these rounds, in units.
            number: of rounds.
            reach: see `GameTuning`.

        Returns:
            Shape (2k,): with sign +1, then with -1. A pair moves each by number * Delta at most.
        """
        gains = number * true
        if number:
            gains = gains - self.scoring.rounded(self.queries.answers(self._shown(plays)))
        if reach is not None:
            gains = np.clip(gains, -reach, reach)
        return np.concatenate([gains, -gains])

    def signed(self, index: int) -> tuple[CutQuery, Sign]:
        """The signed cut of a place among the scores."""
        k = len(self.queries)
        return self.queries[index % k], 1 if index < k else -1

    def _shown(self, units: FloatMatrix) -> DenseHypothesis:
        return DenseHypothesis(self.universe, units * self.unit)

    def _tested(
        self,
        outcome: Outcome[GameTuning],
        shown: DenseHypothesis,
        graph: AnyGraph,
        source: EntropySource,
    ) -> Outcome[GameTuning]:
        """Step 3: what is proven by one cut that is found to be off, or by the game itself."""
        finder, noise = outcome.tuning.finder, outcome.tuning.noise
        if finder is None or noise is None:
            return outcome
        steps = self.grid.sensitivity
        found = finder.begin(graph, source).find(shown, source).query
        if not isinstance(found, CutQuery):
            raise ParameterError("a list of cuts has found another query")
        value = (self.grid.count(found, graph) + noise.draw(source)) / steps
        gap = abs(value - shown.estimate(found) / self.unit)
        gamma = self.beta / 4
        error = gap + noise.radius(gamma) / steps + finder.shortfall(gamma) / self.unit
        measured = Measured(
            round=outcome.tuning.rounds, query=found, value=value * self.unit, updated=False
        )
        proven = min(error, outcome.error) if outcome.error is not None else error
        return replace(outcome, error=proven, transcript=(measured,))


PLAYERS = ("data", "query", "both")


def _entropy(pairs: int, total: float, off: float) -> float:
    """K: relative entropy of any truth to the uniform start, at most."""
    return math.log(pairs / max(1.0, min(total - off, pairs)))
