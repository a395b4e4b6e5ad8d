"""Count true answers in whole grid units, so that noise can be integer and exact.

A "step" in the names of this module is one grid unit.

The value of a cut is the weight that crosses it, or the bounded cut, for guarantees for all edges
of a vertex. Read `Grid` first; `doubled_sums` computes bounded cuts.

The bounded cut. Let q count the weights w_e of some edges E_q of a graph, each once: those that
cross a cut, lie in a cell between groups, or all. For a bound D let

    f_D(q) = max sum of x_e over e in E_q, with 0 <= x_e <= w_e and, at every vertex v,
             sum of x_e over the edges e in E_q at v <= D.

Of a directed graph the edges at v are the arcs that leave it and those that enter it, together: D
bounds the sum of both. Of a bipartite graph v is a vertex of either side.

By Theorem "Bounded cuts", f_D(q) changes by at most D between graphs that differ in the edges at
one vertex, for every q at once, and this holds for what is counted here: weights are counted in
whole grid units, rounded down one by one, D is a whole number of units, and f_D is rounded down
where it is a half (2 f_D is whole, see `doubled_sums`). If public numbers say that v can have no
more than d of weight in E_q, then min(D, d) takes the place of D. f_D(q) is never above the true
value, and equal to it if no vertex has more than D of weight within E_q.

Source: Kasiviswanathan, Nissim, Raskhodnikova, Smith, *Analyzing Graphs with Node Differential
Privacy*, TCC 2013, section 4 (the number of edges); here for any set of edges, and with weights.

The largest sum of x_e is that of a fractional b-matching, which `doubled_sums` finds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.schema.value_bounds import most_weight

Endpoints = tuple[IntVector, IntVector]  # numbers of the vertices of edges, first and second
DIGIT_BITS = 30  # bits of a digit of a count: sums of 2^32 digits fit into 64 bits
LARGEST_TOTAL = 2**52  # the most steps that the bounds of all vertices add up to: exact in floats
_STEP_BITS = 30  # the largest weight has 2^30 to 2^31 steps
_LARGEST_STEPS = 2**52  # the most steps of one weight that is one number: exact in floats
_OPEN_DIGITS = 3  # digits of weights without a maximum: 90 bits
_LARGEST_INT = 2**31 - 1  # the largest capacity of scipy's flow solver, which has 32-bit integers


@final
@dataclass(frozen=True)
class Grid:
    """A public unit, and how values of cuts are counted in whole steps of it.

    Weights are rounded down to the grid one by one. That keeps the sensitivity: if a weight grows
    by at most `sensitivity` steps, so does its rounded value, since floor(a + s) = floor(a) + s for
    whole s and floor is monotone. Nothing is refused here, because a refusal would depend on the
    data, and nothing is clipped: the largest weight is public, the maximum or
    `edge_store.LARGEST_OPEN`, and so is the number of digits that count it exactly (`digits_of`):
    2^40 has 2^70 steps in a session. Without a maximum, the unit suits the change of a weight by 1
    that neighbours differ by, not the largest weight, so noise does not grow with the weights.

    Attributes:
        unit: weight of one step, a power of two; 1 for graphs without weights.
        sensitivity: steps by which the count of any cut can differ between neighbours. A cut
            query counts each pair once, with coefficient 0 or 1, so one pair differs by no more,
            and all cuts differ in the same direction (they are monotone).
        cap: public maximum of a weight; None if absent.
        bounded: None if a cut is the weight that crosses it, and neighbours differ in one pair. If
            it is a truth value, cuts are bounded cuts f_D, see the module, with D = `sensitivity`
            steps, and neighbours differ in the edges at one vertex; True for graphs with weights,
            False for graphs without.
    """

    unit: float = 1.0
    sensitivity: int = 1
    cap: float | None = 1.0
    bounded: bool | None = None

    @property
    def weighted(self) -> bool:
        """True if edges have weights; for grids of `Grid.of` and `Grid.of_vertices`."""
        if self.bounded is not None:
            return self.bounded
        # Both are 1 for graphs without weights; `of` gives weights 2^30 steps or more.
        return self.unit != 1 or self.sensitivity != 1

    @property
    def largest(self) -> int:
        """The number of steps of the maximum weight; 1 without weights.

        If weights have no maximum, it is the number of steps of a change by 1, or on a grid of
        bounded cuts 1.
        """
        if self.bounded is None:
            return self.sensitivity
        return math.ceil((self.cap or self.unit) / self.unit)

    @classmethod
    def of(cls, graph: AnyGraph) -> "Grid":
        """Return the grid that suits a graph. It depends on `weighted` and `max_weight` alone.

        Raises:
            ParameterError: weights without a public bound, see `Graph.check_bounded`.
        """
        graph.check_bounded()
        if not graph.weighted:
            return cls()
        largest = graph.max_weight or 1.0
        unit = 2.0 ** (math.floor(math.log2(largest)) - _STEP_BITS)
        # Division by a power of two is exact.
        return cls(unit, math.ceil(largest / unit), graph.max_weight)

    @classmethod
    def of_vertices(
        cls,
        graph: AnyGraph,
        max_degree: float,
        *,
        bits: int = _STEP_BITS,
        whole: bool = False,
        cells: int = 1,
    ) -> "Grid":
        """Return the grid of bounded cuts, for all edges of a vertex. Reads the schema only.

        Args:
            graph: the private graph. Its weights need no maximum.
            max_degree: D, the weight of the edges of a vertex that counts; a whole number for a
                graph without weights.
            bits: D has 2^bits to 2^(bits+1) steps, in graphs with weights; fewer if the bounds of
                all vertices would add up to more than `LARGEST_TOTAL`.
            whole: True to round weights down to whole numbers instead.
            cells: largest number of cells that edges of one vertex lie in, see `measure.cells`: in
                each of them the vertex has a bound of its own.

        Raises:
            ParameterError: D is not positive, finite or, without weights, whole; or below 1 if
                weights are counted in whole numbers; or too large for that.
        """
        bound = check_degree_bound(max_degree, weighted=graph.weighted)
        largest_degree = largest_possible_degree(graph)
        if largest_degree is not None:
            bound = min(bound, largest_degree)
        if not graph.weighted:
            return cls(1.0, max(1, int(bound)), 1.0, bounded=False)
        most_steps = LARGEST_TOTAL / (vertex_count(graph) * cells)
        bits = min(bits, math.floor(math.log2(most_steps)) - 1)
        unit = 1.0 if whole else 2.0 ** (math.floor(math.log2(bound)) - bits)
        if not 1 <= bound / unit <= most_steps:
            raise ParameterError(
                "weights in whole numbers need a max_degree of at least 1, and"
                " small enough to be counted exactly"
            )
        return cls(unit, math.floor(bound / unit), graph.max_weight, bounded=True)

    def fits(self, graph: AnyGraph) -> bool:
        """Return whether answers about a graph of this schema are counted on this grid."""
        if self.bounded is None:
            return Grid.of(graph) == self
        return self.bounded is graph.weighted and self.cap == graph.max_weight

    def count(self, query: CutQuery, graph: AnyGraph) -> int:
        """Return the true answer in steps, exactly; of a bounded grid the bounded cut. Private.

        Raises:
            QueryError: a query that does not fit the graph.
        """
        # Only the sets are taken from the query, so that no method of a subclass reads the graph.
        S, T = query.masks(graph.space)
        if self.bounded is not None:
            return bounded_cut(graph, S, T, bound=self.sensitivity, steps=self.edge_steps(graph))
        if not graph.weighted:
            return int(CutQuery(S, T).value(graph))
        rows, columns = graph.rows, graph.columns
        inside = S[rows] & T[columns]
        if isinstance(graph, Graph):
            inside |= T[rows] & S[columns]
        return total_of_digits(self.digits_of(graph.weights[inside]))

    def edge_steps(self, graph: AnyGraph) -> npt.NDArray[np.int64] | None:
        """Return the weight of each edge in steps; None where every edge is one step. Private."""
        return self.steps(graph.weights) if graph.weighted else None

    def steps(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return weights in whole steps, rounded down one by one, at most 2^52 each. Private.

        It clips no weight that counts. A maximum has at most 2^31 steps (`Grid.of`); in bounded
        cuts no edge counts more than D < 2^52; weights without a maximum need `digits_of`.
        """
        return whole_steps(weights, self.unit, _LARGEST_STEPS)

    @property
    def digits(self) -> int:
        """Number of digits of a weight in `digits_of`, from the schema."""
        if self.cap is None:
            return _OPEN_DIGITS
        bits = math.ceil(self.cap / self.unit).bit_length()
        return max(1, math.ceil(bits / DIGIT_BITS))

    def digits_of(self, weights: npt.NDArray[np.float64]) -> list[npt.NDArray[np.int64]]:
        """Return weights in whole steps, exactly: digits of 30 bits, the lowest first. Private.

        The number of digits is `digits`, whatever the weights are. Sums of each digit over 2^32
        edges fit into 64 bits.

        Sensitivity: the digits of a weight add up to floor(weight / unit), as in `steps`.
        """
        # Division by a power of two is exact, and so are the operations on whole floats below.
        remaining = np.floor(weights / self.unit)
        low_digits = []
        for _ in range(self.digits - 1):
            high = np.floor(remaining * 2.0**-DIGIT_BITS)
            low_digits.append((remaining - high * 2.0**DIGIT_BITS).astype(np.int64))
            remaining = high
        return [*low_digits, remaining.astype(np.int64)]

    def total(self, graph: AnyGraph) -> int:
        """Return the total weight in steps, exactly: the cut between all and all. Private."""
        if self.bounded is not None:
            return bounded_total(graph, bound=self.sensitivity, steps=self.edge_steps(graph))
        if not graph.weighted:
            return len(graph.rows)
        all_rows, all_columns = (np.ones(size, dtype=np.bool_) for size in graph.shape)
        return self.count(CutQuery(all_rows, all_columns), graph)

    def rounding(self, pairs: int) -> float:
        """Return the most weight by which rounding lowers a cut of that many pairs.

        In a bounded cut, each pair loses at most one step, and the cut itself is rounded down.
        """
        lost_steps = pairs + 1 if self.bounded else pairs
        return lost_steps * self.unit if self.weighted else 0.0

    def most(self, pairs: int) -> float:
        """Return the largest possible weight of a cut of that many pairs."""
        return most_weight(pairs, self.cap)


def total_of_digits(digits: Sequence[npt.NDArray[np.int64]]) -> int:
    """Return the sum of the numbers that have these digits, exactly. Private if they are.

    Args:
        digits: the lowest digit of each number, then the next digit of each, see `Grid.digits_of`.
    """
    return sum(int(digit.sum()) << (DIGIT_BITS * power) for power, digit in enumerate(digits))


def joined_digits(digits: Sequence[IntVector]) -> IntVector:
    """Return the whole numbers that have these digits; for numbers that may be published.

    Digits may be of any size and sign, the lowest first. Numbers are 64-bit integers if all of them
    are below 2^61 in size, else integers of Python: the type reveals no more than the numbers do.
    """
    sizes = sum(digit * 2.0 ** (DIGIT_BITS * power) for power, digit in enumerate(digits))
    if np.abs(sizes).max(initial=0) >= 2.0**61:
        digits = [digit.astype(object) for digit in digits]
    elif len(digits) > 3:
        # Digit p >= 3 stands for a multiple of 2^90, which is 0 modulo 2^64. The numbers fit into
        # 64 bits, so their value modulo 2^64 is exact.
        digits = [digit if power < 3 else digit * 0 for power, digit in enumerate(digits)]
    numbers = digits[0]
    for power, digit in enumerate(digits[1:], start=1):
        numbers = numbers + (digit << (DIGIT_BITS * power))  # overflow is exact modulo 2^64
    return numbers


def whole_steps(weights: npt.NDArray[np.float64], unit: float, most: int) -> IntVector:
    """Return weights in whole steps, rounded down one by one, at most `most` each. Private.

    Sensitivity: if a weight grows by at most s steps, so does its count: floor(a + s) =
    floor(a) + s for whole s, floor is monotone, and min(x, b) moves no two numbers apart.
    """
    with np.errstate(over="ignore"):  # a warning would reveal a huge weight
        steps: npt.NDArray[np.float64] = np.minimum(np.floor(weights / unit), most)
    return steps.astype(np.int64)


def check_degree_bound(max_degree: float, *, weighted: bool) -> float:
    """Check and return a bound on the weight of the edges of a vertex.

    Raises:
        ParameterError: not positive, not finite, or not a whole number for a graph without weights.
    """
    is_number = isinstance(max_degree, int | float) and not isinstance(max_degree, bool)
    if not is_number or not 0 < max_degree < math.inf:
        raise ParameterError("max_degree must be a positive, finite number, for example 50")
    if not weighted and max_degree != int(max_degree):
        raise ParameterError("max_degree of a graph without weights is a whole number of edges")
    return max_degree


def largest_possible_degree(graph: AnyGraph) -> float | None:
    """Return the largest possible weight of the edges of one vertex; None without a maximum weight.

    Reads the schema only. The edges of a vertex of a directed graph are the arcs from it and to it.
    """
    if graph.max_weight is None:
        return None
    if isinstance(graph, BipartiteGraph):
        pairs = max(graph.shape)
    else:
        pairs = (graph.shape[0] - 1) * (1 if isinstance(graph, Graph) else 2)
    return most_weight(pairs, graph.max_weight)


def bounded_cut(
    graph: AnyGraph, S: BoolVector, T: BoolVector, *, bound: int, steps: IntVector | None = None
) -> int:
    """Return f_D of the edges between S and T, each once, rounded down. Private.

    Args:
        graph: the private graph.
        S: truth vector over the vertices (left ones, tails of arcs).
        T: truth vector over the vertices (right ones, heads of arcs).
        bound: D in steps; times the number of vertices at most 2^52.
        steps: weight of each edge of the graph in whole steps; None where each is one step.

    Guarantee: between graphs that differ in the edges at one vertex, however many, f_D differs by
    at most `bound`; see the module.
    """
    rows, columns = graph.rows, graph.columns
    counted = S[rows] & T[columns]
    two_sided = isinstance(graph, BipartiteGraph) or not (S & T).any()
    if isinstance(graph, Graph):
        is_reversed = T[rows] & S[columns]
        counted |= is_reversed
        if two_sided:  # the first endpoint is the one in S
            rows, columns = (
                np.where(is_reversed, columns, rows),
                np.where(is_reversed, rows, columns),
            )
    first, second = endpoints_of(graph, rows[counted], columns[counted])
    edges = BoundedEdges(
        first,
        second,
        None if steps is None else steps[counted],
        vertices=vertex_count(graph),
        two_sided=two_sided,
    )
    return int(doubled_sums(edges, bound)[0]) // 2


def bounded_total(graph: AnyGraph, *, bound: int, steps: IntVector | None = None) -> int:
    """Return f_D of all edges, rounded down. Private; with the guarantee of `bounded_cut`."""
    left, right = (np.ones(size, dtype=np.bool_) for size in graph.shape)
    return bounded_cut(graph, left, right, bound=bound, steps=steps)


def endpoints_of(graph: AnyGraph, rows: IntegerVector, columns: IntegerVector) -> Endpoints:
    """Return the numbers of the endpoints of edges; right vertices come after all left ones."""
    first, second = rows.astype(np.int64), columns.astype(np.int64)
    return first, second + graph.shape[0] if isinstance(graph, BipartiteGraph) else second


def vertex_count(graph: AnyGraph) -> int:
    """Return the number of vertices, of both sides together. Public."""
    return sum(graph.shape) if isinstance(graph, BipartiteGraph) else graph.shape[0]


@final
@dataclass(frozen=True, eq=False)
class BoundedEdges:
    """The edges of several sums f_D that share no vertex. Private.

    Attributes:
        first: one endpoint of each edge, numbers of vertices in 0..vertices-1, shape (edges,).
        second: the other endpoint of each edge.
        weights: whole numbers > 0, or None where all are 1.
        vertices: number of vertices.
        sum_index: index of the sum that each vertex belongs to, shape (vertices,); None if there is
            only one sum.
        sum_count: number of sums.
        two_sided: whether no vertex is the first endpoint of one edge and the second of another.
    """

    first: IntVector
    second: IntVector
    weights: IntVector | None
    vertices: int
    sum_index: IntVector | None = None
    sum_count: int = 1
    two_sided: bool = False


def doubled_sums(edges: BoundedEdges, bound: int) -> IntVector:
    """Return 2 f_D of each sum, exactly, shape (sum_count,); it is a whole number.

    Method. A vertex is free if its edges weigh no more than its bound, so that its constraint never
    binds.

    1. Edges between two free vertices keep all their weight.
    2. Edges between a free vertex and one that is not are filled next, up to the bound of the
       latter. Some optimum does so: such an edge uses the bound of one vertex, an edge between two
       vertices that are not free uses two. If an optimum does otherwise, move a little from one of
       the latter edges to one of the former at the same vertex, which changes no sum and breaks no
       bound.
    3. Edges between vertices that are not free remain, with what remains of the bounds. Some of
       these vertices are free now: go to step 1.
    4. Once no vertex is free, the maximum flow through the bipartite double cover is 2 f_D:
       source -> left copy of each vertex (its bound) -> right copies of its neighbours (w_e) ->
       sink (their bounds). For x_e sent along both arcs of an edge is a flow of twice the sum of
       x_e; conversely, half of the flow along both arcs of each edge is an x of half its value, in
       which a vertex keeps half of the flow through its two copies, at most its bound. If the edges
       are two-sided, one of the two halves of the double cover is enough.

    Args:
        edges: of all sums.
        bound: D >= 0 in steps, with D times the number of vertices at most 2^52. If all weights are
            1 it may be larger, since a vertex that reaches step 4 has a bound below its degree.

    Cost: a pass over the edges for each round, and a maximum flow on the remaining ones, which are
    few unless the bound is far below most degrees.
    """
    first, second = edges.first, edges.second
    remaining = np.full(edges.vertices, bound, dtype=np.int64)
    weights = np.ones(len(first), np.int64) if edges.weights is None else edges.weights
    weights = np.minimum(weights, bound)
    sums = np.zeros(edges.sum_count, dtype=np.int64)
    while len(first):
        degrees = _vertex_sums(first, weights, edges.vertices)
        degrees += _vertex_sums(second, weights, edges.vertices)
        free = degrees <= remaining
        free_first, free_second = free[first], free[second]
        one_free = free_first != free_second
        both_free = free_first & free_second
        if not (one_free.any() or both_free.any()):
            break
        kept_weight = _vertex_sums(first[both_free], weights[both_free], edges.vertices)
        bounded_endpoint = np.where(free_first, second, first)[one_free]
        offered = _vertex_sums(bounded_endpoint, weights[one_free], edges.vertices)
        accepted = np.minimum(offered, remaining)
        remaining -= accepted
        sums += _sums_of_vertices(edges, kept_weight + accepted)
        # Edges between vertices that are not free, which may still count.
        is_open = ~(free_first | free_second) & (remaining[first] > 0) & (remaining[second] > 0)
        first, second, weights = first[is_open], second[is_open], weights[is_open]
        weights = np.minimum(weights, np.minimum(remaining[first], remaining[second]))
    sums *= 2
    if len(first):
        flows = _double_cover_flows(first, second, weights, remaining, edges.two_sided)
        sums += _sums_of_vertices(edges, flows)
    return sums


def _vertex_sums(endpoints: IntVector, weights: IntVector, vertices: int) -> IntVector:
    """Return the sum of weights at each vertex; exact, since sums stay below 2^52."""
    return np.bincount(endpoints, weights=weights, minlength=vertices).astype(np.int64)


def _sums_of_vertices(edges: BoundedEdges, values: IntVector) -> IntVector:
    """Return for each sum the total of the values of its vertices."""
    if edges.sum_index is None:
        return np.array([values.sum()], dtype=np.int64)
    sums = np.bincount(edges.sum_index, weights=values, minlength=edges.sum_count)
    return sums.astype(np.int64)


def _double_cover_flows(
    first: IntVector, second: IntVector, weights: IntVector, bounds: IntVector, two_sided: bool
) -> IntVector:
    """Return the maximum flow of the double cover through the left copy of each vertex.

    Shape (vertices,); doubled if the edges are two-sided, of which one half is solved.
    """
    if not two_sided:
        first, second = np.concatenate([first, second]), np.concatenate([second, first])
        weights = np.concatenate([weights, weights])
    tails, first = np.unique(first, return_inverse=True)
    heads, second = np.unique(second, return_inverse=True)
    supply, demand = bounds[tails], bounds[heads]
    # Arcs of the network: from the source (0), along the edges, to the sink (the last node).
    size = len(supply) + len(demand) + 2
    source, sink = 0, size - 1
    left_copies = np.arange(1, len(supply) + 1)
    right_copies = np.arange(len(supply) + 1, sink)
    arc_tails = np.concatenate(
        [np.full_like(left_copies, source), left_copies[first], right_copies]
    )
    arc_heads = np.concatenate(
        [left_copies, right_copies[second], np.full_like(right_copies, sink)]
    )
    capacities = np.concatenate([supply, weights, demand])
    if min(int(supply.sum()), int(demand.sum())) <= _LARGEST_INT:
        # Building the matrix adds up the capacities of parallel arcs.
        network = sp.csr_array((capacities, (arc_tails, arc_heads)), shape=(size, size))
        network.data = np.minimum(network.data, _LARGEST_INT).astype(np.int32)
        flow_matrix = maximum_flow(network, source, sink).flow
        sent = flow_matrix[[source], 1 : 1 + len(supply)].toarray()[0]
    else:  # a slower solver that counts in floats, which hold whole numbers up to 2^53
        import igraph  # loads slowly, and is seldom needed here

        large = igraph.Graph(n=size, edges=np.column_stack([arc_tails, arc_heads]), directed=True)
        flow = large.maxflow(source, sink, capacity=capacities.astype(np.float64).tolist()).flow
        sent = np.array(flow[: len(supply)]).round()
    flows = np.zeros_like(bounds)
    flows[tails] = sent.astype(np.int64) * (2 if two_sided else 1)
    return flows
