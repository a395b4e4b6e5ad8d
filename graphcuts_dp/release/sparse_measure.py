"""What a sparse release buys of a private graph, and how epsilon is divided over it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import Bought, Classes, Measurement, Measurements
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.estimate.sparse_model import KeptEdges, threshold_for
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.measure.cells import Sides, measure_groups
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_degrees, measure_weight_counts
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.vertices import vertex_sets
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.guarantee import SMALLEST_EPSILON, exact_epsilon
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.allocation import promise
from graphcuts_dp.release.group_shares import GroupPlan
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.synth.communities import found_groups
from graphcuts_dp.synth.sparse_fit import WeightPrior

_LEAST_EPSILON = 100 * SMALLEST_EPSILON  # every part then stays above the smallest
COUNTS_SHARE = Fraction(1, 50)  # of epsilon, for how many edges weigh how much
FOUND_SHARE = Fraction(1, 5)  # of what kept edges leave, for groups that are found on them
FALSE_SHARE = 0.1  # false edges for each edge
_GROUPS_ALONE = Fraction(1, 20)  # of the rest beside degrees alone
# Whose errors count, by their logarithms: halves, small sets and the worst cut for kept edges,
# degrees for degrees, and half a column for sums between groups, which err little anyway.
_OF_KEPT, _OF_DEGREES, _OF_GROUPS = 3.0, 1.0, 0.5
_GROUPS_BESIDE = Fraction(1, 3)  # of what kept edges leave: half a column beside a whole one
_LEAST_KEPT = Fraction(1, 10)  # left of epsilon: with less, kept edges spoil the degrees
_GROUPS_AT_MOST = Fraction(1, 20)  # and half of what degrees leave, if their share is fixed
_WORTH = 0.8  # of the variance of cuts: kept edges that leave more are not bought
_STEP = 1 / 40


@final
@dataclass(frozen=True)
class SparseShares:
    """Parts of what is left of epsilon after the counts; they add up to 1.

    Attributes:
        kept: for kept edges; 0 where hardly any would reach the threshold.
        groups: for sums between groups, given or found; 0 where there are none.
        degrees: for degrees.
    """

    kept: Fraction
    groups: Fraction
    degrees: Fraction


def sparse_shares(
    counts: Measurement[Classes],
    distribution: LaplaceNoise,
    *,
    pairs: int,
    groups: str,
    degrees: Fraction | None = None,
) -> SparseShares:
    """The shares with the least predicted errors.

    With a part f of epsilon the filter leaves of the variance of a cut V(f) = sum over edges of
    w^2 where an edge is missed, and of the lesser of w^2 and the noise's variance where it is kept,
    over the sum of w^2: missed edges fall anywhere, as far as the model knows. That shows in cuts
    between halves, small sets, and in the worst cut, whose errors go with sqrt(V). Errors of
    degrees go with 1/d, those of sums between groups with 1/g. The sum of the logarithms of all
    these, with weights 3, 1 and a half, is least at d : g = 2 : 1, and f is tried in steps of a
    fortieth. For weights far above the noise V goes with f^-2, so that f : d : g = 6 : 2 : 1.
    Where the filter leaves more than .8 of the variance, nothing is spent on it: then degrees get
    all but a twentieth for groups.

    Args:
        counts: noisy counts of weights.
        distribution: of the noise of a pair with all that is left of epsilon.
        pairs: how many pairs there are.
        groups: "given", "found" (from kept edges, if there are any) or "none".
        degrees: a share that was fixed beforehand. Of the rest groups have a twentieth of epsilon,
            or half if that is less, and kept edges the others, where these are a tenth at least;
            what neither can use, degrees have too.
    """
    prior = WeightPrior.of(
        counts, pairs=float(pairs), cap=distribution.weight_cap, whole=distribution.unit == 1
    )
    if degrees is not None:
        return _beside(degrees, prior, distribution, pairs=pairs, groups=groups)
    # What is to be beaten: degrees with all but a twentieth for groups.
    best, kept = _value(1.0, Fraction(0), groups == "given"), 0.0
    for step in range(1, round(1 / _STEP)):
        part = step * _STEP
        variance = left_variance(prior, distribution, part, pairs=pairs)
        if variance > _WORTH:
            continue
        value = _value(variance, Fraction(part), groups == "given")
        if value > best:
            best, kept = value, part
    exact = Fraction(kept).limit_denominator(1000)
    if not kept:
        of_groups = _GROUPS_ALONE if groups == "given" else Fraction(0)
        return SparseShares(Fraction(0), of_groups, 1 - of_groups)
    if groups == "given":
        of_groups = (1 - exact) * _GROUPS_BESIDE
    else:
        of_groups = FOUND_SHARE * (1 - exact) if groups == "found" else Fraction(0)
    return SparseShares(exact, of_groups, 1 - exact - of_groups)


def _beside(
    degrees: Fraction, prior: WeightPrior, distribution: LaplaceNoise, *, pairs: int, groups: str
) -> SparseShares:
    """The shares where that of degrees is fixed."""
    left = 1 - degrees
    of_groups = Fraction(0) if groups == "none" else min(_GROUPS_AT_MOST, left / 2)
    kept = left - of_groups
    worth = left >= _LEAST_KEPT and left_variance(
        prior, distribution, float(kept), pairs=pairs
    ) <= _WORTH  # fmt: skip
    if not worth:
        kept, of_groups = Fraction(0), left if groups == "given" else Fraction(0)
    return SparseShares(kept, of_groups, 1 - kept - of_groups)


def _value(variance: float, kept: Fraction, groups: bool) -> float:
    """Minus the sum of the logarithms of predicted errors, up to a constant."""
    of_groups = (_GROUPS_BESIDE * (1 - kept) if kept else _GROUPS_ALONE) if groups else Fraction(0)
    value = -_OF_KEPT / 2 * math.log(variance) + _OF_DEGREES * math.log(1 - kept - of_groups)
    return value + (_OF_GROUPS * math.log(of_groups) if groups else 0.0)


def left_variance(
    prior: WeightPrior, distribution: LaplaceNoise, part: float, *, pairs: int
) -> float:
    """Which part of the variance of cuts a filter with a part of epsilon leaves; at most 1."""
    noise = LaplaceNoise(
        distribution.epsilon * Fraction(part).limit_denominator(1000),
        distribution.weight_cap,
        distribution.log2_step,
    )
    scale = noise.unit / float(noise.rate)
    threshold = threshold_for(noise, pairs=pairs, edges=prior.edges, false_share=FALSE_SHARE)
    missed = prior.missed(threshold * noise.unit, scale)
    squares = prior.points**2
    left = missed * squares + (1 - missed) * np.minimum(squares, 2 * scale**2)
    whole = max(float(prior.masses @ squares), 1e-300)
    return min(float(prior.masses @ left) / whole, 1.0)


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


def measure_sparse(
    graph: AnyGraph,
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
        graph: the private graph; weights need a cap or `hide_change`.
        epsilon: for everything together.
        noise: see `SparseNoise.of`.
        source: where the noise comes from.
        groups: public groups, or None.
        shares: in place of those that follow from the counts, if they were fixed beforehand.
        degree_share: part of epsilon for the degrees, likewise.
        progress: called with the fraction done.

    Raises:
        ParameterError: an option out of range. Nothing was drawn.
        BudgetError: what was drawn costs more than epsilon.

    Guarantee: epsilon-DP. Each part is epsilon_k-DP for the same neighbours, the epsilons are exact
    fractions that add up to epsilon at most, and each part, its share, the threshold and found
    groups depend on the results of those before it alone: sequential composition, which holds for
    adaptive choices (DR14 Theorem 3.16).
    """
    made = check_sparse(graph, epsilon=epsilon, noise=noise)
    whole = exact_epsilon(epsilon)
    progress(0.0, "counting weights")
    counts = measure_weight_counts(
        graph, made.distribution(graph, whole), epsilon=whole * COUNTS_SHARE, source=source
    )
    bought: list[Bought] = [counts]
    rest = whole * (1 - COUNTS_SHARE)
    pairs = _pairs(graph)
    asked = "given" if groups is not None else _may_be_found(graph)
    shares = shares or sparse_shares(
        counts,
        made.distribution(graph, rest),
        pairs=pairs,
        groups=asked,
        degrees=None if degree_share is None else degree_share / (1 - COUNTS_SHARE),
    )
    kept = None
    if shares.kept:
        progress(0.05, "keeping edges")
        noisy = made.distribution(graph, rest * shares.kept)
        threshold = threshold_for(noisy, pairs=pairs, edges=counts.total, false_share=FALSE_SHARE)
        kept = measure_kept_edges(graph, noisy, threshold=threshold, source=source)
        bought.append(kept)
    left = rest * (1 - shares.kept)
    sides = None if groups is None else groups.sides
    if asked == "found" and kept is not None and shares.groups:
        progress(0.3, "looking for communities")
        sides = _found(
            graph,
            kept,
            WeightPrior.of(counts, pairs=float(pairs), cap=graph.weight_cap, whole=made.whole),
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
            graph, made.distribution(graph, whole), epsilon=left, source=source, without_cap=True
        )
    )
    spent = sum((part.epsilon for part in bought), Fraction(0))
    cost = stated_cost(Cost.of_pure(spent), epsilon=epsilon)
    parts = tuple((part.name, float(part.epsilon)) for part in bought)
    guarantee = promise(graph, cost, seed=source.seed, parts=parts, groups=groups is not None)
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
