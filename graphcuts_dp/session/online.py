"""Query release from an iterative construction: test, correct, test again, answer.

The hypothesis is public; the truth is read by the tests (`sparse_vector`), by the noise on what is
bought at the start (a total weight that is not public, a private norm, sums between public groups),
and by answers that updates buy where the calibration says so. The file is long, since its one
mechanism stands in it whole: what it buys, its state, and the order of a step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, cast, final

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import ExhaustedError, FileFormatError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import Calibration, KnownCalibration, Tuning, start_plan
from graphcuts_dp.learn.constructions import bound_of
from graphcuts_dp.learn.group_start import CORRECTION_UNITS, GroupStart, start_from_sums
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
from graphcuts_dp.measure.cells import (
    buy_group_sums,
    buy_weighted_sum,
    cell_tree,
    weighted_sensitivity,
)
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
    ANSWERED,
    NOTHING,
    Answer,
    CutMechanism,
    Update,
    check_graph,
    only_cuts,
)
from graphcuts_dp.session.queries import BOUNDED, Counted

TOTAL, GROUPS = "total", "groups"
# What `start=` can name, and what it buys.
STARTS: Mapping[str, str] = {
    TOTAL: "the same weight for all pairs, from a noisy total weight",
    GROUPS: "a weight for each two public groups, from noisy sums between them",
}
_ANY_NUMBER = 1e300  # of updates: where nothing bounds them
_BITS = 24  # the largest answer of one pair has 2^24 to 2^25 steps, where any queries come


@final
@dataclass(frozen=True, kw_only=True)
class Counting:
    """In which steps a mechanism that learns counts, for queries of largest coefficient 1.

    Attributes:
        step: weight of one step.
        sensitivity: by how many steps an answer can change with one pair's weight.
        unit: how many steps one unit of a hypothesis is; a unit is what a pair can weigh.
        times: what a cut's count in steps of the grid is multiplied with;
        over: and the product, or a count of `linear_count`, is divided by, rounded down.
    """

    step: float
    sensitivity: int
    unit: Fraction
    times: int = 1
    over: int = 1

    @classmethod
    def of(cls, grid: Grid, *, linear: bool) -> Self:
        """Of cuts the steps of the grid; of any linear queries steps fine enough for coefficients.

        The exact count of a linear query has 2^30 steps for the largest coefficient times those of
        the weight. It is divided by a power of two and rounded down, which keeps a bound on its
        change: floor(b) - floor(a) <= ceil(b - a) for b >= a.
        """
        if not linear:
            return cls(step=grid.unit, sensitivity=grid.sensitivity, unit=Fraction(grid.largest))
        times = CoefficientGrid.max_units
        exact = times * grid.sensitivity
        over = 1 << max(0, exact.bit_length() - 1 - _BITS)
        return cls(
            step=grid.unit * (over / times),
            sensitivity=-(-exact // over),
            unit=Fraction(times * grid.largest, over),
            times=times,
            over=over,
        )

    def count(self, truth: int, counted: Counted) -> int:
        """The true answer in these steps, from what `EdgeCounter` counts. Private."""
        return truth * (1 if counted.steps else self.times) // self.over

    def told(self, answer: Answer, counted: Counted) -> Answer:
        """An answer about a query of largest coefficient 1, about the query that was asked."""
        value = answer.value * counted.largest
        if not answer.guaranteed:
            return replace(answer, value=value, interval=counted.possible)
        low, high = (end * counted.largest for end in answer.interval)
        lost = self.step * counted.largest if self.over > 1 else 0.0  # by rounding the count down
        interval = (low - counted.lowered, high + counted.raised + lost)
        return replace(answer, value=value, interval=interval)


@final
@dataclass(frozen=True, eq=False)
class BoughtStart:
    """What was bought. Public.

    Attributes:
        sums: noisy weight of each cell, in units.
        start: the first hypothesis, made of them.
        gain: upper bound on G of `learn.group_start`, in units, for the learner's distance; it is
            wrong with the probability that the calibration sets aside for one bought number.
    """

    sums: FloatVector
    start: GroupStart
    gain: float


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class OnlineState:
    """State of an `OnlineMechanism`.

    Attributes:
        tuning: public numbers, fixed at the start.
        total_weight: total weight that the construction was given, in units; public.
        total_error: how far it can be from the true one.
        norm_bound: the bound on a private norm that was bought, in units; None where none was.
        construction: the update rule, tuned.
        current: the hypothesis.
        noise: of the running instances; None when it was lost. Secret.
        queries: answers so far.
        updates: corrections so far.
        lost: updates that interruptions have used up.
        halted: whether updates have run out.
        bought: what a start from groups has bought; None for others, and in a state that was
            restored, whose hypothesis holds all that it needs of it.
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
    bought: BoughtStart | None = field(default=None, repr=False, metadata=APART)

    @property
    def stopped(self) -> bool:
        """See `State.stopped`."""
        return self.halted or self.queries >= self.tuning.queries

    @property
    def updates_left(self) -> int:
        """Corrections that are left."""
        return max(0, self.tuning.updates - self.updates - self.lost)


@final
@dataclass(frozen=True, kw_only=True)
class OnlineMechanism(CutMechanism[OnlineState]):
    """GRU12's, JT12's, DR14's or the tight mechanism, by its calibration.

    One step: 1. answer from the hypothesis; 2. test the answer; 3. if no test fires, that is the
    answer; 4. if one does, correct the hypothesis in the direction found and restart the test that
    fired; 5. if an answer was bought with it, that is the answer, else go back to 1. A step makes
    at most as many corrections as are left, and tests once more than that at most.

    Guarantee: `cost`, for neighbours as in `grid`. The tests cost what `Tuning.test` says for each
    instance, and no more instances than were paid for are ever started: with c updates allowed and
    `lost` of them used up by interruptions, updates + lost <= c always, and c + sides of them for
    the tight calibration (c for the others, which halt at update c). Hypotheses, updates, the
    order of tests and when a step ends are functions of what the tests found, the queries and
    public numbers. Restarts and bought values are interleaved with the analyst's choices, which
    the composition theorems in the calibrations allow for. What a start from groups buys is taken
    out of the same budget, before the tests are tuned: see `_buy_start`.
    Of a bounded grid the answers are bounded cuts (`graph.grid.doubled_sums`), with the total.
    Neighbours differ in the edges at one vertex v, and `steps` is 2: without the edges at v no
    answer is larger, and none more than D smaller, so either neighbour is one step of a monotone
    change by at most D from that graph. The hypothesis begins from the noisy bounded total.
    Bounded cuts are not the cuts of one graph where degrees exceed D: then no hypothesis need have
    them all, and the bound on updates, which guarantees that the session lasts, need not hold. What
    is answered is within its interval as ever, since tests look at each answer by itself.

    Of any linear queries, one pair's weight raises some answers and lowers others, each by at most
    the sensitivity s. Then `steps` is twice what it is for cuts. Proof: a session is a function of
    the stream of true answers, of the total and of a norm. Let D' be D with one weight changed, d_i
    the change of answer i, |d_i| <= s, and let the stream in between have q_i + max(0, d_i). From D
    to it all answers change upwards by at most s, and from it to D' all downwards by at most s: two
    steps of a monotone change, each of which costs what is said above.

    Attributes:
        learner: the update rule. One for any linear queries is asked each query divided by its
            largest coefficient, in steps that `Counting` tells.
        calibration: the budget, and the noise that it buys.
        grid: how true answers are counted.
        total_weight: None measures a noisy total weight. A number is taken as it is: one that was
            fixed without a look at the graph, for audits and theorems. The guarantee does not cover
            that somebody computed it from the graph. If the total is public, one edge can only be
            moved, which changes two pairs: by group privacy, all that is hidden then costs 2
            epsilon, 4 rho, or (2 epsilon, (1 + e^epsilon) delta).
        steps: how many steps of the grid's neighbours are hidden together; the calibration is for
            one of them, and `cost` for all, by group privacy.
        begins: a name of `STARTS`. "groups" measures the sums between public groups and how near
            the truth they are.
        groups: of the rows and columns, for such a start; None in a session that has begun.

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
        most = self.grid.cap * self.universe.size
        if self.total_weight is not None and not 0 < self.total_weight <= most:
            raise ParameterError(f"the total weight lies between 0 and {most:g}")
        if self._linear and self.grid.bounded is not None:
            raise ParameterError(BOUNDED)
        if self._measured_norm is not None and self.grid.bounded is not None:
            raise ParameterError(
                "this norm measures the sum of root degrees, whose noise for a vertex would hide "
                "everything; use norm 'l2', 'lp' or 'entropy'"
            )
        if self.begins == GROUPS:
            self._check_groups()
        if isinstance(self._left, KnownCalibration):
            self._left.check_parameters(self._counting.sensitivity)

    def _check_groups(self) -> None:
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
    def name(self) -> str:  # type: ignore[override]
        """The construction's; the calibration has a name of its own."""
        return self.learner.name

    @property
    def universe(self) -> Universe:  # type: ignore[override]
        """The public vertex pairs."""
        return self.learner.universe

    @property
    def cost(self) -> Cost:
        """The calibration's, for all steps: everything is paid for out of its budget."""
        return self.calibration.cost.for_group(self.steps)

    @property
    def _unit(self) -> float:
        """Weight of one unit of the hypothesis: what a pair can weigh."""
        return self.grid.unit * self.grid.largest

    @property
    def _spread(self) -> float:
        """By how many units an answer can differ: 1, or the degree bound of bounded cuts.

        Calibrations count in that.
        """
        return float(self._counting.sensitivity / self._counting.unit)

    @cached_property
    def _counting(self) -> Counting:
        return Counting.of(self.grid, linear=self._linear)

    @property
    def _linear(self) -> bool:
        """Whether any linear queries are answered."""
        return isinstance(self.learner, MirrorDescentLearner) and self.learner.linear

    @property
    def _measured_norm(self) -> str | None:
        """The private norm that the update rule wants to know; see `PRIVATE_NORMS`."""
        return getattr(self.learner, "measured_norm", None)

    def _knowing(self, bound: float | None) -> Learner:
        """The learner that knows the bound that was bought for it; None if there is none."""
        learner: Any = self.learner
        known: Learner = learner if bound is None else learner.with_norm_bound(bound)
        return known

    def norm_of(self, state: OnlineState) -> str | None:
        """The norm that a session has taken, with its exponent, as `parse_norm` reads it.

        None for other constructions than mirror descent.
        """
        learner = self._knowing(state.norm_bound)
        if not isinstance(learner, MirrorDescentLearner):
            return None
        return learner.terms_at(
            alpha=state.tuning.alpha * self._spread,
            total_weight=state.total_weight,
            total_error=state.total_error,
        ).shown

    def weights(self, state: OnlineState) -> FloatMatrix:
        """The hypothesis as a matrix of weights over the universe.

        Raises:
            ParameterError: a matrix of all pairs would be too large.
        """
        if max(self.universe.shape) > MOST_DENSE_VERTICES:
            raise ParameterError(
                f"a hypothesis is shown as a matrix for up to {MOST_DENSE_VERTICES} vertices"
            )
        current = cast(Any, state.current)
        family = isinstance(current, DatabaseFamily)
        learnt: FloatMatrix = current.median_weights() if family else current.dense()
        return learnt * self._unit

    @property
    def budget_plan(self) -> BudgetPlan:
        """See `CutMechanism.budget_plan`: what the start measures, and the answers."""
        return start_plan(self.cost, self._purchases, "answers")

    def start(self, graph: AnyGraph, source: EntropySource) -> OnlineState:
        """See `SessionMechanism.start`: measures a private total weight, and what begins."""
        check_graph(graph, self.universe, self.grid)
        budget: Calibration = self.calibration
        total, norm_bound, bought, first, nearer = None, None, None, None, None
        if self.total_weight is None:
            noise, _, _, budget = budget.with_total(self.grid.sensitivity)
            total = (self.grid.total(graph) + noise.draw(source)) / self.grid.largest
        if self._measured_norm is not None:
            steps, buy = PRIVATE_NORMS[self._measured_norm]
            noise, radius, _, budget = budget.with_total(steps)
            norm_bound = buy(graph, self.grid, noise, radius, source)
        if self.begins == GROUPS:
            bought = self._buy_start(graph, budget, self._total(total)[0], source)
            first, nearer = self._nearer(bought, *self._total(total))
        tuning = self._tuned(total, norm_bound, nearer)
        weight, error = self._total(total)
        construction = self._construction(tuning, weight, error, norm_bound)
        return OnlineState(
            tuning=tuning,
            total_weight=weight,
            total_error=error,
            norm_bound=norm_bound,
            construction=construction,
            current=construction.initial() if first is None else first,
            noise=tuning.test.start(source),
            bought=bought,
        )

    def _construction(
        self, tuning: Tuning, total_weight: float, total_error: float, norm_bound: float | None
    ) -> Learned:
        return self._knowing(norm_bound).construction(
            alpha=tuning.alpha * self._spread, total_weight=total_weight, total_error=total_error
        )

    def _buy_start(
        self, graph: AnyGraph, budget: Calibration, total_weight: float, source: EntropySource
    ) -> BoughtStart:
        """Buy the sums between groups, and how near the truth the hypothesis is that they make.

        Guarantee: together what `_left` takes out of the budget, for neighbours that differ in
            one pair: see `buy_group_sums` and `buy_weighted_sum`. The coefficients of the second
            are chosen by what the first said, which the composition theorems behind `Calibration`
            allow.

        Args:
            budget: what is left of it.
            total_weight: noisy, in units.
        """
        sides, grid = self.groups, self.grid
        if sides is None:
            raise ParameterError("a session that starts from groups needs them: give groups=")
        cells = cell_tree(graph, sides)
        noise, _, _, rest = budget.with_total(grid.sensitivity)
        sums = buy_group_sums(graph, sides, cells, grid, noise, source) / grid.largest
        start = start_from_sums(
            self.universe,
            cells,
            (sides[0].codes(), sides[1].codes()),
            sums,
            deviation=noise.deviation / grid.largest,
            total_weight=total_weight,
        )
        coefficients = start.coefficients(cast(Any, self.learner).distance)
        noise, radius, *_ = rest.with_total(weighted_sensitivity(coefficients))
        noisy = buy_weighted_sum(graph, sides, cells, grid, coefficients, noise, source)
        # A step for what was rounded down; weights were rounded down as well.
        lost = grid.rounding(self.universe.size) / self._unit
        gain = (noisy + radius + 1 + max(0, int(coefficients.max())) * lost) / CORRECTION_UNITS
        return BoughtStart(sums, start, gain)

    def _nearer(
        self, bought: BoughtStart, total_weight: float, total_error: float
    ) -> tuple[Hypothesis, UpdateBound] | tuple[None, None]:
        """The first hypothesis and B from there; None where the flat start is as near.

        The rule is the same from any start: only the potential at the start, and so B, differ.
        """
        learner: Any = self.learner
        made = learner.construction(
            alpha=2 * (total_weight + total_error),
            total_weight=total_weight,
            total_error=total_error,
        )
        scale = learner.potential_scale(total_weight)
        found = scale * bought.start.distance_bound(
            learner.distance,
            uniform=made.start_potential / scale,
            correction=bought.gain,
            total_weight=total_weight,
            total_error=total_error,
        )
        if found >= made.start_potential:
            return None, None
        return learner.first_hypothesis(bought.start), replace(
            made, start_potential=found
        ).update_bound

    def _total(self, total: float | None) -> tuple[float, float]:
        """The total weight that constructions get, and how far it can be off, in units."""
        error = self.grid.rounding(self.universe.size) / self._unit
        if self.total_weight is not None:
            total = self.total_weight / self._unit
        else:
            _, radius, *_ = self.calibration.with_total(self.grid.sensitivity)
            error = radius / self.grid.largest + error
        return min(max(total or 0.0, 1.0), float(self.universe.size)), error

    @property
    def _purchases(self) -> tuple[str, ...]:
        """What the start buys, in order: each takes its share of what is left of the budget."""
        total = ("total weight",) if self.total_weight is None else ()
        norm = (self._measured_norm,) if self._measured_norm else ()
        sums = ("sums between groups", "how near they are") if self.begins == GROUPS else ()
        return (*total, *norm, *sums)

    @cached_property
    def _left(self) -> Calibration:
        """What is left of the budget for the tests, after all that the start buys."""
        rest: Calibration = self.calibration
        for _ in self._purchases:
            rest = rest.with_total(1)[3]
        return rest

    def _tuned(
        self, total: float | None, norm_bound: float | None, nearer: UpdateBound | None = None
    ) -> Tuning:
        """The tuning.

        Args:
            total: the noisy one in units; not used where the total weight is fixed.
            norm_bound: the private norm, in units; None where nothing was bought, or for the most
                that it can come to.
            nearer: B at a start that was bought and is nearer than the flat one; None without it.
        """
        bound = self._update_bound(*self._total(total), norm_bound, nearer)
        return self._left.tune(bound, self._counting.sensitivity)

    def _update_bound(
        self,
        total_weight: float,
        total_error: float,
        norm_bound: float | None,
        nearer: UpdateBound | None = None,
    ) -> UpdateBound:
        """Return B, of tolerances in units of the largest change of an answer.

        It is very large where the construction says that no tolerance so small is possible.

        Args:
            total_weight: the total that the construction is given, in units.
            total_error: how far it may be from the true one.
            norm_bound: the private norm, in units; None where nothing was bought.
            nearer: see `_tuned`.
        """
        bound = nearer or bound_of(
            self._knowing(norm_bound),
            alpha=total_weight + total_error,
            total_weight=total_weight,
            total_error=total_error,
        )

        def careful(alpha: float) -> float:
            try:
                return min(_ANY_NUMBER, bound(alpha * self._spread))
            except ParameterError:
                return _ANY_NUMBER

        return careful

    def expected_error(self, total_weight: float) -> float:
        """See `SessionMechanism.expected_error`; groups to start from count as saying nothing."""
        total = total_weight / self._unit
        tuning = self._tuned(total, None)
        if self._void_reason(tuning, *self._total(total), None) is not None:
            return math.inf
        return self._widest(tuning)

    def error_bound(self, state: OnlineState) -> float:
        """See `SessionMechanism.error_bound`; it goes by the noisy total weight."""
        return self._widest(state.tuning) if self.void_reason(state) is None else math.inf

    def void_reason(self, state: OnlineState) -> str | None:
        """See `CutMechanism.void_reason`."""
        return self._void_reason(
            state.tuning, state.total_weight, state.total_error, state.norm_bound
        )

    def expected_void_reason(self, total_weight: float) -> str | None:
        """See `CutMechanism.expected_void_reason`."""
        total = total_weight / self._unit
        return self._void_reason(self._tuned(total, None), *self._total(total), None)

    def _void_reason(
        self, tuning: Tuning, total_weight: float, total_error: float, norm_bound: float | None
    ) -> str | None:
        calibration = self._left
        if not isinstance(calibration, KnownCalibration):
            return None  # of a user's own, of whose tests nothing is known here
        fixed_step = getattr(self.learner, "eta", None) or getattr(self.learner, "step", None)
        if not calibration.parameters.chosen and fixed_step is None:
            return None  # a calibration's own numbers fit together, from whatever start
        return tuning.void_reason(
            self._update_bound(total_weight, total_error, norm_bound),
            self._counting.sensitivity,
            beta=calibration.beta,
        )

    def expected_total_error(self, total_weight: float) -> float:
        """Return how far the total weight that a session measures can be from the true one.

        Args:
            total_weight: a public guess, > 0; both are in weight.
        """
        return self._total(total_weight / self._unit)[1] * self._unit

    def chosen_parameters(self, state: OnlineState) -> SessionParameters:
        """Return all parameters that a session has, set or computed, as numbers."""
        return state.tuning.parameters(self._counting.sensitivity)

    def expected_parameters(self, total_weight: float) -> SessionParameters:
        """Return all parameters of a session on a graph of this total weight, as numbers.

        Args:
            total_weight: a public guess, > 0.
        """
        return self._tuned(total_weight / self._unit, None).parameters(self._counting.sensitivity)

    def tests_in_vain(self, total_weight: float) -> bool:
        """Tell whether no test of a session can fire except by noise: nothing is learnt then.

        Args:
            total_weight: a public guess, > 0.
        """
        tuning = self._tuned(total_weight / self._unit, None)
        return bool(tuning.test.threshold > self.universe.size * self._counting.unit)

    def noise_cost(self, total_weight: float) -> Cost:
        """Return what tests and measured answers cost by their noise, for one neighbour's change.

        It is at most what the start leaves of the budget. The whole budget is charged.

        Args:
            total_weight: a public guess, > 0.
        """
        tuning = self._tuned(total_weight / self._unit, None)
        return tuning.cost(self._counting.sensitivity, delta=self.calibration.cost.delta)

    def _widest(self, tuning: Tuning) -> float:
        error = max(tuning.error, tuning.value_error) * self._counting.step
        error += self.grid.rounding(self.universe.size)
        if self._linear:  # the count's rounding, and that of coefficients
            pairs, steps = self.universe.size, CoefficientGrid(Extent(1.0, 0.0, 0.0, on_grid=False))
            error += self._counting.step + steps.rounding_error(pairs, self.grid.cap)
        return error

    def check(self, state: OnlineState, query: Question) -> None:
        """See `SessionMechanism.check`: cuts; of the median also statistics of the whole graph.

        Of mirror descent that was announced to have others, every linear query.
        """
        self._checked(state, query)

    def _checked(self, state: OnlineState, query: Question) -> tuple[Counted, Question] | None:
        if state.halted:
            raise ExhaustedError(
                "the session has used all its updates and gives no more guaranteed answers; start"
                " another one, or ask for answers without guarantee"
            )
        if state.stopped:
            raise ExhaustedError(ANSWERED)
        asked = self._asked(query)
        check = getattr(self.learner, "check", None)
        if check is not None and asked is not None and not isinstance(query, GraphQuery):
            check(asked[1])
        return asked

    def _asked(self, query: Question) -> tuple[Counted, Question] | None:
        """How a query is counted, and what the update rule sees of it; None where it is 0.

        That has a largest coefficient of 1, in whole steps of 2^-30. Queries that the rule cannot
        learn from are refused.
        """
        if not (isinstance(query, GraphQuery) and isinstance(self.learner, MedianLearner)):
            query = require_linear(query) if self._linear else only_cuts(query, self.name)
        counted = Counted.of(query, self.universe, self.grid)
        if counted is None or counted.steps is None:
            return None if counted is None else (counted, query)
        coefficients = pair_coefficients(cast(Any, query), self.universe.space)
        return counted, MatrixQuery(counted.steps.grid_units(coefficients) * 2.0**-30)

    def step(
        self, state: OnlineState, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[OnlineState, Answer]:
        """See `SessionMechanism.step`. A cut without pairs is 0, free and certain."""
        asked = self._checked(state, query)
        if asked is None:
            return state, self._finished(NOTHING, state)
        if truth is None or state.noise is None:
            raise ParameterError(
                "this step needs the true answer, and a state with its secret part"
            )
        counted, taken = asked
        state = replace(state, queries=state.queries + 1)
        state, answer = self._settle(state, taken, self._counting.count(truth, counted), source)
        answer = replace(self._counting.told(answer, counted), seeded=source.seed is not None)
        return state, self._finished(answer, state)

    def _settle(
        self, state: OnlineState, query: Any, truth: int, source: EntropySource
    ) -> tuple[OnlineState, Answer]:
        """Steps 1 to 5: test and correct until an answer is found."""
        tuning, steps = state.tuning, self._counting.unit
        made: tuple[Update, ...] = ()
        while True:
            estimate = state.current.estimate(query)
            noise = state.noise or ()
            found = tuning.test.run(noise, truth, Fraction(estimate) * steps, source)
            if found.sign is None:
                return state, self._answer(estimate * float(steps), tuning.error, made)
            if not state.updates_left:
                answer = replace(self._unguaranteed(estimate), updates=made)
                return replace(state, halted=True, noise=()), answer
            bought = found.value
            if tuning.value_noise is not None:
                bought = truth + tuning.value_noise.draw(source)
            made += (self._update(tuning, found.sign, bought),)
            state = replace(
                state,
                current=state.construction.update(state.current, query, found.sign, made[-1].value),
                updates=state.updates + 1,
                noise=tuning.test.restart(noise, found.sign, source),
            )
            if tuning.halts and not state.updates_left:
                state = replace(state, halted=True, noise=())
            if bought is not None:
                return state, self._answer(bought, tuning.value_error, made)

    def _unguaranteed(self, estimate: float) -> Answer:
        """Without an interval, which `Counting.told` makes the trivial one."""
        value = estimate * self._unit
        return Answer(value=value, interval=(0.0, 0.0), confidence=1.0, guaranteed=False)

    def _update(self, tuning: Tuning, sign: Sign, bought: int | None) -> Update:
        """The value is left out where it may be too far off for the rule's use of it."""
        if bought is None or tuning.value_error > tuning.alpha * self._counting.sensitivity:
            return Update(sign)
        return Update(sign, float(bought / self._counting.unit))

    def _answer(self, steps: float, error: int, made: tuple[Update, ...]) -> Answer:
        value, radius = steps * self._counting.step, error * self._counting.step
        # Rounding of floats, here and in the hypothesis, in the interval's favour.
        radius += 1e-9 * (abs(value) + radius)
        return Answer(
            value=value,
            interval=(value - radius, value + radius),
            confidence=1 - self.calibration.beta,
            updates=made,
        )

    def _finished(self, answer: Answer, state: OnlineState) -> Answer:
        left = 0 if state.stopped else self.calibration.queries - state.queries
        return replace(answer, queries_left=left, updates_left=state.updates_left)

    def interrupted(self, state: OnlineState, source: EntropySource) -> OnlineState:
        """See `SessionMechanism.interrupted`: all running instances count as used and are replaced.

        Proof that enough is charged. Whoever runs the mechanism shows no answer before the state
        after it is safe; so nothing that the lost step found has reached anybody, and even the
        state before it would still be good, with its noise: what was drawn in vain is independent
        of all that is shown. Here, beyond that, the noise of that state is thrown away and every
        running instance is charged as if it had fired, so that the guarantee also holds when one
        finding on each side was seen (a crash that somebody could cause at the right moment), or
        when the secret part of the state was lost or copied. Instances started: one for each side
        at first, one for each update, and `sides` for each interruption, charged as so many
        updates; when fewer are left than that, the mechanism stops and starts none.
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
        asked = self._asked(query)
        if asked is None:
            return self._finished(replace(NOTHING, guaranteed=False), state)
        counted, taken = asked
        estimate = float(cast(Any, state.current).estimate(taken))
        return self._finished(self._counting.told(self._unguaranteed(estimate), counted), state)

    def learnt(self, state: OnlineState) -> bytes:
        """See `SessionMechanism.learnt`: the hypothesis, after how many updates."""
        return state.updates.to_bytes(8, "big") + state.current.to_bytes()

    def resumed(
        self,
        state: OnlineState,
        data: Any,  # noqa: ARG002
        learnt: bytes,
        since: Sequence[tuple[Question, Update]] = (),
    ) -> OnlineState:
        """See `SessionMechanism.resumed`."""
        construction = self._construction(
            state.tuning, state.total_weight, state.total_error, state.norm_bound
        )
        current: Hypothesis = construction.initial().from_bytes(learnt[8:], self.universe)
        for query, update in since:
            asked = self._asked(query)
            if asked is None:
                raise FileFormatError("the record has a correction by a query without coefficients")
            taken = cast(Any, asked[1])
            current = construction.update(current, taken, update.sign, update.value)
        seen = int.from_bytes(learnt[:8], "big") + len(since)
        if seen != state.updates:
            raise FileFormatError(
                f"the state has seen {state.updates} updates, its hypothesis {seen}"
            )
        return replace(state, construction=construction, current=current)
