"""What a sparse release buys of a private graph, and how epsilon is divided over it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import Measurement, Measurements
from graphcuts_dp.estimate.noisy_matrix import KeptEdges, threshold_for
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.measure.cells import Sides, measure_groups
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.parted import PartedGraph, public_of
from graphcuts_dp.measure.statistics import measure_degrees, measure_weight_counts
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.vertices import vertex_sets
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON, exact_epsilon
from graphcuts_dp.privacy.value_noise import noise_distribution
from graphcuts_dp.progress import Progress, silent
from graphcuts_dp.release.allocation import promise
from graphcuts_dp.release.group_shares import GroupPlan
from graphcuts_dp.release.sparse_shares import (
    COUNTS_SHARE,
    FALSE_SHARE,
    SparseShares,
    sparse_shares,
)
from graphcuts_dp.synth.communities import found_groups
from graphcuts_dp.synth.weight_prior import WeightPrior

_SHARES = (0.01, 0.95)  # of epsilon, that degrees may have
_LEAST_EPSILON = 100 * SMALLEST_EPSILON  # every part then stays above the smallest


@final
@dataclass(frozen=True)
class SparseNoise:
    """What noise a sparse release takes, from the schema of a graph alone.

    Attributes:
        name: "discrete-laplace" or "laplace".
        whole: whether weights are whole numbers.
    """

    name: str
    whole: bool

    @classmethod
    def of(cls, graph: AnyGraph, noise: str) -> "SparseNoise":
        """For a graph: "binary", the default of releases, stands for what suits the graph.

        Raises:
            ParameterError: weights whose bound nobody has given.
        """
        graph.check_bounded()
        if not graph.weighted:
            return cls("discrete-laplace", whole=True)
        name = "laplace" if noise == "binary" else noise
        return cls(name, whole=name == "discrete-laplace")

    def distribution(self, graph: AnyGraph, epsilon: Fraction | float) -> LaplaceNoise:
        """Of a pair's noise.

        Raises:
            ParameterError: an unknown name, or epsilon out of range.
        """
        found = noise_distribution(self.name, epsilon=epsilon, weight_cap=graph.weight_cap)
        if not isinstance(found, LaplaceNoise):
            raise ParameterError("sparse releases take noise 'laplace' or 'discrete-laplace'")
        return found


def check_sparse(graph: AnyGraph, *, epsilon: float | Fraction, noise: str) -> SparseNoise:
    """Refuse what cannot be measured; reads the schema only.

    Raises:
        ParameterError: an option out of range.
    """
    if exact_epsilon(epsilon) < _LEAST_EPSILON:
        raise ParameterError(
            f"mechanism='sparse' divides epsilon, which must be {_LEAST_EPSILON:g} at least"
        )
    made = SparseNoise.of(graph, noise)
    made.distribution(graph, epsilon)
    return made


def check_share(share: float | None) -> Fraction | None:
    """A part of epsilon for the degrees that a user has chosen, exactly.

    Raises:
        ParameterError: it is out of range: counts and the other parts need some of epsilon, too.
    """
    if share is None:
        return None
    low, high = _SHARES
    if isinstance(share, bool) or not isinstance(share, int | float) or not low <= share <= high:
        raise ParameterError(
            f"degree_share must lie between {low:g} and {high:g} with mechanism='sparse'"
        )
    return Fraction(share).limit_denominator(10**6)


def measure_sparse(
    graph: AnyGraph | PartedGraph,
    *,
    epsilon: float | Fraction,
    noise: str,
    source: EntropySource,
    groups: GroupPlan | None = None,
    shares: SparseShares | None = None,
    degree_share: Fraction | None = None,
    progress: Progress = silent,
) -> Measurements:
    """Draw all noise of a sparse release.

    1. A fiftieth of epsilon counts edges by classes of weight (`measure_weight_counts`).
    2. From these and public numbers follow the shares of the others (`sparse_shares`), and the
       threshold of the filter (`threshold_for`).
    3. Kept edges, if their share is not 0 (`measure_kept_edges`).
    4. Sums between groups: those given; else, where kept edges show communities, these.
    5. Degrees, with all that is left (`measure_degrees`).

    Args:
        graph: the private graph, which may lie in parts; weights need a cap or `hide_change`.
        epsilon: for everything together.
        noise: see `SparseNoise.of`.
        source: where the noise comes from.
        groups: public groups, or None.
        shares: in place of those that follow from the counts, if they were fixed beforehand.
        degree_share: part of epsilon for the degrees, likewise; see `check_share`.
        progress: called with the fraction done.

    Raises:
        ParameterError: an option out of range. Nothing was drawn.
        BudgetError: what was drawn costs more than epsilon.

    Guarantee: epsilon-DP. Each part is epsilon_k-DP for the same neighbours, the epsilons are exact
    fractions that add up to epsilon at most, and each part, its share, the threshold and found
    groups depend on the results of those before it alone: sequential composition, which holds for
    adaptive choices (DR14 Theorem 3.16).
    """
    public = public_of(graph)
    made = check_sparse(public, epsilon=epsilon, noise=noise)
    whole = exact_epsilon(epsilon)
    progress(0.0, "counting weights")
    counts = measure_weight_counts(
        graph, made.distribution(public, whole), epsilon=whole * COUNTS_SHARE, source=source
    )
    bought: list[Measurement] = [counts]
    rest = whole * (1 - COUNTS_SHARE)
    pairs = _pairs(public)
    asked = "given" if groups is not None else _may_be_found(public)
    shares = shares or sparse_shares(
        counts,
        made.distribution(public, rest),
        pairs=pairs,
        groups=asked,
        degrees=None if degree_share is None else degree_share / (1 - COUNTS_SHARE),
    )
    kept = None
    if shares.kept:
        progress(0.05, "keeping edges")
        noisy = made.distribution(public, rest * shares.kept)
        threshold = threshold_for(noisy, pairs=pairs, edges=counts.edges, false_share=FALSE_SHARE)
        kept = measure_kept_edges(graph, noisy, threshold=threshold, source=source)
        bought.append(kept)
    left = rest * (1 - shares.kept)
    sides = None if groups is None else groups.sides
    if asked == "found" and kept is not None and shares.groups:
        progress(0.3, "looking for communities")
        sides = _found(
            public,
            kept,
            WeightPrior.of(counts, pairs=float(pairs), cap=public.weight_cap, whole=made.whole),
        )
    if sides is not None and shares.groups:
        progress(0.5, "adding up groups")
        part = measure_groups(
            graph,
            sides,
            epsilon=rest * shares.groups,
            whole=made.whole,
            name="groups" if groups is not None else "found groups",
            source=source,
        )
        bought.append(part)
        left -= part.epsilon
    progress(0.55, "adding up degrees")
    bought.append(
        measure_degrees(
            graph, made.distribution(public, whole), epsilon=left, source=source, without_cap=True
        )
    )
    spent = sum((part.epsilon for part in bought), Fraction(0))
    cost = stated_cost(Cost.of_pure(spent), epsilon=epsilon)
    parts = tuple((part.name, float(part.epsilon)) for part in bought)
    guarantee = promise(public, cost, seed=source.seed, parts=parts, groups=groups is not None)
    return Measurements(tuple(bought), guarantee)


def _pairs(graph: AnyGraph) -> int:
    rows, columns = graph.shape
    if isinstance(graph, BipartiteGraph):
        return rows * columns
    return rows * (rows - 1) // (1 if hasattr(graph, "left") else 2)


def _may_be_found(graph: AnyGraph) -> str:
    return "none" if isinstance(graph, BipartiteGraph) else "found"


def _found(graph: AnyGraph, kept: KeptEdges, prior: WeightPrior) -> Sides | None:
    """Groups that kept edges show; reads the public vertex set and noisy data alone."""
    scale = kept.unit / float(kept.distribution.rate)
    chances = prior.posterior(kept.weights, scale).chance
    vertices = vertex_sets(graph.space)[0]
    codes = found_groups(kept.rows, kept.columns, chances, len(vertices))
    if codes is None:
        return None
    groups = Groups(vertices, {"found": np.asarray(codes).tolist()})
    return groups, groups
