"""Query release from an iterative construction: test, correct, test again, answer.

The hypothesis is public. The truth is read by the tests (`sparse_vector`), by the measurements at
the start (a total weight that is not public, a private norm, sums between public groups), and by
the noisy answers that some calibrations measure with an update. The file is long, since it has one
mechanism with its state, its steps and its forecasts from public numbers.

Three units of weight occur. Weights of a hypothesis have the largest weight of a pair as their
*unit*; true answers are integers in `CountUnits`; a grid unit is the unit of the grid.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ExhaustedError, FileFormatError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import Calibration, KnownCalibration, Tuning, start_plan
from graphcuts_dp.learn.constructions import bound_of
from graphcuts_dp.learn.learners import (
    MOST_DENSE_VERTICES,
    GroupLearner,
    Learned,
    Learner,
    MedianLearner,
    MirrorDescentLearner,
)
from graphcuts_dp.learn.median import DatabaseFamily
from graphcuts_dp.learn.parameters import SessionParameters
from graphcuts_dp.ledger.plain_values import APART, SECRET
from graphcuts_dp.measure.statistics import PRIVATE_NORMS
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.sparse_vector import Secret
from graphcuts_dp.queries.coefficients import CoefficientGrid, Extent, pair_coefficients
from graphcuts_dp.queries.graph_queries import GraphQuery, Question, require_linear
from graphcuts_dp.queries.linear import MatrixQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.groups import Sides
from graphcuts_dp.session.base import (
    NO_ANSWERS_LEFT,
    Answer,
    CutMechanism,
    Update,
    check_graph,
    only_cuts,
    zero_answer,
)
from graphcuts_dp.session.counts import BOUNDED_CUTS_ONLY, CountUnits, QueryCount
from graphcuts_dp.session.starts import GROUPS, TOTAL, MeasuredGroupStart, measure_group_start

_UNBOUNDED = 1e300  # number of updates that stands for no bound


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineState:
    """State of an `OnlineMechanism`.

    Attributes:
        tuning: the numbers of the tests, public and fixed at the start.
        total_weight: the total weight that the construction starts from, in units; public.
        total_error: largest error of that total weight, in units.
        norm_bound: the measured bound on a private norm, in units; None if none was measured.
        construction: the update rule, tuned.
        current: the hypothesis.
        noise: of the running tests; None if it was lost. Secret.
        queries: answers so far.
        updates: corrections so far.
        lost: updates that interruptions have used up.
        halted: true if updates have run out.
        group_start: the measurements of a start from groups; None for other starts, and in a state
            that was restored, which needs its hypothesis alone.
    """

    tuning: Tuning = field(repr=False)
    total_weight: float
    total_error: float
    norm_bound: float | None = None
    construction: Learned = field(repr=False, metadata=APART)
    current: Hypothesis = field(repr=False, metadata=APART)
    noise: Secret | None = field(repr=False, metadata=SECRET)
    queries: int = 0
    updates: int = 0
    lost: int = 0
    halted: bool = False
    group_start: MeasuredGroupStart | None = field(default=None, repr=False, metadata=APART)

    @property
    def stopped(self) -> bool:
        """See `State.stopped`."""
        return self.halted or self.queries >= self.tuning.queries

    @property
    def updates_left(self) -> int:
        """The number of corrections that are left."""
        return max(0, self.tuning.updates - self.updates - self.lost)


@final
@dataclass(frozen=True, kw_only=True)
class OnlineMechanism(CutMechanism[OnlineState]):
    """GRU12's, JT12's, DR14's or the tight mechanism, by its calibration.

    One step: 1. answer from the hypothesis; 2. test the answer; 3. if no test fires, that is the
    answer; 4. if one does, correct the hypothesis in the direction of the test and restart the test
    that fired; 5. if the calibration measures an answer with the update, return that, else go back
    to 1. A step makes at most as many corrections as are left, and runs at most one test more.

    Guarantee: the cost that `cost` states, for neighbours as in `grid`. `Tuning.test` states the
    cost of one instance of a test, and no more instances than the budget allows are ever started:
    with c updates allowed and `lost` of them used up by interruptions, updates + lost <= c always.
    So there are at most c + sides instances with the tight calibration, which starts one for each
    side and one after each update; the others halt at update c, and start c. Hypotheses, updates,
    the order of tests and the end of a step are functions of the results of the tests, the queries
    and public numbers. Restarts and measured answers are interleaved with the analyst's choices,
    which the composition theorems in the calibrations allow. The measurements of a start from
    groups take their shares of the same budget, before the tests are tuned: see
    `measure_group_start`. On a bounded grid the answers are bounded cuts
    (`graph.grid.doubled_sums`), with the total. Neighbours differ in the edges at one vertex v, and
    `steps` is 2: without the edges at v no answer is larger, and none more than D smaller, so
    either neighbour is one monotone change by at most D away from that graph. The hypothesis begins
    from the noisy bounded total. If degrees exceed D, bounded cuts are not the cuts of any one
    graph: then no hypothesis need have them all, and the bound on updates, which guarantees that
    the session lasts, need not hold. The intervals of answers hold in any case, since tests look at
    each answer by itself.

    With any linear queries, one pair's weight raises some answers and lowers others, each by at
    most the sensitivity s. Then `steps` is twice that for cuts. Proof: a session is a function of
    the stream of true answers, of the total and of a norm. Let D' be D with one weight changed, d_i
    the change of answer i, |d_i| <= s, and let the stream in between have q_i + max(0, d_i). From D
    to it all answers change upwards by at most s, and from it to D' all downwards by at most s: two
    monotone changes, each at the cost above.

    Attributes:
        learner: the update rule. A rule for any linear queries sees each query divided by its
            largest coefficient, counted in `CountUnits`.
        calibration: the budget, and the scales of noise.
        grid: the grid on which true answers are counted.
        total_weight: None measures a noisy total weight. A number is used as it is: one that was
            fixed without a look at the graph, for audits and theorems. The guarantee does not cover
            a number that was computed from the graph. If the total is public, neighbours have one
            edge moved, which changes two pairs: by group privacy, the whole session then costs 2
            epsilon, 4 rho, or (2 epsilon, (1 + e^epsilon) delta).
        steps: group size: the number of changes of the grid's neighbours that the guarantee covers
            together; the calibration is for one of them, and `cost` for all, by group privacy.
        begins: a name of `STARTS`.
        groups: of the rows and columns, for a start from groups; None in a session that has begun.

    Raises:
        ParameterError: weights without a public bound, or a total_weight out of range.

    Source: GRU12 Alg. 1; JT12 Alg. 1; DR14 Alg. 11; the tight mode: see `calibrations.Tight`.
    """

    learner: Learner
    calibration: Calibration
    grid: Grid
    total_weight: float | None = None
    steps: int = 1
    begins: str = TOTAL
    groups: Sides | None = field(default=None, repr=False, compare=False)

    state = OnlineState

    def __post_init__(self) -> None:
        if self.grid.cap is None:
            raise ParameterError(
                "a construction needs a public max_weight; read the graph with one, or use method"
                " 'gaussian' or 'laplace'"
            )
        largest = self.grid.cap * self.universe.size
        if self.total_weight is not None and not 0 < self.total_weight <= largest:
            raise ParameterError(f"the total weight lies between 0 and {largest:g}")
        if self._linear and self.grid.bounded is not None:
            raise ParameterError(BOUNDED_CUTS_ONLY)
        if self._measured_norm is not None and self.grid.bounded is not None:
            raise ParameterError(
                "this norm measures the sum of root degrees, whose noise for a vertex would hide "
                "everything; use norm 'l2', 'lp' or 'entropy'"
            )
        if self.begins == GROUPS:
            self._check_groups()
        if isinstance(self._tests_calibration, KnownCalibration):
            self._tests_calibration.check_parameters(self._count_units.sensitivity)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the construction; the calibration has its own name."""
        return self.learner.name

    @property
    def universe(self) -> Universe:  # type: ignore[override]
        """The public vertex pairs."""
        return self.learner.universe

    @property
    def cost(self) -> Cost:
        """The cost of the calibration, which covers everything, for all changes of a group."""
        return self.calibration.cost.for_group(self.steps)

    @property
    def budget_plan(self) -> BudgetPlan:
        """See `CutMechanism.budget_plan`: the measurements of the start, and the answers."""
        return start_plan(self.cost, self._first_measurements, "answers")

    def start(self, graph: AnyGraph, source: EntropySource) -> OnlineState:
        """See `SessionMechanism.start`.

        Measures the total weight unless it is public, then the private norm and the start from
        groups, if there are any, and starts the tests with the remaining budget.
        """
        check_graph(graph, self.universe, self.grid)
        remaining: Calibration = self.calibration
        noisy_total, norm_bound = None, None
        if self.total_weight is None:
            noise, _, _, remaining = remaining.split_budget(self.grid.sensitivity)
            noisy_total = (self.grid.total(graph) + noise.draw(source)) / self.grid.largest
        total_weight, total_error = self._starting_total(noisy_total)
        if self._measured_norm is not None:
            sensitivity, measure = PRIVATE_NORMS[self._measured_norm]
            noise, radius, _, remaining = remaining.split_budget(sensitivity)
            norm_bound = measure(graph, self.grid, noise, radius, source)
        group_start, hypothesis, bound = None, None, None
        if self.begins == GROUPS:
            if self.groups is None:
                raise ParameterError("a session that starts from groups needs them: give groups=")
            group_start = measure_group_start(
                graph, self.groups, self.learner, self.grid, remaining, total_weight, source
            )
            hypothesis, bound = self._nearer_start(group_start, total_weight, total_error)
        tuning = self._tune(noisy_total, norm_bound, bound)
        construction = self._construction(tuning, total_weight, total_error, norm_bound)
        return OnlineState(
            tuning=tuning,
            total_weight=total_weight,
            total_error=total_error,
            norm_bound=norm_bound,
            construction=construction,
            current=construction.initial() if hypothesis is None else hypothesis,
            noise=tuning.test.start(source),
            group_start=group_start,
        )

    def check(self, state: OnlineState, query: Question) -> None:
        """See `SessionMechanism.check`.

        Cuts are answered; by the median also statistics of the whole graph; by mirror descent with
        linear=True every linear query.
        """
        self._checked(state, query)

    def step(
        self, state: OnlineState, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[OnlineState, Answer]:
        """See `SessionMechanism.step`. A cut without pairs is 0, free and certain."""
        normalized = self._checked(state, query)
        if normalized is None:
            return state, self._with_amounts_left(zero_answer(), state)
        if truth is None or state.noise is None:
            raise ParameterError(
                "this step needs the true answer, and a state with its secret part"
            )
        count, rule_query = normalized
        state = replace(state, queries=state.queries + 1)
        units_of_truth = self._count_units.count(truth, count)
        state, answer = self._test_and_correct(state, rule_query, units_of_truth, source)
        answer = rescaled_answer(answer, count, self._count_units)
        return state, self._with_amounts_left(
            replace(answer, seeded=source.seed is not None), state
        )

    def after_interruption(self, state: OnlineState, source: EntropySource) -> OnlineState:
        """See `SessionMechanism.after_interruption`: all running instances count as used.

        Proof that enough is charged. No answer is shown before the state after it is stored; so
        nobody has seen a result of the lost step, and even the state before it would still be
        valid, with its noise: the noise drawn in the lost step is independent of everything that is
        shown. Beyond that, the noise of that state is discarded here, and every running instance is
        charged as if it had fired, so that the guarantee also holds if somebody saw one result on
        each side (by causing a crash at the right moment), or if the secret part of the state was
        lost or copied. Instances started: one for each side at first, one for each update, and
        `sides` for each interruption, charged as that many updates; if fewer updates are left, the
        mechanism stops and starts none.
        """
        if state.stopped:
            return state
        sides = state.tuning.test.sides
        if state.updates_left < sides:
            return replace(state, lost=state.lost + state.updates_left, halted=True, noise=())
        state = replace(state, lost=state.lost + sides, noise=state.tuning.test.start(source))
        if state.tuning.halts and not state.updates_left:
            return replace(state, halted=True, noise=())
        return state

    def unguaranteed(self, state: OnlineState, query: Question) -> Answer:
        """See `SessionMechanism.unguaranteed`."""
        normalized = self._normalized(query)
        if normalized is None:
            return self._with_amounts_left(replace(zero_answer(), guaranteed=False), state)
        count, rule_query = normalized
        estimate = float(cast(Any, state.current).estimate(rule_query))
        answer = rescaled_answer(self._unguaranteed(estimate), count, self._count_units)
        return self._with_amounts_left(answer, state)

    def hypothesis_bytes(self, state: OnlineState) -> bytes:
        """See `SessionMechanism.hypothesis_bytes`: the number of updates, then the hypothesis."""
        return state.updates.to_bytes(8, "big") + state.current.to_bytes()

    def restore(
        self,
        state: OnlineState,
        data: Any,  # noqa: ARG002
        hypothesis: bytes,
        updates: Sequence[tuple[Question, Update]] = (),
    ) -> OnlineState:
        """See `SessionMechanism.restore`."""
        construction = self._construction(
            state.tuning, state.total_weight, state.total_error, state.norm_bound
        )
        current: Hypothesis = construction.initial().from_bytes(hypothesis[8:], self.universe)
        for query, update in updates:
            normalized = self._normalized(query)
            if normalized is None:
                raise FileFormatError("the record has a correction by a query without coefficients")
            rule_query = cast(Any, normalized[1])
            current = construction.update(current, rule_query, update.sign, update.value)
        count = int.from_bytes(hypothesis[:8], "big") + len(updates)
        if count != state.updates:
            raise FileFormatError(
                f"the state has seen {state.updates} updates, its hypothesis {count}"
            )
        return replace(state, construction=construction, current=current)

    def error_bound(self, state: OnlineState) -> float:
        """See `CutMechanism.error_bound`; it depends on the noisy total weight."""
        return self._largest_error(state.tuning) if self.void_reason(state) is None else math.inf

    def void_reason(self, state: OnlineState) -> str | None:
        """See `CutMechanism.void_reason`."""
        return self._void_reason(
            state.tuning, state.total_weight, state.total_error, state.norm_bound
        )

    def expected_error(self, total_weight: float) -> float:
        """See `CutMechanism.expected_error`; as if a start from groups were no nearer."""
        total = total_weight / self._hypothesis_unit
        tuning = self._tune(total, None)
        if self._void_reason(tuning, *self._starting_total(total), None) is not None:
            return math.inf
        return self._largest_error(tuning)

    def expected_void_reason(self, total_weight: float) -> str | None:
        """See `CutMechanism.expected_void_reason`."""
        total = total_weight / self._hypothesis_unit
        return self._void_reason(self._tune(total, None), *self._starting_total(total), None)

    def expected_total_error(self, total_weight: float) -> float:
        """Return the largest error of the total weight that a session measures, in weight.

        Args:
            total_weight: a public guess, > 0.
        """
        return self._starting_total(total_weight / self._hypothesis_unit)[1] * self._hypothesis_unit

    def expected_parameters(self, total_weight: float) -> SessionParameters:
        """Return all parameters of a session on a graph of this total weight, as numbers.

        Args:
            total_weight: a public guess, > 0.
        """
        return self._tune(total_weight / self._hypothesis_unit, None).parameters(
            self._count_units.sensitivity
        )

    def chosen_parameters(self, state: OnlineState) -> SessionParameters:
        """Return all parameters that a session has, set or computed, as numbers."""
        return state.tuning.parameters(self._count_units.sensitivity)

    def noise_cost(self, total_weight: float) -> Cost:
        """Return the cost of tests and measured answers by their noise, for one change.

        It is at most the budget that the start leaves. The whole budget is charged.

        Args:
            total_weight: a public guess, > 0.
        """
        tuning = self._tune(total_weight / self._hypothesis_unit, None)
        return tuning.cost(self._count_units.sensitivity, delta=self.calibration.cost.delta)

    def learns_nothing(self, total_weight: float) -> bool:
        """Return whether no test of a session can fire but by noise: then it learns nothing.

        Args:
            total_weight: a public guess, > 0.
        """
        tuning = self._tune(total_weight / self._hypothesis_unit, None)
        return bool(tuning.test.threshold > self.universe.size * self._count_units.per_pair)

    def norm_of(self, state: OnlineState) -> str | None:
        """Return the norm that a session uses, with its exponent, as `parse_norm` reads it.

        None for other constructions than mirror descent.
        """
        learner = self._learner_with(state.norm_bound)
        if not isinstance(learner, MirrorDescentLearner):
            return None
        return learner.terms_at(
            alpha=state.tuning.alpha * self._answer_change,
            total_weight=state.total_weight,
            total_error=state.total_error,
        ).shown

    def weights(self, state: OnlineState) -> FloatMatrix:
        """Return the hypothesis as a matrix of weights over the universe.

        Raises:
            ParameterError: a matrix of all pairs would be too large.
        """
        if max(self.universe.shape) > MOST_DENSE_VERTICES:
            raise ParameterError(
                f"a hypothesis is shown as a matrix for up to {MOST_DENSE_VERTICES} vertices"
            )
        current = cast(Any, state.current)
        if isinstance(current, DatabaseFamily):
            return current.median_weights() * self._hypothesis_unit
        matrix: FloatMatrix = current.dense() * self._hypothesis_unit
        return matrix

    def _check_groups(self) -> None:
        """Refuse a start from groups for learners, grids and queries that cannot have it.

        Raises:
            ParameterError: one of these.
        """
        if not isinstance(self.learner, GroupLearner) or self.learner.distance is None:
            raise ParameterError(
                "start='groups' is for methods 'multiplicative-weights', 'frieze-kannan', and"
                " 'mirror-descent' with norm 'l2' or 'entropy', with calibration 'tight'"
            )
        if self.grid.bounded is not None:
            raise ParameterError(
                "start='groups' is for edges or users; with privacy_unit='vertex' use 'total'"
            )
        if self._linear:
            raise ParameterError("start='groups' is for cuts: leave out linear=True")

    @property
    def _first_measurements(self) -> tuple[str, ...]:
        """The statistics that the start measures, in order: each gets its share of what remains."""
        total = ("total weight",) if self.total_weight is None else ()
        norm = (self._measured_norm,) if self._measured_norm else ()
        sums = ("sums between groups", "how near they are") if self.begins == GROUPS else ()
        return (*total, *norm, *sums)

    def _starting_total(self, noisy_total: float | None) -> tuple[float, float]:
        """Return the total weight that constructions start from, and its largest error, in units.

        Args:
            noisy_total: in units; not used if the total weight is fixed.
        """
        error = self.grid.rounding(self.universe.size) / self._hypothesis_unit
        if self.total_weight is not None:
            total = self.total_weight / self._hypothesis_unit
        else:
            _, radius, *_ = self.calibration.split_budget(self.grid.sensitivity)
            total, error = noisy_total or 0.0, radius / self.grid.largest + error
        if total < 1:  # rules need some weight to begin with, and the truth may be 0
            total, error = 1.0, max(error, 1.0)
        return min(total, float(self.universe.size)), error

    def _nearer_start(
        self, group_start: MeasuredGroupStart, total_weight: float, total_error: float
    ) -> tuple[Hypothesis, UpdateBound] | tuple[None, None]:
        """Return the hypothesis from groups, and B from it; None if the uniform start is as near.

        The rule is the same from any start: only the potential at the start, and so B, differ.
        """
        learner: Any = self.learner
        from_uniform = learner.construction(
            alpha=2 * (total_weight + total_error),
            total_weight=total_weight,
            total_error=total_error,
        )
        scale = learner.potential_scale(total_weight)
        start_potential = scale * group_start.start.distance_bound(
            learner.distance,
            uniform=from_uniform.start_potential / scale,
            correction=group_start.gain,
            total_weight=total_weight,
            total_error=total_error,
        )
        if start_potential >= from_uniform.start_potential:
            return None, None
        from_groups = replace(from_uniform, start_potential=start_potential)
        return learner.first_hypothesis(group_start.start), from_groups.update_bound

    def _tune(
        self,
        noisy_total: float | None,
        norm_bound: float | None,
        start_bound: UpdateBound | None = None,
    ) -> Tuning:
        """Return the tuning of the tests.

        Args:
            noisy_total: in units; not used if the total weight is fixed.
            norm_bound: the bound on the private norm, in units; None if none was measured, or for
                its largest possible value.
            start_bound: B from a start from groups that is nearer than the uniform start, or None.
        """
        bound = self._update_bound(*self._starting_total(noisy_total), norm_bound, start_bound)
        return self._tests_calibration.tune(bound, self._count_units.sensitivity)

    @cached_property
    def _tests_calibration(self) -> Calibration:
        """The calibration with the budget that the start's measurements leave for the tests."""
        remaining: Calibration = self.calibration
        for _ in self._first_measurements:
            remaining = remaining.split_budget(1)[3]
        return remaining

    def _update_bound(
        self,
        total_weight: float,
        total_error: float,
        norm_bound: float | None,
        start_bound: UpdateBound | None = None,
    ) -> UpdateBound:
        """Return B, of tolerances in multiples of the largest change of an answer.

        It is very large for a tolerance so small that the construction has no bound.

        Args:
            total_weight: the total weight that the construction starts from, in units.
            total_error: largest error of that total weight, in units.
            norm_bound: see `_tune`.
            start_bound: see `_tune`.
        """
        bound = start_bound or bound_of(
            self._learner_with(norm_bound),
            alpha=total_weight + total_error,
            total_weight=total_weight,
            total_error=total_error,
        )

        def bound_or_unbounded(alpha: float) -> float:
            try:
                return min(_UNBOUNDED, bound(alpha * self._answer_change))
            except ParameterError:
                return _UNBOUNDED

        return bound_or_unbounded

    def _construction(
        self, tuning: Tuning, total_weight: float, total_error: float, norm_bound: float | None
    ) -> Learned:
        """Return the update rule, tuned."""
        return self._learner_with(norm_bound).construction(
            alpha=tuning.alpha * self._answer_change,
            total_weight=total_weight,
            total_error=total_error,
        )

    def _learner_with(self, norm_bound: float | None) -> Learner:
        """Return the learner with the measured bound on its private norm, or as it is for None."""
        learner: Any = self.learner
        if norm_bound is not None:
            learner = learner.with_norm_bound(norm_bound)
        return cast(Learner, learner)

    @property
    def _measured_norm(self) -> str | None:
        """The name of the private norm that the update rule needs, see `PRIVATE_NORMS`, or None."""
        return getattr(self.learner, "measured_norm", None)

    def _checked(self, state: OnlineState, query: Question) -> tuple[QueryCount, Question] | None:
        """Check a query as `check` does, and return its `_normalized` form."""
        if state.halted:
            raise ExhaustedError(
                "the session has used all its updates and gives no more guaranteed answers; start"
                " another one, or ask for answers without guarantee"
            )
        if state.stopped:
            raise ExhaustedError(NO_ANSWERS_LEFT)
        normalized = self._normalized(query)
        check = getattr(self.learner, "check", None)
        if check is not None and normalized is not None and not isinstance(query, GraphQuery):
            check(normalized[1])
        return normalized

    def _normalized(self, query: Question) -> tuple[QueryCount, Question] | None:
        """Return how a query is counted, and the query that the update rule sees.

        That query has a largest coefficient of 1, in units of 2^-30. None if the answer is 0 on
        every graph. Queries that the rule cannot learn from are refused.
        """
        if not (isinstance(query, GraphQuery) and isinstance(self.learner, MedianLearner)):
            query = require_linear(query) if self._linear else only_cuts(query, self.name)
        count = QueryCount.of(query, self.universe, self.grid)
        if count is None or count.coefficient_grid is None:
            return None if count is None else (count, query)
        coefficients = pair_coefficients(cast(Any, query), self.universe.space)
        return count, MatrixQuery(count.coefficient_grid.grid_units(coefficients) * 2.0**-30)

    def _test_and_correct(
        self, state: OnlineState, query: Any, truth: int, source: EntropySource
    ) -> tuple[OnlineState, Answer]:
        """Run steps 1 to 5: test and correct until there is an answer.

        Args:
            state: with the query counted already.
            query: as the update rule sees it.
            truth: the true answer, in count units. Private.
            source: where the noise comes from.
        """
        tuning, per_pair = state.tuning, self._count_units.per_pair
        updates: tuple[Update, ...] = ()
        while True:
            estimate = state.current.estimate(query)
            noise = cast(Secret, state.noise)  # `step` refuses a state without it
            result = tuning.test.run(noise, truth, Fraction(estimate) * per_pair, source)
            if result.sign is None:
                return state, self._answer(estimate * float(per_pair), tuning.error, updates)
            if not state.updates_left:
                answer = replace(self._unguaranteed(estimate), updates=updates)
                return replace(state, halted=True, noise=()), answer
            value = result.value
            if tuning.value_noise is not None:
                value = truth + tuning.value_noise.draw(source)
            update = self._update(tuning, result.sign, value)
            updates += (update,)
            state = replace(
                state,
                current=state.construction.update(state.current, query, update.sign, update.value),
                updates=state.updates + 1,
                noise=tuning.test.restart(noise, result.sign, source),
            )
            if tuning.halts and not state.updates_left:
                state = replace(state, halted=True, noise=())
            if value is not None:
                return state, self._answer(value, tuning.value_error, updates)

    def _update(self, tuning: Tuning, sign: Sign, value: int | None) -> Update:
        """Return an update; without the value if there is none, or its error may exceed alpha."""
        if value is None or tuning.value_error > tuning.alpha * self._count_units.sensitivity:
            return Update(sign)
        return Update(sign, float(value / self._count_units.per_pair))

    def _answer(self, count: float, error: int, updates: tuple[Update, ...]) -> Answer:
        """Return an answer from its value and its error, both in count units."""
        value, radius = count * self._count_units.unit, error * self._count_units.unit
        # Rounding of floats, here and in the hypothesis, in the interval's favour.
        radius += 1e-9 * (abs(value) + radius)
        return Answer(
            value=value,
            interval=(value - radius, value + radius),
            confidence=1 - self.calibration.beta,
            updates=updates,
        )

    def _unguaranteed(self, estimate: float) -> Answer:
        """Return an answer without an interval: `rescaled_answer` takes the possible range."""
        value = estimate * self._hypothesis_unit
        return Answer(value=value, interval=(0.0, 0.0), confidence=1.0, guaranteed=False)

    def _with_amounts_left(self, answer: Answer, state: OnlineState) -> Answer:
        """Return an answer with the numbers of queries and updates that are left."""
        left = 0 if state.stopped else self.calibration.queries - state.queries
        return replace(answer, queries_left=left, updates_left=state.updates_left)

    def _void_reason(
        self, tuning: Tuning, total_weight: float, total_error: float, norm_bound: float | None
    ) -> str | None:
        """Return why no bound on errors holds for parameters that are set; None if one does."""
        calibration = self._tests_calibration
        if not isinstance(calibration, KnownCalibration):
            return None  # a user's own: nothing is known of its tests
        # A user sets `eta` or `step` of a learner, by the names that its rule has for it.
        fixed_step = getattr(self.learner, "eta", None) or getattr(self.learner, "step", None)
        if not calibration.parameters.chosen and fixed_step is None:
            return None  # a calibration's own numbers fit together, from any start
        return tuning.void_reason(
            self._update_bound(total_weight, total_error, norm_bound),
            self._count_units.sensitivity,
            beta=calibration.beta,
        )

    def _largest_error(self, tuning: Tuning) -> float:
        """Return the largest half width of an interval of a tuning, in weight."""
        error = max(tuning.error, tuning.value_error) * self._count_units.unit
        error += self.grid.rounding(self.universe.size)
        if self._linear:  # rounding of the count, and of coefficients
            coefficient_grid = CoefficientGrid(Extent(1.0, 0.0, 0.0, on_grid=False))
            error += self._count_units.unit
            error += coefficient_grid.rounding_error(self.universe.size, self.grid.cap)
        return error

    @property
    def _linear(self) -> bool:
        """True if any linear queries are answered."""
        return isinstance(self.learner, MirrorDescentLearner) and self.learner.linear

    @property
    def _answer_change(self) -> float:
        """The largest change of an answer, in units: 1, or the degree bound of bounded cuts.

        Tolerances of calibrations are multiples of it.
        """
        return float(self._count_units.sensitivity / self._count_units.per_pair)

    @property
    def _hypothesis_unit(self) -> float:
        """The weight of a unit of the hypothesis: the largest weight of a pair."""
        return self.grid.unit * self.grid.largest

    @cached_property
    def _count_units(self) -> CountUnits:
        """The units in which true answers are counted."""
        return CountUnits.of(self.grid, linear=self._linear)


def rescaled_answer(answer: Answer, count: QueryCount, units: CountUnits) -> Answer:
    """Return the answer to a query from that to its multiple with largest coefficient 1.

    Args:
        answer: to the multiple.
        count: how the query is counted.
        units: the units in which the multiple was counted.
    """
    value = answer.value * count.largest
    if not answer.guaranteed:
        return replace(answer, value=value, interval=count.possible)
    low, high = (bound * count.largest for bound in answer.interval)
    # The division may have lowered the count by less than a unit.
    rounding = units.unit * count.largest if units.divisor > 1 else 0.0
    high += count.deficit + rounding
    return replace(answer, value=value, interval=(low - count.excess, high))
