"""Query release from an iterative construction: test, correct, test again, answer.

The hypothesis is public; the truth is read by the tests (`sparse_vector`), by the noise on a total
weight that is not public, and by answers that updates buy where the calibration says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ExhaustedError, FileFormatError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Sign
from graphcuts_dp.learn.block_start import GroupLearner
from graphcuts_dp.learn.learners import MOST_DENSE_VERTICES, Learned, Learner, MedianLearner
from graphcuts_dp.learn.median import DatabaseFamily
from graphcuts_dp.learn.norm_learner import MirrorDescentLearner, bound_of
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.measure.cells import Sides
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.linear_steps import Extent, LinearSteps
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.session.asked import Asked, Counting
from graphcuts_dp.session.base import Answer, Update
from graphcuts_dp.session.bought_norms import BoughtNorm, knowing, wanted_norm
from graphcuts_dp.session.calibrations import Calibration
from graphcuts_dp.session.counts import BOUNDED
from graphcuts_dp.session.group_start import (
    GROUPS,
    TOTAL,
    BoughtStart,
    buy_start,
    check_start,
    nearer,
    without_start,
)
from graphcuts_dp.session.online_state import OnlineState
from graphcuts_dp.session.packing import (
    fingerprint,
    unpack,
    unpack_hypothesis,
    whole_number,
)
from graphcuts_dp.session.promises import (
    NOTHING,
    check_graph,
    only_cuts,
    only_linear,
    promise,
    trivial_answer,
)
from graphcuts_dp.session.sparse_vector import Secret
from graphcuts_dp.session.tunings import Tuning


@final
@dataclass(frozen=True, kw_only=True)
class OnlineMechanism:
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
    out of the same budget, before the tests are tuned: see `group_start.buy_start`.
    Of a bounded grid the answers are bounded cuts (`graph.bounded_sums`), among them the total.
    Neighbours differ in the edges at one vertex v, and `steps` is 2: without the edges at v no
    answer is larger, and none more than D smaller, so either neighbour is one step of a monotone
    change by at most D from that graph. The hypothesis begins from the noisy bounded total.
    Bounded cuts are not the cuts of one graph where degrees exceed D: then no hypothesis need have
    them all, and the bound on updates, which promises that the session lasts, need not hold. What
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
        total_weight: None buys a noisy total weight. A number is taken as it is: one that was fixed
            without a look at the graph, for audits and theorems. The guarantee does not cover that
            somebody computed it from the graph. If the total is public, one edge can only be
            moved, which changes two pairs: by group privacy, all that is hidden then costs
            2 epsilon, 4 rho, or (2 epsilon, (1 + e^epsilon) delta).
        steps: how many steps of the grid's neighbours are hidden together; the calibration is for
            one of them, and `cost` for all, by group privacy.
        begins: a name of `group_start.STARTS`. "groups" buys the sums between public groups and
            how near the truth they are, see `group_start`.
        groups: of the rows and columns, for such a start; None in a session that has begun.

    Raises:
        ParameterError: weights without a public cap, or a total_weight out of range.

    Source: GRU12 Alg. 1; JT12 Alg. 1; DR14 Alg. 11; the tight mode: see `calibrations.Tight`.
    """

    learner: Learner
    calibration: Calibration
    grid: Grid
    total_weight: float | None = None
    steps: int = 1
    begins: str = field(default=TOTAL, repr=False)  # see `_owner`
    groups: Sides | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.grid.cap is None:
            raise ParameterError(
                "a construction needs a public weight_cap; read the graph with one, or use method"
                " 'gaussian' or 'laplace'"
            )
        most = self.grid.cap * self.universe.size
        if self.total_weight is not None and not 0 < self.total_weight <= most:
            raise ParameterError(f"the total weight lies between 0 and {most:g}")
        if self._linear and self.grid.bounded is not None:
            raise ParameterError(BOUNDED)
        if self._buys is not None and self.grid.bounded is not None:
            raise ParameterError(
                "this norm buys the sum of root degrees, of which no noise hides a vertex; use norm"
                " 'l2', 'lp' or 'entropy'"
            )
        check_start(self.begins, self.learner, self.grid)
        if self._linear and self.begins == GROUPS:
            raise ParameterError("start='groups' is for cuts: leave out linear=True")

    @property
    def name(self) -> str:
        """The construction's; the calibration has a name of its own."""
        return self.learner.name

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.learner.universe

    @property
    def cost(self) -> Cost:
        """The calibration's, for all steps: everything is paid for out of its budget."""
        return self.calibration.cost.for_group(self.steps)

    needs_truth = True  # each step reads the graph

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

    @cached_property
    def _owner(self) -> str:
        """Stores know mechanisms that start from the total weight without the word for it."""
        return fingerprint(self if self.begins == TOTAL else (self, self.begins))

    @property
    def _buys(self) -> BoughtNorm | None:
        """The private norm that the update rule wants to know."""
        return wanted_norm(self.learner)

    def norm_of(self, state: OnlineState) -> str | None:
        """The norm that a session has taken, with its exponent, as `parse_norm` reads it.

        None for other constructions than mirror descent.
        """
        learner = knowing(self.learner, state.norm_bound)
        if not isinstance(learner, MirrorDescentLearner):
            return None
        return learner.chosen(
            alpha=state.tuning.alpha * self._spread,
            total_weight=state.total_weight,
            total_error=state.total_error,
        ).shown

    def learnt(self, state: OnlineState) -> FloatMatrix:
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

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """See `Mechanism.guarantee`; its parts are shares of the budget."""
        if self.total_weight is not None:
            return promise(self.cost, self.universe, self.grid, seed=seed)
        total = self.cost.epsilon * float(TOTAL_SHARE)
        left = self.cost.epsilon - total
        norm = left * float(TOTAL_SHARE) if self._buys else 0.0
        bought = [(self._buys.name, norm)] if self._buys else []
        if self.begins == GROUPS:
            sums = left * float(TOTAL_SHARE)
            bought = [("sums between groups", sums)]
            bought += [("how near they are", (left - sums) * float(TOTAL_SHARE))]
        spent = sum(part for _, part in bought)
        parts = (("total weight", total), *bought, ("answers", left - spent))
        return promise(self.cost, self.universe, self.grid, seed=seed, parts=parts)

    def start(self, graph: AnyGraph, source: EntropySource) -> OnlineState:
        """See `Mechanism.start`: buys the total weight if it is not public, and a private norm."""
        check_graph(graph, self.universe, self.grid)
        total = None
        if self.total_weight is None:
            noise, *_ = self.calibration.with_total(self.grid.sensitivity)
            total = (self.grid.total(graph) + noise.draw(source)) / self.grid.largest
        norm_bound = None
        if self._buys is not None:
            noise, radius, *_ = self._after_total.with_total(self._buys.steps)
            norm_bound = self._buys.buy(graph, self.grid, noise, radius, source)
        bought = self._buy_start(graph, total, source)
        first = None if bought is None else nearer(bought, self.learner, *self._total(total))
        tuned = self._tuned(total, norm_bound, None if first is None else first[1])
        start = self._construction(*tuned, norm_bound)
        return OnlineState(
            owner=self._owner,
            tuning=tuned[0],
            total_weight=tuned[1],
            total_error=tuned[2],
            current=start.initial() if first is None else first[0],
            noise=tuned[0].test.start(source),
            norm_bound=norm_bound,
            bought=bought,
        )

    def _buy_start(
        self, graph: AnyGraph, total: float | None, source: EntropySource
    ) -> BoughtStart | None:
        if self.begins == TOTAL:
            return None
        if self.groups is None:
            raise ParameterError("a session that starts from groups needs them: give groups=")
        return buy_start(
            graph,
            self.groups,
            universe=self.universe,
            grid=self.grid,
            learner=cast(GroupLearner, self.learner),
            calibration=self._after_total,
            total_weight=self._total(total)[0],
            source=source,
        )

    def _total(self, total: float | None) -> tuple[float, float]:
        """The total weight that constructions get, and how far it can be off, in units."""
        error = 0.0
        if self.total_weight is not None:
            total = self.total_weight / self._unit
        else:
            _, radius, *_ = self.calibration.with_total(self.grid.sensitivity)
            error = radius / self.grid.largest
        error += self.grid.rounding(self.universe.size) / self._unit
        return min(max(total or 0.0, 1.0), float(self.universe.size)), error

    @property
    def _after_total(self) -> Calibration:
        """What is left of the budget when the total weight is bought."""
        if self.total_weight is not None:
            return self.calibration
        return self.calibration.with_total(self.grid.sensitivity)[3]

    def _tuned(
        self, total: float | None, norm_bound: float | None, nearer: UpdateBound | None = None
    ) -> tuple[Tuning, float, float]:
        """Tuning, total weight and its error, the latter two in units.

        Args:
            total: the noisy one in units; not used where the total weight is fixed.
            norm_bound: the private norm, in units; None where nothing was bought, or for the most
                that it can come to.
            nearer: B at a start that was bought and is nearer than the flat one; None without it.
        """
        rest, (total, error) = self._after_total, self._total(total)
        if self._buys is not None:
            *_, rest = rest.with_total(self._buys.steps)
        if self.begins == GROUPS:
            rest = without_start(rest, self.grid.sensitivity)
        bound = nearer or bound_of(
            knowing(self.learner, norm_bound),
            alpha=total + error,
            total_weight=total,
            total_error=error,
        )
        bound = _careful(bound)
        tuning = rest.tune(lambda alpha: bound(alpha * self._spread), self._counting.sensitivity)
        return tuning, total, error

    def expected_error(self, total_weight: float) -> float:
        """See `Mechanism.expected_error`; of a start from groups as if these said nothing."""
        return self._widest(self._tuned(total_weight / self._unit, None)[0])

    def error_bound(self, state: OnlineState) -> float:
        """See `Mechanism.error_bound`; it goes by the noisy total weight."""
        return self._widest(state.tuning)

    def _widest(self, tuning: Tuning) -> float:
        error = max(tuning.error, tuning.value_error) * self._counting.step
        error += self.grid.rounding(self.universe.size)
        if self._linear:  # the count's rounding, and that of coefficients
            pairs, steps = self.universe.size, LinearSteps(Extent(1.0, 0.0, 0.0, whole=False))
            error += self._counting.step + steps.rounding(pairs, self.grid.cap)
        return error

    def check(self, state: OnlineState, query: Question) -> None:
        """See `Mechanism.check`: cuts; of the median also statistics of the whole graph.

        Of mirror descent that was announced to have others, every linear query.
        """
        if state.stopped:
            raise ExhaustedError(_why_stopped(state))
        asked = self._asked(query)
        if asked is not None and not isinstance(asked.query, GraphQuery):
            self.learner.check(cast(Any, asked.query))

    def _asked(self, query: Question) -> Asked | None:
        """A query that the update rule can learn from; others are refused."""
        if isinstance(query, GraphQuery) and isinstance(self.learner, MedianLearner):
            taken: Question = query
        else:
            taken = only_linear(query) if self._linear else only_cuts(query, self.name)
        return Asked.of(taken, self.universe, self.grid, self._counting)

    def step(
        self, state: OnlineState, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[OnlineState, Answer]:
        """See `Mechanism.step`. A cut without pairs is 0, free and certain."""
        self.check(state, query)
        asked = self._asked(query)
        if asked is None:
            return state, self._finished(NOTHING, state)
        if truth is None or state.noise is None:
            raise ParameterError(
                "this step needs the true answer, and a state with its secret part"
            )
        state, answer = self._settle(
            replace(state, queries=state.queries + 1), asked.query, asked.count(truth), source
        )
        answer = replace(asked.told(answer), seeded=source.seed is not None)
        return state, self._finished(answer, state)

    def _settle(
        self, state: OnlineState, query: Any, truth: int, source: EntropySource
    ) -> tuple[OnlineState, Answer]:
        """Steps 1 to 5: test and correct until an answer is found."""
        tuning, steps = state.tuning, self._counting.unit
        construction = self._construction(
            tuning, state.total_weight, state.total_error, state.norm_bound
        )
        made: tuple[Update, ...] = ()
        while True:
            estimate = state.current.estimate(query)
            noise = state.noise or ()
            found = tuning.test.run(noise, truth, Fraction(estimate) * steps, source)
            if found.sign is None:
                return state, self._answer(estimate * float(steps), tuning.error, made)
            if not state.updates_left:
                answer = trivial_answer(estimate * self._unit, 0, self.grid)
                return replace(state, halted=True, noise=()), replace(answer, updates=made)
            bought = found.value
            if tuning.value_noise is not None:
                bought = truth + tuning.value_noise.draw(source)
            made += (self._update(tuning, found.sign, bought),)
            state = replace(
                state,
                current=construction.update(state.current, query, found.sign, made[-1].value),
                updates=state.updates + 1,
                noise=tuning.test.restart(noise, found.sign, source),
            )
            if tuning.halts and not state.updates_left:
                state = replace(state, halted=True, noise=())
            if bought is not None:
                return state, self._answer(bought, tuning.value_error, made)

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
        """See `Mechanism.interrupted`: all running instances count as used and are replaced.

        Proof that enough is charged. Whoever runs the mechanism shows no answer before the state
        after it is safe; so nothing that the lost step found has reached anybody, and even the
        state before it would still be good, with its noise: what was drawn in vain is independent
        of all that is shown. Here, beyond that, the noise of that state is thrown away and every
        running instance is charged as if it had fired, so that the promise also holds when one
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
        """See `Mechanism.unguaranteed`."""
        asked = self._asked(query)
        if asked is None:
            return self._finished(replace(NOTHING, guaranteed=False), state)
        value = float(cast(Any, state.current).estimate(asked.query)) * self._unit
        return self._finished(asked.told(trivial_answer(value, 0, self.grid)), state)

    def restore(
        self,
        public: bytes,
        secret: bytes | None,
        hypothesis: bytes | None = None,
        since: Iterable[tuple[Question, Update]] = (),
    ) -> OnlineState:
        """See `Mechanism.restore`."""
        content = unpack(public, "public", self._owner)
        try:
            tuning = Tuning.from_dict(content["tuning"])
            total_weight, total_error = (
                float(content["total_weight"]),
                float(content["total_error"]),
            )
            bought = float(content["norm_bound"]) if self._buys else None
        except (LookupError, TypeError, ValueError) as problem:
            raise FileFormatError("the stored state is damaged") from problem
        updates, lost = whole_number(content, "updates"), whole_number(content, "lost")
        construction = self._construction(tuning, total_weight, total_error, bought)
        current, count = construction.initial(), 0
        if hypothesis is None and self.begins == GROUPS:
            raise FileFormatError("a session that started from groups needs its first hypothesis")
        if hypothesis is not None:
            count, data = unpack_hypothesis(hypothesis, self._owner)
            current = type(current).from_bytes(data, self.universe)
        for query, update in since:
            asked = self._asked(query)
            if asked is None:
                raise FileFormatError("the record has a correction by a query without coefficients")
            taken = cast(Any, asked.query)
            current = construction.update(current, taken, update.sign, update.value)
            count += 1
        if count != updates:
            raise FileFormatError(f"the state has seen {updates} updates, its hypothesis {count}")
        return OnlineState(
            owner=self._owner,
            tuning=tuning,
            total_weight=total_weight,
            total_error=total_error,
            current=current,
            noise=None if secret is None else self._noise(secret, updates, lost),
            queries=whole_number(content, "queries"),
            updates=updates,
            lost=lost,
            halted=content.get("halted") is not False,
            norm_bound=bought,
        )

    def _noise(self, secret: bytes, updates: int, lost: int) -> Secret | None:
        content = unpack(secret, "secret", self._owner)
        if (content.get("updates"), content.get("lost")) != (updates, lost):
            raise FileFormatError("the secret and the public part are of different states")
        noise = content.get("noise")
        if noise is None:
            return None
        if not isinstance(noise, list) or not all(type(number) is int for number in noise):
            raise FileFormatError("the secret part of the state is damaged")
        return tuple(noise)

    def _construction(
        self, tuning: Tuning, total_weight: float, total_error: float, bought: float | None
    ) -> Learned:
        return knowing(self.learner, bought).construction(
            alpha=tuning.alpha * self._spread, total_weight=total_weight, total_error=total_error
        )


def _careful(update_bound: UpdateBound) -> UpdateBound:
    """B, very large where the construction says that no tolerance so small is possible."""

    def bound(alpha: float) -> float:
        try:
            return min(1e300, update_bound(alpha))
        except ParameterError:
            return 1e300

    return bound


def _why_stopped(state: OnlineState) -> str:
    if state.halted:
        return (
            "the session has used all its updates and gives no more guaranteed answers; start"
            " another one, or ask for answers without guarantee"
        )
    return "the session has given all the answers that it promised; start another one"
