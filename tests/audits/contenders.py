"""Audits of the benchmark's contenders that add noise to counts, degrees, pairs or projections.

The others are public functions or baselines, or in `contenders_of_structure`. By what they hand in,
or by the chances of all outputs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.audit import Claim
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.universe import Layout, Universe
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.noise import EntropySource, entropy_source, sample_discrete_laplace
from scripts.benchmark.baselines import noisy_degrees
from scripts.benchmark.contenders import (
    dp_1k,
    high_pass_filter,
    isotonic_degrees,
    tmf,
    topology_sampler,
)
from scripts.benchmark.contenders import johnson_lindenstrauss as transform
from scripts.benchmark.contenders.johnson_lindenstrauss import ProjectionNoise
from scripts.benchmark.contenders.privskg import measured_degrees
from scripts.benchmark.contenders.simple import DRAWN, GROUP_SUMS, drawn_graph
from tests.audits.base import Audit, Enumerated, Sampled, audited
from tests.audits.graphs import DIRECTED, HUB, LAST_PAIR, Side, seed_of, sides
from tests.audits.losses import DistributionPair, clipped_laplace, laplace_gain
from tests.audits.top_m_laws import (
    Law,
    dropped_come_back,
    filled_up,
    largest_entries,
    pair_of_laws,
)

Run = Callable[[Any], Any]
_PAIRS = (LAST_PAIR, HUB)
_SIDES = tuple(map(sides, _PAIRS))
_UPPER = np.triu_indices(4, 1)


# Sums of groups.

_CELLS = (0, 1, 5)  # of these pairs: one within each half, and one between them
_CELL_SIZES = np.array([1, 4, 1])


def _sums(epsilon: float, scaled: bool, source: EntropySource) -> Run:
    """The noisy sums that group-sums spreads, and their total; or scaled to the true one."""

    def run(graph: Graph) -> FloatVector:
        halves = Groups(graph.vertices, {"half": [0, 0, 1, 1]})
        made = GROUP_SUMS.method(
            graph, epsilon=epsilon, delta=0.0, groups=halves, seed=seed_of(source)
        )
        cells = np.asarray(made.estimate)[_UPPER][list(_CELLS)] * _CELL_SIZES
        total = cells.sum()
        if scaled:
            cells, total = cells + (len(graph.rows) - total) / 3, len(graph.rows)
        return np.append(cells, total)

    return run


@audited("benchmark: group-sums")
def _group_sums_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_sums, epsilon, False),
        twins={
            "a quarter of the noise": partial(_sums, 4 * epsilon, False),
            "scaled to the true number of edges": partial(_sums, epsilon, True),
        },
        runs=4000,
    )


# A graph that is drawn by noisy degrees.


def _counted(estimate: Any) -> FloatVector:
    matrix = estimate.toarray()[_UPPER]
    return np.append(matrix, matrix.sum())


def _drawn(epsilon: float, source: EntropySource) -> Run:
    """The drawn graph, and its number of edges."""

    def run(graph: Graph) -> FloatVector:
        made = DRAWN.method(graph, epsilon=epsilon, delta=0.0, groups=None, seed=seed_of(source))
        return _counted(made.estimate)

    return run


def _true_count(epsilon: float, source: EntropySource) -> Run:
    """As many draws as there are edges."""

    def run(graph: Graph) -> FloatVector:
        noisy = noisy_degrees(graph, Fraction(epsilon), source)
        random, universe = np.random.default_rng(seed_of(source)), Universe.of(graph)
        return _counted(drawn_graph(noisy, noisy, random, universe, count=len(graph.rows)))

    return run


def _isolated(epsilon: float, source: EntropySource) -> Run:
    """Vertices without edges stay without."""

    def run(graph: Graph) -> FloatVector:
        noisy = noisy_degrees(graph, Fraction(epsilon), source)
        noisy = np.where(graph.dense().any(axis=1), np.maximum(noisy, 1), 0)
        random = np.random.default_rng(seed_of(source))
        return _counted(drawn_graph(noisy, noisy, random, Universe.of(graph)))

    return run


@audited("benchmark: degrees-drawn")
def _drawn_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_drawn, epsilon),
        twins={
            "m used raw": partial(_true_count, epsilon),
            "isolated vertices left alone": partial(_isolated, epsilon),
        },
        runs=4000,
    )


# The top-m filter.

_HALF = Fraction(1, 2)
_SIZES = ((3, 0), (6, 2), (66, 1))  # pairs, edges


def _top_m(
    law: Law, epsilon: Fraction, share: Fraction = tmf.COUNT_SHARE, *, charged: bool = True
) -> Iterator[DistributionPair]:
    for pairs, edges in _SIZES:
        yield pair_of_laws(law, pairs, edges, epsilon, share=share, charged=charged)


@audited("benchmark: tmf, law")
def _top_m_law_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_top_m, largest_entries, exact),
        twins={
            "half the noise": partial(_top_m, largest_entries, 2 * exact),
            "the true number of edges": partial(_top_m, largest_entries, exact, charged=False),
            "filled up with false edges, as published": partial(_top_m, filled_up, exact),
            "dropped edges come back as false ones, as in PGB's code": partial(
                _top_m, dropped_come_back, exact, _HALF
            ),
        },
    )


def _filtered(epsilon: Fraction, true_count: bool, source: EntropySource) -> Run:
    """Which pairs are edges, and how many."""
    for_count = epsilon * tmf.COUNT_SHARE

    def run(graph: AnyGraph) -> list[float]:
        count = len(graph.rows)
        if not true_count:
            count = tmf.noisy_count(graph, epsilon=for_count, source=source)
        rows, columns = tmf.filtered(graph, count, epsilon=epsilon - for_count, source=source)
        layout = Layout.of(graph.space)
        there = np.zeros(layout.pairs_before(layout.shape[0]))
        there[layout.places(rows.astype(np.int64), columns.astype(np.int64))] = 1
        return [float(len(rows)), *there.tolist()]

    return run


@audited("benchmark: tmf, runs")
def _top_m_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=(HUB, DIRECTED[0]),
        start=partial(_filtered, exact, False),
        twins={
            "a twentieth of the noise": partial(_filtered, 20 * exact, False),
            "the true number of edges": partial(_filtered, exact, True),
        },
        twin_pairs=(LAST_PAIR,),
    )


# Degrees, their histogram and their order. A run gives the log likelihood ratio of the neighbours
# for what was released, and what was released.


def _degrees(graph: AnyGraph) -> IntVector:
    return np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=graph.shape[0])


def _noisy_degrees(epsilon: Fraction, charged: int, source: EntropySource) -> Run:
    """Noisy degrees, charged for so many that an edge changes: the graph is made of them alone."""

    def run(side: Side) -> list[float]:
        noisy = noisy_degrees(side.graph, epsilon * 2 / charged, source)
        gain = laplace_gain(noisy, _degrees(side.first), _degrees(side.second), epsilon / charged)
        return [gain, *noisy.astype(np.float64).tolist()]

    return run


@audited("benchmark: dgg")
def _noisy_degrees_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_SIDES,
        start=partial(_noisy_degrees, exact, 2),
        twins={"noise for one degree, as in PGB's code": partial(_noisy_degrees, exact, 1)},
        twin_pairs=_SIDES[:1],
    )


def _histogram(epsilon: Fraction, source: EntropySource) -> Run:
    """The largest degree and the counts."""

    def run(side: Side) -> list[float]:
        largest, counts = dp_1k.measure_histogram(side.graph, epsilon=epsilon, source=source)
        first, second = (
            np.bincount(np.minimum(_degrees(graph), largest), minlength=largest + 1)
            for graph in (side.first, side.second)
        )
        padded = np.zeros(side.graph.shape[0])
        padded[: len(counts)] = counts
        rate = epsilon * (1 - dp_1k.LARGEST_SHARE) / dp_1k.SENSITIVITY
        return [laplace_gain(counts, first, second, rate), float(largest), *padded.tolist()]

    return run


def _true_largest(epsilon: Fraction, source: EntropySource) -> Run:
    """How many counts there are, which go up to the true largest degree."""

    def run(side: Side) -> list[float]:
        true = np.bincount(_degrees(side.graph))
        return [float(len(true + sample_discrete_laplace(epsilon / 4, len(true), source)))]

    return run


@audited("benchmark: dp-1k")
def _histogram_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_SIDES,
        start=partial(_histogram, exact),
        twins={
            "sensitivity 2 for 4": partial(_histogram, 2 * exact),
            "counts up to the true largest degree, as in PGB's code": partial(_true_largest, exact),
        },
        twin_pairs=_SIDES[:1],
    )


def _sorted(epsilon: Fraction, true_order: bool, source: EntropySource) -> Run:
    """The sorted degrees, or what vertices would get of them in their true order."""

    def run(side: Side) -> list[float]:
        noisy = isotonic_degrees.measure_sorted(side.graph, epsilon=epsilon, source=source)
        if true_order:
            own = np.empty(len(noisy))
            own[np.argsort(_degrees(side.graph), kind="stable")] = np.arange(len(own))
            return list(map(float, own))
        first, second = (np.sort(_degrees(graph)) for graph in (side.first, side.second))
        gain = laplace_gain(noisy, first, second, epsilon / isotonic_degrees.SENSITIVITY)
        return [gain, *noisy.astype(np.float64).tolist()]

    return run


@audited("benchmark: isotonic-degrees")
def _sorted_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_SIDES,
        start=partial(_sorted, exact, False),
        twins={
            "sensitivity 1 for 2": partial(_sorted, 2 * exact, False),
            "vertices in their true order": partial(_sorted, exact, True),
        },
        twin_pairs=(_SIDES[1],),
    )


# A Kronecker model fitted to noisy degrees, and what public code does instead.

_FAR = 12  # degrees this far from 0 are told from each other no more
_COMMON = 8  # neighbours that the ends of an edge have in common


def _degree_laws(degree: int, rate: float) -> list[FloatVector]:
    """Chances of a noisy degree and of that with one edge more."""
    return [clipped_laplace(each, rate, -_FAR, _FAR) for each in (degree, degree + 1)]


def _two_degrees(rate: float) -> Iterator[DistributionPair]:
    """An edge raises two degrees by 1. All else comes of these and of others that stay."""
    for degree in (0, 3):
        laws = _degree_laws(degree, rate)
        yield DistributionPair(f"degrees {degree}", laws[0], laws[1], copies=2)


def _true_degrees_in_stars(rate: float) -> Iterator[DistributionPair]:
    """The number of stars, sum of d (y - 1)(y - 2), is told along with the noisy degrees y."""
    values = np.arange(-_FAR, _FAR + 1)
    factor = (values - 1) * (values - 2)
    told = factor[:, None] + factor[None, :] != 0  # by how much the sum differs
    joint = [np.outer(law, law) for law in _degree_laws(0, rate)]
    nothing = np.zeros(int(told.sum()))
    first = np.concatenate([joint[0][~told], joint[0][told], nothing])
    second = np.concatenate([joint[1][~told], nothing, joint[1][told]])
    yield DistributionPair("degrees 0", first, second)


def _triangles_by_their_own_scale(epsilon: float) -> Iterator[DistributionPair]:
    """Triangles get noise that is scaled by the most that one vertex has, 1 if there are none."""
    ends = np.linspace(-10 * _COMMON / epsilon, 10 * _COMMON / epsilon, 401)
    laws = []
    for triangles in (0, _COMMON):
        scale = 2 * max(triangles, 1) / (epsilon / 2)
        below = scipy.stats.laplace.cdf(ends, loc=triangles, scale=scale)
        laws.append(np.diff(np.concatenate([[0.0], below, [1.0]])))
    yield DistributionPair("ends with common neighbours", laws[0], laws[1])


@audited("benchmark: privskg")
def _kronecker_audit(epsilon: float) -> Audit:
    graph = LAST_PAIR.first
    rate = float(measured_degrees(graph, Fraction(epsilon), entropy_source(0)).rate)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_two_degrees, rate),
        twins={
            "public code: sensitivity 1 for 2 degrees": partial(_two_degrees, 2 * rate),
            "public code: true degrees count stars": partial(_true_degrees_in_stars, rate),
            "public code: triangles hidden by their own number": partial(
                _triangles_by_their_own_scale, epsilon
            ),
        },
    )


# The high-pass filter: what comes out of the one pair that differs; the rest has one law.

_SMALL = 0.01  # delta
_SPAN = 6.0  # scales of the noise beyond the threshold that are told apart
_GRAINS = 64  # in a scale: on a fine grid, the others lie between these


def _passed(steps: int | None, noise: LaplaceNoise, threshold: int) -> FloatVector:
    """Chances of what comes out of a pair: nothing; each value from the threshold on.

    Values are taken together a few at a time on fine grids, and beyond a last one.

    Args:
        steps: weight of the edge, None for no edge.
        noise: its distribution.
        threshold: in steps.
    """
    scale = 1 / float(noise.rate)
    grain = max(1, round(scale / _GRAINS))
    if steps is None:
        count = math.ceil(_SPAN * scale / grain) + 2
        nothing: FloatVector = np.eye(1, count)[0]
        return nothing
    ends = threshold + grain * np.arange(math.ceil(_SPAN * scale / grain) + 1)
    above = np.array([_tail(int(end) - steps, noise) for end in ends])
    return np.concatenate([[1 - above[0]], above[:-1] - above[1:], above[-1:]])


def _tail(steps: int, noise: LaplaceNoise) -> float:
    """P(K >= steps)."""
    ratio = math.exp(-float(noise.rate))
    if steps > 0:
        return ratio**steps / (1 + ratio)
    return 1 - ratio ** (1 - steps) / (1 + ratio)


def _filters(
    noise: LaplaceNoise, threshold: int, *, drops: bool = True
) -> Iterator[DistributionPair]:
    """All that neighbours can differ in, at one pair, within some multiples of the change."""
    change = noise.sensitivity_steps
    # An edge can weigh next to nothing, and is an edge.
    edges = [(0, change), (change, 2 * change), (threshold - change, threshold)]
    if noise.weight_cap is not None:
        edges = edges[:1]
    for first, second in edges:
        laws = [_passed(each, noise, threshold) for each in (first, second)]
        yield DistributionPair(f"an edge of {first} or {second} steps", laws[0], laws[1])
    for steps in (0, change):
        laws = [_passed(None, noise, threshold), _passed(steps, noise, threshold)]
        if not drops:  # the edge itself is told
            laws = [np.append(law, 0.0) for law in laws]
            laws[1][0], laws[1][-1] = 0.0, laws[1][0]
        yield DistributionPair(f"no edge or {steps} steps", laws[0], laws[1])


_FILTERED: dict[str, tuple[str, float | None]] = {
    "": ("discrete-laplace", 1.0),
    ", weights": ("laplace", None),
    ", capped": ("laplace", 20.0),
}
_BY_DELTA = "Below a cap the threshold alone hides an edge: it uses delta, and none of epsilon."


@audited(
    "benchmark: high-pass-filter{}",
    _FILTERED,
    unseen=lambda kind: "" if _FILTERED[kind][1] is None else _BY_DELTA,
)
def _filter_audit(kind: str, epsilon: float) -> Audit:
    name, cap = _FILTERED[kind]
    noise = noise_distribution(name, epsilon=epsilon, weight_cap=cap)
    if not isinstance(noise, LaplaceNoise):
        raise TypeError("Laplace noise was asked for")
    threshold = high_pass_filter.threshold_of(noise, _SMALL)
    half, twice = (replace(noise, epsilon=noise.epsilon * factor) for factor in (2, _HALF))
    from_nothing = max(1, threshold - noise.sensitivity_steps)
    twins = {
        "twice the noise, the same threshold": partial(_filters, twice, threshold),
        "a threshold for an edge of no weight": partial(_filters, noise, from_nothing),
        "edges below the threshold are told": partial(_filters, noise, threshold, drops=False),
    }
    if cap is None:  # below a cap all edges are hidden by the threshold alone
        twins["half the noise"] = partial(_filters, half, threshold)
    return Enumerated(
        claim=Claim(epsilon, _SMALL),
        distributions=partial(_filters, noise, threshold),
        twins=twins,
    )


# The topology sampler: every set of pairs can come out, and its size is the noisy count.

_FEW_PAIRS = 10


def _sets(edges: int, size_rate: Fraction | None, rate: Fraction, *, hidden: bool) -> FloatVector:
    """Chances of one set of each size with each number of edges in it.

    A set is told by its size, by whether it has the pair that differs, and by how many of the
    other edges it has: others of the same numbers are equally likely.

    Args:
        edges: of the neighbour without the pair.
        size_rate: of the noisy size; None for the true one.
        rate: of the set.
        hidden: whether the pair is an edge here.
    """
    true = edges + hidden
    sizes = np.eye(_FEW_PAIRS + 1)[true]
    if size_rate is not None:
        sizes = clipped_laplace(true, size_rate, 0, _FEW_PAIRS)
    found = []
    for size in range(_FEW_PAIRS + 1):
        for here in (0, 1):
            fewest = max(0, size - here - (_FEW_PAIRS - 1 - edges))
            for other in range(fewest, min(edges, size - here) + 1):
                overlap = other + here * hidden
                chance = topology_sampler.set_chance(overlap, true, size, _FEW_PAIRS, rate)
                found.append(float(sizes[size]) * chance)
    return np.array(found)


def _samples(size_rate: Fraction | None, rate: Fraction) -> Iterator[DistributionPair]:
    for edges in range(_FEW_PAIRS):
        laws = [_sets(edges, size_rate, rate, hidden=hidden) for hidden in (False, True)]
        yield DistributionPair(f"{edges} edges and one more", laws[0], laws[1])


@audited("benchmark: topology-sampler")
def _sampler_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    share = topology_sampler.COUNT_SHARE
    parts = exact * share, exact * (1 - share)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_samples, *parts),
        twins={
            "m used raw": partial(_samples, None, parts[1]),
            "the size is not charged": partial(_samples, exact, exact),
            "a score that counts both kinds of errors": partial(_samples, parts[0], 2 * parts[1]),
        },
    )


# The Johnson-Lindenstrauss transform: its law, and what is drawn.

_RARE = 1e-3  # delta
_ROWS, _FEW_ROWS = 64, 8
_PARTS = 12_000  # in which squares are told apart


def _squares(noise: ProjectionNoise, rows: int) -> Iterator[DistributionPair]:
    """Chances of what tells neighbours apart, in cells.

    With u and v the ends of the edge that differs, and all else fixed, likelihoods depend on
    squares of what comes out at u less what comes out at v, summed over the rows. Over twice the
    variance it is chi-square, times 1 + t with the edge, up to sums over the grid that are
    integrals to within e^-20 (`log_delta`). Cells hide the differences within them.
    """
    law = scipy.stats.chi2(rows)
    grown = 1 + noise.change
    ends = np.unique(
        np.concatenate(
            [law.isf(np.geomspace(1e-12, 0.5, _PARTS // 2)) * factor for factor in (1.0, grown)]
            + [law.ppf(np.geomspace(1e-12, 0.5, _PARTS // 4)) * factor for factor in (1.0, grown)]
        )
    )
    chances = [
        np.diff(np.concatenate([[0.0], law.cdf(ends / factor), [1.0]])) for factor in (1.0, grown)
    ]
    yield DistributionPair("an edge more", chances[0], chances[1])


@audited("benchmark: johnson-lindenstrauss")
def _transform_audit(epsilon: float) -> Audit:
    noise, one_row, even = (
        transform.projection_noise(epsilon=scale * epsilon, delta=_RARE, rows=rows)
        for scale, rows in ((1.0, _ROWS), (1.0, 1), (2.0, _ROWS))
    )
    shorter = replace(noise, vertex_variance=noise.vertex_variance // 2)
    return Enumerated(
        claim=Claim(epsilon, _RARE),
        distributions=partial(_squares, noise, _ROWS),
        twins={
            "public code: epsilon is spent on each row": partial(_squares, one_row, _ROWS),
            "half the noise": partial(_squares, even, _ROWS),
            "an edge as long as its change at one end": partial(_squares, shorter, _ROWS),
        },
    )


def _projected(noise: ProjectionNoise, source: EntropySource, *, spanned: bool = False) -> Run:
    """Squares of the difference at the ends of the edge; and of what is at each of them.

    Args:
        noise: of the projection.
        source: of its draws.
        spanned: whether vertices without edges get no noise.
    """

    def run(side: Side) -> list[float]:
        found = transform.projected(side.graph, noise, source).astype(np.float64)
        if spanned:
            found[_degrees(side.graph) == 0] = 0.0
        found /= math.sqrt(noise.vertex_variance)
        u, v = (found[end] for end in side.ends)
        return [float(((u - v) ** 2).sum()), float((u**2).sum()), float(u @ v), float(u[0])]

    return run


@audited("benchmark: johnson-lindenstrauss, draws")
def _projected_audit(epsilon: float) -> Audit:
    noise = transform.projection_noise(epsilon=epsilon, delta=_RARE, rows=_FEW_ROWS)
    far = replace(noise, vertex_variance=max(1, noise.vertex_variance // 64))
    return Sampled(
        claim=Claim(epsilon, _RARE),
        pairs=_SIDES,
        start=partial(_projected, noise),
        twins={
            "an eighth of the noise of vertices": partial(_projected, far),
            "public code: no noise where no edge is": partial(_projected, noise, spanned=True),
        },
        twin_pairs=_SIDES[:1],
        runs=4000,
    )
