"""Define what enters the benchmark: private graphs, answers to cuts, or partitions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, final

from graphcuts_dp.arrays import BoolVector, FloatMatrix, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, change_of_one_pair
from graphcuts_dp.schema.groups import Groups

Kind = Literal["undirected", "directed", "bipartite"]
# (S, T), masks of the rows and columns -> the cut's estimated weight
Answers = Callable[[BoolVector, BoolVector], float]
SparseMatrix: TypeAlias = Any  # a scipy sparse array


@final
@dataclass(frozen=True, eq=False)
class Clustering:
    """A partition of the vertices, handed in without a graph.

    Attributes:
        codes: the part of each vertex, integers >= 0, shape (n,).
    """

    codes: IntVector


Estimate: TypeAlias = AnyGraph | FloatMatrix | SparseMatrix | Answers | Clustering


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Submission:
    """The result that a method hands in for one private graph.

    Attributes:
        estimate: a graph on the same vertices; or a matrix of weights, dense or sparse, shape
            (n, n) and symmetric but for a directed graph, or (n_left, n_right), entries of any
            sign; or a function that answers the cut of two masks; or a `Clustering`.
        guarantee: what the method claims.
    """

    estimate: Estimate
    guarantee: PrivacyGuarantee


class Method(Protocol):
    """A private method. It reads the graph and draws its own noise."""

    def __call__(
        self,
        graph: AnyGraph,
        *,
        epsilon: float,
        delta: float,
        groups: Groups | None,
        seed: int | None,
    ) -> Submission:
        """Spend epsilon and delta on a graph.

        Args:
            graph: the private graph; its vertices, kind and maximum weight are public.
            epsilon: to spend, > 0.
            delta: to spend at most, in [0, 1); methods of pure privacy leave it alone.
            groups: public groups of the vertices, where the case has some; else None.
            seed: makes the run repeatable and voids the guarantee.

        Raises:
            GraphError: a graph that the method does not take, or of one vertex.
            ParameterError: epsilon, delta or seed out of range, or weights without a public bound.
        """
        ...


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Contender:
    """A method with what the benchmark must know of it.

    Attributes:
        name: shown and typed.
        method: see `Method`.
        source: the paper, or "this package".
        kinds: of graphs that it takes.
        weights: whether it takes weights (within the graph's public bound).
        unbounded_weights: whether it takes weights without a public bound, too, where neighbours
            differ by at most 1 in one weight.
        most_vertices: on larger graphs it is not run.
        needs_groups: whether it is run only where there are public groups, and uses them.
        needs_delta: whether it has no pure guarantee.
        claim_holds: whether what it claims is true as far as is known. If not it is run, and
            marked and ranked apart.
        note: where it departs from the paper, what the public code gets wrong; plain sentences.
    """

    name: str
    method: Method
    source: str
    kinds: frozenset[Kind] = frozenset({"undirected"})
    weights: bool = False
    unbounded_weights: bool = False
    most_vertices: int = 2_000
    needs_groups: bool = False
    needs_delta: bool = False
    claim_holds: bool = True
    note: str = ""


def hidden(graph: AnyGraph) -> str:
    """Return the change that edge-level privacy hides in a graph of this schema."""
    return change_of_one_pair(
        weighted=graph.weighted,
        max_weight=graph.max_weight,
        directed=isinstance(graph, DirectedGraph),
    )
