"""Methods without a hypothesis: fresh noise on each answer, or randomised response at the start."""

import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from graphcuts_dp.array_archive import read_arrays
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ExhaustedError, FileFormatError, ParameterError, QueryError
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.former_names import current
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import checked_guarantee
from graphcuts_dp.learn.forecasts import (
    all_cuts_radius,
    fixed_cuts_radius,
    noise_on_each,
    radius_of_each,
)
from graphcuts_dp.learn.learners import check_disjoint
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.ledger.plain_values import APART
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.privacy.composition import (
    Cost,
    stated_cost,
)
from graphcuts_dp.privacy.count_noise import ValueNoise, count_noise
from graphcuts_dp.privacy.distributions import BinaryResponse
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.queries.coefficients import CoefficientGrid, Extent
from graphcuts_dp.queries.graph_queries import Question, require_linear
from graphcuts_dp.queries.linear import CutQuery, RankOneQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.base import (
    NO_ANSWERS_LEFT,
    Answer,
    CutMechanism,
    Update,
    check_graph,
    zero_answer,
)
from graphcuts_dp.session.counts import QueryCount

_HEADER_BYTES = 1 << 16  # of a stored noisy matrix, beside 64 bits for each pair


@dataclass(frozen=True)
class CountState:
    """State of `PerQueryNoise`: the number of answers so far. Nothing is secret.

    Attributes:
        limit: number of guaranteed answers.
        queries: number of answers so far, interrupted ones included.
    """

    limit: int
    queries: int = 0

    @property
    def stopped(self) -> bool:
        """See `State.stopped`."""
        return self.queries >= self.limit


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class ResponseState(CountState):
    """State of `BinaryAnswers`: also has the noisy matrix, which is public."""

    matrix: NoisyMatrix = field(repr=False, metadata=APART)
    seeded: bool


@final
@dataclass(frozen=True, kw_only=True)
class PerQueryNoise(CutMechanism[CountState]):
    """Answer k queries, each with independent noise.

    Guarantee. A cut query has sensitivity s = `steps` times `grid.sensitivity`, exactly; and so has
    a statistic of the whole graph, divided by its own sensitivity (see `GraphQuery`). "laplace":
    each answer has discrete Laplace noise of rate epsilon/(k s) in exact fractions, so it is
    (epsilon/k)-DP, and k of them are epsilon-DP. "gaussian": discrete Gaussian noise whose scale is
    s times `discrete_gaussian_scale`, proven (epsilon, delta)-private for k adaptive queries of
    change s, and k/(2 discrete_gaussian_scale^2)-zCDP. A smaller change d loses less, because half
    lines are the events of the largest loss, and P(X >= a) - e^epsilon P(X >= a + d) grows with d.
    There are at most k answers. Each interval fails with probability at most beta/k, whatever the
    query and all other noise, so all of them hold with probability 1 - beta.

    Attributes:
        distribution: "gaussian" or "laplace".
        universe: the public vertex pairs.
        grid: how true answers are counted.
        epsilon: in [1e-6, 50].
        delta: in (0, 1) for "gaussian", 0 for "laplace".
        queries: k >= 1.
        beta: in (0, 1).
        steps: group size: the number of changes of the grid's neighbours that the guarantee covers
            together, see `PrivacyUnit`; the noise is scaled to that many times the sensitivity.

    Raises:
        ParameterError: a number out of range.
    """

    distribution: str
    universe: Universe
    grid: Grid
    epsilon: float
    queries: int
    delta: float = 0.0
    beta: float = DEFAULT_FAILURE
    steps: int = 1

    state = CountState

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        # Any delta in (0, 1) passes the check, if noise without delta is chosen.
        checked_guarantee(self.queries, self.epsilon, self.delta or 0.5, self.beta)
        if count_noise(self.distribution).pure is (self.delta > 0):
            raise ParameterError("gaussian noise needs delta > 0; laplace noise is for delta = 0")

    @property
    def name(self) -> str:  # type: ignore[override]  # the distribution is the method
        """The name of the method: that of the distribution."""
        return self.distribution

    @property
    def _sensitivity(self) -> int:
        """The largest change of an answer, in grid units."""
        return self.grid.sensitivity * self.steps

    @cached_property
    def noise(self) -> ValueNoise:
        """The noise on each answer, in grid units."""
        return noise_on_each(
            self.distribution,
            epsilon=self.epsilon,
            delta=self.delta,
            queries=self.queries,
            sensitivity=self._sensitivity,
        )

    @cached_property
    def linear_noise(self) -> ValueNoise:
        """The noise on answers to other queries than cuts, in `CoefficientGrid` and grid units."""
        kind = count_noise(self.distribution)
        sensitivity = self._sensitivity
        # Changes are (sum of absolute changes, sum of squared changes), here of one answer.
        change = sensitivity, sensitivity**2
        finer_sensitivity = sensitivity * CoefficientGrid.max_units
        finer_change = finer_sensitivity, finer_sensitivity**2
        loss = kind.loss(self.noise.parameter, change)
        return ValueNoise(self.distribution, kind.parameter(loss, finer_change))

    @cached_property
    def cost(self) -> Cost:
        """See `SessionMechanism.cost`: of k answers with `noise`, at most (epsilon, delta)."""
        cost = count_noise(self.distribution).cost_of_answers(
            self.noise.parameter,
            epsilon=self.epsilon,
            delta=self.delta,
            queries=self.queries,
            sensitivity=self._sensitivity,
        )
        stated_cost(cost, epsilon=self.epsilon, delta=self.delta)
        return replace(cost, epsilon=self.epsilon, delta=self.delta)

    @cached_property
    def _radius(self) -> int:
        """Bound on the noise of answers to cuts and statistics, in grid units."""
        return radius_of_each(self.noise, queries=self.queries, beta=self.beta)

    @cached_property
    def _linear_radius(self) -> int:
        """Bound on the noise of answers to other queries, in the units of `linear_noise`."""
        return radius_of_each(self.linear_noise, queries=self.queries, beta=self.beta)

    def expected_error(self, total_weight: float) -> float:  # noqa: ARG002
        """See `CutMechanism.expected_error`: the same for all graphs."""
        return self._radius * self.grid.unit + self.grid.rounding(self.universe.size)

    def start(self, graph: AnyGraph, source: EntropySource) -> CountState:  # noqa: ARG002
        """See `SessionMechanism.start`: nothing is read."""
        check_graph(graph, self.universe, self.grid)
        return CountState(self.queries)

    def check(self, state: CountState, query: Question) -> None:
        """See `SessionMechanism.check`: every query is answered; on a bounded grid cuts alone."""
        if state.stopped:
            raise ExhaustedError(NO_ANSWERS_LEFT)
        QueryCount.of(query, self.universe, self.grid)

    def step(
        self, state: CountState, query: Question, truth: int | None, source: EntropySource
    ) -> tuple[CountState, Answer]:
        """See `SessionMechanism.step`. A query that is 0 on all graphs is free and certain."""
        if state.stopped:
            raise ExhaustedError(NO_ANSWERS_LEFT)
        count = QueryCount.of(query, self.universe, self.grid)
        if count is None:
            return state, replace(zero_answer(), queries_left=state.limit - state.queries)
        if truth is None:
            raise ParameterError("this step needs the true answer")
        state = replace(state, queries=state.queries + 1)
        noise, noise_radius = self.noise, self._radius
        if count.coefficient_grid is not None:
            noise, noise_radius = self.linear_noise, self._linear_radius
        value = (truth + noise.draw(source)) * count.unit
        # A float may lose the last digits of a sum of units.
        radius = noise_radius * count.unit + 1e-15 * abs(value)
        return state, Answer(
            value=value,
            interval=(value - radius - count.excess, value + radius + count.deficit),
            confidence=1 - self.beta,
            queries_left=state.limit - state.queries,
            seeded=source.seed is not None,
        )

    def after_interruption(self, state: CountState, source: EntropySource) -> CountState:  # noqa: ARG002
        """See `SessionMechanism.after_interruption`: the lost answer counts as one of the k.

        Proof that enough is charged: a step draws noise for one answer, so there was at most one
        answer more than `state` counts, and that one is counted now.
        """
        return state if state.stopped else replace(state, queries=state.queries + 1)


@final
@dataclass(frozen=True, kw_only=True)
class BinaryAnswers(CutMechanism[ResponseState]):
    """Binary randomised response: `start` spends all of epsilon, answers are free.

    Guarantee: epsilon-DP; see `randomized_response`. Everything after it is post-processing. All
    answers share the same noise, so an analyst who has seen some can ask for a cut where the noise
    is large. Adaptive intervals therefore hold for all cuts at once (`all_cuts_radius`); they grow
    as n^1.5.

    Intervals of rank-one queries hold on the same event as those of cuts. Let E be the noise.
    1. Draw each vertex i into S with probability u_i and into T with v_i, independently of the
       others. As E has no diagonal, u' E v is the mean of 1_S' E 1_T: the noise on the cut (S, T),
       plus in an undirected graph the noise on the pairs within both sets. If u + v <= 1, S and T
       can be drawn disjoint.
    2. The radius r of a cut is a minimum of affine functions of its number of pairs, hence concave.
       So the mean of r(pairs) is at most r(c), where c, the mean of pairs, is the sum of the
       coefficients of the query.
    3. By the query (u/a, v/a) with a = max(u + v), which disjoint cuts have, the radius is at most
       a^2 r(c/a^2). By any cuts, in two parts, it is at most 2 r(c/2). The smaller one is used; for
       two sides, and for arcs, it is r(c).
    Other linear queries are refused: after some answers, an analyst could choose coefficients that
    follow the noise pair by pair.

    Attributes:
        universe: the public vertex pairs.
        grid: how true answers are counted; of a graph without weights.
        epsilon: in [1e-6, 50].
        queries: k >= 1.
        beta: in (0, 1).
        disjoint: only cuts with disjoint S and T are answered.
        steps: group size: the number of pairs that the guarantee covers together; `epsilon` is for
            one of them, `cost` for all.
        adaptive: whether queries may depend on earlier answers. If not, k queries share beta, and
            intervals grow as the root of the number of pairs; they do not hold for queries that
            were chosen after an answer.

    Raises:
        ParameterError: a graph with weights, or a number out of range.

    Source: GRU12 section 6 and Remark 6.4; Warner 1965.
    """

    universe: Universe
    grid: Grid
    epsilon: float
    queries: int
    beta: float = DEFAULT_FAILURE
    disjoint: bool = False
    adaptive: bool = True
    steps: int = 1

    name = "binary"
    state = ResponseState
    needs_truth = False  # the graph is read once, by `start`

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        checked_guarantee(self.queries, self.epsilon, 0.5, self.beta)
        if self.grid.weighted:
            raise ParameterError("binary noise is for graphs without weights: use method 'laplace'")

    @property
    def distribution(self) -> BinaryResponse:
        """The distribution of the noise on each pair."""
        return BinaryResponse(Fraction(self.epsilon), 1.0)

    @property
    def cost(self) -> Cost:
        """See `SessionMechanism.cost`: purely that of the distribution, for a group of changes."""
        return stated_cost(self.distribution.cost, epsilon=self.epsilon).for_group(self.steps)

    def expected_error(self, total_weight: float) -> float:  # noqa: ARG002
        """See `CutMechanism.expected_error`: the same for all graphs."""
        disjoint = self.disjoint or self.universe.bipartite
        pairs = self.universe.disjoint_norm_squared if disjoint else self.universe.size
        return self._radius(pairs, disjoint=disjoint)

    def start(self, graph: AnyGraph, source: EntropySource) -> ResponseState:
        """See `SessionMechanism.start`: draws the noisy matrix."""
        check_graph(graph, self.universe, self.grid)
        matrix = randomized_response(graph, self.distribution, source)
        return ResponseState(self.queries, matrix=matrix, seeded=source.seed is not None)

    def check(self, state: ResponseState, query: Question) -> None:
        """See `SessionMechanism.check`: cuts and rank-one queries."""
        if state.stopped:
            raise ExhaustedError(
                "the session has given all the answers that it guaranteed; ask for answers "
                "without guarantee"
            )
        query = require_linear(query)
        if isinstance(query, RankOneQuery):
            self._check_rank_one(query)
            return
        if not isinstance(query, CutQuery):
            raise QueryError(
                "method 'binary' answers cut and rank-one queries: who has seen answers can make"
                " other linear queries that follow its noise; methods 'gaussian' and 'laplace'"
                " answer every linear query"
            )
        self.universe.masks(query)
        if self.disjoint:
            check_disjoint(query, self.universe)

    def _check_rank_one(self, query: RankOneQuery) -> None:
        """Refuse rank-one queries for which no interval is proven.

        Raises:
            QueryError: queries are not adaptive, or u + v is above 1 where only disjoint cuts are
                answered.
        """
        u, v = query.vectors(self.universe.shape)
        if not self.adaptive:
            raise QueryError("intervals for fixed queries are those of cuts")
        if self.disjoint and self.universe.hollow and bool((u + v > 1).any()):
            raise QueryError(
                "only cuts with disjoint S and T were announced: u + v of a rank-one query must be"
                " at most 1; start again without disjoint=True"
            )

    def step(
        self,
        state: ResponseState,
        query: Question,
        truth: int | None,  # noqa: ARG002
        source: EntropySource,  # noqa: ARG002
    ) -> tuple[ResponseState, Answer]:
        """See `SessionMechanism.step`: no noise. A cut without pairs is 0, free and certain."""
        self.check(state, query)
        if not self._value_and_radius(state, query)[1]:
            return state, replace(zero_answer(), queries_left=state.limit - state.queries)
        state = replace(state, queries=state.queries + 1)
        return state, self._answer(state, query)

    def unguaranteed(self, state: ResponseState, query: Question) -> Answer:
        """See `SessionMechanism.unguaranteed`; an adaptive interval holds in any case."""
        return replace(self._answer(state, query), guaranteed=self.adaptive)

    def _answer(self, state: ResponseState, query: Question) -> Answer:
        """Return the answer from the noisy matrix."""
        value, radius = self._value_and_radius(state, query)
        return Answer(
            value=value,
            interval=(value - radius, value + radius),
            confidence=1 - self.beta,
            queries_left=max(0, state.limit - state.queries),
            seeded=state.seeded,
        )

    def _value_and_radius(self, state: ResponseState, query: Question) -> tuple[float, float]:
        """Return the estimate and a bound on its error; both are 0 if no pair counts."""
        if isinstance(query, RankOneQuery):
            u, v = query.vectors(self.universe.shape)
            value = float(u @ state.matrix.blocks.times(v[:, None])[:, 0])
            return value, self._rank_one_radius(query, u, v) + 1e-9 * abs(value)
        if not isinstance(query, CutQuery):
            raise QueryError("method 'binary' answers cut and rank-one queries")
        S, T = self.universe.masks(query)
        radius = self._radius(
            self.universe.pairs_between(query),
            disjoint=self.universe.bipartite or not (S & T).any(),
        )
        return state.matrix.cut_value(S, T), radius

    def _rank_one_radius(self, query: RankOneQuery, u: FloatVector, v: FloatVector) -> float:
        """Return a bound on the error of a rank-one query; see the class for the proof."""
        extent = Extent.of(query, self.universe.space)
        if not extent.largest:
            return 0.0
        mean_pairs = extent.positive  # c: the sum of the coefficients
        if self.universe.bipartite:
            return self._radius(math.ceil(mean_pairs), disjoint=True)
        largest_sum = float((u + v).max())
        a = max(largest_sum, 1.0)
        by_disjoint_cuts = a**2 * self._radius(math.ceil(mean_pairs / a**2), disjoint=True)
        if largest_sum <= 1:
            return by_disjoint_cuts
        if self.universe.directed:
            by_any_cuts = self._radius(math.ceil(mean_pairs), disjoint=False)
        else:
            by_any_cuts = 2 * self._radius(math.ceil(mean_pairs / 2), disjoint=False)
        return min(by_disjoint_cuts, by_any_cuts)

    def _radius(self, pairs: int, *, disjoint: bool) -> float:
        """Return a bound on the error of a cut with so many pairs."""
        if not self.adaptive:
            return fixed_cuts_radius(self.distribution, pairs, queries=self.queries, beta=self.beta)
        return all_cuts_radius(
            self.distribution, size_of(self.universe), pairs, beta=self.beta, disjoint=disjoint
        )

    def hypothesis_bytes(self, state: ResponseState) -> bytes:
        """See `SessionMechanism.hypothesis_bytes`: the noisy matrix, n^2/16 bytes."""
        fields, arrays = state.matrix.parts()
        fields["entropy"] = SEEDED_WARNING if state.seeded else "operating system"
        header = np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)
        handle = io.BytesIO()
        np.savez_compressed(handle, header=header, values=arrays["values"])
        return handle.getvalue()

    def restore(
        self,
        state: ResponseState,
        data: Any,  # noqa: ARG002
        hypothesis: bytes,
        updates: Sequence[tuple[Any, Update]] = (),  # noqa: ARG002
    ) -> ResponseState:
        """See `SessionMechanism.restore`."""
        limit = _HEADER_BYTES + np.dtype(np.int64).itemsize * self.universe.size
        try:
            arrays = read_arrays(io.BytesIO(hypothesis), limit=limit)
            header = current(json.loads(arrays["header"].tobytes()))
            matrix = NoisyMatrix.from_parts(header, arrays, self.universe.space)
        except Exception:  # many kinds of damage have one message
            raise FileFormatError("the noisy matrix is damaged, or of another graph") from None
        if matrix.distribution != self.distribution:
            raise FileFormatError("the noisy matrix belongs to another session")
        return replace(state, matrix=matrix)
