"""What learns in rounds: the iterative construction mechanism, and the query release game.

The mechanism finds a query that is off, answers it with noise, and learns. In the game a query
player draws cuts, a data player plays matrices, and one of them, or both, have no regret. Both
stand in this long file, since they share their steps, their budget and what they stop at.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph, from_rows_on
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.accuracy import Accuracy
from graphcuts_dp.iterative.distinguisher import (
    Distinguisher,
    Exponential,
    Search,
    checked_graph,
    root_at_most,
)
from graphcuts_dp.iterative.query_lists import CutList, QuestionList, Scoring
from graphcuts_dp.iterative.rank_one import usual_cut_norm
from graphcuts_dp.iterative.release import GRAPH, IterativeRelease, Measured, Settings
from graphcuts_dp.iterative.task import Task
from graphcuts_dp.iterative.tuning import (
    IterativeCalibration,
    IterativeTuning,
    PaperIterative,
    PracticalIterative,
    buy_total,
    round_numbers,
)
from graphcuts_dp.learn.base import DenseHypothesis, Hypothesis, Sign
from graphcuts_dp.learn.constructions import bound_of
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    Learner,
    MirrorDescentLearner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.measure.statistics import PRIVATE_NORMS
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.choices import exponential_choices
from graphcuts_dp.privacy.composition import Cost, check_spent, compose, rounded_up
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.job import Job
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.synth.fit_weights import weights_of

_HALVINGS = 12  # of a bisection on a total weight
_OF_THE_TOTAL = (MultiplicativeWeightsLearner, FriezeKannanLearner, MirrorDescentLearner)
# their first hypotheses weigh no more than the total


@final
@dataclass(kw_only=True, eq=False)
class Outcome:
    """A run: its state between rounds, and in the end what it gives. All of it is public.

    Attributes:
        hypothesis: the last one; answers in units.
        tuning: that was used.
        total_weight: total weight that the construction was given, in units.
        total_error: how far it may be from the true one.
        transcript: what was measured, in order.
        used: rounds that were run.
        gap: noisy gap of the last round, in units.
        stopped: "accurate": a round found no gap above the threshold; "rounds": all were used.
        error: in units; with probability 1 - beta no query of the distinguisher's class is farther
            off. None where the distinguisher proves nothing.
    """

    hypothesis: Any
    tuning: Any
    total_weight: float
    total_error: float
    transcript: list[Measured] = field(default_factory=list)
    used: int = 0
    gap: float = 0.0
    stopped: str = "rounds"
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class RoundsMechanism:
    """What learns in rounds, from a total weight that is bought first.

    Attributes:
        calibration: the budget, and how it is spent.
        grid: `Grid.of` the graph.
    """

    calibration: IterativeCalibration
    grid: Grid

    @property
    def unit(self) -> float:
        """Weight of a unit: 1, or about the cap."""
        return self.grid.unit * self.grid.sensitivity

    @property
    def cost(self) -> Cost:
        """Of a run, whatever happens."""
        return self.calibration.cost

    @property
    def bought(self) -> dict[str, int]:
        """What is bought first, and by how many steps a pair changes each of it."""
        return {"total weight": self.grid.sensitivity}

    @property
    def budget_plan(self) -> BudgetPlan:
        """How the budget is spent: on norms that are measured first, and on the rounds."""
        return self.calibration.budget_plan(tuple(self.bought))

    def check_spent(self, outcome: Outcome) -> None:
        """Refuse to release what cost more than is stated, by the scales of the noise drawn.

        A bought total weight decides about the rounds. What they cost may then be less than the
        budget in some runs, but only the budget, which is fixed beforehand, is a bound for all.
        """
        rest, parts, delta = self.calibration, [], self.cost.delta
        for steps in self.bought.values():
            noise, _, _, rest = rest.with_total(steps)
            parts.append(noise.cost(steps, delta=delta))
        built = outcome.tuning.built(self.grid.sensitivity, delta=delta)
        check_spent(compose(built, delta=delta), rest.cost)
        check_spent(compose([*parts, rest.cost], delta=delta), self.cost)


@final
@dataclass(frozen=True, kw_only=True)
class IterativeConstruction(RoundsMechanism):
    """DR14 Alg. 8 (GRU12 Alg. 3, Nik17 Alg. 1) with any distinguisher and any construction.

    1. Measure a noisy total weight, if it is private, and the noisy sum of root degrees, if the
       construction asks for it (`MirrorDescentLearner.measured_norm`); tune with them.
    2. In each of at most T rounds:
       a. the distinguisher finds a cut;
       b. it is counted, and discrete noise is added to its integer count;
       c. if the noisy gap is below the threshold, stop: the hypothesis is accurate;
       d. else the construction is corrected by the cut.
       Tunings without a threshold correct by every gap above the noise; if they state an error,
       the last round only tells how far off the result is.
    3. After a round, answers that were bought before are used again, `refits` times: the one that
       is farthest off corrects by the rule of 2d, which costs nothing. Without a threshold the
       total weight is one of them, if the construction takes the cut of all pairs.
    4. A distinguisher that has kept a budget for it certifies the result, once.

    Args:
        learner: which construction.
        distinguisher: of any budget; the calibration tunes it.
        total_weight: None measures a noisy total weight. A number is taken as it is: one that was
            fixed without a look at the graph, for audits and theorems. The guarantee does not cover
            that somebody computed it from the graph. If the total is public, one edge can only be
            moved, which changes two pairs: by group privacy, all that is hidden then costs 2
            epsilon, 4 rho, or (2 epsilon, (1 + e^epsilon) delta).
        refits: corrections by old answers after a round, in 0..1000.

    Guarantee: what `cost` says. Steps 1, 2a, 2b and 4 (which is paid for as the distinguisher's
        setup) are the only ones that read the graph: one count of sensitivity s steps (and
        `PRIVATE_NORMS`) with noise of s^2/(2 v)-zCDP or (s r)-DP, at most T calls and as
        many such counts; everything else is computed from their results. They are
        chosen one after the other, and T is fixed after step 1: composition for adaptive choices.
        Whether a round stops is decided by noisy answers. B(alpha) being right plays no part.
        Side channel: counting takes time proportional to the number of edges.

    Raises:
        ParameterError: a learner and a distinguisher over different vertices.
    """

    learner: Learner
    distinguisher: Distinguisher
    total_weight: float | None = None
    refits: int = 0

    def __post_init__(self) -> None:
        if self.learner.universe != self.distinguisher.universe:
            raise ParameterError("the construction and the distinguisher have other vertices")
        self._left.check_parameters()

    @property
    def _left(self) -> IterativeCalibration:
        """What is left of the budget for the rounds, after what is measured first."""
        left = self.calibration
        if self.total_weight is None:
            for steps in self.bought.values():
                left = left.with_total(steps)[3]
        return left

    def check_rounds(self) -> None:
        """Refuse a release that would run no round on any graph of this size.

        Read from public numbers, before anything is spent.

        Raises:
            ParameterError: its first tolerance is above every possible error.
        """
        if not self._runs_a_round(float(self.universe.size)):
            raise ParameterError(
                "this calibration would run no round on any graph of this size, since its tolerance"
                " is above every possible error; use 'practical' or 'tight', set rounds, or take"
                " more epsilon"
            )

    def rounds_warning(self) -> str | None:
        """Return a warning if only graphs of many edges have a round, or no bound holds; or None.

        Many are more than half of the largest total weight. Printed bounds on updates grow with the
        total weight, so rounds are run from one total weight on, which is found by bisection.
        Computed from public numbers.
        """
        size = float(self.universe.size)
        void = self.tuning_at(size / 2).void_reason if self.calibration.parameters.chosen else None
        if void is not None:
            return f"no bound holds for these values if the total weight is half of all: {void}"
        if not isinstance(self._left, PaperIterative) or self._runs_a_round(size / 2):
            return None
        low, high = size / 2, size
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._runs_a_round(middle) else (middle, high)
        return (
            "this calibration runs a round only if the total weight is above"
            f" {low * self.unit:,.4g} of {size * self.unit:,.4g}; else the answer is a flat guess,"
            " for the whole budget"
        )

    def _runs_a_round(self, total_weight: float) -> bool:
        """Tell whether a graph of this total weight, in units, gets a round."""
        if not isinstance(self._left, PaperIterative):
            return True  # others have one at least
        return self.tuning_at(total_weight).rounds > 0

    def tuning_at(self, total_weight: float) -> IterativeTuning:
        """Return the tuning for a graph of this total weight, from public numbers alone.

        Args:
            total_weight: in units; a run uses a noisy one.

        Raises:
            ParameterError: no tuning is possible.
        """
        error = 0.0
        if self.total_weight is None:
            error = self.calibration.with_total(self.grid.sensitivity)[1] / self.grid.sensitivity
        bound = self._update_bound(total_weight, error, self.learner)
        return self._left.tune(
            bound, self.distinguisher, one=self.unit, steps=self.grid.sensitivity
        )

    def notes_at(self, total_weight: float) -> list[str]:
        """Return sentences on the numbers of a run on a graph of this total weight, in units."""
        tuning = self.tuning_at(total_weight)
        about = f"for a total weight of {total_weight * self.unit:,.6g}"
        if not tuning.rounds or tuning.noise is None:
            return [f"No round would run {about}: the start is within the tolerance."]
        values = {"rounds": tuning.rounds, "sigma": self._noise_scale(tuning)}
        if tuning.threshold is not None:
            values |= {"alpha": tuning.alpha, "threshold": tuning.threshold}
        text = ",".join(f"{name}={value!r}" for name, value in values.items())
        return [f"Its parameters, {about}: {text}."]

    def _noise_scale(self, tuning: IterativeTuning) -> float:
        """Return sigma in units: a Gaussian deviation, or the scale of Laplace noise."""
        noise = cast(ValueNoise, tuning.noise)
        scale = float(noise.parameter)
        scale = math.sqrt(scale) if noise.distribution == "gaussian" else 1 / scale
        return scale / self.grid.sensitivity

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.learner.universe

    @property
    def bought(self) -> dict[str, int]:
        """See `RoundsMechanism.bought`."""
        norm = getattr(self.learner, "measured_norm", None)
        return super().bought | ({} if norm is None else {norm: PRIVATE_NORMS[norm][0]})

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
        learner: Any = self.learner
        norm = getattr(learner, "measured_norm", None)
        if norm is not None:
            sensitivity, buy = PRIVATE_NORMS[norm]
            noise, radius, _, rest = rest.with_total(sensitivity)
            learner = learner.with_norm_bound(buy(graph, self.grid, noise, radius, source))
        tuning = rest.tune(
            self._update_bound(total_weight, total_error, learner),
            self.distinguisher,
            one=self.unit,
            steps=self.grid.sensitivity,
        )
        if isinstance(learner, MirrorDescentLearner):
            learner = learner.with_chosen_norm(
                alpha=tuning.alpha, total_weight=total_weight, total_error=total_error
            )
        made = replace(self, learner=learner)
        start = learner.construction(**_terms(tuning, total_weight, total_error))
        run = Outcome(
            hypothesis=start.initial(),
            tuning=tuning,
            total_weight=total_weight,
            total_error=total_error,
            error=tuning.error,
        )
        search = tuning.distinguisher.begin(graph, source) if tuning.rounds else None
        while search is not None and run.used < tuning.rounds and run.stopped == "rounds":
            made._round(run, search, graph, source)
            progress(run.used / tuning.rounds, f"round {run.used} of {tuning.rounds}")
        prove = getattr(search, "prove", None)
        if run.error is None and prove is not None:
            run.error = prove(self._shown(run), source) / self.unit
        elif run.error is not None and tuning.threshold is None:
            run.error += run.gap
        if self.listed is not None:
            for place, measured in enumerate(run.transcript):
                asked, factor = self.listed.public_query(measured.query)
                run.transcript[place] = replace(
                    measured, query=asked, value=measured.value * factor
                )
        return run

    def _shown(self, run: Outcome) -> Hypothesis:
        """What has been learnt, in weight."""
        if self.unit == 1:
            return cast(Hypothesis, run.hypothesis)
        return DenseHypothesis(self.universe, run.hypothesis.dense() * self.unit)

    def _round(self, run: Outcome, search: Search, graph: AnyGraph, source: EntropySource) -> None:
        """Steps 2 and 3."""
        tuning = run.tuning
        run.used += 1
        query: Any = search.find(self._shown(run), source).query
        value = self._measured(tuning, query, graph, source)
        run.gap = abs(value - run.hypothesis.estimate(query))
        if tuning.threshold is not None:
            learns = run.gap >= tuning.threshold
            run.stopped = "rounds" if learns else "accurate"
        else:
            learns = tuning.error is None or run.used < tuning.rounds
        updated = learns and self._correct(run, query, value)
        run.transcript.append(
            Measured(round=run.used, query=query, value=value * self.unit, updated=updated)
        )
        if learns:
            self._refit(run)

    def _refit(self, run: Outcome) -> None:
        """Step 3."""
        queries = [measured.query for measured in run.transcript]
        values = np.array([measured.value for measured in run.transcript]) / self.unit
        everything = CutQuery(*(np.ones(side, dtype=np.bool_) for side in self.universe.shape))
        check = getattr(self.learner, "check", None)
        with suppress(QueryError):  # of learners that take no such query
            if run.tuning.threshold is None:
                if check is not None:
                    check(everything)
                queries, values = [*queries, everything], np.append(values, run.total_weight)
        for _ in range(self.refits):
            off = np.abs(values - run.hypothesis.estimate_all(queries))
            worst = int(np.argmax(off))
            if not self._correct(run, queries[worst], float(values[worst])):
                break

    def _measured(
        self, tuning: IterativeTuning, query: Any, graph: AnyGraph, source: EntropySource
    ) -> float:
        """Step 2b, in units."""
        if self.listed is not None:
            counted = self.listed.counted(query, graph, self.grid)
        elif isinstance(query, CutQuery):
            counted = self.grid.count(query, graph)
        else:
            raise QueryError("the distinguisher found another query than a cut; let it find cuts")
        noise = cast(ValueNoise, tuning.noise)  # which a tuning with rounds has
        return float(Fraction(counted + noise.draw(source), self.grid.sensitivity))

    def _correct(self, run: Outcome, query: Any, value: float) -> bool:
        """Step 2d: whether an answer calls for an update, which is then made."""
        tuning, gap = run.tuning, value - run.hypothesis.estimate(query)
        sign: Sign = 1 if gap > 0 else -1
        terms = _terms(tuning, run.total_weight, run.total_error)
        known: float | None = value
        if tuning.threshold is None:
            step = abs(gap) - tuning.value_error
            if step <= tuning.value_error / 100:
                return False
            # Nothing proven rests on the step, so the total weight is taken at its value.
            terms = {"alpha": step, "total_weight": run.total_weight, "total_error": 0.0}
            known = None
        elif abs(gap) < tuning.threshold:
            return False
        try:
            rule = self.learner.construction(**terms)
            run.hypothesis = rule.update(run.hypothesis, query, sign, known)
        except HypothesisError:
            return False  # a cut without pairs, whose answer was all noise
        return True

    def _update_bound(
        self, total_weight: float, total_error: float, learner: Learner
    ) -> Callable[[float], float]:
        """B, and 0 beyond what answers of the start and of the truth can be apart, in units."""
        farthest = float(self.universe.size)  # both weigh at most 1 on each pair
        if isinstance(learner, _OF_THE_TOTAL):
            signed = self.listed is not None and self.listed.signed
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


def _terms(tuning: IterativeTuning, total_weight: float, total_error: float) -> dict[str, Any]:
    """What a learner is tuned with."""
    return {
        "alpha": tuning.alpha,
        "total_weight": total_weight,
        "total_error": total_error,
        "value_error": tuning.value_error,
    }


Signed = tuple[CutQuery, Sign]


def best_response(universe: Universe, total: float, draws: Sequence[Signed]) -> FloatMatrix:
    """What the draws of a round gain least against.

    Of the matrices with entries in [0, 1] and a given total it is one with the largest
    sum of s q(x): 1 on the pairs that most draws count with +, until the total is reached; pairs
    that are equally good, where not all of them fit, get equal parts.

    Args:
        universe: the public vertex pairs.
        total: in (0, X].
        draws: signed cuts of this round.
    """
    worth = sum_of(universe, draws)[universe.pairs()]
    levels, counts = np.unique(-worth, return_counts=True)
    room = np.clip(total - np.concatenate([[0], np.cumsum(counts)[:-1]]), 0, counts)
    return universe.matrix_of((room / counts)[np.searchsorted(levels, -worth)])


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
        """The play of a round; its draws move the next play, not this one."""
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


PLAYERS = ("data", "query", "both")
MOST_PLAYS = 2000  # rounds
_TEST = Fraction(1, 4)  # of what is left after the total: for the test at the end
_LARGEST = 1 << 60  # scores stay below


@final
@dataclass(frozen=True, kw_only=True)
class Game(Checked):
    """Play the query release game over a list of cuts: the query player, or both, have no regret.

    Attributes:
        player: who has no regret: "query", by multiplicative weights over the list, against best
            responses; or "both".
        rounds: None for the number that is usually best.
        queries_per_round: cuts that the query player draws.
        hide_queries: most total variation by which one query of the list may show in what is
            released, in (0, 1); the list is then not published, and no error is proven.

    Raises:
        ParameterError: a value out of range.

    Guarantee: see `PlayerGame`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> cuts = [gc.CutQuery([0]), gc.CutQuery([33])]
        >>> game = gc.Game()
        >>> made = gc.release_iteratively(club, cuts, epsilon=4.0, delta=1e-6, construction=game)
        >>> made.guarantee.epsilon
        4.0
    """

    player: str = option("both", help="Who learns in the query release game.", choices=PLAYERS[1:])
    rounds: int | None = option(None, help="Number of rounds.", least=2, most=MOST_PLAYS)
    queries_per_round: int = option(1, help="Cuts that are drawn.", least=1, most=1000)
    hide_queries: float | None = option(
        None, help="How much one query of the list of a game may show.", above=0.0, below=1.0
    )
    files: ClassVar[str] = GRAPH

    def job(self, task: Task) -> Job[IterativeRelease]:
        """A whole game.

        Args:
            task: what is asked for.
        """
        hidden = self.hide_queries
        how = "practical" if hidden is None else f"practical, queries hidden: {hidden:g}"
        names = {"construction": f"game, player {self.player}"}
        public = "" if hidden is None else "the number of queries"
        return job_of(self.mechanism(task), task, names, how, public)

    def mechanism(self, task: Task) -> "PlayerGame":
        """The game of these options, whose cost is that of one change.

        Args:
            task: what is asked for.
        """
        task.check_size()
        task.public_queries("the query release game")
        if not isinstance(task.listed, CutList):
            raise ParameterError("the query release game has a list of cuts, and no other queries")
        epsilon, delta = task.privacy_unit.budget_per_change(
            epsilon=task.epsilon, delta=task.delta, zcdp=True
        )
        calibration = PracticalIterative(epsilon=epsilon, delta=delta, beta=task.beta / 4)
        return PlayerGame(
            game=self, queries=task.listed, grid=task.grid, calibration=calibration, beta=task.beta
        )


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

    def built(self, steps: int, *, delta: float) -> list[Cost]:  # noqa: ARG002
        """See `IterativeTuning.built`."""
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
    3. The average of its plays is the result. A test finds a cut on which it is off and measures
       it, unless the list is to be hidden.

    Guarantee: rho-zCDP, what `cost` says. Step 1 is `IterativeCalibration.with_total`. In round
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
        By Theorem "The query release game".

    Hiding the list: by the same theorem replacing one cut of a hidden list by any other moves the
        distribution of the result by at most 1 - (1 - c)^(L T) in total variation, where
        c = cosh(eta reach)/(cosh(eta reach) + k - 1). Nothing else may be released of the list
        then: there is no test, and cut scores prove no error.

    Attributes:
        game: the player, T as `rounds` (None for a choice, see `tune`), L as `queries_per_round`,
            and how much of the list is to be hidden: then there is no test.
        queries: the public list; if it is hidden, known to the curator and k alone public.
        calibration: a budget with zCDP accounting.
        beta: probability that the stated error fails, in (0, 1).

    Raises:
        ParameterError: weights that are too large for 64 bits.

    Source: DR14 section 5.3.3 (both ways beside the best response of the query player); both
    without regret, and what it hides of the list: Hsu, Roth, Ullman, *Differential Privacy for the
    Analyst via Private Equilibrium Computation*, 2013. Deviations: the data player plays matrices
    of one total weight, not elements of the universe; weights are bounded by cutting scores, not by
    projecting them.
    """

    game: Game
    queries: CutList
    beta: float = DEFAULT_FAILURE

    def __post_init__(self) -> None:
        self.scoring  # noqa: B018  # refuses weights that are too large

    name = "query release game"

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    @property
    def scoring(self) -> Scoring:
        """How gains are scored."""
        return Scoring(self.universe, self.grid)

    @property
    def found_by(self) -> str:
        """Who looks for queries."""
        return f"player: {self.game.player}"

    @property
    def listed(self) -> CutList | None:
        """The list, unless it is hidden."""
        return self.queries if self.game.hide_queries is None else None

    def run(
        self, graph: AnyGraph, source: EntropySource, *, progress: Progress = silent
    ) -> Outcome:
        """See `IterativeConstruction.run`: play on a private graph."""
        checked_graph(graph, self.universe, self.grid)
        total, error, rest = buy_total(self.calibration, graph, self.grid, source)
        tuning = self.tune(total, error + 1, rest)
        true = self.queries.scored(graph, self.scoring)
        play, plays = self.data_player(total, tuning.rounds), np.zeros(self.universe.shape)
        for number in range(tuning.rounds):
            scores = self.scores(true, plays, number, tuning.reach)
            drawn = exponential_choices(scores, tuning.rate, tuning.draws, source)
            plays += play([self.signed(index) for index in drawn])
            progress((number + 1) / tuning.rounds, f"round {number + 1} of {tuning.rounds}")
        outcome = Outcome(
            hypothesis=DenseHypothesis(self.universe, plays / tuning.rounds),
            tuning=tuning,
            total_weight=total,
            total_error=error,
            used=tuning.rounds,
            error=tuning.bound,
        )
        self._test(outcome, graph, source)
        return outcome

    def tune(self, total: float, off: float, rest: IterativeCalibration) -> GameTuning:
        """The game whose error is usually least, from public numbers alone.

        What is minimised is ln(2k)/(eta T), and the usual cut norm over 2 sqrt(T) for the data
        player and the chance of the draws. That is measured, not proven, as numbers of rounds of
        `PracticalIterative` are; the proven bound asks for so many rounds that little is learnt.

        Args:
            total: noisy total weight, in units.
            off: how far it may be off, plus 1.
            rest: what is left of the budget.

        Raises:
            ParameterError: the list is too short to be hidden, or no game fits the budget.
        """
        sizes = round_numbers(2, MOST_PLAYS) if self.game.rounds is None else [self.game.rounds]
        found = [self._tuned(rounds, total, off, rest) for rounds in sizes]
        possible = [tuned for tuned in found if tuned is not None]
        if not possible:
            raise ParameterError(
                "no game fits: the list is too short to be hidden so well, or the budget too small"
            )
        return min(possible, key=lambda pair: pair[0])[1]

    def _tuned(
        self, rounds: int, total: float, off: float, rest: IterativeCalibration
    ) -> tuple[float, GameTuning] | None:
        draws, steps, delta = self.game.queries_per_round, self.scoring.sensitivity, rest.cost.delta
        if self.universe.size * steps * rounds >= _LARGEST:
            return None
        rho = Fraction(rest.cost.rho or 0.0)
        squares = (rounds - 1) * rounds * (2 * rounds - 1) // 6
        test = rho * _TEST if self.game.hide_queries is None else Fraction(0)
        rate = root_at_most(2 * (rho - test) / (draws * steps**2 * squares))
        spent = [Cost.of_rho(rounded_up(draws * (steps * rate) ** 2 * squares / 2), delta=delta)]
        reach = finder = noise = None
        if self.game.hide_queries is not None:
            reach = self._reach(rate, rounds * draws, self.game.hide_queries)
            if reach is None:
                return None
        else:
            each = float(test / 2) * (1 - 1e-12)
            finder = Exponential(queries=self.queries, epsilon=Fraction(1), grid=self.grid)
            finder = finder.with_rho(each, rounds=1)
            noise = ValueNoise("gaussian", Fraction(self.grid.sensitivity**2) / test)
            spent += [finder.call, noise.cost(self.grid.sensitivity, delta=delta)]
        eta = float(rate * steps)
        usual = usual_cut_norm(self.universe) / (2 * math.sqrt(rounds))
        usual += math.log(2 * len(self.queries)) / (eta * rounds)
        return usual, GameTuning(
            rounds=rounds,
            draws=draws,
            rate=rate,
            reach=reach,
            finder=finder,
            noise=noise,
            bound=self._bound(rounds, draws, eta, total, off) if reach is None else None,
            cost=compose(spent, delta=delta),
        )

    def _bound(self, rounds: int, draws: int, eta: float, total: float, off: float) -> float:
        k, X, most = len(self.queries), self.universe.size, total + off
        gamma = self.beta / 4
        regret = math.log(2 * k) / (eta * rounds) + eta * most**2 / 2
        if self.game.player == "query":
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

    def data_player(self, total: float, rounds: int) -> Callable[[Sequence[Signed]], FloatMatrix]:
        """What makes the other player's play of a round from its draws, which are public.

        Args:
            total: of its plays, in units.
            rounds: T.
        """
        if self.game.player == "query":
            return partial(best_response, self.universe, total)
        entropy = max(_entropy(self.universe.size, total, 1.0), 0.1)
        return WeightsPlayer(self.universe, total, math.sqrt(2 * entropy / rounds)).play

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

    def _test(self, outcome: Outcome, graph: AnyGraph, source: EntropySource) -> None:
        """Step 3: what is proven by one cut that is found to be off, or by the game itself."""
        finder, noise = outcome.tuning.finder, outcome.tuning.noise
        if finder is None:
            return
        steps, gamma = self.grid.sensitivity, self.beta / 4
        shown = self._shown(outcome.hypothesis.matrix)
        found = finder.begin(graph, source).find(shown, source).query
        value = (self.queries.counted(found, graph, self.grid) + noise.draw(source)) / steps
        outcome.gap = abs(value - shown.estimate(found) / self.unit)
        error = outcome.gap + noise.radius(gamma) / steps + finder.shortfall(gamma) / self.unit
        outcome.error = error if outcome.error is None else min(error, outcome.error)
        made = Measured(round=outcome.used, query=found, value=value * self.unit, updated=False)
        outcome.transcript.append(made)


def _entropy(pairs: int, total: float, off: float) -> float:
    """K: relative entropy of any truth to the uniform start, at most."""
    return math.log(pairs / max(1.0, min(total - off, pairs)))


InRounds = IterativeConstruction | PlayerGame


def job_of(
    mechanism: InRounds,
    task: Task,
    parameters: dict[str, Any],
    calibration: str,
    public: str = "",
    warning: str | None = None,
) -> Job[IterativeRelease]:
    """A run, whose cost is checked by the scales of the noise that was drawn.

    Args:
        mechanism: what is run.
        task: what is asked for.
        parameters: for the ledger.
        calibration: as results name it.
        public: what is public besides the vertices and the cap.
        warning: why the result may be worthless, or None.
    """

    def measure(graph: Any, source: Any, progress: Progress) -> Outcome:
        outcome = mechanism.run(graph, source, progress=progress)
        mechanism.check_spent(outcome)
        return outcome

    known = ["the maximum weight"] * task.graph.weighted + [public] * bool(public)
    return task.job(
        kind="release-iteratively",
        parameters=parameters,
        plan=mechanism.budget_plan,
        public=", ".join(known),
        measure=measure,
        release=partial(finished, task, mechanism, calibration=calibration),
        warning=warning,
    )


def finished(
    task: Task,
    mechanism: InRounds,
    outcome: Outcome,
    guarantee: PrivacyGuarantee,
    *,
    calibration: str = "practical",
) -> IterativeRelease:
    """What is made of an outcome: post-processing."""
    cap, listed, error = mechanism.grid.cap or 1.0, mechanism.listed, outcome.error
    learnt, universe = outcome.hypothesis, mechanism.universe
    if isinstance(learnt, DatabaseFamily) and listed is not None:
        learnt, off = nearest_graph(learnt, listed)
        error = None if error is None else error + off
    matrix = learnt.dense() * mechanism.unit
    weights = weights_of(np.clip(matrix, 0, cap), cap)
    proven, graph_error = "none", None
    if error is not None:
        error = error * mechanism.unit + mechanism.grid.rounding(universe.size)
        if listed is None:
            proven, moved = "disjoint", cut_norm(weights - matrix).upper
        else:
            error = (error + listed.rounding(mechanism.grid)) * listed.scale
            off_listed = np.abs(listed.on_matrix(weights - matrix))
            proven, moved = "listed", float(off_listed.max()) * listed.scale
        graph_error = error + moved
    rows = (weights[start : start + 512] for start in range(0, len(weights), 512))
    note = "" if guarantee.is_private else SEEDED_WARNING
    return IterativeRelease(
        universe=universe,
        guarantee=guarantee,
        accuracy=Accuracy(
            error=error, confidence=task.confidence, queries=proven, graph_error=graph_error
        ),
        settings=Settings(
            construction=mechanism.name,
            distinguisher=mechanism.found_by,
            calibration=calibration,
            rounds=outcome.tuning.rounds,
            used=outcome.used,
            stopped=outcome.stopped,
            total=outcome.total_weight * mechanism.unit,
            void_reason=getattr(outcome.tuning, "void_reason", None),
        ),
        _graph=from_rows_on(task.graph.space, rows, weighted=True, max_weight=cap, note=note),
        hypothesis=DenseHypothesis(universe, matrix),
        transcript=tuple(outcome.transcript),
        cap=cap,
        listed=listed,
    )


def nearest_graph(
    learnt: DatabaseFamily, listed: CutList | QuestionList
) -> tuple[DenseHypothesis, float]:
    """The graph whose answers to a list are nearest to those of a median, and how far they are.

    Every graph without weights is looked at, so the true one is among them: where the median is
    within E of the truth on the whole list, the nearest graph is within E of the median.

    Source: DR14 Theorem 5.10, whose mechanism returns a database.
    """
    family = all_graphs(learnt.universe)
    off = np.zeros(len(family))
    for query in listed:
        off = np.maximum(off, np.abs(family.answers(query) - learnt.estimate(query)))
    nearest = int(np.argmin(off))
    graph = DatabaseFamily(learnt.universe, family.databases[nearest : nearest + 1])
    return DenseHypothesis(learnt.universe, graph.median_weights()), float(off[nearest])
