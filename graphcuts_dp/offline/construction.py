"""The iterative construction mechanism: find a query that is off, answer it with noise, learn."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar, cast, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.learn.learners import (
    FriezeKannanLearner,
    Learned,
    Learner,
    MultiplicativeWeightsLearner,
)
from graphcuts_dp.learn.linear_learners import DenseLearner
from graphcuts_dp.learn.norm_learner import MirrorDescentLearner, bound_of
from graphcuts_dp.measure.statistics import ROOT_STEPS, buy_root_degrees
from graphcuts_dp.offline.distinguisher import Distinguisher, Found, Measured, Search
from graphcuts_dp.offline.distinguishers import ReleasedSearch
from graphcuts_dp.offline.power_certificate import PowerCertificate
from graphcuts_dp.offline.power_method import PowerSearch
from graphcuts_dp.offline.query_lists import CutList, QuestionList
from graphcuts_dp.offline.tuning import OfflineCalibration, OfflineTuning, PureOffline, buy_total
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import Cost, check_paid, compose
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.progress import Progress, silent

_OF_THE_TOTAL = (
    MultiplicativeWeightsLearner,
    FriezeKannanLearner,
    DenseLearner,
    MirrorDescentLearner,
)  # their first hypotheses weigh no more than the total


Tuning = TypeVar("Tuning")


@final
@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Tuning]):
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
    tuning: Tuning
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
        if isinstance(self.refits, bool) or not 0 <= self.refits <= 1000:
            raise ParameterError("refits must be a whole number from 0 to 1000")

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
    ) -> Outcome[OfflineTuning]:
        """Run on a private graph.

        Args:
            graph: over the universe and the grid.
            source: where the noise comes from.
            progress: called after each round.

        Raises:
            ParameterError: another graph, or a budget that allows nothing; nothing is drawn before
                the total weight.
        """
        self._check(graph)
        total_weight, total_error, rest = self._total(graph, source)
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

    def check_paid(self, outcome: Outcome[OfflineTuning]) -> None:
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

    def _check(self, graph: AnyGraph) -> None:
        if graph.space != self.universe.space or Grid.of(graph) != self.grid:
            raise ParameterError(
                "the mechanism was made for a graph with other vertices or weights"
            )

    def _total(
        self, graph: AnyGraph, source: EntropySource
    ) -> tuple[float, float, OfflineCalibration]:
        """Step 1: the total weight in units, how far it may be off, and what is left."""
        rounding = self.grid.rounding(self.universe.size) / self.unit
        if self.total_weight is not None:
            return self.total_weight / self.unit, rounding, self.calibration
        total_weight, error, rest = buy_total(self.calibration, graph, self.grid, source)
        return total_weight, error + rounding, rest

    def _update_bound(
        self, total_weight: float, total_error: float, learner: Learner | None = None
    ) -> Callable[[float], float]:
        farthest = self._farthest(total_weight + total_error)
        coarse = bound_of(
            learner or self.learner,
            alpha=farthest + 1,
            total_weight=total_weight,
            total_error=total_error,
        )

        def bound(alpha: float) -> float:
            if alpha > farthest:
                return 0.0
            try:
                return coarse(alpha)
            except ParameterError:
                return math.inf  # finer than the error of the total_weight allows

        return bound

    def _farthest(self, most: float) -> float:
        """How far apart answers of the start and of the truth can be, in units.

        Args:
            most: that the truth can weigh; and the start of what begins with the total weight.
        """
        if not isinstance(self.learner, _OF_THE_TOTAL):
            return float(self.universe.size)  # both weigh at most 1 on each pair
        listed = self.questions
        return 2 * most if listed is not None and listed.signed else most


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
        self._construction = self._tuned(tuning.alpha, tuning.value_error)
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
        found = [self._checked(search.find(shown, source)) for _ in range(self._tuning.calls)]
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

    def outcome(self, search: Search | None, source: EntropySource) -> Outcome[OfflineTuning]:
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

    def _checked(self, found: Found) -> Question:
        if self._of.questions is None and not isinstance(found.query, CutQuery):
            raise QueryError("the distinguisher found another query than a cut; let it find cuts")
        return found.query

    def _measured(self, query: Question, graph: AnyGraph, source: EntropySource) -> float:
        """Step 2b, in units."""
        noise = self._tuning.noise
        if noise is None:
            raise ParameterError("a tuning with rounds has noise on its answers")
        listed, grid = self._of.questions, self._of.grid
        if listed is not None:
            counted = listed.counted(query, graph, grid)
        elif isinstance(query, CutQuery):
            counted = grid.count(query, graph)
        noisy = counted + noise.draw(source)
        return float(Fraction(noisy, self._of.grid.sensitivity))

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

    def _tuned(self, alpha: float, value_error: float) -> Learned:
        return self._of.learner.construction(
            alpha=alpha,
            total_weight=self._total_weight,
            total_error=self._total_error,
            value_error=value_error,
        )
