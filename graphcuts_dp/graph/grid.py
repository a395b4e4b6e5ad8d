"""How true answers are counted: in whole steps, so that noise can be integer and exact."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.graph.bounded_sums import LARGEST_TOTAL, bounded_cut, bounded_total, vertices_of
from graphcuts_dp.pairs.layout import most_weight
from graphcuts_dp.pairs.queries import CutQuery

_STEP_BITS = 30  # a weight at the cap has 2^30 to 2^31 steps
_LARGEST_STEPS = 2**52  # of one weight; a float holds every integer up to it


@final
@dataclass(frozen=True)
class Grid:
    """Cut values in whole steps of a public unit.

    Weights are rounded down to the grid one by one. That keeps the sensitivity: if a weight grows
    by at most `sensitivity` steps, so does its rounded value, since floor(a + s) = floor(a) + s for
    whole s and floor is monotone. Weights above 2^52 steps are cut to that, which moves no two of
    them apart; neither is refused, because a refusal would tell about the data.

    Attributes:
        unit: weight of one step, a power of two; 1 for graphs without weights.
        sensitivity: by how many steps the count of any cut can differ between neighbours; a cut
            query counts each pair once, with coefficient 0 or 1, so this is also by how much one
            pair can differ, and all cuts differ in the same direction (they are monotone).
        cap: public largest weight; None when there is none.
        bounded: None where a cut is the weight that crosses it, and neighbours differ in one pair.
            Else whether the graph has weights: what is counted is the bounded cut f_D of
            `bounded_cuts`, with D = `sensitivity` steps, and neighbours differ in the edges at one
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
        largest = graph.weight_cap or 1.0
        unit = 2.0 ** (math.floor(math.log2(largest)) - _STEP_BITS)
        # Division by a power of two is exact.
        return cls(unit, math.ceil(largest / unit), graph.weight_cap)

    @classmethod
    def of_vertices(
        cls,
        graph: AnyGraph,
        degree_bound: float,
        *,
        bits: int = _STEP_BITS,
        whole: bool = False,
        cells: int = 1,
    ) -> "Grid":
        """The grid of bounded cuts, which hide all edges of a vertex. Reads the schema only.

        Args:
            graph: the private graph. Its weights need no cap.
            degree_bound: D, what the edges of a vertex may weigh together; a whole number for a
                graph without weights.
            bits: D has 2^bits to 2^(bits+1) steps, in graphs with weights; fewer where sums of all
                vertices would not fit.
            whole: weights are rounded down to whole numbers instead.
            cells: in how many sums at once a vertex can have edges, see `bounded_cells`.

        Raises:
            ParameterError: D is not positive, finite or, without weights, whole; or below 1 if
                weights are counted in whole numbers; or too large for that.
        """
        degree_bound = checked_bound(degree_bound, weighted=graph.weighted)
        most = most_degree(graph)
        bound = degree_bound if most is None else min(degree_bound, most)
        if not graph.weighted:
            return cls(1.0, max(1, int(bound)), 1.0, bounded=False)
        most_steps = LARGEST_TOTAL / (vertices_of(graph) * cells)
        spare = math.log2(most_steps)
        bits = min(bits, math.floor(spare) - 1)
        unit = 1.0 if whole else 2.0 ** (math.floor(math.log2(bound)) - bits)
        if not 1 <= bound / unit <= most_steps:
            raise ParameterError(
                "weights in whole numbers need a degree_bound of at least 1, and"
                " small enough to be counted exactly"
            )
        return cls(unit, math.floor(bound / unit), graph.weight_cap, bounded=True)

    def fits(self, graph: AnyGraph) -> bool:
        """Whether answers about a graph of this schema are counted like this."""
        if self.bounded is None:
            return Grid.of(graph) == self
        return self.bounded is graph.weighted and self.cap == graph.weight_cap

    def count(self, query: CutQuery, graph: AnyGraph) -> int:
        """The true answer in steps, exactly; of a bounded grid the bounded cut. Private.

        Raises:
            QueryError: a query that does not fit the graph.
        """
        if self.bounded is not None:
            S, T = query.masks(graph)
            return bounded_cut(graph, S, T, bound=self.sensitivity, steps=self.edge_steps(graph))
        if not graph.weighted:
            return int(query.value(graph))
        S, T = query.masks(graph)
        rows, columns = graph.rows, graph.columns
        inside = S[rows] & T[columns]
        if isinstance(graph, Graph):
            inside |= T[rows] & S[columns]
        # Two halves: a sum of 64-bit integers could overflow.
        high, low = np.divmod(self.steps(graph.weights[inside]), 1 << 32)
        return (int(high.sum()) << 32) + int(low.sum())

    def edge_steps(self, graph: AnyGraph) -> npt.NDArray[np.int64] | None:
        """The weight of each edge in steps; None where every edge is one step. Private."""
        return self.steps(graph.weights) if graph.weighted else None

    def steps(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Weights in whole steps, rounded down one by one, at most 2^52 each. Private."""
        with np.errstate(over="ignore"):  # a warning would tell of a huge weight
            found: npt.NDArray[np.float64] = np.minimum(
                np.floor(weights / self.unit), _LARGEST_STEPS
            )
        return found.astype(np.int64)

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


def checked_bound(degree_bound: float, *, weighted: bool) -> float:
    """A bound on the weight of the edges of a vertex, checked.

    Raises:
        ParameterError: not positive, not finite, or not a whole number for a graph without weights.
    """
    number = isinstance(degree_bound, int | float) and not isinstance(degree_bound, bool)
    if not number or not 0 < degree_bound < math.inf:
        raise ParameterError("degree_bound must be a positive, finite number, for example 50")
    if not weighted and degree_bound != int(degree_bound):
        raise ParameterError("degree_bound of a graph without weights is a whole number of edges")
    return degree_bound


def most_degree(graph: AnyGraph) -> float | None:
    """What the edges of one vertex can weigh at most; None without a cap. Reads the schema only."""
    if isinstance(graph, BipartiteGraph):
        others = max(graph.shape)
    else:
        others = (graph.shape[0] - 1) * (1 if isinstance(graph, Graph) else 2)
    return None if graph.weight_cap is None else most_weight(others, graph.weight_cap)
