"""A noisy weight for every pair of a private graph, of which only the large ones are ever made."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IndexArray, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_kept_edges import KeptEdges, pairs_at
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.entries import edges_of
from graphcuts_dp.measure.parts import PartedGraph, public_of
from graphcuts_dp.measure.steps import bounded_steps
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.parallel import in_parallel
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.privacy.sparse_noise import (
    LARGEST_POSITIONS,
    LARGEST_THRESHOLD,
    sample_exceeding,
)

# Rows, columns and released integers of the pairs that were kept of a part.
Kept = tuple[IndexArray, IndexArray, IntVector]
# (parts) -> what each of them gives, in order; here, or on other machines.
Keep = Callable[[Sequence["KeepPart"]], Sequence[Kept]]

_PARTS = 64  # of the rows, so that processors share them; the noise depends on how many
_LARGEST_STEPS = 2**52


def measure_kept_edges(
    graph: AnyGraph | PartedGraph,
    distribution: LaplaceNoise,
    *,
    threshold: int,
    source: EntropySource,
    keep: Keep | None = None,
) -> KeptEdges:
    """All pairs whose weight plus discrete Laplace noise reaches a threshold.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair; weights are rounded down to its steps.
        threshold: T in steps, in 1..2^52; public, or computed from noisy data that was paid for.
        source: where the noise comes from.
        keep: runs the parts; None for the threads here.

    Returns:
        The kept pairs in the order of pairs, which does not tell edges from others.

    Raises:
        ParameterError: a distribution for another weight cap, a threshold out of range, or more
            than 2^56 pairs. Nothing was drawn.

    Guarantee: epsilon-DP with epsilon = `distribution.epsilon`, neighbours being graphs on the same
    vertices that differ in one pair (an edge; or its weight, by at most 1 or within 0..cap; in a
    directed graph, an arc). Proof: the output has the law of the following. To the steps of each
    pair, at most 2^52 and 0 without an edge, add its own noise, P(k) proportional to
    e^(-rate |k|); publish which sums reach T, and these. One pair changes by at most
    s = `sensitivity_steps` steps, all noises are independent, so that the whole matrix is
    (s rate)-DP, s rate = epsilon; the filter is post-processing by a public threshold. What is
    drawn is the same: noise for each edge; of all N places, edges or not, those where noise alone
    reaches T (`sample_exceeding`, independent of the edges), of which places with an edge are
    dropped. So every pair without an edge is kept with P(noise >= T), independently of all
    others, with the value of its noise. A threshold from measurements that were bought before is
    allowed by sequential composition (DR14 Theorem 3.16).
    Source: the high-pass filter of Liu, Upadhyay, Zou, 2024, is related; here the threshold comes
    from noisy numbers, and the law is that of the full matrix exactly.
    Side channel: drawing noise for the edges takes time proportional to their number.
    """
    public = public_of(graph)
    if distribution.weight_cap != public.weight_cap:
        raise ParameterError("the distribution of noise does not suit the graph's weight cap")
    layout = Layout.of(public.space)
    if not 1 <= threshold <= LARGEST_THRESHOLD:
        raise ParameterError("the threshold must be a whole number in 1..2^52 steps")
    if layout.pairs_before(layout.shape[0]) > LARGEST_POSITIONS:
        raise ParameterError("there are more pairs than can be counted: at most 2^56")
    bounds = row_parts(layout)
    own = source.split(len(bounds))
    if isinstance(graph, PartedGraph):
        given = [(distribution, threshold, layout, *each) for each in zip(bounds, own, strict=True)]
        found: Iterable[Kept] = graph.drawn(_kept, given)
    else:
        parts = [
            KeepPart(distribution, threshold, layout, rows, *edges_of(graph, *rows), each)
            for rows, each in zip(bounds, own, strict=True)
        ]
        found = in_parallel(lambda part: part(), parts) if keep is None else keep(parts)
    rows, columns, steps = (np.concatenate(each) for each in zip(*found, strict=True))
    for each in (rows, columns, steps):
        each.flags.writeable = False
    return KeptEdges(
        rows=rows,
        columns=columns,
        steps=steps,
        threshold=threshold,
        distribution=distribution,
        space=public.space,
    )


def row_parts(layout: Layout) -> list[tuple[int, int]]:
    """First row and end of each part, of about as many pairs each; from the shape alone."""
    height = layout.shape[0]
    before = layout.pairs_before(np.arange(height + 1, dtype=np.int64))
    ends = np.searchsorted(before, [int(before[-1]) * part // _PARTS for part in range(1, _PARTS)])
    edges = np.unique(np.concatenate([[0], ends, [height]])).tolist()
    return list(itertools.pairwise(edges))


@dataclass(frozen=True)
class KeepPart:
    """What is kept of the pairs in some rows, drawn when it is called.

    Holds the private edges of these rows, and does not show them.

    Attributes:
        distribution: of the noise.
        threshold: in steps.
        layout: of the whole matrix.
        bounds: first row and end.
        rows: of the edges in these rows, sorted by row and column.
        columns: likewise.
        weights: likewise.
        source: of the noise.
    """

    distribution: LaplaceNoise
    threshold: int
    layout: Layout
    bounds: tuple[int, int]
    rows: IndexArray = field(repr=False)
    columns: IndexArray = field(repr=False)
    weights: npt.NDArray[np.float64] = field(repr=False)
    source: EntropySource

    def __call__(self) -> Kept:
        """Draw the noise of this part; see `measure_kept_edges`."""
        layout, rate = self.layout, self.distribution.rate
        first, end = (layout.pairs_before(row) for row in self.bounds)
        edges = layout.places(self.rows.astype(np.int64), self.columns.astype(np.int64)) - first
        noisy = bounded_steps(self.weights, self.distribution.unit, _LARGEST_STEPS)
        noisy += sample_discrete_laplace(rate, len(noisy), self.source)
        reached = noisy >= self.threshold
        false = sample_exceeding(rate, self.threshold, end - first, self.source)
        empty = ~_among(false.places, edges)
        places = np.concatenate([edges[reached], false.places[empty]])
        values = np.concatenate([noisy[reached], false.values[empty]])
        order = np.argsort(places)
        rows, columns = pairs_at(layout, places[order] + first, *self.bounds)
        return rows.astype(np.int32), columns.astype(np.int32), values[order]


def _kept(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    threshold: int,
    layout: Layout,
    rows: tuple[int, int],
    source: EntropySource,
) -> Kept:
    """What is kept of some rows, where their edges are."""
    return KeepPart(distribution, threshold, layout, rows, *edges_of(graph, *rows), source)()


def _among(places: IntVector, sorted_places: IntVector) -> BoolVector:
    """Which places are among sorted ones."""
    if not len(sorted_places):
        return np.zeros(len(places), dtype=np.bool_)
    at = np.minimum(np.searchsorted(sorted_places, places), len(sorted_places) - 1)
    found: BoolVector = sorted_places[at] == places
    return found
