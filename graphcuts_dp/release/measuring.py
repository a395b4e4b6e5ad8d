"""What a release measures of a private graph: all noise is drawn here, and epsilon spent on it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import Bought, Degrees, Measurements
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.estimate.sparse_model import KeptEdges, threshold_for
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.measure.cells import Sides, refinable_groups
from graphcuts_dp.measure.entries import distribution_for, measure_kept_edges, randomized_response
from graphcuts_dp.measure.statistics import (
    Refinable,
    measure_degrees,
    measure_total,
    measure_weight_counts,
    refinable_degrees,
)
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Arcs, public_vertices, vertex_sets
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.guarantee import (
    EDGE,
    SMALLEST_EPSILON,
    PrivacyGuarantee,
    Protect,
    exact_epsilon,
    hidden_change,
)
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.release.shares import (
    AUTO,
    COUNTS_SHARE,
    EARLY_SHARE,
    RESPONSE,
    SPLIT,
    SURER_SHARE,
    TOTAL_SHARE,
    GroupPlan,
    Prospect,
    Response,
    SparseShares,
    sparse_shares,
    telling,
)
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.synth.block_model import found_groups
from graphcuts_dp.synth.sparse_fit import WeightPrior


def measure(
    graph: AnyGraph,
    *,
    epsilon: float | Fraction,
    noise: str,
    response: Response,
    source: EntropySource,
    groups: GroupPlan | None = None,
    choice: type[Prospect] = Prospect,
) -> Measurements:
    """Draw all noise of a release.

    Args:
        graph: the private graph.
        epsilon: for everything together.
        noise: distribution of the entries.
        response: "auto" is chosen from a noisy total and, where that leaves it open, early noisy
            degrees (`Prospect`); the share is of what the total leaves of epsilon.
        source: where the noise comes from.
        groups: what is bought of public groups; see `group_plan`.
        choice: what "auto" chooses by.

    Raises:
        ParameterError: what `least_distribution` refuses, which a job asks before.
        BudgetError: what was drawn costs more than epsilon.

    Returns:
        The measurements in the order in which they were bought, with the guarantee for all.

    Guarantee: epsilon-DP. The parts are epsilon_k-DP (`refinable_groups`, `measure_total`,
    `measure_degrees`, `randomized_response`), their epsilons are exact fractions that add up to
    epsilon, and each is chosen from the results of those before it: sequential composition, which
    holds for adaptive choices. Neighbours are the same for all parts. Source: DR14 Theorem 3.16.
    Degrees and sums between groups that a choice looks at may be refined before anything else is
    drawn. The coarse numbers and the finer ones are then one part, which costs what the finer ones
    cost, and the coarse ones where they stay (`RefinableLaplace`, with the proof for each branch).
    So what comes out costs epsilon along every path of choices, and a store, which is charged with
    epsilon before any noise is drawn, is charged with the largest cost and never given any back.
    """
    whole = exact_epsilon(epsilon)
    rest = whole
    distribution = distribution_for(graph, noise, epsilon)
    bought: list[Bought] = []
    prospect = choice.of(graph, noise, response)
    tells = False
    if groups is not None:
        sums, tells = _groups_bought(graph, groups, rest, noise, source)
        bought.append(sums)
        rest *= 1 - groups.first - (groups.second if tells else 0)
    if groups is not None and tells:
        prospect = prospect.beside_groups(groups)
    mechanism = prospect.possible(response.mechanism, distribution, rest)
    if mechanism == AUTO and tells:
        mechanism = RESPONSE if prospect.entries_are_fine(rest) else SPLIT
    if mechanism == SPLIT:
        part = rest * prospect.beside
        bought.append(measure_degrees(graph, distribution, epsilon=part, source=source))
        rest -= part
    if mechanism == AUTO:
        # Chosen as if there were no groups, so that groups that tell nothing change nothing.
        alone = whole * (1 - TOTAL_SHARE)
        total = prospect.total_of_groups(bought, alone)
        if total is None:
            spent = rest * TOTAL_SHARE
            measured = measure_total(graph, distribution, epsilon=spent, source=source)
            bought.append(measured)
            rest -= spent
            total = measured.total
        degrees = partial(refinable_degrees, graph, distribution)
        held, part = _degrees_bought(degrees, prospect, total, rest, alone, source)
        bought += held
        rest -= part
    distribution = noise_distribution(noise, epsilon=rest, weight_cap=distribution.weight_cap)
    bought.append(randomized_response(graph, distribution, source))
    return _paid(graph, bought, epsilon, source, groups=groups is not None)


def _paid(
    graph: AnyGraph,
    bought: Sequence[Bought],
    epsilon: float | Fraction,
    source: EntropySource,
    *,
    groups: bool,
) -> Measurements:
    """All that was bought, with what it costs together and promises.

    Raises:
        BudgetError: it costs more than epsilon.
    """
    spent = sum((part.epsilon for part in bought), Fraction(0))
    cost = stated_cost(Cost.of_pure(spent), epsilon=epsilon)
    parts = tuple((part.name, float(part.epsilon)) for part in bought) if bought[1:] else ()
    guarantee = promise(graph, cost, seed=source.seed, parts=parts, groups=groups)
    return Measurements(tuple(bought), guarantee)


def _degrees_bought(
    degrees: Callable[..., Refinable[Degrees]],
    prospect: Prospect,
    total: float,
    rest: Fraction,
    alone: Fraction,
    source: EntropySource,
) -> tuple[list[Bought], Fraction]:
    """Noisy degrees as the total suggests, and what they cost; refining them wastes nothing.

    Args:
        degrees: draws them.
        prospect: what is chosen by.
        total: noisy sum of the matrix.
        rest: of epsilon.
        alone: what would be left of it if there were no groups.
        source: where the noise comes from.
    """
    share = prospect.share_from_total(total, alone)
    if share == 0:
        return [], Fraction(0)
    early = share is None
    paid = EARLY_SHARE if share is None else share
    held = degrees(epsilon=rest * paid, source=source, name="early degrees" if early else "degrees")
    if share is None:
        share = prospect.share_from_degrees(held.measurement, total, alone * (1 - paid))
    if share is None:
        paid = SURER_SHARE
        held = held.refined(rest * paid, source, name="early degrees")
        share = prospect.share_from_degrees(held.measurement, total, alone * (1 - paid), last=True)
    share = share or Fraction(0)
    if share > paid:
        paid = share
        held = held.refined(rest * paid, source, name="degrees")
    more = prospect.share_of_held(held.measurement, share)
    if more > paid:
        paid = more
        held = held.refined(rest * paid, source, name="degrees")
    return [held.measurement], rest * paid


def _groups_bought(
    graph: AnyGraph, groups: GroupPlan, epsilon: Fraction, noise: str, source: EntropySource
) -> tuple[Bought, bool]:
    """All sums between groups: a first look, refined where it shows that the groups tell something.

    Returns:
        The sums, and whether they tell something.
    """
    most = groups.first + groups.second
    sums = refinable_groups(
        graph,
        groups.sides,
        epsilon=epsilon * groups.first,
        most=epsilon * most,
        whole=noise == "discrete-laplace",
        name="groups",
        source=source,
    )
    tells = telling(sums.measurement, graph.weight_cap or 1.0)
    if tells:
        sums = sums.refined(epsilon * most, source, name="groups")
    return sums.measurement, tells


def promise(
    graph: PrivateData,
    cost: Cost,
    protect: Protect = EDGE,
    *,
    seed: int | None = None,
    parts: tuple[tuple[str, float], ...] = (),
    groups: bool = False,
) -> PrivacyGuarantee:
    """What a release promises. Reads the schema of the graph only.

    Args:
        graph: the private graph or rows, or those of its schema without any.
        cost: of everything together.
        protect: whom it protects.
        seed: of the noise, or None.
        parts: see `PrivacyGuarantee.parts`.
        groups: whether public groups come out with it.
    """
    public = public_vertices(graph.space) + (" and the groups" if groups else "")
    cap = None if isinstance(graph, Rows) else graph.weight_cap
    if isinstance(graph, Rows) and graph.periods is not None:
        public += " and the periods"
    if graph.weighted and cap is not None:
        public += " and the weight cap"
    if protect.degree_bound is not None:
        public += " and the degree bound"
    periods = graph.periods if isinstance(graph, Rows) else None
    rows = isinstance(graph, Rows) and graph.weighted
    hidden = hidden_change(
        weighted=graph.weighted, weight_cap=cap, directed=isinstance(graph.space, Arcs)
    )
    step = PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours="one row, or unit of weight, more or less" if rows else hidden,
        public=public,
        seed=seed,
        parts=parts,
    )
    if periods is not None and protect.kind == "edges":
        step = replace(step, neighbours=f"{hidden} in any one {periods.by}")
    found = protect.promise(step, cost)
    if isinstance(graph, Rows) and periods is not None:
        found = replace(found, protects=graph.protects(protect))
        if protect.kind == "edges":
            several = f"of a pair with rows in k {periods.by}s the promise holds with k epsilon"
            found = replace(found, neighbours=f"{found.neighbours}; {several}")
    return found


def least_distribution(
    graph: AnyGraph,
    noise: str,
    epsilon: float | Fraction,
    response: Response,
    groups: GroupPlan | None = None,
) -> NoiseDistribution:
    """The distribution of the entries if as much of epsilon as possible goes elsewhere.

    From options and the schema alone, for telling beforehand what error to expect.

    Raises:
        ParameterError: as `respond`; parts of epsilon below the least.
    """
    distribution = distribution_for(graph, noise, epsilon)
    rest = exact_epsilon(epsilon)
    prospects = [Prospect.of(graph, noise, response)]
    if groups is not None:
        if rest * groups.first < SMALLEST_EPSILON:
            raise ParameterError(
                f"a part of epsilon would be below {SMALLEST_EPSILON:g}: leave the groups out"
            )
        rest *= 1 - groups.first - groups.second
        distribution = noise_distribution(noise, epsilon=rest, weight_cap=graph.weight_cap)
        prospects.append(prospects[0].beside_groups(groups))
    least = min(
        each.parts(each.possible(response.mechanism, distribution, rest))[-1] for each in prospects
    )
    return noise_distribution(noise, epsilon=rest * least, weight_cap=graph.weight_cap)


LEAST_EPSILON = 100 * SMALLEST_EPSILON  # every part then stays above the smallest


def sparse_distribution(graph: AnyGraph, noise: str, epsilon: Fraction | float) -> LaplaceNoise:
    """The noise of a pair in a sparse release, from the schema of a graph alone.

    Raises:
        ParameterError: weights whose bound nobody has given; an unknown name, or epsilon out of
            range.
    """
    graph.check_bounded()
    if not graph.weighted:
        noise = "discrete-laplace"
    found = noise_distribution(noise, epsilon=epsilon, weight_cap=graph.weight_cap)
    if not isinstance(found, LaplaceNoise):
        raise ParameterError("sparse releases take noise 'laplace' or 'discrete-laplace'")
    return found


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
        noise: see `sparse_distribution`.
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
    whole = exact_epsilon(epsilon)
    of_pairs = partial(sparse_distribution, graph, noise)
    progress(0.0, "counting weights")
    counts = measure_weight_counts(
        graph, of_pairs(whole), epsilon=whole * COUNTS_SHARE, source=source
    )
    bought: list[Bought] = [counts]
    rest = whole * (1 - COUNTS_SHARE)
    pairs = Universe.of(graph).size
    asked = "given" if groups is not None else _may_be_found(graph)
    shares = shares or sparse_shares(
        counts,
        of_pairs(rest),
        pairs=pairs,
        groups=asked,
        degrees=None if degree_share is None else degree_share / (1 - COUNTS_SHARE),
    )
    sides = None if groups is None else groups.sides
    if shares.kept:
        progress(0.05, "keeping edges")
        noisy = of_pairs(rest * shares.kept)
        threshold = threshold_for(noisy, pairs=pairs, edges=counts.total)
        kept = measure_kept_edges(graph, noisy, threshold=threshold, source=source)
        bought.append(kept)
        if asked == "found" and shares.groups:
            progress(0.3, "looking for communities")
            prior = WeightPrior.of(
                counts, pairs=float(pairs), cap=noisy.weight_cap, whole=noisy.unit == 1
            )
            sides = _found(kept, prior)
    left = rest * (1 - shares.kept)
    if sides is not None and shares.groups:
        progress(0.5, "adding up groups")
        sums = refinable_groups(
            graph,
            sides,
            epsilon=rest * shares.groups,
            whole=of_pairs(whole).unit == 1,
            name="groups" if groups is not None else "found groups",
            source=source,
        ).measurement
        bought.append(sums)
        left -= sums.epsilon
    progress(0.55, "adding up degrees")
    bought.append(
        measure_degrees(graph, of_pairs(whole), epsilon=left, source=source, without_cap=True)
    )
    return _paid(graph, bought, epsilon, source, groups=groups is not None)


def _may_be_found(graph: AnyGraph) -> str:
    return "none" if isinstance(graph, BipartiteGraph) else "found"


def _found(kept: KeptEdges, prior: WeightPrior) -> Sides | None:
    """Groups that kept edges show; reads the public vertex set and noisy data alone."""
    scale = kept.unit / float(kept.distribution.rate)
    chances = prior.posterior(kept.weights, scale).chance
    vertices = vertex_sets(kept.space)[0]
    codes = found_groups(kept.rows, kept.columns, chances, len(vertices))
    if codes is None:
        return None
    groups = Groups(vertices, {"found": np.asarray(codes).tolist()})
    return groups, groups
