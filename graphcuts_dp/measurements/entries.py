"""Randomised response: the one place where a release reads the private graph."""

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.vertices import VertexSet
from graphcuts_dp.measurements.blocks import Blocks, Layout, LocalBlocks, Pairs
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    PrivacyGuarantee,
    hidden_change,
)
from graphcuts_dp.privacy.laws import NoiseLaw, noise_law

_Edges = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]
# (law, layout, the integers of each block's pairs) -> blocks
MakeBlocks = Callable[[NoiseLaw, Layout, Sequence[Pairs]], Blocks]

# Expected cut norm of a symmetric matrix of independent entries of deviation s, over s n^1.5. For
# n = 60..2000 and all three laws the largest cuts found have 0.61-0.66 and the proven upper bounds
# 0.68-0.75 (tests/theorems); in between, to err on the side of a warning.
_WORST_CUT = 0.68


def randomized_response(
    graph: AnyGraph,
    law: NoiseLaw,
    source: EntropySource,
    make_blocks: MakeBlocks = LocalBlocks.from_pairs,
) -> NoisyMatrix:
    """Hide every vertex pair on its own.

    Args:
        graph: the private graph.
        law: the noise for one entry.
        source: where the noise comes from.
        make_blocks: puts the blocks of the matrix where they shall live.

    Returns:
        The noisy matrix; its shape, type and law are public.

    Raises:
        ParameterError: the law is for another weight cap, or for graphs without weights.

    Guarantee: epsilon-DP with epsilon = `law.epsilon`, neighbours being graphs on the same
    vertices that differ in one pair (an edge; or its weight, by at most 1 or within the public
    cap). Exactly one noisy value depends on that pair, the others are independent of it, and each
    value is epsilon-DP, so the whole matrix is. Source: GRU12 section 6; Warner 1965.
    Each block of rows is drawn from a source of its own, split off `source`: independent of the
    others, and with a seed the same however many processors there are.
    Side channel: adding the edges to the noise takes time proportional to their number
    (nanoseconds each), block by block, as reading the file does.
    """
    if law.weight_cap != graph.weight_cap or (law.name == "binary" and graph.weighted):
        raise ParameterError("the law of noise does not suit the graph; make it with law_for")
    if isinstance(graph, Graph):
        left = right = graph.vertices
    else:
        left, right = graph.left, graph.right
    layout = Layout((len(left), len(right)), left is right)
    bounds = layout.bounds()
    responses = [
        _Response(law, layout, rows, _edges_of(graph, *rows), own)
        for rows, own in zip(bounds, source.split(len(bounds)), strict=True)
    ]
    return NoisyMatrix(make_blocks(law, layout, responses), left, right)


@dataclass(frozen=True)
class _Response:
    """The noisy integers of the pairs in some rows, drawn when it is called.

    Holds the private edges of these rows, and does not show them.
    """

    law: NoiseLaw
    layout: Layout
    bounds: tuple[int, int]
    edges: _Edges = field(repr=False)
    source: EntropySource

    def __call__(self) -> npt.NDArray[np.integer]:
        rows, places = (ends.astype(np.int64) for ends in self.edges[:2])
        if self.layout.symmetric:
            places -= rows + 1  # pairs i < j: row i begins with j = i + 1
        first, end = (self.layout.pairs_before(row) for row in self.bounds)
        places += self.layout.pairs_before(rows) - first
        return self.law.respond(end - first, self.edges[2], places, self.source)


def _edges_of(graph: AnyGraph, start: int, stop: int) -> _Edges:
    """Rows, columns and weights of the edges whose row lies in start..stop-1."""
    edges = slice(*np.searchsorted(graph.rows, [start, stop]))
    return graph.rows[edges], graph.columns[edges], graph.weights[edges]


def guarantee_of(
    law: NoiseLaw,
    graph: AnyGraph,
    seed: int | None,
    besides: Sequence[tuple[str, Fraction]] = (),
) -> PrivacyGuarantee:
    """What a release promises. Reads the schema of the graph only.

    Args:
        law: of the entries.
        graph: the private graph.
        seed: of the noise, or None.
        besides: name and exact epsilon of other parts of the release.
    """
    public = "the vertex set" if isinstance(graph, Graph) else "both vertex sets"
    if graph.weighted and graph.weight_cap is not None:
        public += " and the weight cap"
    spent = [*besides, ("entries", law.epsilon)]
    return PrivacyGuarantee(
        epsilon=float(sum((part for _, part in spent), Fraction(0))),
        neighbours=hidden_change(weighted=graph.weighted, weight_cap=graph.weight_cap),
        public=public,
        seed=seed,
        parts=tuple((name, float(part)) for name, part in spent) if besides else (),
    )


def law_for(graph: AnyGraph, noise: str, epsilon: float) -> NoiseLaw:
    """The law of a name that suits the schema of a graph.

    Raises:
        ParameterError: epsilon out of range, unknown noise, or binary noise for weights.
    """
    if noise == "binary" and graph.weighted:
        raise ParameterError(
            "binary noise is for graphs without weights: "
            "choose noise 'laplace', or read the graph without its weights"
        )
    return noise_law(noise, epsilon=epsilon, weight_cap=graph.weight_cap)


def expected_worst_cut(law: NoiseLaw, shape: tuple[int, int]) -> float:
    """Expected max over S, T of |Z(S,T) - A(S,T)| before any fit, from public numbers alone.

    A measured constant times the deviation of one entry, not a proven bound.
    """
    rows, columns = shape
    mean_root = (math.sqrt(rows) + math.sqrt(columns)) / 2
    return _WORST_CUT * law.standard_deviation * math.sqrt(rows * columns) * mean_root


def expected_error_note(graph: AnyGraph, law: NoiseLaw) -> str:
    """What error to expect, for the user, before anything is spent. Reads the schema only.

    Args:
        graph: its vertex sets are read.
        law: of the entries.
    """
    shape = (graph.n, graph.n) if isinstance(graph, Graph) else graph.shape
    error = expected_worst_cut(law, shape)
    return (
        f"Expect a worst cut error of up to about {error:,.0f} before the fit (edges inside both "
        "sets counted twice); a graph of less total weight drowns in it."
    )


def largest_cut(shape: tuple[int, int], *, symmetric: bool, cap: float) -> float:
    """The most that can pass between a set of vertices and the others in a graph of this size."""
    rows, columns = shape
    return cap * ((rows // 2) * (rows - rows // 2) if symmetric else rows * columns)


def accuracy_warning(law: NoiseLaw, left: VertexSet, right: VertexSet) -> str | None:
    """A sentence when the noise drowns any graph of this size, with the epsilon that would do.

    From the vertex sets, the cap and epsilon alone: nothing private is read, nothing is spent.

    Returns:
        None when a graph of this size can hold cuts above the expected worst error.
    """
    if law.weight_cap is None:
        return None  # weights without a bound can be larger than any noise
    shape = len(left), len(right)
    holds = largest_cut(shape, symmetric=left is right, cap=law.weight_cap)
    error = expected_worst_cut(law, shape)
    if error <= holds:
        return None
    start = (
        f"worthless at this size: the expected worst cut error is {error:,.0f}, "
        f"but no cut of {' x '.join(f'{n:,}' for n in sorted(set(shape)))} vertices can hold more "
        f"than {holds:,.0f}"
    )
    enough = _least_epsilon(law, shape, holds)
    if enough is None:
        return f"{start}; no epsilon in range helps at this size"
    return f"{start}; epsilon = {enough:.2g} or more would do"


def _least_epsilon(law: NoiseLaw, shape: tuple[int, int], holds: float) -> float | None:
    """Smallest epsilon on a grid of 1 % at which the expected error is what a cut can hold."""
    grid: npt.NDArray[np.float64] = np.geomspace(SMALLEST_EPSILON, LARGEST_EPSILON, 1800)
    candidates = grid[grid > float(law.epsilon)]

    def gain(epsilon: float) -> float:
        trial = noise_law(law.name, epsilon=float(epsilon), weight_cap=law.weight_cap)
        return -expected_worst_cut(trial, shape)

    first = bisect.bisect_left(candidates, -holds, key=gain)  # errors fall as epsilon grows
    if first == len(candidates):
        return None
    epsilon = candidates[first]
    rounded = float(f"{epsilon:.2g}")
    return rounded if rounded >= epsilon else float(f"{epsilon * 1.05:.2g}")
