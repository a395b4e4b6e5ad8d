"""Private distinguishers: the interface, and those by the exponential mechanism.

A distinguisher finds a query on which a graph and a hypothesis differ. `Exponential` searches a
public list. `ExactCuts` searches all cuts between disjoint sets of up to 22 vertices, exactly.

The score of a cut is a sum over its pairs, so that for a fixed S the vertices of T are independent:
with r_j = sum_{i in S} R_ij, sum_T e^(c r(S,T)) = prod_{j not in S} (1 + e^(c r_j)). `CutSampler`
computes that product for all 2^n sets S, draws S by it, and adds each vertex j outside S to T with
probability e^(c r_j)/(1 + e^(c r_j)). Floats only propose: see `privacy.choices.Choice`.

Source: GRU12 Definition 7.1; DR14 section 5.2 (private distinguishers).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Protocol, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.query_lists import EDGES, CutList, QuestionList, Scoring
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.options import check_positive
from graphcuts_dp.privacy.choices import Choice, exponential_choice
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.inversion import happens
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe

MOST_VERTICES = 22  # of `ExactCuts`: 2^22 products, both signs: 64 MiB
_CHUNK_BITS = 10  # products of 2^10 sets are computed together
_FLOAT_ERROR = 2.0**-40  # above the error of e^x/(1 + e^x) in floats


@final
@dataclass(frozen=True, kw_only=True)
class ProposedQuery:
    """The query that a distinguisher found. Public.

    Attributes:
        query: a query of its class.
        sign: +1 if the true answer is probably above the hypothesis's, -1 if below; None if the
            distinguisher does not estimate it.
    """

    query: Question
    sign: Sign | None


class Search(Protocol):
    """A distinguisher on one graph, with what it counted or measured at the start."""

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:
        """Return a query on which the graph and a hypothesis differ by nearly as much as on any.

        Args:
            hypothesis: over the distinguisher's universe; computed from noisy answers only.
            source: where the noise comes from.

        Guarantee: costs `Distinguisher.call`; with probability 1 - gamma the signed gap,
        sign (q(G) - q(h)), or its size where there is no sign, is within
        `Distinguisher.shortfall(gamma)` of the largest |gap| of the class.
        """


@final
@dataclass(frozen=True, eq=False, repr=False)
class GraphSearch:
    """A search by functions of what was counted or measured, which its repr does not show.

    Attributes:
        find: see `Search.find`.
        prove: (hypothesis, source) -> a bound on the error of the hypothesis on any query of the
            class, in weight, at the cost that `Distinguisher.setup` states; None if there is none.
    """

    find: Callable[[Hypothesis, EntropySource], ProposedQuery]
    prove: Callable[[Hypothesis, EntropySource], float] | None = None


class Distinguisher(Protocol):
    """A way to find queries with a large error, at a budget. All its parameters are public.

    A distinguisher of your own goes to `gc.Learning(distinguisher=InTurn(universe, cuts))`, the
    `construction` of `release_iteratively`. Privacy rests on `setup` and `call` being its true
    costs; this one reads nothing::

        @dataclass
        class InTurn:
            universe: Universe
            cuts: list[CutQuery]
            name: str = "in-turn"
            setup = call = None
            usual_shortfall: float = math.inf

            def shortfall(self, gamma):
                return math.inf  # nothing is proven of what it finds

            def with_rho(self, rho, *, rounds):
                return self

            def with_epsilon(self, epsilon, *, rounds):
                return self

            def begin(self, graph, source):
                return self

            def find(self, hypothesis, source):
                self.cuts = [*self.cuts[1:], self.cuts[0]]
                return ProposedQuery(query=self.cuts[-1], sign=None)
    """

    @property
    def name(self) -> str:
        """The name of the distinguisher, as it is typed."""

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""

    @property
    def setup(self) -> Cost | None:
        """The cost of `begin`, once; None if it draws no noise."""

    @property
    def call(self) -> Cost | None:
        """The cost of each `Search.find`; None if it reads only what `begin` has measured."""

    def shortfall(self, gamma: float) -> float:
        """Return F, a bound on how far the gap of the found query is below the largest gap.

        Args:
            gamma: probability that the bound fails, in (0, 1): for each call, or for all calls
                together if `call` is None.
        """

    @property
    def usual_shortfall(self) -> float:
        """About the usual F: measured, not proven. Only the choice of rounds rests on it."""

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """Return the same distinguisher with a budget for `begin` and `rounds` calls together.

        Args:
            rho: zCDP budget of all of them, above 0.
            rounds: number of calls, at least 1.
        """

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """Return the same distinguisher with a pure budget for `begin` and `rounds` calls together.

        Args:
            epsilon: of all of them, exact, above 0.
            rounds: number of calls, at least 1.

        Raises:
            ParameterError: no pure bound is proven for it.
        """

    def begin(self, graph: AnyGraph, source: EntropySource) -> Search:
        """Return a search of a private graph.

        Args:
            graph: the private graph.
            source: where the noise comes from.

        Raises:
            ParameterError: a graph that is not over `universe`.
        """


@dataclass(frozen=True, kw_only=True)
class ChargedByCall:
    """Base of distinguishers by the exponential mechanism, which are charged by the call.

    Attributes:
        epsilon: of one call, exact, > 0.
        grid: of the graph.
    """

    epsilon: Fraction
    grid: Grid = EDGES
    setup: ClassVar[None] = None  # the start draws no noise

    @cached_property
    def scoring(self) -> Scoring:
        """The scores of gaps."""
        universe: Universe = self.universe  # type: ignore[attr-defined]  # of subclasses
        return Scoring(universe, self.grid)

    @property
    def call(self) -> Cost:
        """The cost of a call: epsilon-DP, with a loss of range epsilon, hence epsilon^2/8-zCDP.

        Source: Cesar, Rogers, *Bounding, Concentrating, and Truncating*, 2021, Lemma 3.2.
        """
        rho = rounded_up(self.epsilon**2 / 8)
        return Cost(epsilon=rounded_up(self.epsilon), rho=rho, pure=self.epsilon)

    @property
    def usual_shortfall(self) -> float:
        """See `Distinguisher.usual_shortfall`: 1/c, in weight."""
        return self.scoring.unit / float(self.scoring.rate(self.epsilon))

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`: a call has epsilon sqrt(8 rho/rounds)."""
        return replace(self, epsilon=root_at_most(Fraction(rho) * 8 / rounds))

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """See `Distinguisher.with_epsilon`: a call has epsilon/rounds."""
        return replace(self, epsilon=Fraction(epsilon) / rounds)


@final
@dataclass(frozen=True, kw_only=True)
class Exponential(ChargedByCall):
    """Find a query of a list by its gap; see `Scoring` for the scores, and for their rate c.

    Args:
        queries: the public list.
        epsilon: of one call, exact, > 0.
        grid: of the graph.

    Guarantee, for one call: epsilon-DP, see `Scoring.rate`; epsilon^2/8-zCDP.
        Counting is exact; its time depends on the number of edges.

    Raises:
        ParameterError: a number out of range.

    Source: McSherry, Talwar 2007 (DR14 Theorems 3.10, 3.11 and 5.5; Nik17 has the exponent
    inverted).
    """

    queries: CutList | QuestionList

    name = "exponential"

    def __post_init__(self) -> None:
        self.scoring.rate(self.epsilon)

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    def shortfall(self, gamma: float) -> float:
        """Return ln(2 k/gamma)/c for k queries, and a sub-step for rounding, in weight."""
        rate = float(self.scoring.rate(self.epsilon))
        substeps = math.log(2 * len(self.queries) / gamma) / rate
        return (substeps * (1 + 1e-12) + 1) * self.scoring.unit

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:  # noqa: ARG002
        """Count all queries of the list once. Draws no noise.

        Raises:
            ParameterError: a graph over other vertices, or of another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        return GraphSearch(partial(self._find, self.queries.true_scores(graph, self.scoring)))

    def _find(
        self, counts: IntVector, hypothesis: Hypothesis, source: EntropySource
    ) -> ProposedQuery:
        """Draw a query by its gap; the counts are private."""
        gaps = counts - self.scoring.in_substeps(self.queries.answers(hypothesis))
        rate = self.scoring.rate(self.epsilon)
        index = exponential_choice(np.concatenate([gaps, -gaps]), rate, source)
        query = self.queries[index % len(counts)]
        return ProposedQuery(query=query, sign=1 if index < len(counts) else -1)


@final
@dataclass(frozen=True, kw_only=True)
class ExactCuts(ChargedByCall):
    """Find a cut by its gap among all cuts between disjoint S and T; S left, T right if bipartite.

    P(S, T) is proportional to e^(c score), exactly; each cut counts as (S, T) and as (T, S), which
    are two cuts in a directed graph. The sign is drawn along with S.

    Args:
        universe: up to 22 vertices; of a bipartite one, on its smaller side.
        epsilon: of one call, exact, > 0.
        grid: of the graph.

    Guarantee: epsilon-DP and epsilon^2/8-zCDP for a call: see `Scoring.rate`.

    Raises:
        ParameterError: too many vertices, or a number out of range.

    Source: GRU12 Definition 7.1; McSherry, Talwar 2007.
    """

    universe: Universe

    name = "exact-cuts"

    def __post_init__(self) -> None:
        if min(self.universe.shape) > MOST_VERTICES or not self.universe.size:
            raise ParameterError(
                f"exact-cuts goes through all sets of vertices: up to {MOST_VERTICES} of them; use"
                " another distinguisher"
            )
        self.scoring.rate(self.epsilon)

    def shortfall(self, gamma: float) -> float:
        """Return (n ln 3 + ln(1/gamma))/c, and a sub-step a pair for rounding, in weight.

        c = epsilon/2. Of the 3^n pairs of sets, twice that with signs, two have the largest |gap|.
        Directed: one has, so another ln 2 for the sign. Bipartite: (n1 + n2) ln 2, and another
        ln 2 for the sign.
        """
        left, right = self.universe.shape
        outcomes = (left + right) * math.log(2) if self.universe.bipartite else left * math.log(3)
        if not self.universe.symmetric:
            outcomes += math.log(2)
        substeps = (outcomes - math.log(gamma)) / float(self.scoring.rate(self.epsilon))
        return (substeps * (1 + 1e-12) + self.universe.disjoint_norm_squared) * self.scoring.unit

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:  # noqa: ARG002
        """Count the weights of all pairs. Draws no noise.

        Raises:
            ParameterError: a graph over other vertices, or of another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        return GraphSearch(partial(self._find, self.pair_scores(graph)))

    def pair_scores(self, graph: AnyGraph) -> IntMatrix:
        """Return the weights in sub-steps, a matrix over the universe. Private."""
        matrix = np.zeros(self.universe.shape, dtype=np.int64)
        units = self.grid.steps(graph.weights) if graph.weighted else 1
        matrix[graph.rows, graph.columns] = units * self.scoring.substeps
        return matrix + matrix.T if self.universe.symmetric else matrix

    def _find(
        self, counts: IntMatrix, hypothesis: Hypothesis, source: EntropySource
    ) -> ProposedQuery:
        """Draw a cut by its gap; the counts of all pairs are private."""
        gaps = counts - self.scoring.in_substeps(written_out(hypothesis, self.universe))
        rate = self.scoring.rate(self.epsilon)
        cuts = CutSampler(gaps, rate, bipartite=self.universe.bipartite)
        S, T, sign = cuts.draw(source)
        return ProposedQuery(query=CutQuery(S, T), sign=sign)


@final
class CutSampler:
    """Draw pairs of sets, and a sign, with probability proportional to e^(rate score), exactly.

    Args:
        gaps: R in sub-steps, shape (n, n), or (n1, n2); the sum of all |R_ij| below 2^62. Of an
            undirected graph it is symmetric.
        rate: c, > 0.
        bipartite: whether S are rows and T columns; else both are disjoint sets of vertices.

    Cost: 2^n steps once, n the number of rows, or the smaller number if bipartite; O(n) a draw.
    """

    def __init__(self, gaps: IntMatrix, rate: Fraction, *, bipartite: bool) -> None:
        self._transposed = bipartite and gaps.shape[1] < gaps.shape[0]
        self._gaps = np.ascontiguousarray(gaps.T if self._transposed else gaps)
        self._rate = rate
        self._disjoint = not bipartite
        self._n = len(self._gaps)
        logs = np.concatenate(
            [np.concatenate(chunks) for chunks in zip(*self._log_sums(), strict=True)]
        )
        # The error of a term c r_j is 2^-51 of its size; of log, exp and the sum, 2^-50 a term.
        size = float(rate) * float(np.abs(self._gaps).sum(axis=0, dtype=np.float64).sum())
        error = (size + self._gaps.shape[1] + 1) * 2.0**-49 + 2.0**-45
        self._choice = Choice(logs, error, self._exact_log_sum)

    def __repr__(self) -> str:
        return "CutSampler()"

    def draw(self, source: EntropySource) -> tuple[BoolVector, BoolVector, Sign]:
        """Draw the truth vectors of S and T, and the sign."""
        S, sign = self._first_set(self._choice.draw(source))
        T = self._second_set(S, sign, source)
        return (T, S, sign) if self._transposed else (S, T, sign)

    def _log_sums(self) -> Iterator[tuple[FloatVector, FloatVector]]:
        """Yield logarithms of the sums over T for chunks of sets S, an array for each sign."""
        low = min(self._n, _CHUNK_BITS)
        inside = (np.arange(1 << low)[:, None] >> np.arange(low) & 1).astype(np.float64)
        c = float(self._rate)
        terms_low = inside @ self._gaps[:low].astype(np.float64) * c
        ones = np.ones(self._gaps.shape[1])
        for high in range(1 << (self._n - low)):
            chosen = (high >> np.arange(self._n - low) & 1).astype(np.bool_)
            terms = terms_low + self._gaps[low:][chosen].sum(axis=0) * c
            surplus: FloatVector | float = 0.0
            if self._disjoint:  # terms of vertices in S are 0 here, and each adds ln 2 too much
                terms[:, :low] *= 1 - inside
                terms[:, low:] *= ~chosen
                surplus = (inside.sum(axis=1) + chosen.sum()) * math.log(2)
            # ln(1 + e^x) = x/2 + |x|/2 + ln(1 + e^-|x|), of which the sign changes x/2 alone.
            sizes = np.abs(terms)
            even_sum = sizes @ ones / 2 + _log_products(np.exp(-sizes) + 1) - surplus
            odd_sum = terms @ ones / 2
            yield even_sum + odd_sum, even_sum - odd_sum

    def _exact_log_sum(self, index: int) -> Decimal:
        """Return the logarithm of the sum over T for one set S and sign, to all digits."""
        S, sign = self._first_set(index)
        total = Decimal(0)
        for r in self._sums(S)[self._outside(S)].tolist():
            total += (1 + self._power(sign * r).exp()).ln()
        return total

    def _first_set(self, index: int) -> tuple[BoolVector, Sign]:
        """Return the set S and the sign of an index: a bit for each vertex, then the sign."""
        sign: Sign = -1 if index >> self._n else 1
        S: BoolVector = (index >> np.arange(self._n) & 1).astype(np.bool_)
        return S, sign

    def _sums(self, S: BoolVector) -> IntVector:
        """Return r_j for each vertex j."""
        sums: IntVector = self._gaps[S].sum(axis=0)
        return sums

    def _outside(self, S: BoolVector) -> npt.NDArray[np.intp]:
        """Return the vertices that may be in T."""
        return np.flatnonzero(~S) if self._disjoint else np.arange(self._gaps.shape[1])

    def _second_set(self, S: BoolVector, sign: Sign, source: EntropySource) -> BoolVector:
        """Draw T for a set S and a sign; floats decide only where they are certain to be right."""
        T = np.zeros(self._gaps.shape[1], dtype=np.bool_)
        free = self._outside(S)
        if not len(free):
            return T
        sums = sign * self._sums(S)[free]
        words = source.bytes(8 * len(free)).view(np.uint64)
        shares = 1 / (1 + np.exp(np.clip(-sums * float(self._rate), -700, 700)))
        uniform = words * 2.0**-64
        inside = uniform < shares
        for i in np.flatnonzero(np.abs(uniform - shares) < _FLOAT_ERROR):
            r = int(sums[i])
            inside[i] = happens(partial(self._share, r), source, prefix=int(words[i]), bits=64)
        T[free] = inside
        return T

    def _power(self, r: int) -> Decimal:
        """Return c r, to all digits."""
        return r * Decimal(self._rate.numerator) / Decimal(self._rate.denominator)

    def _share(self, r: int) -> Decimal:
        """Return e^(c r)/(1 + e^(c r)), to all digits."""
        power = self._power(r)
        if power > 0:
            return 1 / (1 + (-power).exp())
        exponential = power.exp()
        return exponential / (1 + exponential)


def written_out(hypothesis: Hypothesis, universe: Universe) -> FloatMatrix:
    """Return the matrix of a hypothesis.

    Raises:
        HypothesisError: it is over another universe, or no matrix (the median's).
    """
    if hypothesis.universe != universe:
        raise HypothesisError("the hypothesis is over another universe than the distinguisher")
    dense = getattr(hypothesis, "dense", None)
    if dense is None:
        raise HypothesisError(
            "this distinguisher needs a hypothesis that is a matrix; use the distinguisher"
            " 'exponential'"
        )
    matrix: FloatMatrix = dense()
    return matrix


def checked_graph(graph: AnyGraph, universe: Universe, grid: Grid | None = None) -> None:
    """Check a private graph against what a distinguisher was made for; reads the schema only.

    Raises:
        ParameterError: other vertices, or weights that are counted on another grid.
    """
    if universe.space != graph.space:
        raise ParameterError("the graph has other vertices than the distinguisher")
    if grid is not None and Grid.of(graph) != grid:
        raise ParameterError("the graph's weights are counted on another grid: use Grid.of")


def root_at_most(number: float | Fraction) -> Fraction:
    """Return a fraction of few digits, at most the square root of a number > 0.

    Raises:
        ParameterError: a number out of range.
    """
    check_positive(budget=float(number))
    bits = max(0, 60 - math.frexp(float(number))[1])
    return Fraction(math.isqrt(math.floor(Fraction(number) * 4**bits)), 2**bits)


def _log_products(factors: npt.NDArray[np.float64]) -> FloatVector:
    """Return the logarithms of the products of rows of numbers in [1, 2]."""
    total = np.zeros(len(factors))
    for start in range(0, factors.shape[1], 512):  # 2^512 is a float
        total += np.log(factors[:, start : start + 512].prod(axis=1))
    return total
