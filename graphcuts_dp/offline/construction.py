"""What learns in rounds: the iterative construction mechanism, and the query release game.

The mechanism finds a query that is off, answers it with noise, and learns. In the game a query
player draws cuts, a data player plays matrices, and one of them, or both, have no regret. Both
stand in this long file, since they share their steps, their budget and what they stop at.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Protocol, cast, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import DenseHypothesis, Hypothesis, Sign
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
    bound_of,
)
from graphcuts_dp.measure.statistics import ROOT_STEPS, buy_root_degrees
from graphcuts_dp.offline.distinguisher import (
    Distinguisher,
    Exponential,
    Search,
    checked_graph,
    root_at_most,
)
from graphcuts_dp.offline.power_method import PowerCertificate, PowerSearch
from graphcuts_dp.offline.query_lists import CutList, QuestionList, Scoring
from graphcuts_dp.offline.rank_one import ReleasedSearch, usual_cut_norm
from graphcuts_dp.offline.release import Measured
from graphcuts_dp.offline.tuning import OfflineCalibration, OfflineTuning, PureOffline, buy_total
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import Cost, check_paid, compose, rounded_up
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import exponential_choices
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.progress import Progress, silent

_OF_THE_TOTAL = (MultiplicativeWeightsLearner, FriezeKannanLearner, MirrorDescentLearner)
# their first hypotheses weigh no more than the total


@final
@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run gives. Public.

    Attributes:
        hypothesis: the last one; answers in units.
        tuning: that was used.
        total_weight: total weight that the construction was given, in units.
        total_error: how far it may be from the true one.
        transcript: what was bought, in order.
        used: rounds that were run.
        stopped: "accurate": a round found no gap above the threshold; "rounds": all were used.
        error: in units; with probability 1 - beta no query of the distinguisher's class is farther
            off. None where the distinguisher proves nothing.
        certificate: of a distinguisher that proves afterwards what it found; else None.
    """

    hypothesis: Hypothesis
    tuning: Any
    total_weight: float
    total_error: float
    transcript: tuple[Measured, ...]
    used: int
    stopped: str
    error: float | None
    certificate: PowerCertificate | None = None


@final
@dataclass(frozen=True)
class InWeight:
    """A hypothesis whose answers are in units, shown in weight."""

    units: Any
    one: float

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        universe: Universe = self.units.universe
        return universe

    def estimate(self, query: LinearQuery) -> float:
        """The answer to one query, in weight."""
        return float(self.units.estimate(query)) * self.one

    def estimate_all(self, queries: Sequence[LinearQuery]) -> FloatVector:
        """Answers to many queries, in weight."""
        return np.asarray(self.units.estimate_all(queries)) * self.one

    def dense(self) -> FloatMatrix:
        """The matrix, in weight."""
        return np.asarray(self.units.dense()) * self.one


@final
@dataclass(frozen=True, kw_only=True)
class IterativeConstruction:
    """DR14 Alg. 8 (GRU12 Alg. 3, Nik17 Alg. 1) with any distinguisher and any construction.

    1. Buy a noisy total weight, if it is private, and the noisy sum of root degrees, if the
       construction asks for it (`MirrorDescentLearner.buys_roots`); tune with them.
    2. In each of at most T rounds:
       a. the distinguisher finds a cut, or several by the same hypothesis;
       b. each is counted, and discrete noise is added to its integer count;
       c. if all noisy gaps are below the threshold, stop: the hypothesis is accurate;
       d. else the construction is corrected by each cut whose gap is not.
       Tunings without a threshold correct by every gap above the noise; if they state an error,
       the last round only tells how far off the result is.
    3. After a round, answers that were bought before are used again, `refits` times: the one that
       is farthest off corrects by the rule of 2d, which costs nothing. Without a threshold the
       total weight is one of them, if the construction takes the cut of all pairs.
    4. A distinguisher that has kept a budget for it certifies the result, once.

    Args:
        learner: which construction.
        distinguisher: of any budget; the calibration tunes it.
        calibration: the budget, and how it is spent.
        grid: `Grid.of` the graph.
        total_weight: None buys a noisy total weight. A number is taken as it is: one that was fixed
            without a look at the graph, for audits and theorems. The guarantee does not cover that
            somebody computed it from the graph. If the total is public, one edge can only be
            moved, which changes two pairs: by group privacy, all that is hidden then costs
            2 epsilon, 4 rho, or (2 epsilon, (1 + e^epsilon) delta).
        refits: corrections by old answers after a round, in 0..1000.

    Guarantee: what `cost` says. Steps 1, 2a, 2b and 4 (which is paid for as the distinguisher's
        setup) are the only ones that read the graph: one count of sensitivity s steps (and
        `buy_root_degrees`) with noise of s^2/(2 v)-zCDP or (s r)-DP, at most T calls (times cuts a
        round) and as many such counts; everything else is computed from their results. They are
        chosen one after the other, and T is fixed after step 1: composition for adaptive choices.
        Whether a round stops is decided by noisy answers. B(alpha) being right plays no part.
        Side channel: counting takes time proportional to the number of edges.

    Raises:
        ParameterError: weights without a public cap, a total_weight or a number out of range, or a
            learner and a distinguisher over different vertices.
    """

    learner: Learner
    distinguisher: Distinguisher
    calibration: OfflineCalibration
    grid: Grid
    total_weight: float | None = None
    refits: int = 0

    def __post_init__(self) -> None:
        if self.grid.cap is None:
            raise ParameterError(
                "an iterative construction needs a public weight_cap; read the graph with one"
            )
        if self.learner.universe != self.distinguisher.universe:
            raise ParameterError("the construction and the distinguisher have other vertices")
        most = self.grid.cap * self.universe.size
        if self.total_weight is not None and not 0 < self.total_weight <= most:
            raise ParameterError(f"the total weight lies between 0 and {most:g}")

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.learner.universe

    @property
    def questions(self) -> QuestionList | None:
        """The list that queries are found in, if it has others than cuts."""
        return self.listed if isinstance(self.listed, QuestionList) else None

    @property
    def unit(self) -> float:
        """Weight of a unit: 1, or about the cap."""
        return self.grid.unit * self.grid.sensitivity

    @property
    def cost(self) -> Cost:
        """Of a run, whatever happens."""
        return self.calibration.cost

    @property
    def buys_roots(self) -> bool:
        """Whether step 1 buys the sum of root degrees."""
        return isinstance(self.learner, MirrorDescentLearner) and self.learner.buys_roots

    @property
    def name(self) -> str:
        """Of the construction, with the norm unless it is l2."""
        norm = self.learner.norm if isinstance(self.learner, MirrorDescentLearner) else "l2"
        return self.learner.name if norm == "l2" else f"{self.learner.name}, norm {norm}"

    @property
    def found_by(self) -> str:
        """Name of the distinguisher."""
        return self.distinguisher.name

    @property
    def listed(self) -> CutList | QuestionList | None:
        """The public list that queries are found in, if there is one."""
        listed: CutList | QuestionList | None = getattr(self.distinguisher, "queries", None)
        return listed

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """What epsilon is spent on."""
        if isinstance(self.calibration, PureOffline):
            return self.calibration.parts(roots=self.buys_roots)
        parts: tuple[tuple[str, float], ...] = (("rounds", self.cost.epsilon),)
        for name in ("total weight", *(["root degrees"] if self.buys_roots else [])):
            left = parts[-1][1]
            spent = left * float(TOTAL_SHARE)
            parts = (*parts[:-1], (name, spent), ("rounds", left - spent))
        return parts

    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome:
        """Run on a private graph.

        Args:
            graph: over the universe and the grid.
            source: where the noise comes from.
            progress: called after each round.

        Raises:
            ParameterError: another graph, or a budget that allows nothing; nothing is drawn before
                the total weight.
        """
        checked_graph(graph, self.universe, self.grid)
        rounding = self.grid.rounding(self.universe.size) / self.unit
        if self.total_weight is None:
            total_weight, error, rest = buy_total(self.calibration, graph, self.grid, source)
            total_error = error + rounding
        else:
            total_weight, total_error = self.total_weight / self.unit, rounding
            rest = self.calibration
        learner = self.learner
        if self.buys_roots and isinstance(learner, MirrorDescentLearner):
            noise, radius, _, rest = rest.with_total(ROOT_STEPS)
            learner = learner.with_roots(buy_root_degrees(graph, self.grid, noise, radius, source))
        tuning = rest.tune(
            self._update_bound(total_weight, total_error, learner),
            self.distinguisher,
            one=self.unit,
            steps=self.grid.sensitivity,
        )
        if isinstance(learner, MirrorDescentLearner):
            learner = learner.settled(
                alpha=tuning.alpha, total_weight=total_weight, total_error=total_error
            )
        run = _Run(replace(self, learner=learner), tuning, total_weight, total_error)
        search = tuning.distinguisher.begin(graph, source) if tuning.rounds else None
        while search is not None and run.round < tuning.rounds and not run.done:
            run.step(search, graph, source)
            progress(run.round / tuning.rounds, f"round {run.round} of {tuning.rounds}")
        return run.outcome(search, source)

    def check_paid(self, outcome: Outcome) -> None:
        """Refuse to release what cost more than is stated, by the scales of the noise drawn.

        A bought total weight decides about the rounds. What they cost may then be less than the
        budget in some runs, but only the budget, which is fixed beforehand, is a bound for all.
        """
        steps, budget = self.grid.sensitivity, self.cost
        noise, _, _, rest = self.calibration.with_total(steps)
        bought = [noise.cost(steps, delta=budget.delta)]
        if self.buys_roots:
            noise, _, _, rest = rest.with_total(ROOT_STEPS)
            bought.append(noise.cost(ROOT_STEPS, delta=budget.delta))
        built = outcome.tuning.built(steps, delta=budget.delta)
        check_paid(compose(built, delta=budget.delta), rest.cost)
        check_paid(compose([*bought, rest.cost], delta=budget.delta), budget)

    def _update_bound(
        self, total_weight: float, total_error: float, learner: Learner
    ) -> Callable[[float], float]:
        """B, and 0 beyond what answers of the start and of the truth can be apart, in units."""
        farthest = float(self.universe.size)  # both weigh at most 1 on each pair
        if isinstance(learner, _OF_THE_TOTAL):
            listed = self.questions
            signed = listed is not None and listed.signed
            farthest = (total_weight + total_error) * (2 if signed else 1)
        coarse = bound_of(
            learner, alpha=farthest + 1, total_weight=total_weight, total_error=total_error
        )

        def bound(alpha: float) -> float:
            if alpha > farthest:
                return 0.0
            try:
                return coarse(alpha)
            except ParameterError:
                return math.inf  # finer than the error of the total_weight allows

        return bound


@final
class _Run:
    """The state of a run: public, all of it."""

    def __init__(
        self,
        mechanism: IterativeConstruction,
        tuning: OfflineTuning,
        total_weight: float,
        error: float,
    ) -> None:
        self._of = mechanism
        self._tuning = tuning
        self._total_weight, self._total_error = total_weight, error
        self._construction = mechanism.learner.construction(
            alpha=tuning.alpha,
            total_weight=total_weight,
            total_error=error,
            value_error=tuning.value_error,
        )
        self.hypothesis: Any = self._construction.initial()
        self.transcript: list[Measured] = []
        self.round = 0
        self.done = False
        self._gap = 0.0
        self._total = self._all_pairs() if tuning.threshold is None else None

    def step(self, search: Search, graph: AnyGraph, source: EntropySource) -> None:
        """One round."""
        self.round += 1
        shown = self.hypothesis
        if self._of.unit != 1:
            shown = InWeight(shown, self._of.unit)
        found = [search.find(shown, source).query for _ in range(self._tuning.calls)]
        values = [self._measured(query, graph, source) for query in found]
        gaps = [
            value - self.hypothesis.estimate(query)
            for query, value in zip(found, values, strict=True)
        ]
        self._gap = max(abs(gap) for gap in gaps)
        threshold = self._tuning.threshold
        if threshold is None:
            tested = self._tuning.error is not None
            self.done = tested and self.round == self._tuning.rounds
        else:
            self.done = self._gap < threshold
        for query, value in zip(found, values, strict=True):
            updated = not self.done and self._correct(query, value)
            self.transcript.append(
                Measured(
                    round=self.round, query=query, value=value * self._of.unit, updated=updated
                )
            )
        if not self.done:
            self._refit()

    def _refit(self) -> None:
        """Step 3."""
        queries: list[Any] = [measured.query for measured in self.transcript]
        values = np.array([measured.value for measured in self.transcript]) / self._of.unit
        if self._total is not None:
            queries, values = [*queries, self._total], np.append(values, self._total_weight)
        for _ in range(self._of.refits):
            off = np.abs(values - self.hypothesis.estimate_all(queries))
            worst = int(np.argmax(off))
            if not self._correct(queries[worst], float(values[worst])):
                break

    def outcome(self, search: Search | None, source: EntropySource) -> Outcome:
        """What came of it, with what a certificate (step 4) or released answers prove of it."""
        error, threshold, one = self._tuning.error, self._tuning.threshold, self._of.unit
        certificate, shown = None, cast(Hypothesis, InWeight(self.hypothesis, one))
        if isinstance(search, PowerSearch) and search.certifies:
            certificate = search.certify(shown, source)
            error = certificate.cut_bound / one
        elif isinstance(search, ReleasedSearch) and error is None:
            error = search.error_of(shown) / one
        elif error is not None and threshold is None:
            error += self._gap
        return Outcome(
            hypothesis=self.hypothesis,
            tuning=self._tuning,
            total_weight=self._total_weight,
            total_error=self._total_error,
            transcript=self._transcript(),
            used=self.round,
            stopped="accurate" if self.done and threshold is not None else "rounds",
            error=error,
            certificate=certificate,
        )

    def _transcript(self) -> tuple[Measured, ...]:
        """What was bought, with the questions as they were given."""
        listed = self._of.questions
        if listed is None:
            return tuple(self.transcript)
        shown = []
        for measured in self.transcript:
            asked, factor = listed.given(measured.query)
            shown.append(replace(measured, query=asked, value=measured.value * factor))
        return tuple(shown)

    def _all_pairs(self) -> CutQuery | None:
        """The cut whose answer is the total weight, if updates by it are possible."""
        everything = CutQuery(*(np.ones(side, dtype=np.bool_) for side in self._of.universe.shape))
        try:
            self._of.learner.check(everything)
        except QueryError:
            return None
        return everything

    def _measured(self, query: Question, graph: AnyGraph, source: EntropySource) -> float:
        """Step 2b, in units."""
        noise, listed, grid = self._tuning.noise, self._of.questions, self._of.grid
        if noise is None:
            raise ParameterError("a tuning with rounds has noise on its answers")
        if listed is not None:
            counted = listed.counted(query, graph, grid)
        elif isinstance(query, CutQuery):
            counted = grid.count(query, graph)
        else:
            raise QueryError("the distinguisher found another query than a cut; let it find cuts")
        return float(Fraction(counted + noise.draw(source), grid.sensitivity))

    def _correct(self, query: Any, value: float) -> bool:
        """Step 2d: whether an answer calls for an update, which is then made."""
        gap = value - self.hypothesis.estimate(query)
        sign: Sign = 1 if gap > 0 else -1
        try:
            if self._tuning.threshold is None:
                step = abs(gap) - self._tuning.value_error
                if step <= self._tuning.value_error / 100:
                    return False
                # Nothing proven rests on the step, so the total weight is taken at its value.
                tuned = self._of.learner.construction(
                    alpha=step, total_weight=self._total_weight, total_error=0.0
                )
                self.hypothesis = tuned.update(self.hypothesis, query, sign)
            elif abs(gap) < self._tuning.threshold:
                return False
            else:
                self.hypothesis = self._construction.update(self.hypothesis, query, sign, value)
        except HypothesisError:
            return False  # a cut without pairs, whose answer was all noise
        return True


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

    def check_paid(self, outcome: Outcome) -> None:
        """Refuse to release what cost more than is stated, by the scales of the noise drawn."""
        _, bought, rest = self.bought()
        check_paid(outcome.tuning.cost, rest.cost)
        check_paid(compose([bought, outcome.tuning.cost], delta=self.cost.delta), self.cost)

    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome:
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
        outcome: Outcome,
        shown: DenseHypothesis,
        graph: AnyGraph,
        source: EntropySource,
    ) -> Outcome:
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
