"""How true answers are counted: in whole steps, so that noise can be integer and exact.

A cut is the weight that crosses it, or the bounded cut, which hides all edges of a vertex.

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

How it is found: the largest sum of x_e is a fractional b-matching, see `doubled_sums`.
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

_STEP_BITS = 30  # a weight at the cap has 2^30 to 2^31 steps
_LARGEST_STEPS = 2**52  # of one weight, where it is one number of 64 bits; floats hold it exactly


@final
@dataclass(frozen=True)
class Grid:
    """Cut values in whole steps of a public unit.

    Weights are rounded down to the grid one by one. That keeps the sensitivity: if a weight grows
    by at most `sensitivity` steps, so does its rounded value, since floor(a + s) = floor(a) + s for
    whole s and floor is monotone. Nothing is refused here, because a refusal would tell about the
    data, and nothing is cut: the largest weight is public, the cap or `edge_store.LARGEST_OPEN`,
    and so is how many digits count it exactly (`digits_of`): 2^40 has 2^70 steps in a session.
    Without a cap a step suits the change by 1 that is hidden, not the largest weight, so the noise
    does not grow with it.

    Attributes:
        unit: weight of one step, a power of two; 1 for graphs without weights.
        sensitivity: by how many steps the count of any cut can differ between neighbours; a cut
            query counts each pair once, with coefficient 0 or 1, so this is also by how much one
            pair can differ, and all cuts differ in the same direction (they are monotone).
        cap: public largest weight; None when there is none.
        bounded: None where a cut is the weight that crosses it, and neighbours differ in one pair.
            Else whether the graph has weights: what is counted is the bounded cut f_D of
            this module, with D = `sensitivity` steps, and neighbours differ in the edges at one
            vertex.
    """

    unit: float = 1.0
    sensitivity: int = 1
    cap: float | None = 1.0
    bounded: bool | None = None

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        if self.bounded is not None:
            return self.bounded
        return self.unit != 1 or self.sensitivity != 1

    @property
    def largest(self) -> int:
        """How many steps one pair can weigh, at the cap; 1 without weights, or without a cap."""
        if self.bounded is None:
            return self.sensitivity
        return math.ceil((self.cap or self.unit) / self.unit)

    @classmethod
    def of(cls, graph: AnyGraph) -> "Grid":
        """The grid that suits a graph. Reads its schema (weighted or not, the cap) only.

        Raises:
            ParameterError: weights whose bound nobody has given, see `Graph.check_bounded`.
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
        """The grid of bounded cuts, which hide all edges of a vertex. Reads the schema only.

        Args:
            graph: the private graph. Its weights need no cap.
            max_degree: D, what the edges of a vertex may weigh together; a whole number for a
                graph without weights.
            bits: D has 2^bits to 2^(bits+1) steps, in graphs with weights; fewer where sums of all
                vertices would not fit.
            whole: weights are rounded down to whole numbers instead.
            cells: in how many sums at once a vertex can have edges, see `measure.cells`.

        Raises:
            ParameterError: D is not positive, finite or, without weights, whole; or below 1 if
                weights are counted in whole numbers; or too large for that.
        """
        max_degree = checked_bound(max_degree, weighted=graph.weighted)
        most = most_degree(graph)
        bound = max_degree if most is None else min(max_degree, most)
        if not graph.weighted:
            return cls(1.0, max(1, int(bound)), 1.0, bounded=False)
        most_steps = LARGEST_TOTAL / (vertices_of(graph) * cells)
        spare = math.log2(most_steps)
        bits = min(bits, math.floor(spare) - 1)
        unit = 1.0 if whole else 2.0 ** (math.floor(math.log2(bound)) - bits)
        if not 1 <= bound / unit <= most_steps:
            raise ParameterError(
                "weights in whole numbers need a max_degree of at least 1, and"
                " small enough to be counted exactly"
            )
        return cls(unit, math.floor(bound / unit), graph.max_weight, bounded=True)

    def fits(self, graph: AnyGraph) -> bool:
        """Whether answers about a graph of this schema are counted like this."""
        if self.bounded is None:
            return Grid.of(graph) == self
        return self.bounded is graph.weighted and self.cap == graph.max_weight

    def count(self, query: CutQuery, graph: AnyGraph) -> int:
        """The true answer in steps, exactly; of a bounded grid the bounded cut. Private.

        Raises:
            QueryError: a query that does not fit the graph.
        """
        # The sets are read from the public vertices, and a subclass counts nothing by itself.
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
        """The weight of each edge in steps; None where every edge is one step. Private."""
        return self.steps(graph.weights) if graph.weighted else None

    def steps(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Weights in whole steps, rounded down one by one, at most 2^52 each. Private.

        Where there is a cap nothing is cut: `Grid.of` gives it 2^31 steps at most. Of bounded cuts
        nobody has more than D, which is less. Others count by `digits_of`.
        """
        return whole_steps(weights, self.unit, _LARGEST_STEPS)

    @property
    def digits(self) -> int:
        """How many digits `digits_of` counts a weight in, from the schema."""
        if self.cap is None:
            return _OPEN_DIGITS
        return max(1, -(-(math.ceil(self.cap / self.unit).bit_length()) // DIGIT_BITS))

    def digits_of(self, weights: npt.NDArray[np.float64]) -> list[npt.NDArray[np.int64]]:
        """Weights in whole steps, exactly: digits of 30 bits each, the lowest first. Private.

        So many as `digits` says, whatever weights there are; sums of each digit over 2^32 edges
        fit into 64 bits. Sensitivity: the steps, which they add up to, are those of `steps`.
        """
        # Division by a power of two is exact, and so is what follows in whole floats.
        left = np.floor(weights / self.unit)
        found = []
        for _ in range(self.digits - 1):
            high = np.floor(left * 2.0**-DIGIT_BITS)
            found.append((left - high * 2.0**DIGIT_BITS).astype(np.int64))
            left = high
        return [*found, left.astype(np.int64)]

    def total(self, graph: AnyGraph) -> int:
        """The total weight in steps, exactly: the cut between all vertices and all. Private."""
        if self.bounded is not None:
            return bounded_total(graph, bound=self.sensitivity, steps=self.edge_steps(graph))
        if not graph.weighted:
            return len(graph.rows)
        everywhere = [np.ones(size, dtype=np.bool_) for size in graph.shape]
        return self.count(CutQuery(*everywhere), graph)

    def rounding(self, pairs: int) -> float:
        """By how much rounding can lower a cut of so many pairs.

        A bounded cut of weights rounded down keeps all but a step of what each pair kept, and is
        rounded down itself.
        """
        if self.bounded:
            pairs += 1
        return pairs * self.unit if self.weighted else 0.0

    def most(self, pairs: int) -> float:
        """What a cut of so many pairs can weigh at most."""
        return most_weight(pairs, self.cap)


DIGIT_BITS = 30  # of a digit of a count
_OPEN_DIGITS = 3  # of weights without a cap: 90 bits


def total_of_digits(digits: Sequence[npt.NDArray[np.int64]]) -> int:
    """The sum of numbers of which these are the digits, exactly. Private if they are."""
    return sum(int(each.sum()) << (DIGIT_BITS * place) for place, each in enumerate(digits))


def joined_digits(digits: Sequence[IntVector]) -> IntVector:
    """Whole numbers of their digits, which may be of any size; for numbers that may be published.

    In 64 bits if all of them are below 2^62 in size, else Python's integers: how they are kept
    tells no more than they do.
    """
    sizes = sum(each * 2.0 ** (DIGIT_BITS * place) for place, each in enumerate(digits))
    if np.abs(sizes).max(initial=0) >= 2.0**61:
        digits = [each.astype(object) for each in digits]
    elif len(digits) > 3:  # higher ones are 0, or -1 with others that make up for it
        digits = [each if place < 3 else each * 0 for place, each in enumerate(digits)]
    found = digits[0]
    for place, each in enumerate(digits[1:], start=1):
        found = found + (each << (DIGIT_BITS * place))  # exact modulo 2^64, hence exact
    return found


def whole_steps(weights: npt.NDArray[np.float64], unit: float, most: int) -> IntVector:
    """Weights in whole steps, rounded down one by one, at most `most` each. Private.

    Sensitivity: if a weight grows by at most s steps, so does what is counted: floor(a + s) =
    floor(a) + s for whole s, floor is monotone, and min(x, b) moves no two numbers apart.
    """
    with np.errstate(over="ignore"):  # a warning would tell of a huge weight
        steps: npt.NDArray[np.float64] = np.minimum(np.floor(weights / unit), most)
    return steps.astype(np.int64)


def checked_bound(max_degree: float, *, weighted: bool) -> float:
    """A bound on the weight of the edges of a vertex, checked.

    Raises:
        ParameterError: not positive, not finite, or not a whole number for a graph without weights.
    """
    number = isinstance(max_degree, int | float) and not isinstance(max_degree, bool)
    if not number or not 0 < max_degree < math.inf:
        raise ParameterError("max_degree must be a positive, finite number, for example 50")
    if not weighted and max_degree != int(max_degree):
        raise ParameterError("max_degree of a graph without weights is a whole number of edges")
    return max_degree


def most_degree(graph: AnyGraph) -> float | None:
    """What the edges of one vertex can weigh at most; None without a cap. Reads the schema only."""
    if isinstance(graph, BipartiteGraph):
        others = max(graph.shape)
    else:
        others = (graph.shape[0] - 1) * (1 if isinstance(graph, Graph) else 2)
    return None if graph.max_weight is None else most_weight(others, graph.max_weight)


Ends = tuple[IntVector, IntVector]


def bounded_cut(
    graph: AnyGraph, S: BoolVector, T: BoolVector, *, bound: int, steps: IntVector | None = None
) -> int:
    """f_D of the edges with one end in S and the other in T, each once, rounded down. Private.

    Args:
        graph: the private graph.
        S: truth vector over the vertices (left ones, tails of arcs).
        T: likewise (right ones, heads of arcs).
        bound: D in steps; times the number of vertices at most 2^52.
        steps: weight of each edge of the graph in whole steps; None where each is one step.

    Guarantee: between graphs that differ in the edges at one vertex, however many, it differs by at
    most `bound`; see the module.
    """
    rows, columns = graph.rows, graph.columns
    counted = S[rows] & T[columns]
    two_sided = isinstance(graph, BipartiteGraph) or not (S & T).any()
    if isinstance(graph, Graph):
        turned = T[rows] & S[columns]
        counted |= turned
        if two_sided:  # the first end is the one in S
            rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
    first, second = ends_of(graph, rows[counted], columns[counted])
    edges = BoundedEdges(
        first,
        second,
        None if steps is None else steps[counted],
        vertices=vertices_of(graph),
        two_sided=two_sided,
    )
    return int(doubled_sums(edges, bound)[0]) // 2


def bounded_total(graph: AnyGraph, *, bound: int, steps: IntVector | None = None) -> int:
    """f_D of all edges, rounded down. Private; as `bounded_cut`, with the same guarantee."""
    left, right = (np.ones(size, dtype=np.bool_) for size in graph.shape)
    return bounded_cut(graph, left, right, bound=bound, steps=steps)


def ends_of(graph: AnyGraph, rows: IntegerVector, columns: IntegerVector) -> Ends:
    """Numbers of the vertices at both ends of edges; right ones of a bipartite graph come last."""
    first, second = rows.astype(np.int64), columns.astype(np.int64)
    return first, second + graph.shape[0] if isinstance(graph, BipartiteGraph) else second


def vertices_of(graph: AnyGraph) -> int:
    """How many vertices there are, on both sides together. Public."""
    return sum(graph.shape) if isinstance(graph, BipartiteGraph) else graph.shape[0]


LARGEST_TOTAL = (
    2**52
)  # of the bounds of all vertices together: floats hold every whole number below
_LARGEST_INT = 2**31 - 1  # what the first of the two flow solvers counts in


@final
@dataclass(frozen=True, eq=False)
class BoundedEdges:
    """Edges of several problems that share no vertex. Private.

    Attributes:
        first: one end of each edge, numbers of vertices in 0..vertices-1, shape (edges,).
        second: the other end, likewise.
        weights: whole numbers > 0, or None where all are 1.
        vertices: how many there are.
        part: the problem that each vertex belongs to, shape (vertices,); None if there is only one.
        parts: how many problems there are.
        two_sided: whether no vertex is the first end of one edge and the second of another.
    """

    first: IntVector
    second: IntVector
    weights: IntVector | None
    vertices: int
    part: IntVector | None = None
    parts: int = 1
    two_sided: bool = False


def doubled_sums(edges: BoundedEdges, bound: int) -> IntVector:
    """Twice the largest sum of each problem, exactly, shape (parts,): twice it is a whole number.

    Method. A vertex is free if its edges weigh no more than its bound: whatever they keep, it never
    refuses. Edges between two free vertices keep all. An edge between a free vertex and another one
    uses the bound of one vertex only, where an edge between two that are not free uses two; so some
    best solution fills the former first: if it does not, move a little from one of the latter at
    the same vertex to one of the former, which changes no sum and breaks no bound. What is left are
    the edges between vertices that are not free, with what is left of their bounds; some of these
    vertices are free now, and so on. Where no vertex is free any more, the maximum flow through the
    bipartite double cover is twice the sum: source -> left copy of each vertex (its bound) -> right
    copies of its neighbours (w_e) -> sink (their bounds). For x_e sent along both arcs of an edge
    is a flow of twice the sum; and half of what a flow sends along both arcs is an x of half its
    value, in which a vertex keeps half of what passes its two copies, at most its bound. If the
    edges are two-sided, one of the two halves of the double cover is enough.

    Args:
        edges: of all problems.
        bound: c >= 0, with c times the number of vertices at most 2^52; where all weights are 1,
            any: what reaches the flow has bounds below degrees.

    Cost: a pass over the edges for each round, and a maximum flow on what is left, which is little
    unless the bound is far below most degrees.
    """
    first, second = edges.first, edges.second
    left = np.full(edges.vertices, bound, dtype=np.int64)
    weights = np.ones(len(first), np.int64) if edges.weights is None else edges.weights
    weights = np.minimum(weights, bound)
    sums = np.zeros(edges.parts, dtype=np.int64)
    while len(first):
        degrees = _at(first, weights, left) + _at(second, weights, left)
        free = degrees <= left
        free_first, free_second = free[first], free[second]
        one = free_first != free_second
        both = free_first & free_second
        if not (one.any() or both.any()):
            break
        kept = _at(first[both], weights[both], left)
        full = np.where(free_first, second, first)[one]
        taken = np.minimum(_at(full, weights[one], left), left)
        left -= taken
        sums += _by_part(edges, kept + taken)
        open_ = ~(free_first | free_second) & (left[first] > 0) & (left[second] > 0)
        first, second, weights = first[open_], second[open_], weights[open_]
        weights = np.minimum(weights, np.minimum(left[first], left[second]))
    sums *= 2
    if len(first):
        sums += _by_part(edges, _flows(first, second, weights, left, edges.two_sided))
    return sums


def _at(ends: IntVector, weights: IntVector, like: IntVector) -> IntVector:
    """Sums of weights at each vertex; exact, since they stay below 2^52."""
    return np.bincount(ends, weights=weights, minlength=len(like)).astype(np.int64)


def _by_part(edges: BoundedEdges, values: IntVector) -> IntVector:
    """Sums of what vertices have, for each problem."""
    if edges.part is None:
        return np.array([values.sum()], dtype=np.int64)
    return np.bincount(edges.part, weights=values, minlength=edges.parts).astype(np.int64)


def _flows(
    first: IntVector, second: IntVector, weights: IntVector, left: IntVector, two_sided: bool
) -> IntVector:
    """What a maximum flow through the double cover sends through the copies of each vertex.

    Shape (vertices,): of the left copy; doubled if the edges are two-sided.
    """
    if not two_sided:
        first, second = np.concatenate([first, second]), np.concatenate([second, first])
        weights = np.concatenate([weights, weights])
    tails, first = np.unique(first, return_inverse=True)
    heads, second = np.unique(second, return_inverse=True)
    supply, demand = left[tails], left[heads]
    # Arcs of the network: from the source (0), along the edges, to the sink (the last node).
    size = len(supply) + len(demand) + 2
    out, into = np.arange(1, len(supply) + 1), np.arange(len(supply) + 1, size - 1)
    begin = np.concatenate([np.zeros_like(out), out[first], into])
    end = np.concatenate([out, into[second], np.full_like(into, size - 1)])
    amounts = np.concatenate([supply, weights, demand])
    if min(int(supply.sum()), int(demand.sum())) <= _LARGEST_INT:
        network = sp.csr_array((amounts, (begin, end)), shape=(size, size))  # adds up parallel arcs
        network.data = np.minimum(network.data, _LARGEST_INT).astype(np.int32)
        sent = maximum_flow(network, 0, size - 1).flow[[0], 1 : 1 + len(supply)].toarray()[0]
    else:  # a slower solver, which counts in floats, which hold whole numbers up to 2^53
        import igraph  # loads slowly, and is seldom needed here

        large = igraph.Graph(n=size, edges=np.column_stack([begin, end]), directed=True)
        flow = large.maxflow(0, size - 1, capacity=amounts.astype(np.float64).tolist()).flow
        sent = np.array(flow[: len(supply)]).round()
    found = np.zeros_like(left)
    found[tails] = sent.astype(np.int64) * (2 if two_sided else 1)
    return found
